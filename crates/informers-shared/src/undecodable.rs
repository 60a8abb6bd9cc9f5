//! Objects that exist on the server but cannot be used.

use std::collections::BTreeMap;
use std::sync::Arc;

use informers_core::{ObjectKey, Scope, Undecodable};
use informers_delta_fifo::ReplacedAll;
use parking_lot::Mutex;

/// The undecodable objects of an informer: written by its pipeline, readable by anybody.
///
/// A good copy of an object here is stale.
#[derive(Clone, Debug, Default)]
pub(crate) struct UndecodableObjects(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    named: BTreeMap<ObjectKey, Undecodable>,
    /// Those of the last list of a scope whose names could not be read.
    nameless: Vec<(Scope, Undecodable)>,
}

impl UndecodableObjects {
    pub(crate) fn add(&self, object: Undecodable) {
        if let Some(key) = object.key() {
            self.0.lock().named.insert(key.clone(), object);
        }
    }

    /// The object was repaired, or is gone.
    pub(crate) fn remove(&self, key: &ObjectKey) {
        let mut known = self.0.lock();
        if !known.named.is_empty() {
            known.named.remove(key);
        }
    }

    /// A list says anew which objects of its scope cannot be used.
    pub(crate) fn replace<T>(&self, list: &ReplacedAll<T>) {
        let mut known = self.0.lock();
        known.named.retain(|key, _| !list.covers(key));
        known.nameless.retain(|(scope, _)| *scope != list.scope);
        for object in &list.undecodable {
            match object.key() {
                Some(key) => {
                    known.named.insert(key.clone(), object.clone());
                }
                None => known.nameless.push((list.scope.clone(), object.clone())),
            }
        }
    }

    pub(crate) fn list(&self) -> Vec<Undecodable> {
        let known = self.0.lock();
        known.named.values().chain(known.nameless.iter().map(|(_, object)| object)).cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        let known = self.0.lock();
        known.named.len() + known.nameless.len()
    }
}
