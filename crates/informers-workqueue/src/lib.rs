//! client-go's work queue for Rust: deduplicating, delaying, rate-limited, with drain.
//!
//! A controller reacts to changes by working on the *keys* of what changed. This queue sits between the two sides:
//!
//! - a key added ten times before a worker comes is worked on once;
//! - a key is never worked on by two workers at a time, and what changes meanwhile is not forgotten: the key runs again;
//! - a key that failed comes back later, with a delay that grows ([rate limiters](rate_limiter));
//! - a shutdown can wait for the work to end.
//!
//! The crate knows nothing of Kubernetes or HTTP: any `Clone + Eq + Hash` type is a key. Cheap keys make a fast queue;
//! `Arc<str>` is a good one.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use informers_workqueue::WorkQueue;
//!
//! async fn reconcile(key: &str) -> Result<(), std::io::Error> {
//!     println!("working on {key}");
//!     Ok(())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let queue: WorkQueue<Arc<str>> = WorkQueue::new();
//! for _ in 0..4 {
//!     let queue = queue.clone();
//!     tokio::spawn(async move {
//!         while let Some(key) = queue.get().await {
//!             match reconcile(&key).await {
//!                 Ok(()) => queue.forget(&key),
//!                 // Refused during a shutdown; then the key is worked on after the next start.
//!                 Err(_) => drop(queue.add_rate_limited(key.key().clone())),
//!             }
//!         } // the guard finishes the key, also if reconcile panics
//!     });
//! }
//! queue.add("default/web".into())?;
//! queue.shut_down_with_drain().within(Duration::from_secs(30)).await?;
//! # Ok(()) }
//! ```
//!
//! # Differences from client-go
//! Where client-go's behaviour hurts its users, the default differs; [`Parity`] switches each difference back. An
//! immediate add cancels a waiting delayed one; a drain waits for queued keys too, wakes all its waiters and can be
//! given a deadline; `done` for a key that nobody took is an error; an add after the shutdown gives the key back.
//!
//! # Layers
//! [`machine::Machine`] is the queue without clock, lock or task. [`WorkQueue`] is the thin driver around it for Tokio.
//! [`parallelize_until`] is client-go's helper of the same package.

mod error;
pub mod machine;
pub mod metrics;
mod parallelize;
mod parity;
mod queue;
pub mod rate_limiter;
mod snapshot;
mod storage;

pub use error::Error;
pub use metrics::Metrics;
pub use parallelize::{Parallelize, Parallelized, parallelize_until};
pub use parity::Parity;
pub use queue::{Builder, Drain, Get, Taken, WorkQueue};
pub use rate_limiter::RateLimiter;
pub use snapshot::{QueuedKey, Snapshot, TakenKey, WaitingKey};
pub use storage::{Fifo, Storage, Ticket};

/// Keeps the README's example compiling.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
