//! Events as a stream.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use informers_core::Event;

use super::{Delivery, HandlerGuard, HandlerStatus, counts_as_initial};
use crate::sync::SyncWait;

/// The events of an informer as a stream, with a backlog of its own.
///
/// It ends when the informer stops. Dropping it unsubscribes. For [`synced`](Self::synced), an event counts as
/// dealt with when the next one is asked for.
#[must_use = "dropping the subscription ends it: bind it to a name"]
pub struct Subscription<T: Send + Sync + 'static> {
    delivery: Arc<Delivery<T>>,
    guard: HandlerGuard<T>,
    in_hand_is_initial: bool,
}

impl<T: Send + Sync + 'static> Subscription<T> {
    pub(crate) fn new(delivery: Arc<Delivery<T>>, guard: HandlerGuard<T>) -> Self {
        Self { delivery, guard, in_hand_is_initial: false }
    }

    /// The next event, or none once the informer has stopped.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<Event<T>> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// Waits until every object of the initial set has been taken and dealt with.
    pub fn synced(&self) -> SyncWait {
        self.guard.synced()
    }

    /// How the subscriber is doing.
    #[must_use]
    pub fn status(&self) -> HandlerStatus {
        self.guard.status()
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event<T>>> {
        self.delivery.returned_from(std::mem::take(&mut self.in_hand_is_initial));
        let next = self.delivery.poll_next(cx);
        match &next {
            Poll::Ready(Some(event)) => self.in_hand_is_initial = counts_as_initial(event),
            Poll::Ready(None) => self.delivery.finish(),
            Poll::Pending => {}
        }
        next
    }
}

impl<T: Send + Sync + 'static> Stream for Subscription<T> {
    type Item = Event<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event<T>>> {
        self.poll_event(cx)
    }
}

impl<T: Send + Sync + 'static> Drop for Subscription<T> {
    fn drop(&mut self) {
        self.delivery.remove();
        self.delivery.finish();
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Subscription<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&self.delivery.name()).finish()
    }
}
