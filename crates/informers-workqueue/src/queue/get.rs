//! Waiting for a key.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::time::Sleep;

use super::Handle;
use super::shared::State;
use super::taken::Taken;
use crate::machine::Take;

/// The future of [`WorkQueue::get`](super::WorkQueue::get).
///
/// Cancel safe; see there.
///
/// ```
/// use informers_workqueue::WorkQueue;
///
/// # tokio_test::block_on(async {
/// let queue = WorkQueue::new();
/// let get = queue.get();
/// queue.add("a")?;
/// drop(get); // nothing is lost
/// assert_eq!(*queue.get().await.unwrap(), "a");
/// # Ok::<(), informers_workqueue::Error<&str>>(()) }).unwrap();
/// ```
#[must_use = "futures do nothing unless polled"]
pub struct Get<'a, T: Clone + Eq + Hash> {
    shared: &'a Handle<T>,
    /// Its number among the getters, from the first poll that found nothing.
    number: Option<u64>,
    /// Only the timekeeper has one.
    timer: Option<Pin<Box<Sleep>>>,
}

enum Step<T> {
    Taken(Take<T>),
    ShutDown,
    /// Registered; to be waited for as timekeeper, if there is a time.
    Wait(Option<Instant>),
}

impl<'a, T: Clone + Eq + Hash> Get<'a, T> {
    pub(super) fn new(shared: &'a Handle<T>) -> Self {
        Self { shared, number: None, timer: None }
    }

    fn step(&mut self, state: &mut State<T>, now: Instant, cx: &Context<'_>) -> Step<T> {
        if let Some(take) = state.machine.get(now) {
            self.leave(state);
            return Step::Taken(take);
        }
        if state.machine.shutting_down() {
            self.leave(state);
            return Step::ShutDown;
        }
        let number = match self.number {
            Some(number) if state.getters.update(number, cx.waker()) => number,
            _ => state.getters.register(cx.waker().clone()),
        };
        let keeps_time = match state.timekeeper {
            None => true,
            Some((keeper, _)) => Some(keeper) == self.number || keeper == number,
        };
        self.number = Some(number);
        if !keeps_time {
            return Step::Wait(None);
        }
        let deadline = state.machine.next_deadline();
        state.timekeeper = deadline.map(|deadline| (number, deadline));
        Step::Wait(deadline)
    }

    /// No longer waits. `true` if it had been notified without having been polled since.
    fn leave(&mut self, state: &mut State<T>) -> bool {
        let Some(number) = self.number.take() else { return false };
        if state.timekeeper.is_some_and(|(keeper, _)| keeper == number) {
            // Settling finds another one.
            state.timekeeper = None;
        }
        !state.getters.remove(number)
    }
}

impl<T: Clone + Eq + Hash> Future for Get<'_, T> {
    type Output = Option<Taken<T>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        // A worker that always finds a key would otherwise never let other tasks run.
        ready!(pin!(tokio::task::consume_budget()).poll(cx));
        loop {
            let shared = this.shared;
            match shared.with(|state, now| this.step(state, now, cx)) {
                Step::Taken(take) => return Poll::Ready(Some(Taken::new(take, shared))),
                Step::ShutDown => return Poll::Ready(None),
                Step::Wait(None) => {
                    this.timer = None;
                    return Poll::Pending;
                }
                Step::Wait(Some(deadline)) => {
                    let deadline = tokio::time::Instant::from_std(deadline);
                    let timer =
                        this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
                    if timer.deadline() != deadline {
                        timer.as_mut().reset(deadline);
                    }
                    ready!(timer.as_mut().poll(cx));
                }
            }
        }
    }
}

impl<T: Clone + Eq + Hash> Drop for Get<'_, T> {
    fn drop(&mut self) {
        if self.number.is_none() {
            return;
        }
        let waker = self.shared.with(|state, _| {
            let notified = self.leave(state);
            // It may have been told of a key that is still there: somebody else has to hear of it.
            if notified && !state.machine.is_empty() { state.getters.pop(None) } else { None }
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T: Clone + Eq + Hash> fmt::Debug for Get<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Get").field("waiting", &self.number.is_some()).finish_non_exhaustive()
    }
}
