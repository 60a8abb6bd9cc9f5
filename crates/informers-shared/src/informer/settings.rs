//! How an informer reads its collection.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informers_core::Error;
use informers_reflector::{Backoff, FirstList, Parity, ReflectorBuilder};

/// How an informer reads its collection; each setting is explained at
/// [`ReflectorBuilder`](informers_reflector::ReflectorBuilder).
#[derive(Clone, Default)]
pub struct ReflectorSettings {
    page_size: Option<u32>,
    streaming_list: Option<bool>,
    first_list: Option<FirstList>,
    min_watch_timeout: Option<Duration>,
    backoff: Option<Backoff>,
    seed: Option<u64>,
    parity: Option<Parity>,
    watch_error_handler: Option<ErrorHandler>,
}

type ErrorHandler = Arc<dyn Fn(&Error) + Send + Sync>;

impl ReflectorSettings {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many objects are asked for in one page.
    #[must_use]
    pub fn page_size(mut self, objects: u32) -> Self {
        self.page_size = Some(objects);
        self
    }

    /// Whether a streaming list is tried first. Default `true`.
    #[must_use]
    pub fn streaming_list(mut self, on: bool) -> Self {
        self.streaming_list = Some(on);
        self
    }

    /// Which state the first list in pages may have.
    #[must_use]
    pub fn first_list(mut self, first: FirstList) -> Self {
        self.first_list = Some(first);
        self
    }

    /// After how long, at the least, the server is asked to end each watch.
    #[must_use]
    pub fn min_watch_timeout(mut self, timeout: Duration) -> Self {
        self.min_watch_timeout = Some(timeout);
        self
    }

    /// The pauses between failed attempts.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = Some(backoff);
        self
    }

    /// Fixes all randomness, for tests.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Switches deliberate differences from client-go back.
    #[must_use]
    pub fn parity(mut self, parity: Parity) -> Self {
        self.parity = Some(parity);
        self
    }

    /// Called with failed lists and watches.
    #[must_use]
    pub fn watch_error_handler(mut self, handler: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.watch_error_handler = Some(Arc::new(handler));
        self
    }

    pub(crate) fn apply<T: Send + Sync + 'static>(
        &self,
        builder: ReflectorBuilder<T>,
        informer: &crate::Parity,
    ) -> ReflectorBuilder<T> {
        let mut builder = builder.parity(self.parity.unwrap_or(informer.reflector));
        if let Some(objects) = self.page_size {
            builder = builder.page_size(objects);
        }
        if let Some(on) = self.streaming_list {
            builder = builder.streaming_list(on);
        }
        if let Some(first) = self.first_list {
            builder = builder.first_list(first);
        }
        if let Some(timeout) = self.min_watch_timeout {
            builder = builder.min_watch_timeout(timeout);
        }
        if let Some(backoff) = self.backoff {
            builder = builder.backoff(backoff);
        }
        if let Some(seed) = self.seed {
            builder = builder.seed(seed);
        }
        if let Some(handler) = self.watch_error_handler.clone() {
            builder = builder.watch_error_handler(move |error| handler(error));
        }
        builder
    }
}

impl fmt::Debug for ReflectorSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectorSettings")
            .field("page_size", &self.page_size)
            .field("streaming_list", &self.streaming_list)
            .field("first_list", &self.first_list)
            .field("min_watch_timeout", &self.min_watch_timeout)
            .field("backoff", &self.backoff)
            .finish_non_exhaustive()
    }
}
