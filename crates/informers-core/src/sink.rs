//! Where a reflector puts what it reads.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::{Change, Entry, ObjectKey, ResourceVersion, Scope, Uid};

/// What a reflector keeps equal to a collection: a store, a queue, or a type of the user's.
///
/// Every call returns at once. The only backpressure is [`poll_ready`](Self::poll_ready), which is asked
/// between batches. A refused call is reported and counted by the reflector, which then goes on.
///
/// ```
/// use std::collections::BTreeMap;
/// use informers_core::*;
///
/// /// Keeps the versions of all objects.
/// #[derive(Default)]
/// struct Versions(BTreeMap<ObjectKey, ResourceVersion>);
///
/// impl<T: Send + Sync> Sink<T> for Versions {
///     fn apply(&mut self, change: Change<T>) -> Result<(), SinkError> {
///         let Some(key) = change.item.key() else { return Ok(()) };
///         match change.kind {
///             ChangeKind::Deleted => self.0.remove(key),
///             _ => self.0.insert(key.clone(), change.item.version().clone()),
///         };
///         Ok(())
///     }
///     fn begin(&mut self, _: &Scope) -> Box<dyn Stage<T> + '_> {
///         Box::new(Replacement { target: self, staged: Versions::default() })
///     }
/// }
///
/// struct Replacement<'a> { target: &'a mut Versions, staged: Versions }
///
/// impl<T: Send + Sync> Stage<T> for Replacement<'_> {
///     fn offer(&mut self, change: Change<T>) -> Result<(), SinkError> { self.staged.apply(change) }
///     fn commit(self: Box<Self>, _: &ResourceVersion) -> Result<(), SinkError> {
///         *self.target = self.staged;
///         Ok(())
///     }
/// }
///
/// let mut versions = Versions::default();
/// versions.apply(Change::added(Entry::new(ObjectKey::cluster("old"), "u".into(), "1".into(), ()))).unwrap();
/// let mut stage: Box<dyn Stage<()>> = versions.begin(&Scope::all());
/// stage.offer(Change::added(Entry::new(ObjectKey::cluster("new"), "v".into(), "2".into(), ()))).unwrap();
/// stage.commit(&"2".into()).unwrap();
/// assert_eq!(versions.0, BTreeMap::from([(ObjectKey::cluster("new"), "2".into())]));
/// ```
pub trait Sink<T>: Send {
    /// Takes one change of one object.
    ///
    /// # Errors
    /// If the sink refuses the change; nothing of it is kept.
    fn apply(&mut self, change: Change<T>) -> Result<(), SinkError>;

    /// Begins to replace everything in `scope`: what is offered to the stage takes its place when the stage
    /// is committed, all at once. Dropping the stage leaves everything as it was. Objects outside the scope
    /// are not touched, so several reflectors can feed one sink.
    fn begin(&mut self, scope: &Scope) -> Box<dyn Stage<T> + '_>;

    /// The same for a streaming list, for sinks that make a difference, as client-go's do. By default it is
    /// [`begin`](Self::begin).
    fn begin_streaming(&mut self, scope: &Scope) -> Box<dyn Stage<T> + '_> {
        self.begin(scope)
    }

    /// Shows every object again to those who asked for resyncs.
    ///
    /// # Errors
    /// If the sink refuses; client-go's reflector then lists again.
    fn resync(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    /// Notes that the collection is known up to `version`.
    ///
    /// # Errors
    /// If the sink refuses.
    fn bookmark(&mut self, version: &ResourceVersion) -> Result<(), SinkError> {
        let _ = version;
        Ok(())
    }

    /// The entry of exactly this incarnation and version, if the sink holds it. The reflector then hands in
    /// that entry instead of its fresh copy, which it drops at once.
    fn known(&self, key: &ObjectKey, uid: &Uid, version: &ResourceVersion) -> Option<Entry<T>> {
        let _ = (key, uid, version);
        None
    }

    /// Ready when the sink wants more. Asked between batches; a batch that has begun is always taken.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _ = cx;
        Poll::Ready(())
    }
}

/// A replacement in the making; see [`Sink::begin`].
pub trait Stage<T>: Send {
    /// Takes one object of the new state. In a list every change is an addition; a streaming list may also
    /// change or take back what it offered before.
    ///
    /// # Errors
    /// If the sink refuses the object.
    fn offer(&mut self, change: Change<T>) -> Result<(), SinkError>;

    /// Puts the new state, known as `version`, in the place of the old one, all at once.
    ///
    /// # Errors
    /// If the sink refuses; then the old state stays.
    fn commit(self: Box<Self>, version: &ResourceVersion) -> Result<(), SinkError>;

    /// As [`Sink::known`].
    fn known(&self, key: &ObjectKey, uid: &Uid, version: &ResourceVersion) -> Option<Entry<T>> {
        let _ = (key, uid, version);
        None
    }

    /// As [`Sink::poll_ready`].
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _ = cx;
        Poll::Ready(())
    }
}

impl<T, S: Sink<T> + ?Sized> Sink<T> for Box<S> {
    fn apply(&mut self, change: Change<T>) -> Result<(), SinkError> {
        (**self).apply(change)
    }

    fn begin(&mut self, scope: &Scope) -> Box<dyn Stage<T> + '_> {
        (**self).begin(scope)
    }

    fn begin_streaming(&mut self, scope: &Scope) -> Box<dyn Stage<T> + '_> {
        (**self).begin_streaming(scope)
    }

    fn resync(&mut self) -> Result<(), SinkError> {
        (**self).resync()
    }

    fn bookmark(&mut self, version: &ResourceVersion) -> Result<(), SinkError> {
        (**self).bookmark(version)
    }

    fn known(&self, key: &ObjectKey, uid: &Uid, version: &ResourceVersion) -> Option<Entry<T>> {
        (**self).known(key, uid, version)
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        (**self).poll_ready(cx)
    }
}

/// Why a sink refused a call.
///
/// ```
/// use informers_core::{ObjectKey, SinkError};
///
/// let error = SinkError::refused("the quota is used up").with_key(ObjectKey::new("shop", "cart"));
/// assert_eq!(error.to_string(), "shop/cart was refused: the quota is used up");
/// assert!(!error.is_closed());
/// ```
#[derive(Clone, Debug)]
pub struct SinkError {
    key: Option<ObjectKey>,
    reason: Reason,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

#[derive(Clone, Debug)]
enum Reason {
    Closed,
    Refused(String),
}

impl SinkError {
    /// The sink takes nothing any more; the reflector stops.
    #[must_use]
    pub fn closed() -> Self {
        Self { key: None, reason: Reason::Closed, source: None }
    }

    /// The sink did not take this call, for this reason.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self { key: None, reason: Reason::Refused(reason.into()), source: None }
    }

    /// Says which object was refused.
    #[must_use]
    pub fn with_key(mut self, key: ObjectKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Says what caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// The object that was refused, if it was about one.
    #[must_use]
    pub fn key(&self) -> Option<&ObjectKey> {
        self.key.as_ref()
    }

    /// Whether the sink takes nothing any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.reason, Reason::Closed)
    }
}

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.key, &self.reason) {
            (Some(key), Reason::Refused(reason)) => write!(f, "{key} was refused: {reason}"),
            (None, Reason::Refused(reason)) => write!(f, "refused: {reason}"),
            (_, Reason::Closed) => f.write_str("the sink is closed"),
        }
    }
}

impl std::error::Error for SinkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
