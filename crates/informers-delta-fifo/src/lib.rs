//! The queues between a reflector and an informer's store.
//!
//! A reflector reads a collection of a Kubernetes API server and puts what it learns into a queue; whoever
//! keeps the store takes it out, in batches and at his own pace. The queue keeps the order, tells which
//! objects a list left out, and knows when the first list has been processed. There are three, as in
//! client-go:
//!
//! - [`InOrderQueue`] (client-go's `RealFIFO`, its default since 1.36): every change in the order in which it
//!   came, a whole list as one change that the consumer applies at once.
//! - [`DeltaFifo`] (client-go's `DeltaFIFO`): one place in line for each object, with all its changes.
//! - [`Fifo`] (client-go's plain `FIFO`): one place in line for each object, with its newest state alone and no deletions,
//!   for consumers that keep no store.
//!
//! All are machines without lock, task or clock, to be used alone where one task does everything.
//! [`in_order_queue`], [`delta_fifo()`] and [`fifo()`] put them between tasks: any number of [`QueueSink`]s on one side,
//! one [`Consumer`] on the other. They need no runtime of their own.
//!
//! ```
//! use informers_core::{Change, Entry, ObjectKey, Scope, Sink};
//! use informers_delta_fifo::{Delta, InOrderQueue, QueueOptions, in_order_queue};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let pod = |name: &str, version: &str| {
//!     Entry::new(ObjectKey::new("shop", name), "uid".into(), version.into(), "a pod")
//! };
//! let (queue, mut consumer) = in_order_queue(InOrderQueue::atomic(), QueueOptions::default());
//!
//! // What a reflector does: a list, then changes.
//! let mut sink = queue.sink();
//! let mut list = sink.begin(&Scope::all());
//! list.offer(Change::added(pod("cart", "5"))).unwrap();
//! list.commit(&"6".into()).unwrap();
//! sink.apply(Change::modified(pod("cart", "7"))).unwrap();
//!
//! // What an informer does: take, process, finish.
//! let batch = consumer.pop_batch().await.unwrap();
//! assert!(matches!(batch.deltas(), [Delta::ReplacedAll(all)] if all.items.len() == 1));
//! batch.finish();
//! assert!(queue.has_synced());
//!
//! let batch = consumer.pop_batch().await.unwrap();
//! assert!(matches!(batch.deltas(), [Delta::Updated(pod)] if pod.version() == &"7".into()));
//! # }
//! ```
//!
//! # Guarantees
//! - Changes of one object are handed out in the order in which they were put in.
//! - An object that vanishes while nobody watches is never overlooked: a replacement counts what waits in
//!   the queue and what the consumer holds, not only what is stored.
//! - A queue counts as synced when everything of the first list has been *processed*.
//! - No lock is held while the consumer processes, and none while a transform runs. A plain in-order queue
//!   and a [`DeltaFifo`] ask the store behind them under the lock, since only then queue and store make one
//!   picture; a [`KnownObjects`](informers_core::KnownObjects) must not call back into the queue.
//!
//! Where this differs from client-go, [`Parity`] switches it back.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod consumer;
mod delta;
mod delta_fifo;
mod discarded;
mod error;
mod fifo;
mod in_flight;
mod in_order;
mod intake;
mod line;
mod lock;
mod machine;
mod options;
mod parity;
mod population;
mod queue;
mod shared;
mod sink;
mod stage;

pub use consumer::{Batch, Consumer, Outcome};
pub use delta::{Bookmark, Deleted, Delta, ReplacedAll};
pub use delta_fifo::DeltaFifo;
pub use error::Closed;
pub use fifo::Fifo;
pub use in_order::{InOrderQueue, Popped};
pub use options::QueueOptions;
pub use parity::Parity;
pub use population::Ticket;
pub use queue::{SharedQueue, delta_fifo, fifo, in_order_queue};
pub use shared::Synced;
pub use sink::QueueSink;
