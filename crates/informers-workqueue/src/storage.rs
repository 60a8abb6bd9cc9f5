//! The order in which keys are handed out.

use std::collections::VecDeque;
use std::fmt;

/// Stands for one queued key inside a [`Storage`]: small, `Copy`, and unique among the keys that are queued.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Ticket(pub(crate) usize);

/// The order in which queued keys are handed out; client-go's `workqueue.Queue`.
///
/// The queue itself deduplicates. A storage only orders the tickets of keys that are ready to be taken; it may copy
/// the keys if the order depends on them. Every ticket pushed must be popped exactly once, sooner or later; tickets
/// that were not pushed are ignored. All methods run under the queue's lock: they must be quick and must not call
/// the queue.
///
/// ```
/// use informers_workqueue::{Storage, Ticket, WorkQueue};
///
/// /// Hands out the key that was added last.
/// #[derive(Debug, Default)]
/// struct Stack(Vec<Ticket>);
///
/// impl<T> Storage<T> for Stack {
///     fn push(&mut self, ticket: Ticket, _key: &T) {
///         self.0.push(ticket);
///     }
///     fn len(&self) -> usize {
///         self.0.len()
///     }
///     fn pop(&mut self) -> Option<Ticket> {
///         self.0.pop()
///     }
/// }
///
/// # tokio_test::block_on(async {
/// let queue = WorkQueue::builder().storage(Stack::default()).build();
/// queue.add("first")?;
/// queue.add("second")?;
/// assert_eq!(*queue.get().await.unwrap(), "second");
/// # Ok::<(), informers_workqueue::Error<&str>>(()) }).unwrap();
/// ```
pub trait Storage<T> {
    /// A key that is queued already was added again. Does nothing by default; a storage with priorities may move it.
    fn touch(&mut self, ticket: Ticket, key: &T) {
        let _ = (ticket, key);
    }

    /// Takes in a key that is not queued.
    fn push(&mut self, ticket: Ticket, key: &T);

    /// How many tickets are held.
    fn len(&self) -> usize;

    /// Whether no ticket is held.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives out the next ticket, `None` if none is held.
    fn pop(&mut self) -> Option<Ticket>;
}

/// First in, first out: the default storage, as in client-go.
///
/// ```
/// use informers_workqueue::{Fifo, Storage, machine::Machine};
///
/// let fifo = Fifo::default();
/// assert!(Storage::<&str>::is_empty(&fifo));
/// let machine = Machine::<&str>::default(); // a machine over a Fifo
/// # drop(machine);
/// ```
#[derive(Debug, Default)]
pub struct Fifo(VecDeque<Ticket>);

impl<T> Storage<T> for Fifo {
    fn push(&mut self, ticket: Ticket, _key: &T) {
        self.0.push_back(ticket);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn pop(&mut self) -> Option<Ticket> {
        self.0.pop_front()
    }
}

/// The driver's storage: the default one is reached without a virtual call.
pub(crate) enum AnyStorage<T> {
    Fifo(Fifo),
    Custom(Box<dyn Storage<T> + Send>),
}

impl<T> Storage<T> for AnyStorage<T> {
    fn touch(&mut self, ticket: Ticket, key: &T) {
        if let Self::Custom(storage) = self {
            storage.touch(ticket, key);
        }
    }

    fn push(&mut self, ticket: Ticket, key: &T) {
        match self {
            Self::Fifo(fifo) => fifo.push(ticket, key),
            Self::Custom(storage) => storage.push(ticket, key),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Fifo(fifo) => Storage::<T>::len(fifo),
            Self::Custom(storage) => storage.len(),
        }
    }

    fn pop(&mut self) -> Option<Ticket> {
        match self {
            Self::Fifo(fifo) => Storage::<T>::pop(fifo),
            Self::Custom(storage) => storage.pop(),
        }
    }
}

impl<T> fmt::Debug for AnyStorage<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fifo(fifo) => fifo.fmt(f),
            Self::Custom(storage) => {
                f.debug_struct("Custom").field("len", &storage.len()).finish_non_exhaustive()
            }
        }
    }
}
