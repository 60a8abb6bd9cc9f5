//! The queue that tasks share: the machine under a lock, and who waits for it.

mod builder;
mod drain;
mod get;
#[cfg(not(informers_loom))]
mod patient;
mod report;
mod shared;
mod sync;
mod taken;
mod waiters;

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

pub use self::builder::Builder;
pub use self::drain::Drain;
pub use self::get::Get;
pub use self::taken::Taken;

use self::shared::{Shared, clock};
use crate::machine::Phase;
use crate::{Error, Snapshot};

/// A deduplicating, delaying, rate-limited queue of keys, shared by any number of producers and workers.
///
/// client-go's `TypedRateLimitingInterface`. Cloning gives another handle of the same queue. No task runs behind it:
/// delays are kept by one of the workers that wait in [`get`](Self::get), and while none waits, every call first
/// queues the keys whose time has come. So the queue needs a Tokio runtime only where keys wait with a delay.
///
/// # Guarantees
/// - A key is never worked on twice at a time, and adds while it is queued or worked on count as one.
/// - Keys are handed out in the order in which they became ready (unless a [`Storage`](crate::Storage) says otherwise).
/// - A key added while it is worked on is handed out again afterwards.
/// - No key is lost by dropping a future or a guard, or by a panic of a worker.
///
/// ```
/// use std::time::Duration;
/// use informers_workqueue::WorkQueue;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let queue: WorkQueue<String> = WorkQueue::new();
/// let worker = tokio::spawn({
///     let queue = queue.clone();
///     async move {
///         let mut seen = Vec::new();
///         while let Some(key) = queue.get().await {
///             seen.push(key.to_string());
///             queue.forget(&key); // it succeeded: back-off starts anew
///         } // dropping the guard finishes the key
///         seen
///     }
/// });
/// queue.add("default/web".to_string())?;
/// queue.add("default/web".to_string())?; // merged
/// queue.shut_down_with_drain().within(Duration::from_secs(5)).await?;
/// assert_eq!(worker.await?, ["default/web"]);
/// # Ok(()) }
/// ```
pub struct WorkQueue<T> {
    shared: Handle<T>,
}

/// Each clone of a queue has a reference count of its own, so that workers who have a clone each do not count on one
/// cache line: keys in their hands keep the queue alive.
type Handle<T> = Arc<Arc<Shared<T>>>;

impl<T> Clone for WorkQueue<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::new(Arc::clone(&self.shared)) }
    }
}

impl<T: Clone + Eq + Hash> fmt::Debug for WorkQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, processing, waiting, phase) = self.shared.with(|state, now| {
            state.machine.advance(now);
            let machine = &state.machine;
            (machine.len(), machine.processing_len(), machine.waiting_len(), machine.phase())
        });
        f.debug_struct("WorkQueue")
            .field("name", &self.shared.name)
            .field("queued", &len)
            .field("processing", &processing)
            .field("waiting", &waiting)
            .field("phase", &phase)
            .finish_non_exhaustive()
    }
}

impl<T: Clone + Eq + Hash + Send + 'static> Default for WorkQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Clone + Eq + Hash + Send + 'static> WorkQueue<T> {
    /// A queue with the default rate limiter of controllers, first in, first out, without metrics.
    ///
    /// ```
    /// let queue = informers_workqueue::WorkQueue::new();
    /// queue.add(17)?;
    /// # Ok::<(), informers_workqueue::Error<i32>>(())
    /// ```
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Configures a queue.
    ///
    /// ```
    /// use informers_workqueue::{WorkQueue, rate_limiter};
    ///
    /// let queue = WorkQueue::<String>::builder()
    ///     .name("pods")
    ///     .rate_limiter(rate_limiter::default_item_based_rate_limiter())
    ///     .build();
    /// assert_eq!(queue.name(), Some("pods"));
    /// ```
    pub fn builder() -> Builder<T> {
        Builder::new()
    }
}

impl<T: Clone + Eq + Hash> WorkQueue<T> {
    /// The name given to the builder.
    pub fn name(&self) -> Option<&str> {
        self.shared.name.as_deref()
    }

