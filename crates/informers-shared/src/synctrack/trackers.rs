//! Who is synced when the one before him is and his own work is done.

use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use hashbrown::HashSet;
use informers_core::wait::Latch;

use crate::lock::Mutex;

/// What both trackers are made of; `W` is what they know of the work that is not done.
struct Shared<W> {
    name: Box<str>,
    state: Mutex<State<W>>,
    synced: Latch<()>,
}

struct State<W> {
    work: W,
    upstream_has_synced: bool,
}

/// Work that may be all done.
trait Work {
    fn is_done(&self) -> bool;
}

impl<K> Work for HashSet<K> {
    fn is_done(&self) -> bool {
        self.is_empty()
    }
}

impl Work for usize {
    fn is_done(&self) -> bool {
        *self == 0
    }
}

impl<W: Work> Shared<W> {
    fn new(name: &str, work: W) -> Arc<Self> {
        let state = Mutex::new(State { work, upstream_has_synced: false });
        Arc::new(Self { name: name.into(), state, synced: Latch::new() })
    }

    /// Changes the state and gives what is not needed any more, to be dropped by the caller; settles afterwards, since
    /// that wakes tasks.
    fn update<R>(&self, change: impl FnOnce(&mut State<W>) -> R) -> R {
        let (left, synced) = {
            let mut state = self.state.lock();
            let left = change(&mut state);
            (left, state.upstream_has_synced && state.work.is_done())
        };
        if synced {
            self.synced.settle(());
        }
        left
    }

    fn upstream_has_synced(&self) {
        self.update(|state| state.upstream_has_synced = true);
    }

    fn has_synced(&self) -> bool {
        self.synced.outcome().is_some()
    }
}

/// Follows work by its key, whoever does it: client-go's `AsyncTracker`. Clones are the same tracker.
///
/// Synced once [`upstream_has_synced`](Self::upstream_has_synced) was called and every key that was started is finished;
/// from then on for ever. See [the module](super) for an example.
///
/// A key's `Eq` and `Hash` run under a short lock, and must not call the tracker.
pub struct AsyncTracker<K> {
    shared: Arc<Shared<HashSet<K>>>,
}

impl<K: Eq + Hash> AsyncTracker<K> {
    /// A tracker of nothing yet. The name is for logs.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { shared: Shared::new(name, HashSet::new()) }
    }

    /// There is work to do for this key. To be called before the handler returns: what comes later may come after
    /// sync. A key that is started twice is one piece of work.
    pub fn start(&self, key: K) {
        // Once synced, nobody asks what is under way, and nothing is remembered.
        if !self.has_synced() {
            let refused = self.shared.update(|state| state.work.replace(key));
            drop(refused);
        }
    }

    /// The work for this key is done. One that was not started is passed over.
    pub fn finished<Q: Eq + Hash + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        let done = self.shared.update(|state| state.work.take(key));
        drop(done);
    }

    /// All work was started: the handler is synced.
    pub fn upstream_has_synced(&self) {
        self.shared.upstream_has_synced();
    }

    /// Whether upstream has synced and, at some moment since, no work was left.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.shared.has_synced()
    }

    /// Waits until it has synced; any number of tasks may.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect on the tracker.
    pub async fn synced(&self) {
        self.shared.synced.settled().await;
    }

    /// The name that it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }
}

impl<K> Clone for AsyncTracker<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<K> fmt::Debug for AsyncTracker<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncTracker")
            .field("name", &self.shared.name)
            .field("synced", &self.shared.synced)
            .finish_non_exhaustive()
    }
}

/// Counts work that somebody holds until it is done: client-go's `SingleFileTracker`. Clones are the same tracker.
///
/// In the place of a `Finished` that must be called as often as `Start`, the work is a guard; so it is counted right
/// however it ends, by a panic too.
///
/// ```
/// use informers_shared::synctrack::SingleFileTracker;
///
/// let tracker = SingleFileTracker::new("routes");
/// let first = tracker.start();
/// tracker.upstream_has_synced();
/// assert!(!tracker.has_synced());
/// drop(first);
/// assert!(tracker.has_synced());
/// ```
#[derive(Clone)]
pub struct SingleFileTracker {
    shared: Arc<Shared<usize>>,
}

impl SingleFileTracker {
    /// A tracker of nothing yet. The name is for logs.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { shared: Shared::new(name, 0) }
    }

    /// There is work to do, until the guard is dropped. To be called before the handler returns.
    pub fn start(&self) -> InProgress {
        self.shared.update(|state| state.work += 1);
        InProgress { shared: Arc::clone(&self.shared) }
    }

    /// All work was started: the handler is synced.
    pub fn upstream_has_synced(&self) {
        self.shared.upstream_has_synced();
    }

    /// Whether upstream has synced and, at some moment since, no work was left.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.shared.has_synced()
    }

    /// Waits until it has synced; any number of tasks may.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect on the tracker.
    pub async fn synced(&self) {
        self.shared.synced.settled().await;
    }

    /// The name that it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }
}

impl fmt::Debug for SingleFileTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleFileTracker")
            .field("name", &self.shared.name)
            .field("synced", &self.shared.synced)
            .finish_non_exhaustive()
    }
}

/// A piece of work of a [`SingleFileTracker`]; done when it is dropped.
#[must_use = "the work counts as done when this is dropped: let who does it hold it"]
pub struct InProgress {
    shared: Arc<Shared<usize>>,
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.shared.update(|state| state.work -= 1);
    }
}

impl fmt::Debug for InProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InProgress").field(&self.shared.name).finish()
    }
}
