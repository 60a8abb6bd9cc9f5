//! From the pipeline to one handler.

mod guard;
mod runner;
mod subscription;
#[cfg(test)]
mod tests;

pub use guard::HandlerGuard;
pub(crate) use runner::Runner;
pub use subscription::Subscription;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use informers_core::wait::{Caller, Latch, Wakes};
use informers_core::{Event, Handler};

use crate::backlog::{Backlog, is_initial};
use crate::lock::Mutex;
use crate::{BacklogPolicy, SyncState};

/// Which handler of an informer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct HandlerId(pub(crate) u64);

/// What the pipeline, the task that calls the handler, and the user's guard share.
///
/// The pipeline only ever appends, under a short lock; so a slow handler holds up nobody else.
#[derive(Debug)]
pub(crate) struct Delivery<T> {
    id: HandlerId,
    name: String,
    resync: Option<Duration>,
    state: Mutex<State<T>>,
    synced: Arc<Latch<SyncState>>,
    finished: Latch<()>,
    /// The task that calls the handler, once it runs.
    task: OnceLock<tokio::task::Id>,
    panics: AtomicU64,
    delivered: AtomicUsize,
}

#[derive(Debug)]
struct State<T> {
    backlog: Backlog<T>,
    phase: Phase,
    /// The one task that takes events, while it waits for one.
    consumer: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// What waits is still delivered, nothing is added.
    Draining,
    /// No call begins any more.
    Removed,
}

