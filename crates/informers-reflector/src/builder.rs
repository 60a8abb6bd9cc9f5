//! Putting a reflector together.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informers_core::{Error, ListWatch, Metrics, NoMetrics, Scope, Sink, SinkError, Undecodable};

use crate::driver::{Observer, Reflector, Resyncs};
use crate::hooks::Hooks;
use crate::machine::{Memory, Rules};
use crate::{Backoff, Parity, ResyncSchedule};

/// Which state the first list may have.
///
/// A streaming list is always the most recent state; this is about lists in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "the API has these two ways")]
pub enum FirstList {
    /// Any state that the server has at hand (`resourceVersion=0`): fast and cheap for the server, but a
    /// replica that lags behind may answer with the past. Later lists are never older than what was seen.
    #[default]
    Any,
    /// The most recent state.
    MostRecent,
}

/// How long a streaming list is waited for before the collection is listed in pages instead.
///
/// Some servers and proxies ignore the wish for initial events and then never send the mark that ends
/// them; the reflector gives up as soon as one of the three limits is passed, and remembers it for the rest of
/// its life.
///
/// ```
/// use std::time::Duration;
/// use informers_reflector::StreamingPatience;
///
/// let short = StreamingPatience { quiet: Duration::from_secs(2), ..StreamingPatience::default() };
/// assert_eq!(short.streams, 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "plain limits, for struct updates")]
pub struct StreamingPatience {
    /// The longest time without another object of the initial state. Default 5 s. The wait for the first
    /// one may take twice as long.
    pub quiet: Duration,
    /// The longest time from the first request to the mark, whatever arrives. Default 2 min.
    pub total: Duration,
    /// How many streams may end without the mark. Default 3.
    pub streams: u32,
}

impl Default for StreamingPatience {
    fn default() -> Self {
        Self { quiet: Duration::from_secs(5), total: Duration::from_secs(120), streams: 3 }
    }
}

/// Settings of a [`Reflector`]; see [`Reflector::builder`].
///
/// Hooks run on the reflector's own task, so they must return at once. One that panics is logged, and the
/// reflector goes on.
///
/// ```
/// # use std::sync::Arc;
/// # use std::time::Duration;
/// # use informers_core::*;
/// use informers_reflector::{Every, FirstList, Reflector};
///
/// # fn f(list_watch: Arc<dyn ListWatch<()>>, sink: impl Sink<()> + 'static) {
/// let reflector = Reflector::builder(list_watch, sink)
///     .name("pods of the shop")
///     .scope(Scope::namespace("shop"))
///     .first_list(FirstList::MostRecent)
///     .resync(Every::new(Duration::from_secs(600)))
///     .watch_error_handler(|error| eprintln!("{error}"))
///     .build();
/// assert_eq!(reflector.name(), "pods of the shop");
/// # }
/// ```
pub struct ReflectorBuilder<T> {
    list_watch: Arc<dyn ListWatch<T>>,
    sink: Box<dyn Sink<T>>,
    name: Option<Arc<str>>,
    scope: Scope,
    rules: Rules,
    backoff: Backoff,
    seed: Option<u64>,
    resync: Option<Box<dyn ResyncSchedule>>,
    metrics: Arc<dyn Metrics>,
    hooks: Hooks,
    consistency_check: bool,
}

