//! What the two ends of a queue share, and how they wait for each other.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use informers_core::wait::{Caller, Waiters, Wakes};
use informers_core::{KnownObjects, SinkError, Transform};

use crate::discarded::Discarded;
use crate::error::Closed;
use crate::lock::{AtomicBool, Mutex, Ordering};
use crate::machine::Machine;
use crate::options::QueueOptions;
use crate::parity::Parity;

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
struct State<T> {
    machine: Machine<T>,
    closed: bool,
    consumer_gone: bool,
    /// How many batches are in the consumer's hands.
    outstanding: usize,
    consumer: Option<Waker>,
    producers: Waiters,
    observers: Waiters,
}

impl<T> Shared<T> {
    pub(crate) fn new(machine: Machine<T>, options: QueueOptions<T>) -> Self {
        Self {
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
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Asks the machine, under the lock.
    pub(crate) fn look<R>(&self, ask: impl FnOnce(&Machine<T>) -> R) -> R {
        ask(&self.state.lock().machine)
    }

    pub(crate) fn has_synced(&self) -> bool {
        self.synced.load(Ordering::Acquire)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    pub(crate) fn close(&self) {
        self.update(|state, _| {
            state.closed = true;
            Wakes::from(state.consumer.take()).and(state.producers.take()).and(state.observers.take())
        });
    }

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

/// Resolves once the queue has synced; see [`SharedQueue::synced`](crate::SharedQueue::synced).
///
/// Fails with [`Closed`] if the queue is closed and has run empty, or lost its consumer, without ever
/// syncing. Cancel safe; any number may wait, each on a task of its own.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Synced<T> {
    shared: Arc<Shared<T>>,
    slot: Option<usize>,
}

impl<T> Synced<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>) -> Self {
        Self { shared, slot: None }
    }
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
