//! The switches back to client-go's behaviour.

/// Where this reflector differs from client-go's on purpose: each field switches one difference back, and all are off by
/// default, which is the better behaviour everywhere.
///
/// ```
/// use informers_reflector::Parity;
///
/// assert!(Parity::client_go_0_37().ask_for_streaming_again);
/// let mut one = Parity::default();
/// one.ask_for_streaming_again = true;
/// assert!(!one.relist_after_failed_watch);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Parity {
    /// A streaming list that the server refused or never finished is asked for again at each list, with unlimited
    /// patience. By default patience is bounded and the verdict remembered.
    pub ask_for_streaming_again: bool,
    /// A watch that failed, or ended at once, is followed by a new list. By default the watch goes on from the last
    /// version wherever that version may still be good.
    pub relist_after_failed_watch: bool,
    /// 403 and 404 are errors like any other. By default they are states of their own with slow retries, and a resource
    /// that is gone empties the sink.
    pub no_denial_states: bool,
    /// The reflector waits without limit for answers, and believes lists that are older than what it asked for. By
    /// default silent requests are given up, and it never goes back in time.
    pub no_client_limits: bool,
    /// The time that a server asks to wait is left to the transport. By default the reflector waits as told.
    pub ignore_retry_after: bool,
    /// An object that cannot be decoded, or that a replacement's sink refuses, fails the whole list or ends the watch. By
    /// default it costs that object only.
    pub fail_on_bad_objects: bool,
    /// An event of an unknown type ends the watch. By default it is passed over.
    pub fail_on_unknown_events: bool,
    /// The resync schedule starts anew at each list and rests while there is no watch, and a sink that refuses a resync
    /// causes a new list. By default it is kept exactly, and a refusal is reported.
    pub restart_resync: bool,
    /// A `min_watch_timeout` under 300 s is ignored. By default any value is honoured.
    pub watch_timeout_floor: bool,
    /// The watch error handler hears of exactly what client-go tells it: lists, watch starts and replacements that failed,
    /// every time. By default it hears of everything that does not heal by itself, and of 403 and 404 once per change.
    pub report_like_client_go: bool,
    /// A stop during the request for a streaming list counts as its failure, so that a list is still asked for, whose
    /// answer nobody awaits. By default nothing is asked after a stop.
    pub list_after_stop: bool,
    /// The server counts as one that answers in pages, and so is asked for pages by all later lists, if a list of any
    /// version failed and the list without a version in its place came in pages. By default it does not, since lists
    /// without a version always come in pages.
    pub learn_from_second_attempt: bool,
}

impl Parity {
    /// Everything as in client-go 0.37.
    #[must_use]
    pub const fn client_go_0_37() -> Self {
        Self {
            ask_for_streaming_again: true,
            relist_after_failed_watch: true,
            no_denial_states: true,
            no_client_limits: true,
            ignore_retry_after: true,
            fail_on_bad_objects: true,
            fail_on_unknown_events: true,
            restart_resync: true,
            watch_timeout_floor: true,
            report_like_client_go: true,
            list_after_stop: true,
            learn_from_second_attempt: true,
        }
    }
}
