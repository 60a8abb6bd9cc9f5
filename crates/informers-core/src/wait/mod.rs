//! Waiting, for any number of tasks and without a runtime: for what happens again and again
//! ([`Waiters`]), and for what is settled once ([`Latch`]).
//!
//! Both are for those who write a part of their own, such as a [`Sink`](crate::Sink) that asks its producers to pause.

mod caller;
#[cfg(informers_loom)]
#[doc(hidden)]
pub mod explored;
mod latch;
mod lock;
mod waiters;
mod wakes;

pub use caller::Caller;
pub use latch::{Latch, Settled};
pub use waiters::Waiters;
pub use wakes::Wakes;
