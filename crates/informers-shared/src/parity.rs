//! Where informers do better than client-go by default, and the way back.

/// Switches back to what client-go 0.37 does, one behaviour at a time; all are off by default.
///
/// The parts of an informer have rules of their own, which are handed down to them.
///
/// ```
/// # use std::sync::Arc;
/// # use informers_core::ListWatch;
/// use informers_shared::{Parity, SharedInformer};
///
/// # fn f(pods: Arc<dyn ListWatch<()>>) {
/// let like_client_go = SharedInformer::builder(pods).parity(Parity::client_go_0_37()).build();
/// # }
/// let mut one = Parity::default();
/// one.recreation_is_update = true;
/// assert!(!one.unbounded_backlogs && Parity::client_go_0_37().unbounded_backlogs);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Parity {
    /// How the collection is read. [`ReflectorSettings::parity`](crate::ReflectorSettings::parity) takes
    /// precedence.
    pub reflector: informers_reflector::Parity,
    /// What the queue between reader and store does.
    pub queue: informers_delta_fifo::Parity,
    /// What the store does.
    pub store: informers_store::Parity,
    /// An object that comes again in the version that is stored, by a watch or a list, takes the place of
    /// its equal and is an update for the handlers that resync at the moment. Each handler counts as one of
    /// these until the first turn of the informer's resync, whatever its own period; without any resync, for
    /// ever. By default such an object says nothing new, so nobody is told.
    pub same_version_updates: bool,
    /// An object that took the name of another while nobody watched is an update of that. By default the one
    /// is deleted and the other added.
    pub recreation_is_update: bool,
    /// Handlers hear of the deletion of objects that were never stored. By default nobody hears the deletion
    /// of what he never saw.
    pub deletions_of_unknown: bool,
    /// An object that comes several times in one list is told as often. By default the last copy counts.
    pub repeated_list_items: bool,
    /// All handlers resync at the turns of one period, that of the informer or the shortest that was asked
    /// for before the start: others are rounded up to a turn, periods under 1 s count as 1 s, and an informer
    /// without a period never resyncs, whatever handlers ask for. By default each handler has exactly the
    /// period that it asks for. [`HandlerGuard::resync`](crate::HandlerGuard::resync) tells what came of it.
    pub coerced_resync: bool,
    /// Every event waits for a slow handler ([`BacklogPolicy::InOrder`](crate::BacklogPolicy::InOrder))
    /// where nothing else was chosen. By default events of one object are merged.
    pub unbounded_backlogs: bool,
    /// A handler that panics on an object of its initial set never counts as synced, and after each panic
    /// it is given its next event a second later. By default a panic costs the one event, and nothing else.
    pub panic_blocks_sync: bool,
    /// Only behind [`QueueKind::InOrder`](crate::QueueKind::InOrder) does the store know its version. By
    /// default it does behind every queue.
    pub version_only_of_atomic_lists: bool,
    /// A [`Factory`](crate::Factory) has one informer per resource and object type: who asks for other
    /// scopes, another variant or another resync period is given the first one as it is. By default these
    /// are informers of their own, and contradictions are errors.
    pub one_informer_per_type: bool,
}

impl Parity {
    /// Everything as client-go 0.37 does it, in all parts.
    #[must_use]
    pub fn client_go_0_37() -> Self {
        Self {
            reflector: informers_reflector::Parity::client_go_0_37(),
            queue: informers_delta_fifo::Parity::client_go_0_37(),
            store: informers_store::Parity::client_go_0_37(),
            same_version_updates: true,
            recreation_is_update: true,
            deletions_of_unknown: true,
            repeated_list_items: true,
            coerced_resync: true,
            unbounded_backlogs: true,
            panic_blocks_sync: true,
            version_only_of_atomic_lists: true,
            one_informer_per_type: true,
        }
    }
}
