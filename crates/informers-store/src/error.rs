//! What can go wrong in a store.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use informers_core::{ObjectKey, ResourceVersion};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a store, or one of the stores beside it, refused a call.
///
/// ```
/// use informers_store::{Error, StoreWriter};
///
/// let store = StoreWriter::<()>::new().reader();
/// let error = store.by_index("app", "web").unwrap_err();
/// assert_eq!(error.to_string(), "there is no index \"app\"; indexes: none");
/// assert!(matches!(error, Error::NoSuchIndex { .. }));
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A look-up named an index that the store does not have.
    #[error("there is no index {name:?}; indexes: {}", list(.existing))]
    NoSuchIndex {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        existing: Vec<String>,
    },
    /// A look-up by text named an index whose values are of another type; use its typed handle.
    #[error("the values of index {name:?} are not strings; use the handle that its definition gave")]
    NotStrings {
        /// The name of the index.
        name: String,
    },
    /// An index function failed for the object of a look-up.
    #[error("cannot compute the index values of the given object")]
    Index(#[source] IndexError),
    /// A new index has the name of another one.
    #[error(transparent)]
    Conflict(#[from] IndexConflict),
    /// A transform failed; nothing was stored.
    #[error("cannot store {key}")]
    Transform {
        /// The object.
        key: ObjectKey,
        /// Why.
        #[source]
        source: informers_core::TransformError,
    },
    /// A version that cannot be compared, where an overlay has to decide which object is newer.
    #[error(
        "cannot tell whether {key} in version {version:?} is newer than what is known: versions are not comparable"
    )]
    Incomparable {
        /// The object.
        key: ObjectKey,
        /// Its version.
        version: ResourceVersion,
    },
    /// Something was added to a heap that was closed.
    #[error("heap is closed")]
    HeapClosed,
    /// The heap has no such object.
    #[error("object {key} not found in the heap")]
    NotInHeap {
        /// The key that was asked for.
        key: ObjectKey,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// A name that an index of the store already has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is already an index named {name:?}; choose another name, or define it without one")]
pub struct IndexConflict {
    pub(crate) name: String,
}

impl IndexConflict {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// An object that is not indexed in one index, since the index function failed. The object itself is stored.
///
/// ```
/// use informers_core::{Entry, ObjectKey};
/// use informers_store::StoreWriter;
///
/// let mut writer = StoreWriter::new();
/// let parse = |text: &Entry<&'static str>| text.parse::<u32>().map(Some);
/// let (numbers, pending) = writer.reader().define_index(Some("number"), parse).unwrap();
/// assert!(writer.install(pending).is_ok());
/// writer.insert(Entry::keyed(ObjectKey::cluster("a"), "seven"));
///
/// let report = writer.index_errors();
/// assert_eq!(report.total, 1);
/// assert_eq!(report.recent[0].to_string(), "index \"number\" leaves out a: its function failed");
/// assert!(writer.reader().contains("a") && numbers.values().is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct IndexError {
    key: ObjectKey,
    index: Option<Arc<str>>,
    fault: IndexFault,
}

impl IndexError {
    pub(crate) fn new(key: &ObjectKey, index: Option<&Arc<str>>, fault: IndexFault) -> Self {
        Self { key: key.clone(), index: index.cloned(), fault }
    }

    /// The object.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The name of the index, if it has one.
    #[must_use]
    pub fn index(&self) -> Option<&str> {
        self.index.as_deref()
    }

    /// Whether the function, or the `Hash` or `Eq` of a value that it gave, panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self.fault, IndexFault::Panicked { .. })
    }
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.index {
            Some(name) => write!(f, "index {name:?} leaves out {}: ", self.key)?,
            None => write!(f, "an index leaves out {}: ", self.key)?,
        }
        match &self.fault {
            IndexFault::Failed(_) => f.write_str("its function failed"),
            IndexFault::Panicked { what, text } => write!(f, "{what} panicked: {text}"),
        }
    }
}

impl std::error::Error for IndexError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            IndexFault::Failed(error) => Some(&**error),
            IndexFault::Panicked { .. } => None,
        }
    }
}

/// How an index function failed.
#[derive(Clone, Debug)]
pub(crate) enum IndexFault {
    Failed(Arc<dyn std::error::Error + Send + Sync>),
    Panicked { what: &'static str, text: Arc<str> },
}

impl IndexFault {
    pub(crate) fn failed(error: BoxError) -> Self {
        Self::Failed(error.into())
    }

    /// `what` is the user's code that panicked.
    pub(crate) fn panicked(what: &'static str, payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self::Panicked { what, text: text.unwrap_or("no message").into() }
    }
}

/// What index functions failed to do: the latest failures, and how many there were.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct IndexErrors {
    /// At most the last 100, oldest first.
    pub recent: Vec<IndexError>,
    /// All since the store was made.
    pub total: u64,
}

impl IndexErrors {
    const KEPT: usize = 100;

    pub(crate) fn extend(&mut self, errors: Vec<IndexError>) {
        self.total += errors.len() as u64;
        self.recent.extend(errors);
        let surplus = self.recent.len().saturating_sub(Self::KEPT);
        self.recent.drain(..surplus);
    }
}

/// An index that was given up before it was filled; look-ups go on scanning the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the index was dropped before it was filled; its look-ups scan the store")]
pub struct NeverFilled;
