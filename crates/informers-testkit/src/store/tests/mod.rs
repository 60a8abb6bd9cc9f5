//! Tests of the machine, by concern. What kube-apiserver 1.37 answers was seen on one.

mod history;
mod lifecycle;
mod list;
mod watch;
mod writes;

use std::time::UNIX_EPOCH;

use serde_json::json;

use super::*;
use crate::Status;

pub(super) struct Harness {
    pub(super) store: Store,
}

impl Harness {
    pub(super) fn new() -> Self {
        Self::with_history(1_000)
    }

    pub(super) fn with_history(history_limit: usize) -> Self {
        let config = StoreConfig { seed: 1, history_limit, check_namespaces: true };
        Self { store: Store::new(config, UNIX_EPOCH) }
    }

    pub(super) fn def(&self, plural: &str) -> Arc<ResourceDef> {
        let found = self.store.collections().find(|collection| collection.def.plural == plural);
        Arc::clone(&found.unwrap_or_else(|| panic!("no {plural}")).def)
    }

    pub(super) fn target(&self, plural: &str, name: &str) -> Target {
        let def = self.def(plural);
        Target {
            version: def.versions[0].name.clone(),
            namespace: if def.is_namespaced() { "default".to_owned() } else { String::new() },
            name: name.to_owned(),
            status: false,
            def,
        }
    }

    pub(super) fn create(&mut self, plural: &str, value: Value) -> Result<Arc<Stored>, Status> {
        let target = self.target(plural, "");
        self.store.create(&target, value, OPTIONS)
    }

    /// A config map with a label `app`, for the tests that care for nothing else.
    pub(super) fn config_map(&mut self, name: &str, app: &str) -> Arc<Stored> {
        self.create("configmaps", json!({"metadata": {"name": name, "labels": {"app": app}}})).unwrap()
    }

    pub(super) fn patch(&mut self, plural: &str, name: &str, patch: Value) -> Result<Arc<Stored>, Status> {
        let target = self.target(plural, name);
        self.store.patch(&target, &Patch::Merge(patch), OPTIONS)
    }

    pub(super) fn delete(&mut self, plural: &str, name: &str) -> Result<Deleted, Status> {
        let target = self.target(plural, name);
        self.store.delete(&target, &DELETE)
    }

    pub(super) fn get(&self, plural: &str, name: &str) -> Option<Arc<Stored>> {
        let target = self.target(plural, name);
        self.store.get(&target.def, &target.namespace, name)
    }

    pub(super) fn selection(&self, labels: &str, fields: &str) -> Selection {
        Selection::parse(&self.def("configmaps"), "default", Some(labels), Some(fields)).unwrap()
    }

    pub(super) fn list(&self, options: &ListOptions) -> Result<Page, Status> {
        self.store.list(&self.def("configmaps"), options)
    }

    pub(super) fn watch(&self, options: &WatchOptions) -> Watch {
        self.store.watch(&self.def("configmaps"), options).unwrap()
    }

    /// All frames that are there, as `ADDED a@7`.
    pub(super) fn frames(&self, watch: &mut Watch) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let batch = self.store.poll_watch(watch, 2);
            all.extend(batch.frames.iter().map(text));
            if batch.ended {
                all.push("END".to_owned());
            }
            if batch.ended || !batch.more && batch.frames.is_empty() {
                return all;
            }
        }
    }
}

pub(super) const OPTIONS: WriteOptions = WriteOptions { now: UNIX_EPOCH, dry_run: false, keep_status: false };
pub(super) const DELETE: DeleteOptions =
    DeleteOptions { now: UNIX_EPOCH, uid: None, version: None, dry_run: false };

fn text(frame: &Frame) -> String {
    let object = |kind: &str, object: &Stored| format!("{kind} {}@{}", object.name(), object.revision);
    match frame {
        Frame::Added(added) => object("ADDED", added),
        Frame::Modified(modified) => object("MODIFIED", modified),
        Frame::Deleted(deleted) => object("DELETED", deleted),
        Frame::Bookmark { revision, initial_events_end: false } => format!("BOOKMARK @{revision}"),
        Frame::Bookmark { revision, initial_events_end: true } => format!("BOOKMARK @{revision} end"),
        Frame::Error(status) => format!("ERROR {} {}", status.code(), status.message()),
    }
}

pub(super) fn names(objects: &[Arc<Stored>]) -> Vec<&str> {
    objects.iter().map(|object| object.name()).collect()
}