impl<T> Delivery<T> {
    pub(crate) fn new(
        id: HandlerId,
        name: String,
        resync: Option<Duration>,
        policy: BacklogPolicy,
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            name,
            resync,
            state: Mutex::new(State { backlog: Backlog::new(policy), phase: Phase::Open, consumer: None }),
            synced: Arc::default(),
            finished: Latch::new(),
            task: OnceLock::new(),
            panics: AtomicU64::new(0),
            delivered: AtomicUsize::new(0),
        })
    }

    pub(crate) fn id(&self) -> HandlerId {
        self.id
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn resync(&self) -> Option<Duration> {
        self.resync
    }

    /// Appends events, `count` of them, for which room is made at once; after removal they vanish.
    pub(crate) fn deliver(
        &self,
        count: usize,
        events: impl IntoIterator<Item = Event<T>>,
        now: Instant,
    ) -> Delivered {
        // Merging and dropping events drops objects, which is the user's code: not under the lock.
        let mut left = Vec::new();
        let mut state = self.state.lock();
        if state.phase != Phase::Open {
            return Delivered { waiting: 0, dropped: 0 };
        }
        let dropped_before = state.backlog.dropped();
        state.backlog.reserve(count);
        for event in events {
            state.backlog.push(event, now, &mut left);
        }
        let delivered =
            Delivered { waiting: state.backlog.len(), dropped: state.backlog.dropped() - dropped_before };
        let (synced, consumer) = (state.backlog.is_synced(), Wakes::from(state.consumer.take()));
        drop(state);
        self.note_sync(synced);
        consumer.wake();
        drop(left);
        if dropped_before == 0 && delivered.dropped > 0 {
            tracing::warn!(handler = %self.name, "the backlog of a handler is full; events are dropped, as was chosen");
        }
        delivered
    }

    /// Notes that all objects of the initial set have been delivered.
    pub(crate) fn complete_initial(&self) {
        let synced = {
            let mut state = self.state.lock();
            state.backlog.complete_initial();
            state.backlog.is_synced()
        };
        self.note_sync(synced);
    }

    /// Not under the lock, since it wakes tasks.
    fn note_sync(&self, synced: bool) {
        if synced {
            self.synced.settle(SyncState::Synced);
        }
    }

    /// Takes the next event, or learns that there will be none. One task at a time.
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Event<T>>> {
        Caller::poll(cx, |caller| {
            let mut state = self.state.lock();
            let (next, former) = match state.phase {
                Phase::Removed => (Poll::Ready(None), state.consumer.take()),
                phase @ (Phase::Open | Phase::Draining) => match state.backlog.pop() {
                    Some(event) => {
                        self.delivered.fetch_add(1, Ordering::Relaxed);
                        (Poll::Ready(Some(event)), state.consumer.take())
                    }
                    None if phase == Phase::Draining => (Poll::Ready(None), state.consumer.take()),
                    None => (Poll::Pending, caller.wait_in(&mut state.consumer)?),
                },
            };
            drop(state);
            drop(former);
            Some(next)
        })
    }

    /// Notes that the handler has returned from an event.
    pub(crate) fn returned_from(&self, event_was_initial: bool) {
        if event_was_initial {
            let synced = {
                let mut state = self.state.lock();
                state.backlog.returned_from_initial();
                state.backlog.is_synced()
            };
            self.note_sync(synced);
        }
    }

    /// The user takes the handler away: from now on no call begins. What waits is dropped.
    pub(crate) fn remove(&self) {
        self.cut_off(SyncState::Removed);
    }

    /// The informer stops at once: as after a removal no call begins, and what waits is dropped.
    pub(crate) fn stop(&self) {
        self.cut_off(SyncState::Stopped);
    }

    fn cut_off(&self, why: SyncState) {
        let mut state = self.state.lock();
        state.phase = Phase::Removed;
        let (dropped, consumer) = (state.backlog.clear(), Wakes::from(state.consumer.take()));
        drop(state);
        self.end_sync(why);
        consumer.wake();
        drop(dropped);
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.state.lock().phase == Phase::Removed
    }

    /// Delivers what waits, then ends.
    pub(crate) fn drain(&self) {
        let mut state = self.state.lock();
        if state.phase == Phase::Open {
            state.phase = Phase::Draining;
        }
        let consumer = Wakes::from(state.consumer.take());
        drop(state);
        consumer.wake();
    }

    /// Whoever waits for sync learns that it will not come.
    fn end_sync(&self, why: SyncState) {
        self.synced.settle(why);
    }

    /// Notes that calls will be made by the current task.
    pub(crate) fn begin(&self) {
        // A delivery is run once.
        let _ = self.task.set(tokio::task::id());
    }

    /// Whether this is asked from inside a call.
    pub(crate) fn is_inside(&self) -> bool {
        tokio::task::try_id().is_some_and(|id| self.task.get() == Some(&id))
    }

    /// Notes that no call is running and none will begin.
    pub(crate) fn finish(&self) {
        self.end_sync(SyncState::Stopped);
        self.finished.settle(());
    }

    pub(crate) async fn finished(&self) {
        self.finished.settled().await;
    }

    pub(crate) fn sync_state(&self) -> Arc<Latch<SyncState>> {
        Arc::clone(&self.synced)
    }

    pub(crate) fn count_panic(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn status(&self, now: Instant) -> HandlerStatus {
        let state = self.state.lock();
        HandlerStatus {
            name: self.name.clone(),
            resync: self.resync,
            synced: self.synced.outcome() == Some(SyncState::Synced),
            waiting: state.backlog.len(),
            waiting_for: state.backlog.oldest().map(|since| now.saturating_duration_since(since)),
            delivered: self.delivered.load(Ordering::Relaxed),
            panics: self.panics.load(Ordering::Relaxed),
            dropped: state.backlog.dropped(),
        }
    }
}

/// Nobody takes events any more, and nobody can say so later.
impl<T> Drop for Delivery<T> {
    fn drop(&mut self) {
        self.synced.settle(SyncState::Stopped);
    }
}

/// What became of a hand-off.
pub(crate) struct Delivered {
    /// How many events wait now.
    pub(crate) waiting: usize,
    /// How many of these did not fit.
    pub(crate) dropped: u64,
}

/// How one handler is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandlerStatus {
    /// The handler's name; where it was added, unless it was given one.
    pub name: String,
    /// How often it is shown everything again.
    pub resync: Option<Duration>,
    /// Whether it has returned from every object of its initial set.
    pub synced: bool,
    /// How many events wait for it.
    pub waiting: usize,
    /// For how long the one that waits longest has waited.
    pub waiting_for: Option<Duration>,
    /// How many events it was given.
    pub delivered: usize,
    /// How many of its calls panicked.
    pub panics: u64,
    /// How many events were dropped since its backlog was full; only with
    /// [`BacklogPolicy::Dropping`](crate::BacklogPolicy::Dropping).
    pub dropped: u64,
}

/// Whether the event counts towards the handler's initial set; to be asked before it is handed over.
pub(crate) fn counts_as_initial<T>(event: &Event<T>) -> bool {
    is_initial(event)
}

/// A closure as a handler. A blanket impl would leave callers to spell out the closure's argument.
pub(crate) struct Closure<F>(pub(crate) F);

impl<T, F: FnMut(Event<T>) + Send + 'static> Handler<T> for Closure<F> {
    fn on_event(&mut self, event: Event<T>) {
        (self.0)(event);
    }
}
