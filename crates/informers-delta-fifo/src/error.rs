//! What a queue can say besides a delta.

/// The queue is closed and everything in it was handed out: client-go's `ErrFIFOClosed`.
///
/// ```
/// assert_eq!(informers_delta_fifo::Closed.to_string(), "the queue is closed and empty");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue is closed and empty")]
#[allow(clippy::exhaustive_structs, reason = "there is no more to it")]
pub struct Closed;
