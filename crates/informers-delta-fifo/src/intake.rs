//! What happens to an object before it is queued.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hashbrown::HashMap;
use informers_core::{
    DecodeError, DecodeErrorKind, Entry, KnownObjects, ObjectKey, ResourceVersion, SinkError, Transform, Uid,
    Undecodable,
};

use crate::lock::Mutex;

/// One producer's side of a queue: looks up known entries and transforms fresh ones.
pub(crate) struct Intake<T> {
    known: Option<Arc<dyn KnownObjects<T>>>,
    transform: Option<Transform<T>>,
    /// Known entries that the producer asked for and has not offered yet. The store may have moved on when
    /// he does, and still they must not be transformed again.
    lent: Mutex<HashMap<ObjectKey, Entry<T>>>,
}

/// An object on which a transform failed: the refusal for the producer, and what is known for the consumer.
pub(crate) struct Untransformed {
    pub(crate) error: SinkError,
    pub(crate) undecodable: Undecodable,
}

impl<T> Intake<T> {
    pub(crate) fn new(known: Option<Arc<dyn KnownObjects<T>>>, transform: Option<Transform<T>>) -> Self {
        Self { known, transform, lent: Mutex::new(HashMap::new()) }
    }

    pub(crate) fn known(&self, key: &ObjectKey, uid: &Uid, version: &ResourceVersion) -> Option<Entry<T>> {
        let known = self.known.as_ref()?.get_known(key.as_str());
        let known = known.filter(|entry| entry.is_version(uid, version))?;
        if self.transform.is_some() {
            let former = self.lent.lock().insert(key.clone(), known.clone());
            drop(former);
        }
        Some(known)
    }

    /// Forgets what the producer asked for and did not use.
    pub(crate) fn settle(&self) {
        if self.transform.is_some() {
            let unused = std::mem::take(&mut *self.lent.lock());
            drop(unused);
        }
    }

    pub(crate) fn transforms(&self) -> bool {
        self.transform.is_some()
    }

    /// Transforms the entry unless it has been through that.
    pub(crate) fn admit(&self, entry: Entry<T>) -> Result<Entry<T>, Box<Untransformed>> {
        let Some(transform) = &self.transform else { return Ok(entry) };
        if self.is_known(&entry) {
            return Ok(entry);
        }
        let (key, uid, version) = (entry.key().clone(), entry.uid().clone(), entry.version().clone());
        let refusal = SinkError::refused("its transform failed").with_key(key.clone());
        let failure = DecodeError::new(DecodeErrorKind::Malformed);
        let (error, failure) = match catch_unwind(AssertUnwindSafe(|| transform.apply(entry))) {
            Ok(Ok(entry)) => return Ok(entry),
            Ok(Err(error)) => (refusal.with_source(error.clone()), failure.with_source(error)),
            Err(_) => (refusal.with_source(TransformPanicked), failure.with_source(TransformPanicked)),
        };
        let undecodable = Undecodable::new(failure).with_identity(key, uid, version);
        Err(Box::new(Untransformed { error, undecodable }))
    }

    fn is_known(&self, entry: &Entry<T>) -> bool {
        let lent = self.lent.lock().remove(entry.key());
        if lent.is_some_and(|lent| lent.ptr_eq(entry)) {
            return true;
        }
        let known = self.known.as_ref().and_then(|known| known.get_known(entry.key().as_str()));
        known.is_some_and(|known| known.ptr_eq(entry))
    }
}

/// A transform that did not return.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the transform panicked")]
struct TransformPanicked;
