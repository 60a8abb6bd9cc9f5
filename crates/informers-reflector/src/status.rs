//! How a reflector is doing, for anybody who asks.

use std::time::Instant;

use informers_core::{Error, ResourceVersion};
use tokio::sync::watch;

/// What a reflector does at the moment.
///
/// ```
/// use std::time::Instant;
/// use informers_core::{Error, ErrorKind};
/// use informers_reflector::Phase;
///
/// let reason = Error::new(ErrorKind::Forbidden, "watch pods");
/// let phase = Phase::Forbidden { reason, until: Instant::now() };
/// assert!(phase.reason().unwrap().is_forbidden() && !phase.is_watching());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Phase {
    /// It has not begun.
    #[default]
    Starting,
    /// It reads a list, in pages where the server gives pages.
    Listing,
    /// It reads the initial events of a streaming list.
    Streaming,
    /// It watches, or its watch ended in good order and the next one is being opened.
    Watching,
    /// It failed and waits for its next attempt.
    Waiting {
        /// What failed.
        reason: Error,
        /// When it tries again.
        until: Instant,
    },
    /// The server denies the permission; the sink keeps its last contents, which grow stale.
    Forbidden {
        /// What the server said.
        reason: Error,
        /// When it tries again.
        until: Instant,
    },
    /// The resource was there and is gone; the sink was emptied.
    Gone {
        /// What the server said.
        reason: Error,
        /// When it tries again.
        until: Instant,
    },
    /// It has ended.
    Stopped,
}

impl Phase {
    /// Whether it reads a list, in either way.
    #[must_use]
    pub fn is_listing(&self) -> bool {
        matches!(self, Self::Listing | Self::Streaming)
    }

    /// Whether it watches.
    #[must_use]
    pub fn is_watching(&self) -> bool {
        matches!(self, Self::Watching)
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Stopped)
    }

    /// What it is held up by, if it is.
    #[must_use]
    pub fn reason(&self) -> Option<&Error> {
        match self {
            Self::Waiting { reason, .. } | Self::Forbidden { reason, .. } | Self::Gone { reason, .. } => {
                Some(reason)
            }
            _ => None,
        }
    }

    /// When it tries again, if it waits.
    #[must_use]
    pub fn until(&self) -> Option<Instant> {
        match self {
            Self::Waiting { until, .. } | Self::Forbidden { until, .. } | Self::Gone { until, .. } => {
                Some(*until)
            }
            _ => None,
        }
    }
}

/// How a reflector is doing.
///
/// ```
/// use informers_reflector::ReflectorStatus;
///
/// let fresh = ReflectorStatus::default();
/// assert!(!fresh.synced && fresh.version.is_empty() && fresh.last_error.is_none());
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
    /// How many lists were begun, paged or streamed, retries and fall-backs included.
    pub lists: u64,
    /// How many watches were asked for, streaming lists not included.
    pub watches: u64,
    /// How many objects the sink refused.
    pub refused: u64,
    /// How many objects could not be decoded.
    pub undecodable: u64,
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
        self.0.send_modify(|status| status.phase = Phase::Stopped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
