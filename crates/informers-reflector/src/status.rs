//! How a reflector is doing, for anybody who asks.

use std::time::{Duration, Instant};

use informers_core::{Error, ResourceVersion};
use tokio::sync::watch;

use crate::Phase;
use crate::driver::now;
use crate::machine::BRIEF;

/// How a reflector is doing.
///
/// ```
/// use informers_reflector::ReflectorStatus;
///
/// let fresh = ReflectorStatus::default();
/// assert!(!fresh.synced && fresh.version.is_empty() && fresh.last_error.is_none());
///
/// // In a probe: has the view been growing stale for more than five minutes?
/// let now = std::time::Instant::now();
/// assert!(!fresh.failing_for(now).is_some_and(|failing| failing.as_secs() > 300));
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReflectorStatus {
    /// What it does at the moment.
    pub phase: Phase,
    /// The version from which it would go on; empty before the first list. client-go's
    /// `LastSyncResourceVersion`.
    pub version: ResourceVersion,
    /// Whether a list was taken by the sink, ever.
    pub synced: bool,
    /// When something last arrived from the server: a page, an event, a bookmark.
    pub last_activity: Option<Instant>,
    /// The last failure, also after it was overcome.
    pub last_error: Option<Error>,
    /// Since when nothing has worked: the first failure after it last watched, or ever. Empty while it watches, and
    /// after it has ended. A list alone is no success, and neither is a watch that brings nothing and fails within
    /// a second.
    pub failing_since: Option<Instant>,
    /// How many lists were begun, paged or streamed, retries and fall-backs included.
    pub lists: u64,
    /// How many watches were asked for, streaming lists not included.
    pub watches: u64,
    /// How many objects the sink refused.
    pub refused: u64,
    /// How many objects could not be decoded.
    pub undecodable: u64,
    overcome: Option<Overcome>,
}

/// A time of failures that ended, or seems to have.
#[derive(Clone, Copy, Debug)]
struct Overcome {
    since: Instant,
    at: Instant,
}

impl ReflectorStatus {
    /// For how long nothing has worked at `now`: the time since [`failing_since`](Self::failing_since).
    #[must_use]
    pub fn failing_for(&self, now: Instant) -> Option<Duration> {
        self.failing_since.map(|since| now.saturating_duration_since(since))
    }

    pub(crate) fn arrived(&mut self, version: ResourceVersion, now: Instant) {
        self.version = version;
        self.last_activity = Some(now);
    }

    /// A watch works: the failures before it are over.
    pub(crate) fn proved(&mut self) {
        self.overcome = None;
    }

    pub(crate) fn enter(&mut self, phase: Phase, now: Instant) {
        match &phase {
            Phase::Watching => {
                self.overcome = self.failing_since.take().map(|since| Overcome { since, at: now });
            }
            Phase::Stopped => (self.failing_since, self.overcome) = (None, None),
            phase if phase.reason().is_some() && self.failing_since.is_none() => {
                let unproven = self.overcome.take().filter(|former| now.duration_since(former.at) < BRIEF);
                self.failing_since = Some(unproven.map_or(now, |former| former.since));
            }
            _ => {}
        }
        self.phase = phase;
    }
}

/// Reads the status of one reflector at any time, and waits for changes of it. Clones are independent.
///
/// ```
/// # use std::sync::Arc;
/// # use informers_core::*;
/// use informers_reflector::Reflector;
///
/// # fn f(list_watch: Arc<dyn ListWatch<()>>, sink: impl Sink<()> + 'static) {
/// let reflector = Reflector::builder(list_watch, sink).build();
/// let mut status = reflector.status();
/// # let _ = async move {
/// status.wait_for(|status| status.synced).await;
/// println!("synced at {}", status.current().version);
/// # };
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct StatusWatch(watch::Receiver<ReflectorStatus>);

impl StatusWatch {
    /// The status now.
    #[must_use]
    pub fn current(&self) -> ReflectorStatus {
        self.0.borrow().clone()
    }

    /// Waits until the status differs from the one that this handle saw last, and gives it. Once the
    /// reflector has ended it gives the last status at once.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: the change is seen by the next call.
    pub async fn changed(&mut self) -> ReflectorStatus {
        // An error means that the reflector is gone; its last word, that it stopped, stays readable.
        let _ = self.0.changed().await;
        self.0.borrow_and_update().clone()
    }

