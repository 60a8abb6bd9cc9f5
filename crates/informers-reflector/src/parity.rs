//! The switches back to client-go's behaviour.

/// Where this reflector differs from client-go's on purpose, and how to switch each difference back.
///
/// The default is the better behaviour everywhere; [`Parity::client_go_0_37`] is client-go 0.37
/// everywhere. The setters change one rule at a time.
///
/// ```
/// use informers_reflector::Parity;
///
/// assert!(!Parity::default().asks_for_streaming_again());
/// assert!(Parity::client_go_0_37().asks_for_streaming_again());
/// let one = Parity::default().ask_for_streaming_again(true);
/// assert!(one.asks_for_streaming_again() && !one.relists_after_failed_watch());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parity {
    ask_for_streaming_again: bool,
    relist_after_failed_watch: bool,
    no_denial_states: bool,
    no_client_limits: bool,
    ignore_retry_after: bool,
    fail_on_bad_objects: bool,
    fail_on_unknown_events: bool,
    restart_resync: bool,
    watch_timeout_floor: bool,
    report_like_client_go: bool,
    list_after_stop: bool,
    learn_from_second_attempt: bool,
}

macro_rules! rules {
    ($($(#[$doc:meta])* $set:ident, $get:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub const fn $set(mut self, on: bool) -> Self {
            self.$set = on;
            self
        }

        #[doc = concat!("See [`", stringify!($set), "`](Self::", stringify!($set), ").")]
        #[must_use]
        pub const fn $get(&self) -> bool {
            self.$set
        }
    )*};
}

impl Parity {
    /// All rules as in client-go 0.37.
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

    rules! {
        /// Whether a streaming list that the server refused or never finished is asked for again at each
        /// list, with unlimited patience. Default `false`: patience is bounded and the verdict remembered.
        ask_for_streaming_again, asks_for_streaming_again;
        /// Whether a watch that failed, or ended at once, is followed by a new list. Default `false`: the
        /// watch goes on from the last version wherever that version may still be good.
        relist_after_failed_watch, relists_after_failed_watch;
        /// Whether 403 and 404 are errors like any other. Default `false`: they are states of their own with
        /// slow retries, and a resource that is gone empties the sink.
        no_denial_states, has_no_denial_states;
        /// Whether the reflector waits without limit for answers, and believes lists that are older than
        /// what it asked for. Default `false`: silent requests are given up, and it never goes back in time.
        no_client_limits, has_no_client_limits;
        /// Whether the time that a server asks to wait is left to the transport. Default `false`.
        ignore_retry_after, ignores_retry_after;
        /// Whether an object that cannot be decoded, or that a replacement's sink refuses, fails the whole
        /// list or ends the watch. Default `false`: it costs that object only.
        fail_on_bad_objects, fails_on_bad_objects;
        /// Whether an event of an unknown type ends the watch. Default `false`: it is passed over.
        fail_on_unknown_events, fails_on_unknown_events;
        /// Whether the resync schedule starts anew at each list, rests while there is no watch, and a sink
        /// that refuses a resync causes a new list. Default `false`.
        restart_resync, restarts_resync;
        /// Whether a `min_watch_timeout` under 300 s is ignored. Default `false`: any value is honoured.
        watch_timeout_floor, has_watch_timeout_floor;
        /// Whether the watch error handler hears of exactly what client-go tells it: lists, watch starts
        /// and replacements that failed, every time. Default `false`: of everything that does not heal by
        /// itself, and of 403 and 404 once per change.
        report_like_client_go, reports_like_client_go;
        /// Whether a stop during the request for a streaming list counts as its failure, so that a list is
        /// still asked for, whose answer nobody awaits. Default `false`: nothing is asked after a stop.
        list_after_stop, lists_after_stop;
        /// Whether the server counts as one that answers in pages, and so is asked for pages by all later
        /// lists, if a list of any version failed and the list without a version in its place came in
        /// pages. Default `false`: lists without a version always come in pages, so they say nothing.
        learn_from_second_attempt, learns_from_second_attempts;
    }
}