impl<T: Send + Sync + 'static> ReflectorBuilder<T> {
    pub(crate) fn new(list_watch: Arc<dyn ListWatch<T>>, sink: Box<dyn Sink<T>>) -> Self {
        Self {
            list_watch,
            sink,
            name: None,
            scope: Scope::all(),
            rules: Rules::default(),
            backoff: Backoff::default(),
            seed: None,
            resync: None,
            metrics: Arc::new(NoMetrics),
            hooks: Hooks::default(),
            consistency_check: false,
        }
    }

    /// The name in logs and metrics; by default the list-watch's description.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The scope whose objects a list replaces in the sink; by default everything. It does not narrow the
    /// requests, which is the list-watch's business.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// How many objects are asked for in one page of every list. By default, or with 0, as in client-go: 500
    /// in lists of any or the most recent state; no limit in later lists, which the server answers from its
    /// cache, unless it gave pages of the first list.
    #[must_use]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.rules.page_size = (objects > 0).then_some(objects);
        self
    }

    /// Whether the state is asked for as a streaming list where the server and the list-watch can, instead
    /// of in pages. Default `true`.
    ///
    /// A server that refuses a streaming list, or never ends it, is not asked for one again as long as the
    /// reflector lives, however often it lists; so a server that learns it later, by an upgrade, is asked
    /// by new reflectors only. [`Parity::ask_for_streaming_again`] asks at each list.
    #[must_use]
    pub fn streaming_list(mut self, on: bool) -> Self {
        self.rules.streaming_list = on;
        self
    }

    /// How long a streaming list is waited for.
    #[must_use]
    pub fn streaming_patience(mut self, patience: StreamingPatience) -> Self {
        self.rules.patience = patience;
        self
    }

    /// Which state the first list in pages may have. Default: any.
    #[must_use]
    pub fn first_list(mut self, first: FirstList) -> Self {
        self.rules.first_list = first;
        self
    }

    /// After how long, at the least, the server is asked to end each watch: a random time between this and
    /// twice this, in whole seconds. Default 5 min.
    #[must_use]
    pub fn min_watch_timeout(mut self, timeout: Duration) -> Self {
        self.rules.min_watch_timeout = timeout;
        self
    }

    /// The pauses between failed attempts.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Fixes all randomness (pauses and watch timeouts), for tests. By default it differs from run to run.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// When the sink shows its objects again; by default never.
    #[must_use]
    pub fn resync(mut self, schedule: impl ResyncSchedule + 'static) -> Self {
        self.resync = Some(Box::new(schedule));
        self
    }

    /// Called with failures. What heals by itself,
    /// such as an expired version, is not told; a denied permission or a missing resource once per change.
    #[must_use]
    pub fn watch_error_handler(mut self, handler: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.hooks.error = Some(Arc::new(handler));
        self
    }

    /// For how long a watch that fails with an internal error of the server (500) is asked for again at
    /// once, without a pause. Default zero: it pauses like after any failure.
    #[must_use]
    pub fn max_internal_error_retry(mut self, limit: Duration) -> Self {
        self.rules.max_internal_error_retry = limit;
        self
    }

    /// Switches deliberate differences from client-go back.
    #[must_use]
    pub fn parity(mut self, parity: Parity) -> Self {
        self.rules.parity = parity;
        self
    }

    /// Receives measurements. One that panics costs itself only, and the first is logged.
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<dyn Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Called with each object that cannot be decoded, before the sink is offered it.
    #[must_use]
    pub fn on_undecodable(mut self, hook: impl Fn(&Undecodable) + Send + Sync + 'static) -> Self {
        self.hooks.undecodable = Some(Arc::new(hook));
        self
    }

    /// Called with each refusal of the sink.
    #[must_use]
    pub fn on_refused(mut self, hook: impl Fn(&SinkError) + Send + Sync + 'static) -> Self {
        self.hooks.refused = Some(Arc::new(hook));
        self
    }

    /// Whether each streaming list is compared with an ordinary list of exactly the same version, by key,
    /// uid and version of the objects. Default `false`: it costs a second list. A difference goes to the
    /// log and to the watch error handler; client-go's detector panics.
    #[must_use]
    pub fn consistency_check(mut self, on: bool) -> Self {
        self.consistency_check = on;
        self
    }

    /// The reflector. Nothing happens before it is run.
    #[must_use]
    pub fn build(self) -> Reflector<T> {
        let rng = self.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        let mut rules = self.rules;
        rules.streaming_list &= self.list_watch.supports_streaming_list();
        let name = self.name.unwrap_or_else(|| self.list_watch.description().into());
        let memory = Memory::new(rules, self.backoff, rng);
        let resyncs = Resyncs::new(self.resync, &memory);
        let observer = Observer::new(name, self.metrics, self.hooks);
        let check = self.consistency_check;
        Reflector::new(self.list_watch, self.sink, self.scope, memory, resyncs, observer, check)
    }
}

impl<T> fmt::Debug for ReflectorBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectorBuilder")
            .field("name", &self.name)
            .field("scope", &self.scope)
            .field("rules", &self.rules)
            .field("backoff", &self.backoff)
            .finish_non_exhaustive()
    }
}
