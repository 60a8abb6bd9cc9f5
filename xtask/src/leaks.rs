//! What a crate drags into its user's build: none may bring more than its job needs.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::process;
use crate::workspace::Workspace;

/// A crate with what must not be among its dependencies, direct or not.
struct Fence {
    krate: &'static str,
    /// All features, or none: some features exist to bring in a socket.
    features: Features,
    /// Package names; a trailing `*` stands for any ending.
    never: &'static [&'static str],
    /// More packages than this, itself included, is too many.
    at_most: Option<usize>,
    reason: &'static str,
}

#[derive(Clone, Copy)]
enum Features {
    All,
    Default,
}

/// Whatever opens a connection: tokio's `net` needs the last two.
const SOCKETS: &[&str] = &["hyper*", "h2", "rustls*", "tokio-rustls", "reqwest", "mio", "socket2"];

const KUBERNETES_OR_HTTP: &[&str] = &[
    "informers-*",
    "k8s-openapi*",
    "kube*",
    "hyper*",
    "http*",
    "h2",
    "rustls*",
    "tokio-rustls",
    "reqwest",
    "mio",
    "socket2",
    "serde*",
    "tower*",
];

const FENCES: &[Fence] = &[
    Fence {
        krate: "informers-workqueue",
        features: Features::All,
        never: KUBERNETES_OR_HTTP,
        at_most: None,
        reason: "a queue for any program",
    },
    Fence {
        krate: "informers-core",
        features: Features::Default,
        never: SOCKETS,
        at_most: Some(30),
        reason: "everything rests on it, and it is meant to stay stable",
    },
    pure("informers-core"),
    pure("informers-wire"),
    pure("informers-store"),
    pure("informers-delta-fifo"),
    pure("informers-pager"),
    pure("informers-reflector"),
    pure("informers-shared"),
    Fence {
        krate: "informers-kube",
        features: Features::Default,
        never: SOCKETS,
        at_most: None,
        reason: "only its feature `client` brings a connection",
    },
    Fence {
        krate: "informers-client",
        features: Features::All,
        never: &["k8s-openapi*", "kube*"],
        at_most: None,
        reason: "types of kube and k8s-openapi belong to informers-kube",
    },
];

const fn pure(krate: &'static str) -> Fence {
    Fence {
        krate,
        features: Features::All,
        never: SOCKETS,
        at_most: None,
        reason: "only informers-client, the testkit's server and informers-kube's client have sockets",
    }
}

pub(crate) fn find(workspace: &Workspace) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for fence in FENCES {
        let mut tree = process::cargo(&workspace.root);
        tree.args([
            "tree",
            "--package",
            fence.krate,
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ]);
        if matches!(fence.features, Features::All) {
            tree.arg("--all-features");
        }
        findings.extend(fence.judge(&packages(&process::stdout_of(&mut tree)?)));
    }
    Ok(findings)
}

/// Package names of `cargo tree`, which prints `NAME vVERSION (WHERE)` lines.
fn packages(tree: &str) -> BTreeSet<&str> {
    tree.lines().filter_map(|line| line.split_whitespace().next()).collect()
}

impl Fence {
    fn judge(&self, packages: &BTreeSet<&str>) -> Vec<String> {
        let Self { krate, reason, .. } = self;
        let mut findings: Vec<String> = packages
            .iter()
            .filter(|package| *package != krate && self.never.iter().any(|pattern| matches(pattern, package)))
            .map(|package| format!("{krate} drags in {package}: {reason}"))
            .collect();
        if let Some(limit) = self.at_most.filter(|limit| packages.len() > *limit) {
            findings
                .push(format!("{krate} drags in {} packages, more than {limit}: {reason}", packages.len()));
        }
        findings
    }
}

fn matches(pattern: &str, package: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => package.starts_with(start),
        None => package == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leak_is_named_with_its_reason() {
        let fence = pure("informers-store");
        let findings = fence.judge(&packages(
            "informers-store v0.1.0 (/ws)\nparking_lot v0.12.3\ntokio v1.44.0\nmio v1.0.0\nhyper-util v0.1.0 (*)\n",
        ));
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings.iter().any(|f| f.starts_with("informers-store drags in mio: only")));
    }

    #[test]
    fn a_queue_may_not_know_our_other_crates_but_itself() {
        let fence = &FENCES[0];
        assert!(fence.judge(&packages("informers-workqueue v0.1.0\ntokio v1.0.0")).is_empty());
        assert_eq!(
            fence.judge(&packages("informers-workqueue v0.1.0\ninformers-core v0.1.0\nserde_json v1")).len(),
            2
        );
    }

    #[test]
    fn too_many_packages_are_counted() {
        let fence = Fence { at_most: Some(1), ..pure("a") };
        assert_eq!(fence.judge(&packages("a v1\nb v1")).len(), 1);
        assert!(fence.judge(&packages("a v1\na v1 (*)")).is_empty());
    }

    #[test]
    fn patterns_end_in_a_star_or_mean_the_whole_name() {
        assert!(matches("http*", "http-body"));
        assert!(matches("h2", "h2"));
        assert!(!matches("h2", "h2o"));
    }
}
