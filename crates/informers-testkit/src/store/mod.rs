//! The server's memory: objects by resource, one revision counter, and a window of past events.
//!
//! Pure: no IO, no task, no clock. Time is an argument, randomness is seeded.

mod apply;
mod builtin;
mod crd;
mod defaults;
mod delete;
mod fields;
mod list;
mod namespace;
mod object;
mod options;
mod patch;
mod printer_column;
mod resource;
mod scale;
mod selector_text;
pub(crate) mod strategic;
#[cfg(test)]
mod tests;
mod validate;
mod watch;
mod write;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use informers_core::ResourceType;
use serde_json::{Map, Value};

pub(crate) use apply::Apply;
pub(crate) use delete::{DeleteOptions, Deleted};
pub(crate) use fields::Selection;
pub(crate) use list::Page;
pub(crate) use list::too_large;
pub(crate) use object::Stored;
pub(crate) use options::{ListOptions, RawOptions, WatchOptions, get_version};
pub(crate) use patch::Patch;
pub(crate) use printer_column::PrinterColumn;
pub(crate) use resource::{ResourceDef, VersionDef};
pub(crate) use selector_text::selector_text;
pub(crate) use watch::{Frame, Watch};
pub(crate) use write::{Target, WriteOptions};

/// What [`Store::new`] is told.
#[derive(Clone, Debug)]
pub(crate) struct StoreConfig {
    pub(crate) seed: u64,
    /// The most past events that are kept of one resource.
    pub(crate) history_limit: usize,
    /// Whether an object needs its namespace to exist.
    pub(crate) check_namespaces: bool,
}

#[derive(Debug)]
pub(crate) struct Store {
    revision: u64,
    /// Reads and new watches of older revisions are answered as expired.
    compacted: u64,
    /// By `plural.group`.
    collections: BTreeMap<String, Collection>,
    /// Resources that are no longer served, with what their open watches have yet to tell.
    retired: VecDeque<Collection>,
    incarnations: u64,
    /// How often a resource was registered or removed.
    definitions: u64,
    random: fastrand::Rng,
    config: StoreConfig,
}

#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) def: Arc<ResourceDef>,
    /// Tells a resource from a later one of the same name.
    incarnation: u64,
    /// By `namespace/name` or `name`, in the order that etcd would have.
    objects: BTreeMap<String, Arc<Stored>>,
    /// Past events, oldest first.
    history: VecDeque<PastEvent>,
    /// Events up to this revision are no longer kept.
    floor: u64,
}

impl Collection {
    fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<Stored>> {
        let prefix = format!("{namespace}/");
        self.objects
            .range(prefix.clone()..)
            .take_while(move |(key, _)| key.starts_with(&prefix))
            .map(|(_, object)| object)
    }
}

#[derive(Debug)]
struct PastEvent {
    revision: u64,
    old: Option<Arc<Stored>>,
    new: Option<Arc<Stored>>,
    /// `old` at this event's revision, which is what a watch is told when the object leaves it.
    left: OnceLock<Arc<Stored>>,
}

impl PastEvent {
    fn key(&self) -> String {
        let object = self.new.as_ref().or(self.old.as_ref());
        object.map(|object| storage_key(object.namespace(), object.name())).unwrap_or_default()
    }

    fn left(&self) -> Option<Arc<Stored>> {
        let old = self.old.as_ref()?;
        Some(Arc::clone(self.left.get_or_init(|| old.at(self.revision))))
    }
}

pub(crate) fn storage_key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

