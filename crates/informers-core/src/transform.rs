//! Changing objects before they are kept.

use std::fmt;
use std::sync::Arc;

use crate::{Entry, ObjectKey};

/// Changes each object once, after it was decoded and before it is kept: mostly to drop what nobody reads.
///
/// It takes the place of client-go's `TransformFunc`. Key, uid and version do not change. Objects come here
/// unshared, so changing them in place copies nothing.
///
/// ```
/// use informers_core::{Entry, ObjectKey, Transform};
///
/// let shorten = Transform::new(|name: &mut String| {
///     name.truncate(3);
///     Ok::<_, std::convert::Infallible>(())
/// });
/// let entry = Entry::keyed(ObjectKey::cluster("a"), "abcdef".to_owned());
/// assert_eq!(shorten.apply(entry).unwrap().object(), "abc");
/// ```
pub struct Transform<T>(Arc<Change<T>>);

type Change<T> = dyn Fn(Entry<T>) -> Result<Entry<T>, TransformError> + Send + Sync;

impl<T: Clone + 'static> Transform<T> {
    /// A transform that changes objects in place, or says why it cannot.
    pub fn new<E: std::error::Error + Send + Sync + 'static>(
        change: impl Fn(&mut T) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |mut entry| match change(entry.make_mut()) {
            Ok(()) => Ok(entry),
            Err(error) => Err(TransformError { key: entry.key().clone(), source: Arc::new(error) }),
        }))
    }
}

impl<T: Clone + 'static> Transform<T> {
    /// A transform that changes objects in place and cannot fail.
    ///
    /// ```
    /// # use informers_core::{Entry, ObjectKey, Transform};
    /// let forget = Transform::infallible(|secret: &mut String| secret.clear());
    /// let entry = Entry::keyed(ObjectKey::cluster("a"), "hunter2".to_owned());
    /// assert_eq!(forget.apply(entry).unwrap().object(), "");
    /// ```
    pub fn infallible(change: impl Fn(&mut T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |mut entry| {
            change(entry.make_mut());
            Ok(entry)
        }))
    }
}

impl<T> Transform<T> {
    /// Changes one object.
    ///
    /// # Errors
    /// If the function failed; the object is then not kept, and its failure is reported.
    pub fn apply(&self, entry: Entry<T>) -> Result<Entry<T>, TransformError> {
        (self.0)(entry)
    }
}

impl<T> Clone for Transform<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Transform<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transform")
    }
}

/// An object that a transform could not change.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot transform {key}")]
pub struct TransformError {
    key: ObjectKey,
    source: Arc<dyn std::error::Error + Send + Sync>,
}

impl TransformError {
    /// The object's key.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }
}
