//! What handlers hear.

use std::fmt;

use crate::{Entry, ObjectKey};

/// One notification to a handler of an informer.
///
/// The three correspond to client-go's `OnAdd`, `OnUpdate` and `OnDelete`. Every event holds a good object;
/// a handler hears of a change only after the store shows it.
///
/// ```
/// use informers_core::{Deletion, Entry, Event, ObjectKey};
///
/// let last = Entry::keyed(ObjectKey::new("shop", "cart"), ());
/// let event = Event::Deleted { last, how: Deletion::Inferred };
/// assert_eq!(event.key(), &ObjectKey::new("shop", "cart"));
/// ```
#[allow(clippy::exhaustive_enums, reason = "handlers match on all of them; a new one is a breaking change")]
pub enum Event<T> {
    /// The object appeared.
    Added {
        /// The object.
        object: Entry<T>,
        /// Whether it belongs to the first contents that this handler is shown: the first list, or the
        /// replay for a handler that came later.
        initial: bool,
    },
    /// The object changed, or is shown again by a resync (then both are the same entry).
    Updated {
        /// What this handler was told last.
        old: Entry<T>,
        /// The object now.
        new: Entry<T>,
    },
    /// The object is gone. It is one type however the deletion became known, unlike client-go's
    /// `DeletedFinalStateUnknown`.
    Deleted {
        /// The last state that is known: of an observed deletion the final one, else the last one stored.
        last: Entry<T>,
        /// How the deletion became known.
        how: Deletion,
    },
}

/// How a deletion became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Deletion {
    /// The server said so, with the object's final state.
    Observed,
    /// A later list did not have the object; what happened between is not known.
    Inferred,
    /// The informer no longer looks at the part of the resource that the object is in.
    ScopeRemoved,
}

impl<T> Event<T> {
    /// The key of the object; for deletions too, which takes the place of client-go's
    /// `DeletionHandlingMetaNamespaceKeyFunc`.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        self.entry().key()
    }

    /// The newest state in the event: the object, the new one, or the last known.
    #[must_use]
    pub fn entry(&self) -> &Entry<T> {
        match self {
            Self::Added { object, .. } => object,
            Self::Updated { new, .. } => new,
            Self::Deleted { last, .. } => last,
        }
    }

    /// Whether this shows an unchanged object again, because the handler asked for resyncs.
    #[must_use]
    pub fn is_resync(&self) -> bool {
        matches!(self, Self::Updated { old, new } if old.ptr_eq(new))
    }
}

impl<T> Clone for Event<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, initial } => Self::Added { object: object.clone(), initial: *initial },
            Self::Updated { old, new } => Self::Updated { old: old.clone(), new: new.clone() },
            Self::Deleted { last, how } => Self::Deleted { last: last.clone(), how: *how },
        }
    }
}

impl<T> fmt::Debug for Event<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { object, initial } => {
                write!(f, "Added({object:?}{})", if *initial { ", initial" } else { "" })
            }
            Self::Updated { old, new } => write!(f, "Updated({old:?} -> {})", new.version()),
            Self::Deleted { last, how } => write!(f, "Deleted({last:?}, {how:?})"),
        }
    }
}

/// Receives the events of an informer, one at a time and in order.
///
/// The call runs on a task of the handler's own: it may take its time without holding up others, but it
/// must not block the thread for long. A panic is caught, reported and counted; delivery goes on.
///
/// ```
/// use informers_core::{Event, Handler};
///
/// #[derive(Default)]
/// struct Counter { added: usize }
///
/// impl<T> Handler<T> for Counter {
///     fn on_event(&mut self, event: Event<T>) {
///         if let Event::Added { .. } = event { self.added += 1 }
///     }
/// }
/// # use informers_core::{Entry, ObjectKey};
/// # let mut counter = Counter::default();
/// # counter.on_event(Event::Added { object: Entry::keyed(ObjectKey::cluster("a"), ()), initial: true });
/// # assert_eq!(counter.added, 1);
/// ```
pub trait Handler<T>: Send + 'static {
    /// Takes one event.
    fn on_event(&mut self, event: Event<T>);
}
