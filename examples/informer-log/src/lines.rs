//! What is printed.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use anyhow::{Context, Result};
use informers::core::{Deletion, Entry, Event};
use informers::kube::kube_core;
use informers::store::Store;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

/// The annotation whose digest shows that content came through whole.
const PAYLOAD: &str = "scenario.test/payload";

/// One line of the output.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum Line<'a> {
    Add { key: &'a str, new_resource_version: String, is_in_initial_list: bool },
    Update { key: &'a str, old_resource_version: String, new_resource_version: String },
    Delete { key: &'a str, old_resource_version: String, tombstone: bool },
    Synced,
    Final { store: BTreeMap<String, String>, digests: BTreeMap<String, String> },
}

/// Writes lines, each flushed at once. A reader that has gone away ends the program in good order.
#[derive(Clone)]
pub(crate) struct Lines {
    output: Arc<std::sync::Mutex<Box<dyn Write + Send>>>,
    closed: watch::Sender<bool>,
}

impl Lines {
    pub(crate) fn new(output: impl Write + Send + 'static) -> Self {
        Self { output: Arc::new(std::sync::Mutex::new(Box::new(output))), closed: watch::Sender::new(false) }
    }

    pub(crate) fn event<K>(&self, event: &Event<K>) {
        self.print_unless_closed(&match event {
            Event::Added { object, initial } => Line::Add {
                key: object.key().as_str(),
                new_resource_version: object.version().to_string(),
                is_in_initial_list: *initial,
            },
            Event::Updated { old, new } => Line::Update {
                key: new.key().as_str(),
                old_resource_version: old.version().to_string(),
                new_resource_version: new.version().to_string(),
            },
            Event::Deleted { last, how } => Line::Delete {
                key: last.key().as_str(),
                old_resource_version: last.version().to_string(),
                tombstone: *how != Deletion::Observed,
            },
        });
    }

    pub(crate) fn synced(&self) {
        self.print_unless_closed(&Line::Synced);
    }

    pub(crate) fn last<K: kube_core::Resource + Send + Sync + 'static>(
        &self,
        store: &Store<K>,
    ) -> Result<()> {
        let entries = store.list();
        let versions = entries.iter().map(|entry| (entry.key().to_string(), entry.version().to_string()));
        let digests = entries.iter().filter_map(|entry| Some((entry.key().to_string(), digest(entry)?)));
        let line = Line::Final { store: versions.collect(), digests: digests.collect() };
        match self.print(&line) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            printed => printed.context("standard output"),
        }
    }

    /// Waits until a line cannot be written, since nobody reads any more.
    pub(crate) async fn closed(&self) {
        // It cannot fail: this owns a sender.
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    fn print_unless_closed(&self, line: &Line<'_>) {
        if self.print(line).is_err() {
            self.closed.send_replace(true);
        }
    }

    fn print(&self, line: &Line<'_>) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let mut output = self.output.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        output.write_all(&text)?;
        output.flush()
    }
}

fn digest<K: kube_core::Resource>(entry: &Entry<K>) -> Option<String> {
    let payload = entry.meta().annotations.as_ref()?.get(PAYLOAD)?;
    let hash = Sha256::digest(payload.as_bytes());
    Some(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}
