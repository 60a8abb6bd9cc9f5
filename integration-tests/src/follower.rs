//! An informer under watch: what its handlers heard, what its store holds and what its index finds must agree
//! with the server and with each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use informers::core::Event;
use informers::prelude::*;
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;

use crate::harness::{PATIENCE, eventually};
use crate::world::Collection;

/// Keys with versions.
type Versions = BTreeMap<String, String>;

/// An informer with a handler that checks every event against what it was told before, and an index.
#[derive(Debug)]
pub struct Follower<T: Send + Sync + 'static> {
    /// The informer.
    pub informer: SharedInformer<T>,
    /// What the handler was told.
    pub history: Arc<Mutex<History>>,
    /// The handler.
    pub handler: HandlerGuard<T>,
    index: Index<T, String>,
    value_of: fn(&Entry<T>) -> Option<String>,
}

/// What a handler was told.
#[derive(Default, Debug)]
pub struct History {
    /// What the cluster holds, as far as the handler was told.
    pub told: Versions,
    /// Each event.
    pub log: Vec<String>,
    /// Events that do not follow from the ones before.
    pub violations: Vec<String>,
    /// The newest version that was told of each object, also of one that is gone.
    newest: BTreeMap<String, u64>,
}

impl History {
    /// Takes one event.
    pub fn hear<T>(&mut self, event: &Event<T>) {
        let (key, version) = (event.key().to_string(), event.entry().version().to_string());
        if let Some(number) = event.entry().version().as_number() {
            let newest = self.newest.entry(key.clone()).or_default();
            if number < *newest && !matches!(event, Event::Deleted { .. }) {
                self.violations.push(format!("{event:?}: {newest} was told before"));
            }
            *newest = number.max(*newest);
        }
        let problem = match event {
            Event::Added { .. } => self.told.insert(key, version).map(|old| format!("{old} was there")),
            Event::Updated { old, .. } => {
                let expected = Some(old.version().to_string());
                let before = self.told.insert(key, version);
                (before != expected).then(|| format!("{before:?} was told last"))
            }
            Event::Deleted { .. } => self.told.remove(&key).is_none().then(|| "nothing was there".to_owned()),
        };
        if let Some(problem) = problem {
            self.violations.push(format!("{event:?}: {problem}"));
        }
        self.log.push(format!("{event:?}"));
    }
}

/// Adds a handler that only listens to an informer.
#[track_caller]
pub fn listen<T: Send + Sync + 'static>(
    informer: &SharedInformer<T>,
    backlog: BacklogPolicy,
) -> (HandlerGuard<T>, Arc<Mutex<History>>) {
    let history = Arc::new(Mutex::new(History::default()));
    let hearing = Arc::clone(&history);
    let guard = informer.handler().backlog(backlog).on_event(move |event| hearing.lock().hear(&event));
    (guard, history)
}

impl Follower<ConfigMap> {
    /// Follows ConfigMaps, with an index of the label `app`.
    ///
    /// # Errors
    /// When the informer is followed already.
    pub fn of_config_maps(informer: SharedInformer<ConfigMap>) -> Result<Self> {
        Self::new(informer, |entry| entry.metadata.labels.as_ref()?.get("app").cloned())
    }
}

impl<T: Send + Sync + 'static> Follower<T> {
    /// Follows an informer, with an index of `value_of`.
    ///
    /// # Errors
    /// When the informer is followed already.
    pub fn new(informer: SharedInformer<T>, value_of: fn(&Entry<T>) -> Option<String>) -> Result<Self> {
        let (handler, history) = listen(&informer, BacklogPolicy::default());
        let index = informer.named_index("followed", value_of)?;
        Ok(Self { informer, history, handler, index, value_of })
    }

    /// Starts the informer and waits until its store and handler have their first contents.
    ///
    /// # Errors
    /// When they do not come.
    pub async fn start(self) -> Result<Self> {
        self.informer.start()?;
        self.informer.synced().within(PATIENCE).await?;
        self.handler.synced().within(PATIENCE).await?;
        Ok(self)
    }

    /// Waits until store, handler and index all show what a fresh list of `truth` shows.
    ///
    /// # Errors
    /// When they never do, or an event contradicted those before it.
    pub async fn converges(&self, truth: &Collection) -> Result<()> {
        eventually("store and handler equal to a fresh list", || async {
            let truth = truth.versions().await?;
            let stored = self.stored();
            if stored != truth {
                let difference = difference(&stored, &truth);
                return Ok(Some(format!("the store: {difference}; {:?}", self.informer.status())));
            }
            let history = self.history.lock();
            ensure!(history.violations.is_empty(), "{:?}", history.violations);
            let told = &history.told;
            Ok((*told != truth).then(|| format!("the handler: {}", difference(told, &truth))))
        })
        .await?;
        self.check_index()
    }

    /// Key and version of what the store holds.
    #[must_use]
    pub fn stored(&self) -> Versions {
        let version = |entry: &Entry<T>| (entry.key().to_string(), entry.version().to_string());
        self.informer.store().list().iter().map(version).collect()
    }

    /// Compares the index with one that is computed from the store.
    ///
    /// # Errors
    /// When they differ.
    pub fn check_index(&self) -> Result<()> {
        let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for entry in self.informer.store().list() {
            if let Some(value) = (self.value_of)(&entry) {
                expected.entry(value).or_default().push(entry.key().to_string());
            }
        }
        let mut values = self.index.values();
        values.sort();
        ensure!(values.iter().eq(expected.keys()), "indexed {values:?}, recomputed {:?}", expected.keys());
        for (value, mut keys) in expected {
            let mut found: Vec<_> = self.index.keys(&value).iter().map(ToString::to_string).collect();
            found.sort();
            keys.sort();
            ensure!(found == keys, "{value}: indexed {found:?}, recomputed {keys:?}");
        }
        Ok(())
    }

    /// Stops the informer.
    pub async fn stop(self) {
        self.informer.stop().await;
    }
}

/// The first few keys that differ: thousands would hide what is wrong.
#[must_use]
pub fn difference(found: &Versions, truth: &Versions) -> String {
    let wrong: Vec<_> = found
        .keys()
        .chain(truth.keys().filter(|key| !found.contains_key(*key)))
        .filter(|key| found.get(*key) != truth.get(*key))
        .map(|key| format!("{key}: {:?}, on the server {:?}", found.get(key), truth.get(key)))
        .collect();
    let shown = wrong.iter().take(5).cloned().collect::<Vec<_>>().join("; ");
    format!("{} objects differ: {shown}", wrong.len())
}
