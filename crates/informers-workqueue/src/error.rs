//! Why a queue did not do what it was asked.

/// What the queue refuses to do, and why.
///
/// Errors that concern a key give it back, so that nothing is lost. Each function documents which of the variants it
/// returns.
///
/// ```
/// use informers_workqueue::{Error, WorkQueue};
///
/// let queue = WorkQueue::new();
/// queue.shut_down();
/// let refused = queue.add("default/web".to_string());
/// assert_eq!(refused, Err(Error::ShutDown { key: "default/web".to_string() }));
/// ```
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error<T> {
    /// A key was added after the shutdown. Work that must not be lost has to be kept elsewhere.
    #[error("cannot add key {key:?}: the work queue is shut down; make a new queue or keep the key")]
    ShutDown {
        /// The key that was not added.
        key: T,
    },
    /// `done` was called for a key that nobody has taken, or that was finished already.
    #[error(
        "cannot finish key {key:?}: nobody has taken it; call done exactly once for each key got from the queue"
    )]
    NotTaken {
        /// The key in question.
        key: T,
    },
    /// A plain shutdown ended the drain early.
    #[error(
        "drain was released by a plain shutdown with {queued} keys queued and {processing} taken; \
         workers still get what is queued"
    )]
    Released {
        /// Keys that were queued at that moment.
        queued: usize,
        /// Keys that were taken and not finished at that moment.
        processing: usize,
    },
    /// The deadline of the drain passed first. The queue stays shut down.
    #[error(
        "drain did not end before its deadline with {queued} keys queued and {processing} taken; \
         look for a stuck worker in the snapshot, or wait longer"
    )]
    DeadlinePassed {
        /// Keys that were queued at that moment.
        queued: usize,
        /// Keys that were taken and not finished at that moment.
        processing: usize,
    },
}

impl<T> Error<T> {
    /// The key that the error is about, if it is about one.
    ///
    /// ```
    /// use informers_workqueue::Error;
    ///
    /// assert_eq!(Error::NotTaken { key: "a" }.into_key(), Some("a"));
    /// assert_eq!(Error::<&str>::Released { queued: 0, processing: 1 }.into_key(), None);
    /// ```
    pub fn into_key(self) -> Option<T> {
        match self {
            Self::ShutDown { key } | Self::NotTaken { key } => Some(key),
            Self::Released { .. } | Self::DeadlinePassed { .. } => None,
        }
    }
}
