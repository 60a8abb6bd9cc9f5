//! `cargo xtask layers`: the arrows between our crates go down only.

use anyhow::{Result, bail};

use crate::leaks;
use crate::workspace::{Member, Workspace};

/// One published crate and the crates of ours that it may depend on.
struct Layer {
    krate: &'static str,
    may_use: &'static [&'static str],
}

const CORE: &str = "informers-core";
const WIRE: &str = "informers-wire";

/// Every published crate, lowest level first. Crates of one level do not know each other, so that
/// each can be taken alone; a new crate gets its line here with the reason for each arrow.
const TABLE: &[Layer] = &[
    // The vocabulary rests on nothing, so that it can stay stable.
    Layer { krate: CORE, may_use: &[] },
    // Bytes only: usable without any of our types.
    Layer { krate: WIRE, may_use: &[] },
    // Knows nothing of Kubernetes.
    Layer { krate: "informers-workqueue", may_use: &[] },
    // Each of these does one job in core's words.
    Layer { krate: "informers-store", may_use: &[CORE] },
    Layer { krate: "informers-delta-fifo", may_use: &[CORE] },
    Layer { krate: "informers-pager", may_use: &[CORE] },
    // Meets bytes of the API server: the wire crate splits them.
    Layer { krate: "informers-client", may_use: &[CORE, WIRE] },
    // Over a `kube::Client` it is the client's decoding with another transport, only with the feature `client`.
    Layer { krate: "informers-kube", may_use: &[CORE, "informers-client"] },
    // Lists through the pager; any sink of core's trait is fed.
    Layer { krate: "informers-reflector", may_use: &[CORE, "informers-pager"] },
    // The pipeline joins reflector, queue and store; any source of core's trait drives it.
    Layer {
        krate: "informers-shared",
        may_use: &[CORE, "informers-reflector", "informers-delta-fifo", "informers-store"],
    },
    // Tests of users meet core's traits only, whichever of our crates they test.
    Layer { krate: "informers-testkit", may_use: &[CORE] },
    // The facade re-exports all.
    Layer {
        krate: "informers",
        may_use: &[
            CORE,
            WIRE,
            "informers-workqueue",
            "informers-store",
            "informers-delta-fifo",
            "informers-pager",
            "informers-client",
            "informers-kube",
            "informers-reflector",
            "informers-shared",
        ],
    },
];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut findings: Vec<String> = workspace.published().flat_map(check).collect();
    for layer in TABLE {
        if !workspace.published().any(|member| member.name == layer.krate) {
            findings.push(format!("{}: in the table of layers, but not in the workspace", layer.krate));
        }
    }
    findings.extend(leaks::find(workspace)?);
    findings.extend(workspace.publishing_order().err().map(|error| error.to_string()));
    if !findings.is_empty() {
        bail!("layers:\n  {}", findings.join("\n  "));
    }
    println!("layers: {} crates use only what the table lets them, and drag in nothing else", TABLE.len());
    Ok(())
}

fn check(member: &Member) -> Vec<String> {
    let name = &member.name;
    let Some(layer) = TABLE.iter().find(|layer| layer.krate == *name) else {
        return vec![format!("{name}: not in the table of layers (xtask/src/layers.rs)")];
    };
    let stray = member.uses.iter().filter(|used| !layer.may_use.contains(&used.as_str()));
    stray.map(|used| format!("{name} uses {used}, but may use only {:?}", layer.may_use)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, uses: &[&str]) -> Member {
        Member {
            name: name.into(),
            folder: "crates".into(),
            published: true,
            description: None,
            features: Vec::new(),
            uses: uses.iter().map(|used| (*used).to_owned()).collect(),
            published_after: Vec::new(),
        }
    }

    #[test]
    fn arrows_of_the_table_are_allowed() {
        assert!(check(&member("informers-reflector", &[CORE, "informers-pager"])).is_empty());
        assert!(check(&member("informers-workqueue", &[])).is_empty());
    }

    #[test]
    fn an_arrow_sideways_or_up_is_found() {
        let findings = check(&member("informers-store", &[CORE, "informers-shared"]));
        assert_eq!(findings.len(), 1);
        assert!(findings[0].contains("informers-store uses informers-shared"), "{findings:?}");
    }

    #[test]
    fn a_crate_without_a_line_in_the_table_is_found() {
        assert!(check(&member("informers-new", &[]))[0].contains("not in the table"));
    }

    #[test]
    fn the_table_has_no_upward_arrow() {
        for (place, layer) in TABLE.iter().enumerate() {
            for used in layer.may_use {
                let below = TABLE[..place].iter().any(|lower| lower.krate == *used);
                assert!(below, "{} stands before {used}", layer.krate);
            }
        }
    }
}
