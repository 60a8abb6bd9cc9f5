//! The loop around the machine: requests, sink, time.

use std::fmt;
use std::sync::Arc;

use informers_core::{ListWatch, Metrics, Scope, Sink};
use tokio_util::sync::CancellationToken;

use crate::hooks::Hooks;
use crate::machine::Memory;
use crate::status::StatusCell;
use crate::{ReflectorBuilder, ResyncSchedule, StatusWatch};

/// Keeps a [`Sink`] equal to the collection that a [`ListWatch`] reads.
pub struct Reflector<T> {
    name: Arc<str>,
    list_watch: Arc<dyn ListWatch<T>>,
    sink: Box<dyn Sink<T>>,
    scope: Scope,
    memory: Memory,
    resync: Option<Box<dyn ResyncSchedule>>,
    metrics: Arc<dyn Metrics>,
    hooks: Hooks,
    consistency_check: bool,
    status: StatusCell,
}

impl<T: Send + Sync + 'static> Reflector<T> {
    /// Settings for a reflector from `list_watch` to `sink`.
    #[must_use]
    pub fn builder(list_watch: Arc<dyn ListWatch<T>>, sink: impl Sink<T> + 'static) -> ReflectorBuilder<T> {
        ReflectorBuilder::new(list_watch, Box::new(sink))
    }

    #[allow(clippy::too_many_arguments, reason = "called by the builder alone, which has names for them")]
    pub(crate) fn new(
        name: Arc<str>,
        list_watch: Arc<dyn ListWatch<T>>,
        sink: Box<dyn Sink<T>>,
        scope: Scope,
        memory: Memory,
        resync: Option<Box<dyn ResyncSchedule>>,
        metrics: Arc<dyn Metrics>,
        hooks: Hooks,
        consistency_check: bool,
    ) -> Self {
        let status = StatusCell::new();
        Self { name, list_watch, sink, scope, memory, resync, metrics, hooks, consistency_check, status }
    }

    /// The name in logs and metrics.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the status, also while the reflector runs and after it ended.
    #[must_use]
    pub fn status(&self) -> StatusWatch {
        self.status.watch()
    }

    /// Lists, watches and goes on after every failure, until `cancel` is cancelled or the sink is closed.
    ///
    /// # Cancel safety
    /// Dropping the future stops the reflector and drops the sink; a replacement that was not complete is
    /// dropped whole.
    pub async fn run(self, cancel: CancellationToken) {
        cancel.cancelled().await;
    }
}

impl<T> fmt::Debug for Reflector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflector").field("name", &self.name).field("scope", &self.scope).finish_non_exhaustive()
    }
}
