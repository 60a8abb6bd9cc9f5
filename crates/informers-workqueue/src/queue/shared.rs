//! What all handles of a queue share.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use hashbrown::DefaultHashBuilder;

use super::sync::{Mutex, MutexGuard};
use super::waiters::{Waiters, Wakes};
use crate::machine::{self, Machine, Phase};
use crate::storage::AnyStorage;
use crate::{Metrics, RateLimiter, metrics};

/// What all handles of a queue share.
pub(super) struct Shared<T> {
    state: Apart<Mutex<State<T>>>,
    hasher: DefaultHashBuilder,
    pub(super) limiter: Box<dyn RateLimiter<T>>,
    pub(super) metrics: Option<Arc<dyn Metrics>>,
    pub(super) name: Option<String>,
    created: Instant,
    keeps_times: bool,
}

/// On cache lines of its own, two of which are fetched together: those who wait for the lock leave its neighbours alone.
#[repr(align(128))]
struct Apart<L>(L);

/// How a drain ended, with the keys queued and taken at that moment.
#[derive(Clone, Copy, Debug)]
pub(super) enum DrainEnd {
    Drained,
    Released { queued: usize, processing: usize },
}

pub(super) struct State<T> {
    pub(super) machine: Machine<T, AnyStorage<T>>,
    pub(super) getters: Waiters,
    /// The one getter that waits on a timer, and until when: the first deadline of the delayed keys.
    pub(super) timekeeper: Option<(u64, Instant)>,
    pub(super) drains: Waiters,
    /// Ends that their waiters have not seen yet, by number of the waiter. Decided when they happen: a drain that
    /// looked at the phase later could see that of another drain.
    pub(super) drain_ends: HashMap<u64, DrainEnd>,
    /// Wait for the beginning of the shutdown.
    pub(super) shut_down_waiters: Waiters,
    pushes_seen: u64,
}

impl<T: Eq + Hash + Clone> State<T> {
    fn somebody_waits(&self) -> bool {
        !(self.getters.is_idle() && self.drains.is_idle() && self.shut_down_waiters.is_idle())
    }

    /// Wakes whom the last change concerns. To be called after every change, before the lock is released.
    fn settle(&mut self, wakes: &mut Wakes) {
        let pushes = self.machine.pushes();
        let timekeeper = self.timekeeper.map(|(number, _)| number);
        for _ in self.pushes_seen..pushes {
            let Some(waker) = self.getters.pop(timekeeper) else { break };
            wakes.push(waker);
        }
        self.pushes_seen = pushes;
        if self.machine.shutting_down() {
            self.getters
                .take_all()
                .chain(self.shut_down_waiters.take_all())
                .for_each(|waker| wakes.push(waker));
        }
        self.settle_drains(wakes);
        self.settle_timekeeper(wakes);
        for waiters in [&mut self.getters, &mut self.drains, &mut self.shut_down_waiters] {
            wakes.retire(waiters);
        }
    }

    fn settle_drains(&mut self, wakes: &mut Wakes) {
        let end = match self.machine.phase() {
            Phase::Running | Phase::Draining => return,
            Phase::Drained => DrainEnd::Drained,
            Phase::ShuttingDown => {
                DrainEnd::Released { queued: self.machine.len(), processing: self.machine.processing_len() }
            }
        };
        while let Some((number, _)) = self.drains.first() {
            self.drain_ends.insert(number, end);
            if let Some(waker) = self.drains.pop(None) {
                wakes.push(waker);
            }
        }
    }

    /// Sees to it that, if keys wait for their time and somebody waits for keys, one of them waits until that time.
    fn settle_timekeeper(&mut self, wakes: &mut Wakes) {
        let Some(deadline) = self.machine.next_deadline() else { return };
        match self.timekeeper {
            Some((_, until)) if until <= deadline => {}
            Some((number, _)) => {
                // A timekeeper that is not in the list was notified: it will look at the deadline anyway.
                self.timekeeper = Some((number, deadline));
                if let Some(waker) = self.getters.waker(number) {
                    wakes.push(waker.clone());
                }
            }
            None => {
                if let Some((number, waker)) = self.getters.first() {
                    wakes.push(waker.clone());
                    self.timekeeper = Some((number, deadline));
                }
            }
        }
    }
}

impl<T: Eq + Hash + Clone> Shared<T> {
    pub(super) fn new(
        machine: Machine<T, AnyStorage<T>>,
        limiter: Box<dyn RateLimiter<T>>,
        metrics: Option<Arc<dyn Metrics>>,
        name: Option<String>,
    ) -> Self {
        let (keeps_times, hasher) = (machine.keeps_times(), machine.hasher());
        let state = State {
            machine,
            getters: Waiters::default(),
            timekeeper: None,
            drains: Waiters::default(),
            drain_ends: HashMap::new(),
            shut_down_waiters: Waiters::default(),
            pushes_seen: 0,
        };
        Self {
            state: Apart(Mutex::new(state)),
            hasher,
            limiter,
            metrics,
            name,
            created: clock(),
            keeps_times,
        }
    }

    /// To be worked out before the lock is taken.
    pub(super) fn hash(&self, key: &T) -> u32 {
        machine::hash(&self.hasher, key)
    }

    /// Runs `change` under the lock, then wakes and reports without it. The time given is only right if somebody
    /// looks at it: reading the clock costs as much as the rest of an add.
    pub(super) fn with<R>(&self, change: impl FnOnce(&mut State<T>, Instant) -> R) -> R {
        self.run(false, change)
    }

    /// Like [`with`](Self::with) with the right time always.
    pub(super) fn with_time<R>(&self, change: impl FnOnce(&mut State<T>, Instant) -> R) -> R {
        self.run(true, change)
    }

    fn run<R>(&self, read_clock: bool, change: impl FnOnce(&mut State<T>, Instant) -> R) -> R {
        let mut state = self.lock();
        let looked_at = read_clock || self.keeps_times || state.machine.waiting_len() > 0;
        let now = if looked_at { clock() } else { self.created };
        let result = change(&mut state, now);
        if self.keeps_times || state.somebody_waits() {
            self.settle(state);
        } else {
            state.pushes_seen = state.machine.pushes();
        }
        result
    }

    /// Kept apart from the short path of a busy queue, in which nobody waits and nothing is measured.
    #[inline(never)]
    fn settle(&self, mut state: MutexGuard<'_, State<T>>) {
        let mut wakes = Wakes::default();
        state.settle(&mut wakes);
        let Some(metrics) = &self.metrics else {
            state.machine.discard_observations();
            drop(state);
            return wakes.wake();
        };
        let observations = state.machine.take_observations();
        drop(state);
        wakes.wake();
        metrics::report(metrics, &observations);
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Only hashing, comparing or cloning a key, or a custom storage, can panic in there. The worst that comes of
        // it is that the call in question does nothing, or that one turn of that key is lost.
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tokio's clock, so that a paused one moves the queue too.
pub(super) fn clock() -> Instant {
    tokio::time::Instant::now().into_std()
}
