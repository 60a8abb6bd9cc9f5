//! Sync that goes further than the handler: through a workqueue, several workers, a value that is derived from the store;
//! client-go's package `synctrack`.
//!
//! A handler is [`synced`](crate::HandlerGuard::synced) when it has *returned from* its initial objects. One that only
//! puts keys into a queue has done nothing by then. A tracker goes on from there: it is told of each initial object when
//! the handler meets it and again when the work on it is done, and is synced when the handler is and no work is left.
//!
//! | for | take |
//! |---|---|
//! | work that is known by its key, on any number of workers | [`AsyncTracker`] |
//! | work that somebody holds until it is done | [`SingleFileTracker`] |
//! | a value that is derived from many objects, and computed when somebody asks | [`Lazy`] |
//!
//! ```
//! use informers_core::{Entry, Event, ObjectKey};
//! use informers_shared::synctrack::AsyncTracker;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let tracker = AsyncTracker::new("endpoints");
//! // The handler: initial objects count, later ones need not.
//! let handler = {
//!     let tracker = tracker.clone();
//!     move |event: Event<()>| {
//!         if matches!(event, Event::Added { initial: true, .. }) {
//!             tracker.start(event.key().clone());
//!         }
//!         // … and the key goes into a workqueue.
//!     }
//! };
//! handler(Event::Added { object: Entry::keyed(ObjectKey::new("shop", "cart"), ()), initial: true });
//!
//! // A worker, when it is done with a key.
//! tracker.finished("shop/cart");
//! // Somebody who waited for the handler's `synced`.
//! tracker.upstream_has_synced();
//!
//! tracker.synced().await;
//! assert!(tracker.has_synced());
//! # }
//! ```

mod lazy;
mod trackers;

pub use lazy::Lazy;
pub use trackers::{AsyncTracker, InProgress, SingleFileTracker};
