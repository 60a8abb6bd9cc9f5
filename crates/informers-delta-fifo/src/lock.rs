//! What the tasks at a queue share it by: parking_lot's lock, or loom's when the interleavings are explored
//! (`tests/loom.rs`).

#[cfg(informers_loom)]
pub(crate) use informers_core::wait::explored::Mutex;
#[cfg(informers_loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(informers_loom))]
pub(crate) use parking_lot::Mutex;
#[cfg(not(informers_loom))]
pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
