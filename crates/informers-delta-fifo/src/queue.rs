//! A queue between tasks: how it is made, and the producers' handle.

use std::fmt;
use std::sync::Arc;

use informers_core::{Scope, SinkError};

use crate::consumer::Consumer;
use crate::delta::{Delta, ReplacedAll};
use crate::delta_fifo::DeltaFifo;
use crate::fifo::Fifo;
use crate::in_order::InOrderQueue;
use crate::machine::Machine;
use crate::options::QueueOptions;
use crate::shared::{Shared, Synced};
use crate::sink::QueueSink;

/// Puts an [`InOrderQueue`] between tasks: a handle for the producers' side, and the one consumer.
///
/// ```
/// use informers_core::{Change, Entry, ObjectKey, Sink};
/// use informers_delta_fifo::{Delta, InOrderQueue, QueueOptions, in_order_queue};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let (queue, mut consumer) = in_order_queue(InOrderQueue::atomic(), QueueOptions::default());
/// let mut sink = queue.sink();
/// sink.apply(Change::added(Entry::keyed(ObjectKey::cluster("a"), 1))).unwrap();
///
/// let batch = consumer.pop_batch().await.unwrap();
/// assert!(matches!(batch.deltas(), [Delta::Added(entry)] if **entry == 1));
/// batch.finish();
/// # }
/// ```
pub fn in_order_queue<T: Send + Sync>(
    machine: InOrderQueue<T>,
    options: QueueOptions<T>,
) -> (SharedQueue<T>, Consumer<T>) {
    connect(Machine::InOrder(machine), options)
}

/// Puts a [`DeltaFifo`] between tasks: a handle for the producers' side, and the one consumer. A batch holds
/// all deltas of one object.
///
/// ```
/// use informers_core::{Change, Entry, ObjectKey, Sink};
/// use informers_delta_fifo::{DeltaFifo, QueueOptions, delta_fifo};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let (queue, mut consumer) = delta_fifo(DeltaFifo::new(), QueueOptions::default());
/// let mut sink = queue.sink();
/// sink.apply(Change::added(Entry::keyed(ObjectKey::cluster("a"), 1))).unwrap();
/// sink.apply(Change::modified(Entry::keyed(ObjectKey::cluster("a"), 2))).unwrap();
/// assert_eq!(consumer.pop().await.unwrap().deltas().len(), 2);
/// # }
/// ```
pub fn delta_fifo<T: Send + Sync>(
    machine: DeltaFifo<T>,
    options: QueueOptions<T>,
) -> (SharedQueue<T>, Consumer<T>) {
    connect(Machine::DeltaFifo(machine), options)
}

/// Puts a [`Fifo`] between tasks: a handle for the producers' side, and the one consumer. A batch holds one object.
///
/// ```
/// use informers_core::{Change, Entry, ObjectKey, Sink};
/// use informers_delta_fifo::{Delta, Fifo, QueueOptions, fifo};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let (queue, mut consumer) = fifo(Fifo::new(), QueueOptions::default());
/// let mut sink = queue.sink();
/// sink.apply(Change::added(Entry::keyed(ObjectKey::cluster("a"), 1))).unwrap();
/// sink.apply(Change::modified(Entry::keyed(ObjectKey::cluster("a"), 2))).unwrap();
/// let batch = consumer.pop().await.unwrap();
/// assert!(matches!(batch.deltas(), [Delta::Updated(entry)] if **entry == 2));
/// # }
/// ```
pub fn fifo<T: Send + Sync>(machine: Fifo<T>, options: QueueOptions<T>) -> (SharedQueue<T>, Consumer<T>) {
    connect(Machine::Fifo(machine), options)
}

fn connect<T>(machine: Machine<T>, options: QueueOptions<T>) -> (SharedQueue<T>, Consumer<T>) {
    let retry_on_error = options.retry_on_error;
    let shared = Arc::new(Shared::new(machine, options));
    (SharedQueue { shared: Arc::clone(&shared) }, Consumer::new(shared, retry_on_error))
}

/// A handle to a queue: makes sinks for producers, tells how the queue is doing, closes it. Clones are the
/// same queue.
///
/// From [`in_order_queue`], [`delta_fifo`] and [`fifo`].
pub struct SharedQueue<T> {
    shared: Arc<Shared<T>>,
}

impl<T> SharedQueue<T> {
    /// A sink for one producer. Several may feed one queue.
    #[must_use]
    pub fn sink(&self) -> QueueSink<T> {
        QueueSink::new(Arc::clone(&self.shared))
    }

    /// The name from the options.
    #[must_use]
    pub fn name(&self) -> &str {
        self.shared.name()
    }

    /// Queues the end of `scope`: everything in it is to be deleted, with
    /// [`Deletion::ScopeRemoved`](informers_core::Deletion::ScopeRemoved), in its turn after what waits.
    ///
    /// # Errors
    /// If the queue is closed.
    pub fn remove_scope(&self, scope: &Scope) -> Result<(), SinkError> {
        self.shared.produce(|machine, left| machine.replace(ReplacedAll::removed(scope.clone()), left))
    }

    /// Puts what was taken from a [`DeltaFifo`] or a [`Fifo`], and taken out of its batch, at the end of the line again,
    /// unless the object is in line already; then what waits is newer, and this is dropped. Up to 0.32 client-go
    /// had it for consumers that try again later; for those that try again at once there is
    /// [`Batch::put_back`](crate::Batch::put_back).
    ///
    /// All of it has to be of one object, as what a [`DeltaFifo`] hands out is: deltas of several objects, or of none,
    /// a [`DeltaFifo`] drops without an error. A [`Fifo`] adds each object for itself.
    ///
    /// # Errors
    /// If the queue is closed, or has no place for each object.
    pub fn add_if_not_present(&self, deltas: Vec<Delta<T>>) -> Result<(), SinkError> {
        match self.shared.produce(|machine, left| machine.offer(deltas, left))? {
            Ok(()) => Ok(()),
            Err(_) => Err(SinkError::refused("an in-order queue has no place for each object")),
        }
    }

    /// Takes nothing any more; what waits is still handed out. All who wait are woken. Closing again does
    /// nothing.
    pub fn close(&self) {
        self.shared.close();
    }

    /// Whether [`close`](Self::close) was called, or the consumer is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Whether everything that belongs to the first population has been processed. Stays true.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.shared.has_synced()
    }

    /// Waits until the queue has synced.
    ///
    /// ```
    /// use informers_core::{Scope, Sink};
    /// use informers_delta_fifo::{InOrderQueue, QueueOptions, in_order_queue};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let (queue, mut consumer) = in_order_queue::<()>(InOrderQueue::atomic(), QueueOptions::default());
    /// queue.sink().begin(&Scope::all()).commit(&"1".into()).unwrap();
    /// consumer.pop_batch().await.unwrap().finish();
    /// queue.synced().await.unwrap();
    /// # }
    /// ```
    pub fn synced(&self) -> Synced<T> {
        Synced::new(Arc::clone(&self.shared))
    }

    /// How many deltas wait, or, in a [`DeltaFifo`] or a [`Fifo`], how many objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.look(Machine::len)
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.look(Machine::is_empty)
    }

    /// A copy of what waits, in the order in which it will be handed out. For looking at a queue that does
    /// not move on; it takes time and memory with the queue's length.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Delta<T>> {
        self.shared.look(Machine::snapshot)
    }
}

impl<T> Clone for SharedQueue<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> fmt::Debug for SharedQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedQueue").field("name", &self.name()).finish_non_exhaustive()
    }
}
