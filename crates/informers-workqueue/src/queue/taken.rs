//! A key in the hands of a worker.

use std::fmt;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;

use super::Handle;
use crate::machine::{Take, TakeId};

/// A key that a worker has taken. Dropping it finishes the key, also when the worker panics or is cancelled.
///
/// While it lives, nobody else gets the key; adds meanwhile count as one, for which the key is queued again when it is
/// finished. Derefs to the key.
///
/// ```
/// use informers_workqueue::WorkQueue;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), informers_workqueue::Error<&'static str>> {
/// let queue = WorkQueue::new();
/// queue.add("a")?;
/// let key = queue.get().await.unwrap();
/// queue.add("a")?; // while it is worked on
/// assert_eq!((queue.len(), queue.processing_len()), (0, 1));
/// drop(key);
/// assert_eq!((queue.len(), queue.processing_len()), (1, 0));
/// # Ok(()) }
/// ```
#[must_use = "dropping it finishes the key"]
pub struct Taken<T: Clone + Eq + Hash> {
    key: T,
    id: TakeId,
    finish_on_drop: bool,
    shared: Handle<T>,
}

impl<T: Clone + Eq + Hash> Taken<T> {
    pub(super) fn new(take: Take<T>, shared: &Handle<T>) -> Self {
        Self { key: take.key, id: take.id, finish_on_drop: true, shared: Arc::clone(shared) }
    }

    /// The key.
    pub fn key(&self) -> &T {
        &self.key
    }

    /// Finishes the key; the same as dropping the guard, said aloud.
    pub fn done(self) {
        drop(self);
    }

    /// Leaves the guard without finishing the key: [`WorkQueue::done`](super::WorkQueue::done) has to be called, as in
    /// client-go, or the key is never handed out again.
    pub fn into_key(mut self) -> T {
        self.finish_on_drop = false;
        self.key.clone()
    }
}

impl<T: Clone + Eq + Hash> Deref for Taken<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.key
    }
}

impl<T: Clone + Eq + Hash> Drop for Taken<T> {
    fn drop(&mut self) {
        if self.finish_on_drop {
            let freed = self.shared.with(|state, now| state.machine.finish(self.id, now));
            drop(freed);
        }
    }
}

impl<T: Clone + Eq + Hash + fmt::Debug> fmt::Debug for Taken<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Taken").field(&self.key).finish()
    }
}
