//! The store used alone: an index by the `app` label over two pods.
//!
//! Any type can be stored; here it is a struct of a few lines, and nothing of Kubernetes is compiled.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io::{self, Write};

use informers_core::{Entry, ObjectKey};
use informers_store::Indexer;

struct Pod {
    namespace: &'static str,
    name: &'static str,
    labels: BTreeMap<&'static str, &'static str>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let pods = Indexer::new(|pod: &Pod| ObjectKey::new(pod.namespace, pod.name));
    pods.add_index(Some("app"), app_label)?;
    pods.add(Pod { namespace: "ns1", name: "pod1", labels: BTreeMap::from([("app", "l1")]) })?;
    pods.add(Pod { namespace: "ns1", name: "pod2", labels: BTreeMap::from([("app", "l2")]) })?;

    print(format_args!("index_keys(\"app\", \"l1\") = {}", keys(&pods.index_keys("app", "l1")?)));

    pods.update(Pod { namespace: "ns1", name: "pod2", labels: BTreeMap::from([("app", "l1")]) })?;
    print(format_args!("after pod2 changed its label: {}", keys(&pods.index_keys("app", "l1")?)));
    Ok(())
}

/// An object without the label is in no index entry; a function could also give several values.
fn app_label(pod: &Entry<Pod>) -> Option<String> {
    pod.labels.get("app").map(|app| (*app).to_owned())
}

fn keys(keys: &[ObjectKey]) -> String {
    let mut keys: Vec<_> = keys.iter().map(ObjectKey::as_str).collect();
    keys.sort_unstable();
    format!("[{}]", keys.join(", "))
}

/// Prints a line. Behind `| head -1` nobody may read it any more, which is no reason to panic as `println!` does.
fn print(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}
