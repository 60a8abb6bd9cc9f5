//! When a queue counts as synced.

/// Follows the first population of a queue: synced once it was populated and everything that the first
/// list brought has been processed. Latched, as in client-go.
#[derive(Debug, Default)]
pub(crate) struct Population {
    populated: bool,
    /// How many initial items wait in the queue.
    waiting: usize,
    /// How many initial items are not processed yet: those that wait and those in the consumer's hands.
    unfinished: usize,
    synced: bool,
}

/// What has to be told to the queue when a popped item has been processed.
#[derive(Debug)]
#[must_use = "the queue counts as synced only when every popped item is finished"]
pub struct Ticket {
    pub(crate) id: u64,
    pub(crate) taken: usize,
    pub(crate) initial: usize,
}

impl Population {
    /// A change came; a queue that is populated by one has no initial list to wait for.
    pub(crate) fn changed(&mut self) {
        self.populated = true;
        self.check();
    }

    /// Whether a list that comes now is the first population.
    pub(crate) fn is_unpopulated(&self) -> bool {
        !self.populated
    }

    /// Initial items left the queue unprocessed, since they are gone.
    pub(crate) fn left(&mut self, initial: usize) {
        let waiting = self.take(initial);
        self.finish(waiting);
    }

    /// A list came; if it is the first, `count` gives the number of items to wait for.
    pub(crate) fn replaced(&mut self, count: impl FnOnce() -> usize) {
        if !self.populated {
            self.populated = true;
            self.waiting = count();
            self.unfinished = self.waiting;
            self.check();
        }
    }

    pub(crate) fn synced(&self) -> bool {
        self.synced
    }

    /// At most so many items may be taken together; none if there is no limit.
    pub(crate) fn limit(&self) -> Option<usize> {
        (self.waiting > 0).then_some(self.waiting)
    }

    /// `taken` items leave the queue; gives how many of them are initial ones.
    pub(crate) fn take(&mut self, taken: usize) -> usize {
        let initial = taken.min(self.waiting);
        self.waiting -= initial;
        initial
    }

    /// Initial items go back to the head of the queue.
    pub(crate) fn put_back(&mut self, initial: usize) {
        self.waiting += initial;
    }

    pub(crate) fn finish(&mut self, initial: usize) {
        self.unfinished = self.unfinished.saturating_sub(initial);
        self.check();
    }

    /// client-go has one count for both: whatever is finished uses it up.
    pub(crate) fn finish_any(&mut self, taken: usize) {
        self.unfinished = self.unfinished.saturating_sub(taken);
        self.waiting = self.unfinished;
        self.check();
    }

    fn check(&mut self) {
        self.synced |= self.populated && self.unfinished == 0;
    }
}
