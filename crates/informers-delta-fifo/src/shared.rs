//! A queue between tasks.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use informers_core::wait::{Caller, Waiters, Wakes};
use informers_core::{KnownObjects, Scope, SinkError, Transform};

use crate::consumer::Consumer;
use crate::delta::{Delta, ReplacedAll};
use crate::delta_fifo::DeltaFifo;
use crate::discarded::Discarded;
use crate::error::Closed;
use crate::fifo::Fifo;
use crate::in_order::InOrderQueue;
use crate::lock::{AtomicBool, Mutex, Ordering};
use crate::machine::Machine;
use crate::options::QueueOptions;
use crate::parity::Parity;
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
    let shared = Arc::new(Shared {
        name: options.name,
        known: options.known.or_else(|| machine.known().cloned()),
        transform: options.transform,
        soft_limit: options.soft_limit,
        parity: machine.parity(),
        takes_nameless: machine.takes_nameless(),
        streams_by_key: machine.takes_lists_apart() || machine.parity() != Parity::default(),
        synced: AtomicBool::new(machine.has_synced()),
        state: Mutex::new(State {
            machine,
            closed: false,
            consumer_gone: false,
            outstanding: 0,
            consumer: None,
            producers: Waiters::default(),
            observers: Waiters::default(),
        }),
    });
    (SharedQueue { shared: Arc::clone(&shared) }, Consumer::new(shared, options.retry_on_error))
}

/// A handle to a queue: makes sinks for producers, tells how the queue is doing, closes it. Clones are the
/// same queue.
///
/// From [`in_order_queue`], [`delta_fifo`] and [`fifo`].
pub struct SharedQueue<T> {
    shared: Arc<Shared<T>>,
}

/// What producers, consumer and observers share.
pub(crate) struct Shared<T> {
    name: Arc<str>,
    pub(crate) known: Option<Arc<dyn KnownObjects<T>>>,
    pub(crate) transform: Option<Transform<T>>,
    soft_limit: usize,
    pub(crate) parity: Parity,
    pub(crate) takes_nameless: bool,
    /// Whether a streaming list must not have an object twice, since nobody behind would notice.
    pub(crate) streams_by_key: bool,
    /// Follows the machine, so that asking takes no lock.
    synced: AtomicBool,
    state: Mutex<State<T>>,
}

/// What the lock guards. Wakers are taken out under it and woken after it, and what falls out is dropped after it.
pub(crate) struct State<T> {
    pub(crate) machine: Machine<T>,
    closed: bool,
    consumer_gone: bool,
    /// How many batches are in the consumer's hands.
    outstanding: usize,
    consumer: Option<Waker>,
    pub(crate) producers: Waiters,
    observers: Waiters,
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
        &self.shared.name
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
        self.shared.update(|state, _| {
            state.closed = true;
            Wakes::from(state.consumer.take()).and(state.producers.take()).and(state.observers.take())
        });
    }

    /// Whether [`close`](Self::close) was called, or the consumer is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.state.lock().closed
    }

    /// Whether everything that belongs to the first population has been processed. Stays true.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.shared.synced.load(Ordering::Acquire)
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
        Synced { shared: Arc::clone(&self.shared), slot: None }
    }

    /// How many deltas wait, or, in a [`DeltaFifo`] or a [`Fifo`], how many objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.state.lock().machine.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.state.lock().machine.is_empty()
    }

    /// A copy of what waits, in the order in which it will be handed out. For looking at a queue that does
    /// not move on; it takes time and memory with the queue's length.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Delta<T>> {
        self.shared.state.lock().machine.snapshot()
    }
}

impl<T> Shared<T> {
    /// Changes the state, then wakes whom the change concerns and drops what it leaves.
    fn update(&self, change: impl FnOnce(&mut State<T>, &mut Discarded<T>) -> Wakes) {
        let mut left = Discarded::default();
        let wakes = {
            let mut state = self.state.lock();
            change(&mut state, &mut left).and(self.publish_synced(&mut state))
        };
        wakes.wake();
    }

    /// A producer's change: refused if the queue is closed. Wakes the consumer if something waits then, and other
    /// producers if there is room, since what one of them tells may also shorten the queue.
    pub(crate) fn produce<R>(
        &self,
        change: impl FnOnce(&mut Machine<T>, &mut Discarded<T>) -> R,
    ) -> Result<R, SinkError> {
        let mut left = Discarded::default();
        let (result, wakes) = {
            let mut state = self.state.lock();
            if state.consumer_gone || state.closed && !self.parity.accept_after_close {
                return Err(SinkError::closed());
            }
            let result = change(&mut state.machine, &mut left);
            let wakes = state.ready_consumer().and(self.ready_producers(&mut state));
            (result, wakes.and(self.publish_synced(&mut state)))
        };
        wakes.wake();
        Ok(result)
    }

