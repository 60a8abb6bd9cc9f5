//! The switches back to client-go's behaviour.

/// Where this queue differs from client-go's on purpose, and how to switch each difference back.
///
/// The default is the better behaviour everywhere; [`Parity::client_go_0_37`] is client-go 0.37 everywhere. The
/// setters change one rule at a time.
///
/// ```
/// use informers_workqueue::{Parity, WorkQueue};
///
/// let queue = WorkQueue::<String>::builder().parity(Parity::client_go_0_37()).build();
/// // One rule alone:
/// let one = Parity::default().add_keeps_waiting(true);
/// assert!(one.keeps_waiting_on_add());
/// # drop(queue);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Parity {
    add_keeps_waiting: bool,
    drain_in_flight_only: bool,
    done_of_untaken_requeues: bool,
    repeated_shut_down_ignored: bool,
}

impl Parity {
    /// All rules as in client-go 0.37.
    pub const fn client_go_0_37() -> Self {
        Self {
            add_keeps_waiting: true,
            drain_in_flight_only: true,
            done_of_untaken_requeues: true,
            repeated_shut_down_ignored: true,
        }
    }

    /// Whether an immediate add leaves a later delayed add of the same key in place, so that the key runs twice.
    /// Default `false`: the immediate add takes the place of the later wish.
    #[must_use]
    pub const fn add_keeps_waiting(mut self, keep: bool) -> Self {
        self.add_keeps_waiting = keep;
        self
    }

    /// Whether a drain waits only for the keys that are taken and ignores those still queued.
    /// Default `false`: it waits for both.
    #[must_use]
    pub const fn drain_in_flight_only(mut self, only: bool) -> Self {
        self.drain_in_flight_only = only;
        self
    }

    /// Whether `done` for a queued key that nobody took queues it a second time, and `done` for an unknown key is
    /// silently accepted. Default `false`: both are errors and change nothing.
    #[must_use]
    pub const fn done_of_untaken_requeues(mut self, requeues: bool) -> Self {
        self.done_of_untaken_requeues = requeues;
        self
    }

    /// Whether the second and later plain shutdowns do nothing, so that they cannot release a drain which began
    /// after the first one. Default `false`: every plain shutdown releases the drains.
    #[must_use]
    pub const fn repeated_shut_down_ignored(mut self, ignored: bool) -> Self {
        self.repeated_shut_down_ignored = ignored;
        self
    }

    /// See [`add_keeps_waiting`](Self::add_keeps_waiting).
    pub const fn keeps_waiting_on_add(&self) -> bool {
        self.add_keeps_waiting
    }

    /// See [`drain_in_flight_only`](Self::drain_in_flight_only).
    pub const fn drains_in_flight_only(&self) -> bool {
        self.drain_in_flight_only
    }

    /// See [`done_of_untaken_requeues`](Self::done_of_untaken_requeues).
    pub const fn requeues_untaken_on_done(&self) -> bool {
        self.done_of_untaken_requeues
    }

    /// See [`repeated_shut_down_ignored`](Self::repeated_shut_down_ignored).
    pub const fn ignores_repeated_shut_down(&self) -> bool {
        self.repeated_shut_down_ignored
    }
}
