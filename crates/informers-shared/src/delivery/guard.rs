//! The user's hold on a handler.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Delivery, HandlerStatus};
use crate::informer::{Command, Hold};
use crate::sync::SyncWait;

/// A handler that is registered with an informer. Dropping it removes the handler.
///
/// Removal may happen anywhere, inside any handler too: no further call begins, a running one ends by
/// itself, and what waits is dropped. The guard keeps the informer alive.
#[must_use = "dropping the guard removes the handler: bind it to a name (`let _guard`, not `let _`), or detach it"]
pub struct HandlerGuard<T: Send + Sync + 'static> {
    delivery: Arc<Delivery<T>>,
    hold: Arc<Hold<T>>,
    detached: bool,
}

impl<T: Send + Sync + 'static> HandlerGuard<T> {
    pub(crate) fn new(delivery: Arc<Delivery<T>>, hold: Arc<Hold<T>>) -> Self {
        Self { delivery, hold, detached: false }
    }

    /// The handler's name; where it was added, unless it was given one.
    #[must_use]
    pub fn name(&self) -> &str {
        self.delivery.name()
    }

    /// How often the handler is shown every object again; none is never.
    #[must_use]
    pub fn resync(&self) -> Option<Duration> {
        self.delivery.resync()
    }

    /// Waits until the handler has *returned from* every object of its initial set, which may be empty.
    ///
    /// That is more than the informer's own [`synced`](crate::SharedInformer::synced), after which the
    /// store is filled but the handler may not have seen it.
    pub fn synced(&self) -> SyncWait {
        self.hold.wait_for(self.delivery.sync_state())
    }

    /// How the handler is doing.
    #[must_use]
    pub fn status(&self) -> HandlerStatus {
        self.delivery.status(crate::clock::now())
    }

    /// Removes the handler and waits until its running call has ended. Called from inside that very
    /// handler it does not wait, since it would wait for itself; nor before the informer is started, since
    /// there is no call. Two handlers that close each other at the same time would wait for each other; there,
    /// drop the guards instead.
    ///
    /// # Cancel safety
    /// The handler is removed at the first poll, whether the future is dropped later or not.
    pub async fn close(self) {
        self.remove();
        if !self.delivery.is_inside() && !self.hold.core().awaits_start() {
            self.delivery.finished().await;
        }
    }

    /// Lets the handler live as long as the informer. The informer is then no longer kept alive by it.
    pub fn detach(mut self) {
        self.detached = true;
    }

    fn remove(&self) {
        self.delivery.remove();
        self.hold.send(Command::RemoveHandler(self.delivery.id()));
    }
}

impl<T: Send + Sync + 'static> Drop for HandlerGuard<T> {
    fn drop(&mut self) {
        if !self.detached {
            self.remove();
        }
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for HandlerGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HandlerGuard").field(&self.delivery.name()).finish()
    }
}