impl Store {
    /// A store with the built-in resources and the namespaces that every cluster has.
    pub(crate) fn new(config: StoreConfig, now: SystemTime) -> Self {
        let mut store = Self {
            revision: 1,
            compacted: 0,
            collections: BTreeMap::new(),
            retired: VecDeque::new(),
            incarnations: 0,
            definitions: 0,
            random: fastrand::Rng::with_seed(config.seed),
            config,
        };
        for def in builtin::builtin_resources() {
            store.register(def);
        }
        for collection in store.collections.values_mut() {
            collection.floor = 0;
        }
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            store.seed_namespace(name, now);
        }
        store
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Reads and new watches of revisions before this one are expired from now on. Watches that are open
    /// go on, as they do on a server with a watch cache.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.revision;
    }

    /// Serves a resource from now on; a known one gets the new definition and keeps its objects.
    pub(crate) fn register(&mut self, def: ResourceDef) {
        let ident = def.ident();
        self.definitions += 1;
        match self.collections.get_mut(&ident) {
            Some(collection) => collection.def = Arc::new(def),
            None => {
                self.incarnations += 1;
                let collection = Collection {
                    def: Arc::new(def),
                    incarnation: self.incarnations,
                    objects: BTreeMap::new(),
                    history: VecDeque::new(),
                    floor: self.revision,
                };
                self.collections.insert(ident, collection);
            }
        }
    }

    /// Serves a resource no longer. Its open watches end when they have told its last events.
    fn unregister(&mut self, ident: &str) {
        const KEPT: usize = 16;
        self.definitions += 1;
        self.retired.extend(self.collections.remove(ident));
        while self.retired.len() > KEPT {
            self.retired.pop_front();
        }
    }

    /// Serves a resource as if a definition had made it, if it is not known yet.
    pub(crate) fn register_custom(&mut self, resource: &ResourceType) {
        if self.resource(resource.group(), resource.version(), resource.plural()).is_none() {
            self.register(ResourceDef::custom(resource));
        }
    }

    pub(crate) fn collections(&self) -> impl Iterator<Item = &Collection> {
        self.collections.values()
    }

    /// Changes with every resource that is defined or redefined.
    pub(crate) fn definitions(&self) -> u64 {
        self.definitions
    }

    pub(crate) fn has_group(&self, group: &str) -> bool {
        self.collections.values().any(|collection| collection.def.group == group)
    }

    /// The definition under which `version` of a resource is served.
    pub(crate) fn resource(&self, group: &str, version: &str, plural: &str) -> Option<Arc<ResourceDef>> {
        let collection = self.collections.get(&resource::ident(group, plural))?;
        collection.def.version(version)?;
        Some(Arc::clone(&collection.def))
    }

    pub(crate) fn resource_of_kind(
        &self,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Option<Arc<ResourceDef>> {
        self.collections
            .values()
            .map(|collection| &collection.def)
            .find(|def| def.group == group && def.kind == kind && def.version(version).is_some())
            .cloned()
    }

    pub(crate) fn get(&self, def: &ResourceDef, namespace: &str, name: &str) -> Option<Arc<Stored>> {
        self.collections.get(&def.ident())?.objects.get(&storage_key(namespace, name)).cloned()
    }

    /// All objects of one resource, in order.
    pub(crate) fn objects(&self, def: &ResourceDef) -> Vec<Arc<Stored>> {
        self.collections
            .get(&def.ident())
            .map(|collection| collection.objects.values().cloned().collect())
            .unwrap_or_default()
    }

    /// Makes one change under a new revision and remembers it; the stored object is returned.
    fn commit(
        &mut self,
        ident: &str,
        old: Option<Arc<Stored>>,
        new: Option<Map<String, Value>>,
    ) -> Option<Arc<Stored>> {
        let collection = self.collections.get_mut(ident)?;
        self.revision += 1;
        let new = new.map(|value| Stored::new(value, self.revision));
        let event = PastEvent { revision: self.revision, old, new: new.clone(), left: OnceLock::new() };
        match &new {
            Some(object) => collection.objects.insert(event.key(), Arc::clone(object)),
            None => collection.objects.remove(&event.key()),
        };
        collection.history.push_back(event);
        while collection.history.len() > self.config.history_limit {
            if let Some(dropped) = collection.history.pop_front() {
                collection.floor = dropped.revision;
            }
        }
        new
    }

    fn new_uid(&mut self) -> String {
        let (high, low) = (self.random.u64(..), self.random.u64(..));
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xfff,
            low >> 48 & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff
        )
    }
}