    /// Marks the key as needing work and wakes a worker.
    ///
    /// A delayed add of this key that still waits is cancelled: the earliest wish wins. client-go keeps both (see
    /// [`Parity::add_keeps_waiting`](crate::Parity::add_keeps_waiting)).
    ///
    /// # Errors
    /// [`Error::ShutDown`] gives the key back. client-go ignores such adds silently.
    ///
    /// ```
    /// # let queue = informers_workqueue::WorkQueue::new();
    /// queue.add("a")?;
    /// queue.add("a")?;
    /// queue.add("b")?;
    /// assert_eq!(queue.len(), 2);
    /// # Ok::<(), informers_workqueue::Error<&str>>(())
    /// ```
    pub fn add(&self, key: T) -> Result<(), Error<T>> {
        let hash = self.shared.hash(&key);
        let copy = self.shared.with(|state, now| state.machine.add_hashed(key, hash, now))?;
        drop(copy);
        Ok(())
    }

    /// Adds the key once `delay` has passed, at once if it is zero. Of several delays of one key the earliest wins.
    ///
    /// A key that is queued or worked on may wait besides, and then runs once more. Delays have the resolution of
    /// Tokio's timer, a millisecond, and are cut to a hundred years.
    ///
    /// # Errors
    /// [`Error::ShutDown`] gives the key back.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), informers_workqueue::Error<&'static str>> {
    /// # use std::time::Duration;
    /// # let queue = informers_workqueue::WorkQueue::new();
    /// queue.add_after("later", Duration::from_secs(5))?;
    /// queue.add_after("sooner", Duration::from_secs(1))?;
    /// assert_eq!(queue.len(), 0);
    /// assert_eq!(*queue.get().await.unwrap(), "sooner");
    /// assert_eq!(*queue.get().await.unwrap(), "later");
    /// # Ok(()) }
    /// ```
    pub fn add_after(&self, key: T, delay: Duration) -> Result<(), Error<T>> {
        let hash = self.shared.hash(&key);
        let copy =
            self.shared.with_time(|state, now| state.machine.add_hashed_after(key, hash, delay, now))?;
        drop(copy);
        Ok(())
    }

    /// Adds the key after the delay that the rate limiter names, and gives that delay.
    ///
    /// # Errors
    /// [`Error::ShutDown`] gives the key back. The limiter counts the failure nevertheless.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # let queue = informers_workqueue::WorkQueue::new();
    /// assert_eq!(queue.add_rate_limited("a")?, Duration::from_millis(5));
    /// assert_eq!(queue.add_rate_limited("a")?, Duration::from_millis(10));
    /// assert_eq!(queue.num_requeues(&"a"), 2);
    /// queue.forget(&"a");
    /// assert_eq!(queue.num_requeues(&"a"), 0);
    /// # Ok::<(), informers_workqueue::Error<&str>>(())
    /// ```
    pub fn add_rate_limited(&self, key: T) -> Result<Duration, Error<T>> {
        let delay = self.shared.limiter.when(&key, clock());
        self.add_after(key, delay)?;
        Ok(delay)
    }

    /// Tells the rate limiter that the key succeeded, or will not be tried again. Does not take it out of the queue.
    pub fn forget(&self, key: &T) {
        self.shared.limiter.forget(key);
    }

    /// How many failures of the key the rate limiter counts.
    pub fn num_requeues(&self, key: &T) -> usize {
        self.shared.limiter.num_requeues(key)
    }

