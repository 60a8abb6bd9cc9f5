//! The lock of what tasks wait for: std's, or loom's when the interleavings are explored (`tests/loom.rs`).

#[cfg(informers_loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(informers_loom))]
pub(crate) use std::sync::{Mutex, MutexGuard};