    /// Waits until `condition` holds and gives that status; or the last status, if the reflector ends
    /// without its ever holding.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn wait_for(&mut self, condition: impl FnMut(&ReflectorStatus) -> bool) -> ReflectorStatus {
        let met = self.0.wait_for(condition).await.map(|status| status.clone());
        met.unwrap_or_else(|_| self.current())
    }
}

/// The writing end. Whatever becomes of the reflector, the last thing it says is that it stopped.
#[derive(Debug)]
pub(crate) struct StatusCell(watch::Sender<ReflectorStatus>);

impl StatusCell {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(ReflectorStatus::default()))
    }

    pub(crate) fn watch(&self) -> StatusWatch {
        StatusWatch(self.0.subscribe())
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut ReflectorStatus)) {
        self.0.send_modify(change);
    }
}

impl Drop for StatusCell {
    fn drop(&mut self) {
        self.0.send_modify(|status| status.enter(Phase::Stopped, now()));
    }
}

#[cfg(test)]
mod tests {
    use informers_core::ErrorKind;

    use super::*;

    #[test]
    fn it_fails_since_the_first_failure_until_a_watch_lasts() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut status = ReflectorStatus::default();
        let enter = |status: &mut ReflectorStatus, millis, phase: Phase| {
            status.enter(phase, at(millis));
            status.failing_since.map(|since| since.duration_since(start).as_millis())
        };
        let fails = || Phase::Waiting { reason: Error::new(ErrorKind::Timeout, "list pods"), until: start };
        assert_eq!(enter(&mut status, 0, Phase::Listing), None);
        assert_eq!(enter(&mut status, 1_000, fails()), Some(1_000), "the first failure");
        assert_eq!(enter(&mut status, 3_000, Phase::Listing), Some(1_000), "to try is no success");
        assert_eq!(enter(&mut status, 4_000, fails()), Some(1_000), "the second failure");
        assert_eq!(enter(&mut status, 9_000, Phase::Watching), None);
        assert_eq!(enter(&mut status, 9_999, fails()), Some(1_000), "the watch did not work");
        assert_eq!(enter(&mut status, 12_000, Phase::Watching), None);
        assert_eq!(enter(&mut status, 13_000, fails()), Some(13_000), "it did");
        assert_eq!(enter(&mut status, 14_000, Phase::Watching), None);
        assert_eq!(enter(&mut status, 14_500, Phase::Watching), None, "another watch, in good order");
        assert_eq!(enter(&mut status, 14_900, fails()), Some(14_900));
        assert_eq!(enter(&mut status, 14_950, Phase::Watching), None);
        status.proved();
        assert_eq!(enter(&mut status, 14_990, fails()), Some(14_990), "it brought something");
        assert_eq!(enter(&mut status, 15_000, Phase::Stopped), None);
        assert_eq!(status.failing_for(at(20_000)), None);
        status.failing_since = Some(at(15_000));
        assert_eq!(status.failing_for(at(20_000)), Some(Duration::from_secs(5)));
        assert_eq!(
            status.failing_for(start),
            Some(Duration::ZERO),
            "a status may be newer than the question"
        );
    }

    #[tokio::test]
    async fn two_waiters_on_two_tasks_both_wake() {
        let cell = StatusCell::new();
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let mut status = cell.watch();
                tokio::spawn(async move { status.wait_for(|status| status.synced).await.version })
            })
            .collect();
        tokio::task::yield_now().await;
        cell.update(|status| {
            status.synced = true;
            status.version = 7.into();
        });
        for waiter in waiters {
            assert_eq!(waiter.await.unwrap(), 7.into());
        }
    }

    #[tokio::test]
    async fn a_reflector_that_is_dropped_has_stopped() {
        let cell = StatusCell::new();
        let mut status = cell.watch();
        let waiter = tokio::spawn(async move { status.wait_for(|status| status.synced).await });
        tokio::task::yield_now().await;
        drop(cell);
        assert!(waiter.await.unwrap().phase.is_stopped());
    }
}
