//! The one lock of the queue: our own, or loom's when the interleavings are explored (`tests/loom.rs`).

#[cfg(not(informers_loom))]
pub(super) use std::sync::MutexGuard;

#[cfg(informers_loom)]
pub(super) use loom::sync::{Mutex, MutexGuard};

#[cfg(not(informers_loom))]
pub(super) use super::patient::Mutex;
