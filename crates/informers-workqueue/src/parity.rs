//! The switches back to client-go's behaviour.

/// Where this queue differs from client-go's on purpose: each field switches one difference back, and all are off by
/// default, which is the better behaviour everywhere.
///
/// ```
/// use informers_workqueue::{Parity, WorkQueue};
///
/// let queue = WorkQueue::<String>::builder().parity(Parity::client_go_0_37()).build();
/// // One rule alone:
/// let mut one = Parity::default();
/// one.add_keeps_waiting = true;
/// # drop(queue);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Parity {
    /// An immediate add leaves a later delayed add of the same key in place, so that the key runs twice. By default the
    /// immediate add takes the place of the later wish.
    pub add_keeps_waiting: bool,
    /// A drain waits only for the keys that are taken and ignores those still queued. By default it waits for both.
    pub drain_in_flight_only: bool,
    /// `done` for a queued key that nobody took queues it a second time, and `done` for an unknown key is silently
    /// accepted. By default both are errors and change nothing.
    pub done_of_untaken_requeues: bool,
    /// The second and later plain shutdowns do nothing, so that they cannot release a drain which began after the first
    /// one. By default every plain shutdown releases the drains.
    pub repeated_shut_down_ignored: bool,
}

impl Parity {
    /// Everything as in client-go 0.37.
    #[must_use]
    pub const fn client_go_0_37() -> Self {
        Self {
            add_keeps_waiting: true,
            drain_in_flight_only: true,
            done_of_untaken_requeues: true,
            repeated_shut_down_ignored: true,
        }
    }
}
