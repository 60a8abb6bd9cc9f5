//! The informers of one history, each with handlers and indexes that are checked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use informers::core::ListWatch;
use informers::prelude::*;
use informers::shared::ReflectorSettings;
use integration_tests::follower::{Follower, History, difference, listen};
use parking_lot::Mutex;
use serde_json::Value;

/// What informers of whole objects hold. `size` is a word in some objects, which then do not decode.
#[derive(Clone, Debug, serde::Deserialize)]
pub(crate) struct Gadget {
    pub(crate) spec: Spec,
}

#[derive(Clone, Debug, serde::Deserialize)]
pub(crate) struct Spec {
    #[expect(dead_code, reason = "it is there to be decoded, or not")]
    size: u32,
    pub(crate) group: String,
}

pub(crate) fn gadgets() -> ResourceType {
    ResourceType::new("informers.example.com", "v1", "Gadget", "gadgets", ResourceScope::Namespaced)
}

pub(crate) fn resource() -> Resource<Gadget> {
    Resource::new(gadgets(), JsonDecoder::new())
}

/// One informer with everything that is known of it.
pub(crate) struct Watched<T: Send + Sync + 'static> {
    name: &'static str,
    follower: Follower<T>,
    listeners: Vec<(HandlerGuard<T>, Arc<Mutex<History>>)>,
    late: Vec<Index<T, String>>,
    value_of: fn(&Entry<T>) -> Option<String>,
    /// Whether the informer should hold an object of the server.
    selects: fn(&Value) -> bool,
    /// Whether it can be decoded.
    decodes: fn(&Value) -> bool,
}

/// An informer of any type.
pub(crate) trait Checked: Send {
    /// Adds a handler to the running informer.
    fn listen(&mut self, backlog: BacklogPolicy);
    /// Removes a handler that was added.
    fn forget(&mut self, choice: usize);
    /// Adds an index to the running informer.
    fn index(&mut self);
    /// Compares everything with the objects of the server.
    fn check(&self, objects: &[Value]) -> Result<()>;
    /// What was heard, in one line for each event.
    fn log(&self) -> Vec<String>;
    /// Stops the informer.
    fn stop(self: Box<Self>) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;
}

impl<T: Send + Sync + 'static> Watched<T> {
    pub(crate) fn start(
        name: &'static str,
        informer: SharedInformer<T>,
        value_of: fn(&Entry<T>) -> Option<String>,
        selects: fn(&Value) -> bool,
        decodes: fn(&Value) -> bool,
    ) -> Result<Box<dyn Checked>> {
        let follower = Follower::new(informer, value_of)?;
        let listeners = vec![listen(&follower.informer, BacklogPolicy::InOrder)];
        follower.informer.start()?;
        Ok(Box::new(Self { name, follower, listeners, late: Vec::new(), value_of, selects, decodes }))
    }

    fn compare(&self, objects: &[Value]) -> Result<()> {
        let (good, bad): (Vec<_>, Vec<_>) =
            objects.iter().filter(|object| (self.selects)(object)).partition(|object| (self.decodes)(object));
        let key = |object: &&Value| {
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
            (format!("{}/{}", text("namespace"), text("name")), text("resourceVersion"))
        };
        let truth: BTreeMap<_, _> = good.iter().map(key).collect();
        let undecodable: BTreeSet<_> = bad.iter().map(|object| key(object).0).collect();
        let reported = self.follower.informer.undecodable();
        let reported: BTreeSet<_> =
            reported.iter().filter_map(|bad| bad.key()).map(ToString::to_string).collect();
        ensure!(reported == undecodable, "undecodable are {undecodable:?}, reported {reported:?}");
        // Of an object that does not decode, a good copy may be left, which is stale.
        let stored = self.follower.stored();
        let fresh = |versions: &BTreeMap<String, String>| -> BTreeMap<_, _> {
            versions
                .iter()
                .filter(|(key, _)| !undecodable.contains(*key))
                .map(|(key, version)| (key.clone(), version.clone()))
                .collect()
        };
        ensure!(fresh(&stored) == truth, "the store: {}", difference(&fresh(&stored), &truth));
        let all = self.listeners.iter().map(|(guard, history)| (guard.name(), history));
        for (name, history) in all.chain([("follower", &self.follower.history)]) {
            let history = history.lock();
            ensure!(history.violations.is_empty(), "{name} heard {:?}", history.violations);
            ensure!(history.told == stored, "{name} and store: {}", difference(&history.told, &stored));
        }
        self.follower.check_index()?;
        for index in &self.late {
            self.check_late(index)?;
        }
        let status = self.follower.informer.status();
        ensure!(status.synced && status.handlers.iter().all(|handler| handler.synced), "{status:?}");
        Ok(())
    }

    fn check_late(&self, index: &Index<T, String>) -> Result<()> {
        ensure!(index.is_filled(), "an index that came late was never filled");
        let mut expected: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for entry in self.follower.informer.store().list() {
            if let Some(value) = (self.value_of)(&entry) {
                expected.entry(value).or_default().insert(entry.key().to_string());
            }
        }
        let found: BTreeMap<_, BTreeSet<_>> = index
            .values()
            .into_iter()
            .map(|value| {
                let keys = index.keys(&value).iter().map(ToString::to_string).collect();
                (value, keys)
            })
            .collect();
        ensure!(found == expected, "an index that came late: {found:?}, recomputed {expected:?}");
        Ok(())
    }
}

impl<T: Send + Sync + 'static> Checked for Watched<T> {
    fn listen(&mut self, backlog: BacklogPolicy) {
        self.listeners.push(listen(&self.follower.informer, backlog));
    }

    fn forget(&mut self, choice: usize) {
        if self.listeners.len() > 1 {
            let at = choice % self.listeners.len();
            drop(self.listeners.remove(at));
        }
    }

    fn index(&mut self) {
        self.late.push(self.follower.informer.index(self.value_of));
    }

    fn check(&self, objects: &[Value]) -> Result<()> {
        self.compare(objects).with_context(|| format!("informer `{}`", self.name))
    }

    fn log(&self) -> Vec<String> {
        let history = self.follower.history.lock();
        history.log.iter().map(|line| format!("{}: {line}", self.name)).collect()
    }

    fn stop(self: Box<Self>) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move { self.follower.stop().await })
    }
}

/// Collections as an informer of its own reads them.
pub(crate) fn of_collection<T: Send + Sync + 'static>(
    collection: Arc<dyn ListWatch<T>>,
    settings: ReflectorSettings,
) -> informers::shared::InformerBuilder<T> {
    SharedInformer::builder(collection).reflector(settings)
}