    /// Takes from the queue for the consumer, or registers its waker.
    pub(crate) fn poll_take<R>(
        &self,
        cx: &mut Context<'_>,
        mut take: impl FnMut(&mut Machine<T>) -> Option<R>,
    ) -> Poll<Result<R, Closed>> {
        Caller::poll(cx, |caller| {
            let (taken, wakes, _unused) = {
                let mut state = self.state.lock();
                let Some(taken) = take(&mut state.machine) else {
                    if state.closed {
                        return Some(Poll::Ready(Err(Closed)));
                    }
                    let former = caller.wait_in(&mut state.consumer)?;
                    drop(state);
                    drop(former);
                    return Some(Poll::Pending);
                };
                state.outstanding += 1;
                let unused = state.consumer.take();
                let wakes = self.ready_producers(&mut state).and(self.publish_synced(&mut state));
                (taken, wakes, unused)
            };
            wakes.wake();
            Some(Poll::Ready(Ok(taken)))
        })
    }

    /// What is told of a batch that was taken, by whichever task has it.
    pub(crate) fn settle(&self, change: impl FnOnce(&mut Machine<T>, &mut Discarded<T>)) {
        self.update(|state, left| {
            change(&mut state.machine, left);
            state.outstanding = state.outstanding.saturating_sub(1);
            if state.consumer_gone {
                // Nobody would take what was put back.
                state.machine.discard(left);
            }
            // Whoever waits for a closed queue to sync learns here that it never will.
            let observers = if state.is_over() { state.observers.take() } else { Wakes::none() };
            state.ready_consumer().and(observers)
        });
    }

    /// Nobody will take anything any more.
    pub(crate) fn abandon(&self) {
        self.update(|state, left| {
            state.closed = true;
            state.consumer_gone = true;
            state.machine.discard(left);
            state.producers.take().and(state.observers.take())
        });
    }

    pub(crate) fn join(&self) -> usize {
        self.state.lock().producers.join()
    }

    pub(crate) fn leave(&self, slot: usize) {
        let former = self.state.lock().producers.leave(slot);
        drop(former);
    }

    /// Whether producers may go on; else this one is woken when they may.
    pub(crate) fn poll_ready(&self, slot: usize, cx: &mut Context<'_>) -> Poll<()> {
        Caller::poll(cx, |caller| {
            let mut state = self.state.lock();
            if state.closed || state.machine.len() < self.soft_limit {
                return Some(Poll::Ready(()));
            }
            let unused = caller.wait_among(&mut state.producers, slot)?;
            drop(state);
            drop(unused);
            Some(Poll::Pending)
        })
    }

    fn ready_producers(&self, state: &mut State<T>) -> Wakes {
        if state.machine.len() < self.soft_limit { state.producers.take() } else { Wakes::none() }
    }

    /// Shows the latch to those who ask without the lock; gives those who wait for it.
    fn publish_synced(&self, state: &mut State<T>) -> Wakes {
        if state.machine.has_synced() && !self.synced.swap(true, Ordering::AcqRel) {
            state.observers.take()
        } else {
            Wakes::none()
        }
    }
}

impl<T> State<T> {
    /// Nothing waits, nothing is being processed, and nothing will come.
    fn is_over(&self) -> bool {
        self.closed && self.outstanding == 0 && self.machine.is_empty()
    }

    /// The consumer, if it waits and there is something to take.
    fn ready_consumer(&mut self) -> Wakes {
        if self.machine.is_empty() { Wakes::none() } else { self.consumer.take().into() }
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

/// Resolves once the queue has synced; see [`SharedQueue::synced`].
///
/// Fails with [`Closed`] if the queue is closed and has run empty, or lost its consumer, without ever
/// syncing. Cancel safe; any number may wait, each on a task of its own.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Synced<T> {
    shared: Arc<Shared<T>>,
    slot: Option<usize>,
}

impl<T> Future for Synced<T> {
    type Output = Result<(), Closed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let shared = Arc::clone(&self.shared);
        Caller::poll(cx, |caller| {
            let mut state = shared.state.lock();
            if state.machine.has_synced() {
                return Some(Poll::Ready(Ok(())));
            }
            if state.is_over() {
                return Some(Poll::Ready(Err(Closed)));
            }
            let slot = *self.slot.get_or_insert_with(|| state.observers.join());
            let unused = caller.wait_among(&mut state.observers, slot)?;
            drop(state);
            drop(unused);
            Some(Poll::Pending)
        })
    }
}

impl<T> Drop for Synced<T> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            let former = self.shared.state.lock().observers.leave(slot);
            drop(former);
        }
    }
}

impl<T> fmt::Debug for Synced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Synced").field("queue", &self.shared.name).finish_non_exhaustive()
    }
}