    /// Takes the next key, waiting for one if none is queued. `None` if the queue is shut down and nothing is queued:
    /// the worker should end.
    ///
    /// A worker must finish its key before it asks again whether more will come: a key that was added while it was
    /// worked on is only queued when it is finished.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: a key is either in the queue or in a [`Taken`]. A future that was polled
    /// should be polled on or dropped, not kept aside: it may be the one that has been told of a key.
    ///
    /// # Panics
    /// When polled outside a Tokio runtime with its time driver enabled, if keys wait with a delay and none is queued.
    ///
    /// ```
    /// # use informers_workqueue::WorkQueue;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), informers_workqueue::Error<&'static str>> {
    /// let queue = WorkQueue::new();
    /// queue.add("a")?;
    /// let key = queue.get().await.unwrap();
    /// assert_eq!(*key, "a");
    /// key.done();
    /// queue.shut_down();
    /// assert!(queue.get().await.is_none());
    /// # Ok(()) }
    /// ```
    pub fn get(&self) -> Get<'_, T> {
        Get::new(&self.shared)
    }

    /// Finishes a key that was taken out of its guard by [`Taken::into_key`].
    ///
    /// # Errors
    /// [`Error::NotTaken`] if nobody has taken the key. client-go queues it twice instead (see
    /// [`Parity::done_of_untaken_requeues`](crate::Parity::done_of_untaken_requeues)).
    ///
    /// ```
    /// # use informers_workqueue::{Error, WorkQueue};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Error<&'static str>> {
    /// # let queue = WorkQueue::new();
    /// queue.add("a")?;
    /// let key = queue.get().await.unwrap().into_key();
    /// queue.done(&key)?;
    /// assert_eq!(queue.done(&key), Err(Error::NotTaken { key }));
    /// # Ok(()) }
    /// ```
    pub fn done(&self, key: &T) -> Result<(), Error<T>> {
        let freed = self.shared.with(|state, now| state.machine.done(key, now))?;
        drop(freed);
        Ok(())
    }

    /// Keys that can be taken now: excludes those that are worked on and those that wait for their time.
    pub fn len(&self) -> usize {
        self.shared.with(|state, now| {
            state.machine.advance(now);
            state.machine.len()
        })
    }

    /// Whether no key can be taken now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keys that are worked on.
    pub fn processing_len(&self) -> usize {
        self.shared.with(|state, _| state.machine.processing_len())
    }

    /// Keys that wait for their time: at most as many as there are distinct keys.
    pub fn waiting_len(&self) -> usize {
        self.shared.with(|state, now| {
            state.machine.advance(now);
            state.machine.waiting_len()
        })
    }

    /// Refuses adds from now on, wakes all workers, and releases every drain. What is queued is still handed out.
    ///
    /// Gives back the keys that waited for their time and will not run, in order of time; client-go drops them
    /// silently. Calling it again is harmless.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # let queue = informers_workqueue::WorkQueue::new();
    /// queue.add("now")?;
    /// queue.add_after("later", Duration::from_secs(60))?;
    /// assert_eq!(queue.shut_down(), ["later"]);
    /// assert_eq!(queue.len(), 1);
    /// # Ok::<(), informers_workqueue::Error<&str>>(())
    /// ```
    pub fn shut_down(&self) -> Vec<T> {
        self.shared.with(|state, now| state.machine.shut_down(now))
    }

    /// Refuses adds from now on, like [`shut_down`](Self::shut_down), and gives a future that resolves when no key is
    /// queued or worked on.
    ///
    /// The shutdown begins with the call, not with the first poll. Keys added again while they are worked on run once
    /// more; keys that still wait for their time do not run (see [`Drain::abandoned`]). Workers are needed for the
    /// queued keys: without them only a deadline or a plain shutdown ends the drain. client-go waits only for the keys
    /// that are worked on (see [`Parity::drain_in_flight_only`](crate::Parity::drain_in_flight_only)).
    ///
    /// # Errors
    /// The future fails with [`Error::Released`] if a plain shutdown follows, with [`Error::DeadlinePassed`] if it was
    /// given a deadline. The queue stays shut down either way.
    ///
    /// # Cancel safety
    /// Dropping the future ends the waiting, not the shutdown.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use informers_workqueue::{Error, WorkQueue};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Error<&'static str>> {
    /// # let queue = WorkQueue::new();
    /// queue.add("stuck")?;
    /// let _never_finished = queue.get().await;
    /// let drained = queue.shut_down_with_drain().within(Duration::from_secs(30)).await;
    /// assert_eq!(drained, Err(Error::DeadlinePassed { queued: 0, processing: 1 }));
    /// # Ok(()) }
    /// ```
    pub fn shut_down_with_drain(&self) -> Drain<T> {
        Drain::start(&self.shared)
    }

    /// Whether adds are refused.
    pub fn shutting_down(&self) -> bool {
        self.shared.with(|state, _| state.machine.shutting_down())
    }

    /// How far the shutdown has come.
    pub fn phase(&self) -> Phase {
        self.shared.with(|state, _| state.machine.phase())
    }

    /// All keys with their states. Holds the lock for a time in proportion to the number of keys; for debug pages and
    /// log lines.
    pub fn snapshot(&self) -> Snapshot<T> {
        self.shared.with_time(|state, now| {
            state.machine.advance(now);
            state.machine.snapshot(now)
        })
    }
}
