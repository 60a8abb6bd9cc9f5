//! What the tasks of an informer share their state by: parking_lot's lock, or loom's when the interleavings are
//! explored (`interleavings.rs`).

#[cfg(informers_loom)]
pub(crate) use informers_core::wait::explored::Mutex;
#[cfg(not(informers_loom))]
pub(crate) use parking_lot::Mutex;
