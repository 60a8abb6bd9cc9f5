//! How much is recorded.

use std::time::Duration;

/// Limits of a [`Recorder`](super::Recorder). The defaults are client-go's (`tools/record`).
///
/// ```
/// use informers_client::recorder::Options;
///
/// let chatty = Options { burst: 100, ..Options::default() };
/// assert_eq!(chatty.similar, 10);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "made by struct update; new limits are rare and documented")]
pub struct Options {
    /// How many occurrences may wait to be written, at least 1; more are dropped and counted. Default 1000
    /// (`maxQueuedEvents`).
    pub queue: usize,
    /// At how many different messages about one object, with the same reason and type, they become one Event; 1,
    /// and 0 too, combines from the first on. Default 10 (`defaultAggregateMaxEvents`).
    pub similar: usize,
    /// After how long a silence between two of these they are counted anew. Default 10 min (`defaultAggregateIntervalInSeconds`).
    pub similar_within: Duration,
    /// How many requests the Events of one type about one object may cause after a quiet time, at least 1. Default
    /// 25 (`defaultSpamBurst`).
    pub burst: u32,
    /// After how long one more is allowed; zero for no limit, [`Duration::MAX`] for never. Default 5 min
    /// (`defaultSpamQPS`).
    pub refill: Duration,
    /// How many objects, Events and groups of them are remembered, at least 1 of each. Default 4096
    /// (`maxLruCacheEntries`).
    pub remembered: usize,
    /// How often an Event is tried to be written while the server is not reached or asks for patience, at least
    /// once. Default 12 (`maxTriesPerEvent`).
    pub tries: u32,
    /// The pause between tries where the server does not say how long to wait; the first is a random part of it.
    /// Default 10 s (`defaultSleepDuration`).
    pub pause: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queue: 1000,
            similar: 10,
            similar_within: Duration::from_secs(600),
            burst: 25,
            refill: Duration::from_secs(300),
            remembered: 4096,
            tries: 12,
            pause: Duration::from_secs(10),
        }
    }
}
