//! What is in a queue, for people.

use std::time::Duration;

use crate::machine::Phase;

/// What a queue holds at one moment, for a debug page or a log line.
///
/// A key can be in two lists: a taken key that waits with a delay, for instance.
///
/// ```
/// use informers_workqueue::WorkQueue;
///
/// # tokio_test::block_on(async {
/// let queue = WorkQueue::builder().track_times(true).build();
/// queue.add("a")?;
/// queue.add("b")?;
/// let _working = queue.get().await;
/// let snapshot = queue.snapshot();
/// assert_eq!(snapshot.queued[0].key, "b");
/// assert_eq!(snapshot.processing[0].key, "a");
/// assert!(snapshot.processing[0].running_for.is_some());
/// # Ok::<(), informers_workqueue::Error<&str>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Snapshot<T> {
    /// How far the shutdown has come.
    pub phase: Phase,
    /// Keys that can be taken, in the order in which they were queued.
    pub queued: Vec<QueuedKey<T>>,
    /// Keys that are taken, the earliest take first.
    pub processing: Vec<TakenKey<T>>,
    /// Keys that wait for their time, the earliest first.
    pub waiting: Vec<WaitingKey<T>>,
}

/// A key that can be taken.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct QueuedKey<T> {
    /// The key.
    pub key: T,
    /// Time since the add, or since the end of its delay; `None` if the queue does not keep times.
    pub queued_for: Option<Duration>,
}

/// A key that a worker has taken.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TakenKey<T> {
    /// The key.
    pub key: T,
    /// Time since it was taken; `None` if the queue does not keep times.
    pub running_for: Option<Duration>,
    /// Whether it was added again meanwhile and will run once more.
    pub dirty: bool,
}

/// A key that waits for its time.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct WaitingKey<T> {
    /// The key.
    pub key: T,
    /// Time until it is queued.
    pub ready_in: Duration,
}
