//! The lock of a latch: std's, or loom's when the interleavings are explored (`tests/loom.rs`).

#[cfg(informers_loom)]
pub(super) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(informers_loom))]
pub(super) use std::sync::{Mutex, MutexGuard};
