//! Where the queues do better than client-go by default, and the way back.

/// Switches back to what client-go 0.37 does, one behaviour at a time; all are off by default.
///
/// ```
/// use informers_delta_fifo::{InOrderQueue, Parity};
///
/// let as_client_go: InOrderQueue<()> = InOrderQueue::atomic().with_parity(Parity::client_go_0_37());
/// let mut one = Parity::default();
/// one.accept_after_close = true;
/// # let _ = (as_client_go, one);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Parity {
    /// Takes changes after `close`, and hands them out. By default they are refused, since a closed queue
    /// belongs to an informer that stops.
    pub accept_after_close: bool,
    /// [`DeltaFifo`](crate::DeltaFifo) counts the last initial object as done when it is taken. By default
    /// it counts when it has been processed, so that a synced queue means a filled store.
    pub synced_before_processing: bool,
    /// In the in-order queue a bookmark that was taken before the first list uses up one of the list's
    /// count, so that the queue may count as synced with its list still waiting. By default only what
    /// belongs to the first list counts.
    pub bookmark_uses_up_initial_count: bool,
    /// A failed transform drops the change, also a deletion; it counts as the first population all the same;
    /// in a list it fails the whole replacement. By default a copy that is known becomes stale, deletions get
    /// through without their final state, and the other objects of a list are taken.
    /// In a streaming list such an object is merely missing.
    pub drop_failed_transforms: bool,
    /// Every copy that comes is transformed, those of a streaming list twice. By default an object that is
    /// known in the same version is not transformed again: the known copy takes the place of the new one.
    pub transform_every_copy: bool,
}

impl Parity {
    /// Everything as client-go 0.37 does it.
    #[must_use]
    pub const fn client_go_0_37() -> Self {
        Self {
            accept_after_close: true,
            synced_before_processing: true,
            bookmark_uses_up_initial_count: true,
            drop_failed_transforms: true,
            transform_every_copy: true,
        }
    }
}
