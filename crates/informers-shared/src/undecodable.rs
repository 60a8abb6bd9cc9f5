//! Objects that exist on the server but cannot be used.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Arc;

use hashbrown::HashSet;
use informers_core::{ObjectKey, Scope, Undecodable};
use informers_delta_fifo::ReplacedAll;
use parking_lot::Mutex;

/// The undecodable objects of an informer: written by its pipeline, readable by anybody.
///
/// A good copy of an object here is stale. Nothing is dropped under the lock, since the errors are the user's.
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
        if let Some(key) = object.key().cloned() {
            let former = self.0.lock().named.insert(key, object);
            drop(former);
        }
    }

    /// The object was repaired, or is gone.
    pub(crate) fn remove(&self, key: &ObjectKey) {
        let former = self.0.lock().named.remove(key);
        drop(former);
    }

    /// A list says anew which objects of its scope cannot be used.
    pub(crate) fn replace<T>(&self, list: &ReplacedAll<T>) {
        // One that is not listed may be among those without a name: its copy stays, and stays stale.
        let listed: Option<HashSet<_>> = (!list.proves_absence()).then(|| list.keys().collect());
        let stays = |key: &ObjectKey| {
            !list.covers(key) || listed.as_ref().is_some_and(|listed| !listed.contains(key))
        };
        let (mut former, mut replaced) = (Known::default(), Vec::new());
        let mut known = self.0.lock();
        (known.named, former.named) = take(&mut known.named).into_iter().partition(|(key, _)| stays(key));
        (known.nameless, former.nameless) =
            take(&mut known.nameless).into_iter().partition(|(scope, _)| *scope != list.scope);
        for object in &list.undecodable {
            match object.key() {
                Some(key) => {
                    replaced.extend(known.named.insert(key.clone(), object.clone()));
                }
                None => known.nameless.push((list.scope.clone(), object.clone())),
            }
        }
        drop(known);
        drop((former, replaced));
    }

    pub(crate) fn list(&self) -> Vec<Undecodable> {
        let known = self.0.lock();
        known.named.values().chain(known.nameless.iter().map(|(_, object)| object)).cloned().collect()
    }

    /// Whether one of them has this name.
    pub(crate) fn contains(&self, key: &str) -> bool {
        self.0.lock().named.contains_key(key)
    }

    /// The names of those that have one.
    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        self.0.lock().named.keys().cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        let known = self.0.lock();
        known.named.len() + known.nameless.len()
    }
}

#[cfg(test)]
mod tests {
    use informers_core::{DecodeError, DecodeErrorKind, Entry};

    use super::*;

    fn bad(key: &str) -> Undecodable {
        let object = Undecodable::new(DecodeError::new(DecodeErrorKind::Malformed));
        object.with_identity(key.parse().unwrap(), "u".into(), "9".into())
    }

    #[test]
    fn a_stale_copy_stays_stale_where_a_list_hides_whether_it_is_repaired() {
        let objects = UndecodableObjects::default();
        let list = |items: &[&str]| {
            let items = items.iter().map(|key| Entry::keyed(key.parse().unwrap(), ())).collect();
            ReplacedAll::new(Scope::all(), "9".into(), items)
        };
        let nameless = || Undecodable::new(DecodeError::new(DecodeErrorKind::Malformed));
        objects.add(bad("a/x"));
        objects.add(bad("a/y"));
        let hides = list(&["a/y"]).with_undecodable(vec![nameless()]);
        assert!(!hides.proves_absence());
        objects.replace(&hides);
        let known: Vec<_> =
            objects.list().iter().map(|object| object.key().map(ToString::to_string)).collect();
        assert_eq!(known, [Some("a/x".to_owned()), None]);
        objects.replace(&list(&["a/x"]));
        assert_eq!(objects.len(), 0);
    }

    #[test]
    fn what_goes_may_look_at_what_is_left() {
        /// An error that counts the objects when it is dropped, if the lock is free.
        #[derive(Debug)]
        struct Curious(UndecodableObjects, Arc<Mutex<Vec<Option<usize>>>>);
        impl std::fmt::Display for Curious {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("as told by the test")
            }
        }
        impl std::error::Error for Curious {}
        impl Drop for Curious {
            fn drop(&mut self) {
                let left = self.0.0.try_lock().map(|known| known.named.len() + known.nameless.len());
                self.1.lock().push(left);
            }
        }
        let (objects, seen) = (UndecodableObjects::default(), Arc::default());
        let curious = |key: Option<&str>| {
            let error = DecodeError::new(DecodeErrorKind::Malformed);
            let object = Undecodable::new(error.with_source(Curious(objects.clone(), Arc::clone(&seen))));
            match key {
                Some(key) => object.with_identity(key.parse().unwrap(), "u".into(), "9".into()),
                None => object,
            }
        };
        let list = |undecodable: Vec<_>| {
            ReplacedAll::<()>::new(Scope::all(), "9".into(), Vec::new()).with_undecodable(undecodable)
        };
        objects.add(curious(Some("a/x")));
        objects.add(curious(Some("a/x")));
        objects.remove(&"a/x".parse().unwrap());
        objects.replace(&list(vec![curious(Some("a/y")), curious(Some("a/y")), curious(None)]));
        objects.replace(&list(Vec::new()));
        assert_eq!(*seen.lock(), [Some(1), Some(0), Some(2), Some(0), Some(0)]);
    }
}
