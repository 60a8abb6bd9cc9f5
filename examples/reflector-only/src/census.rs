//! The example's own sink: of every pod it keeps only the node.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use informers_core::{
    Change, ChangeKind, Entry, Item, ObjectKey, ResourceVersion, Scope, Sink, SinkError, Stage,
};
use tokio::sync::watch;

use crate::Pod;

type Nodes = BTreeMap<ObjectKey, String>;

/// Which pod is on which node.
pub(crate) struct Census {
    nodes: Arc<Mutex<Nodes>>,
    changed: watch::Sender<u64>,
}

/// Reads a [`Census`] while a reflector writes it.
#[derive(Clone)]
pub(crate) struct CensusReader {
    nodes: Arc<Mutex<Nodes>>,
    changed: watch::Receiver<u64>,
}

impl Census {
    pub(crate) fn new() -> (Self, CensusReader) {
        let nodes = Arc::default();
        let changed = watch::Sender::new(0);
        let reader = CensusReader { nodes: Arc::clone(&nodes), changed: changed.subscribe() };
        (Self { nodes, changed }, reader)
    }

    fn change(&self, change: impl FnOnce(&mut Nodes)) {
        change(&mut self.nodes.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.send_modify(|times| *times += 1);
    }
}

impl Sink<Pod> for Census {
    fn apply(&mut self, change: Change<Pod>) -> Result<(), SinkError> {
        self.change(|nodes| count(nodes, &change));
        Ok(())
    }

    fn begin(&mut self, _: &Scope) -> Box<dyn Stage<Pod> + '_> {
        Box::new(Recount { census: self, nodes: Nodes::new() })
    }
}

/// A new list in the making. What was there before stays visible until it is complete.
struct Recount<'a> {
    census: &'a Census,
    nodes: Nodes,
}

impl Stage<Pod> for Recount<'_> {
    fn offer(&mut self, change: Change<Pod>) -> Result<(), SinkError> {
        count(&mut self.nodes, &change);
        Ok(())
    }

    fn commit(self: Box<Self>, _: &ResourceVersion) -> Result<(), SinkError> {
        self.census.change(|nodes| *nodes = self.nodes);
        Ok(())
    }
}

fn count(nodes: &mut Nodes, change: &Change<Pod>) {
    match (&change.item, change.kind) {
        (Item::Decoded(pod), ChangeKind::Deleted) => {
            nodes.remove(pod.key());
        }
        (Item::Decoded(pod), _) => {
            nodes.insert(pod.key().clone(), node_of(pod));
        }
        // A pod that cannot be read keeps its place, or has none.
        (Item::Undecodable(pod), ChangeKind::Deleted) => {
            if let Some(key) = pod.key() {
                nodes.remove(key);
            }
        }
        (Item::Undecodable(_), _) => {}
    }
}

fn node_of(pod: &Entry<Pod>) -> String {
    if pod.spec.node_name.is_empty() { "no node".to_owned() } else { pod.spec.node_name.clone() }
}

impl CensusReader {
    /// Waits for the next change.
    pub(crate) async fn changed(&mut self) -> Result<(), watch::error::RecvError> {
        self.changed.changed().await
    }

    /// The number of pods on each node, in the order of names.
    pub(crate) fn count(&self) -> String {
        let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = BTreeMap::<&str, usize>::new();
        for node in nodes.values() {
            *counts.entry(node).or_default() += 1;
        }
        let mut text = format!("{} pods", nodes.len());
        for (node, pods) in counts {
            text.push_str(&format!(", {node}: {pods}"));
        }
        text
    }
}
