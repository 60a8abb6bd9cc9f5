//! Putting a shared informer together.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use informers_core::{ListWatch, Metrics, NoMetrics, Scope, Transform};
use informers_reflector::GuardedMetrics;

use super::core::{Blueprint, Core, Hold};
use super::{ReflectorSettings, SharedInformer};
use crate::{BacklogPolicy, Parity, QueueKind};

/// Settings of a [`SharedInformer`]; see [`SharedInformer::builder`].
#[must_use]
pub struct InformerBuilder<T> {
    name: Option<Arc<str>>,
    collections: Vec<(Scope, Arc<dyn ListWatch<T>>)>,
    resync: Option<Duration>,
    backlog: Option<BacklogPolicy>,
    queue: QueueKind,
    parity: Parity,
    settings: ReflectorSettings,
    metrics: Arc<dyn Metrics>,
    transform: Option<(Transform<T>, &'static Location<'static>)>,
}

impl<T: Send + Sync + 'static> InformerBuilder<T> {
    pub(crate) fn new(collection: Arc<dyn ListWatch<T>>) -> Self {
        Self::of_scopes(vec![(Scope::all(), collection)])
    }

    /// One informer over several parts of a resource, each read by itself: one store, one view, synced when
    /// every part is. No two parts may share a namespace, whatever their selectors, since an object's key does not
    /// tell which of them it belongs to; [`SharedInformer::start`] refuses that.
    ///
    /// A part in trouble, such as a namespace that may not be read, does not hide the others.
    pub fn of_scopes(collections: Vec<(Scope, Arc<dyn ListWatch<T>>)>) -> Self {
        Self {
            name: None,
            collections,
            resync: None,
            backlog: None,
            queue: QueueKind::default(),
            parity: Parity::default(),
            settings: ReflectorSettings::new(),
            metrics: Arc::new(NoMetrics),
            transform: None,
        }
    }

    /// The name in logs, errors and metrics; by default what the collection calls itself.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How often handlers are shown every object again, unless they say otherwise; zero, the default, is
    /// never.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period).filter(|period| !period.is_zero());
        self
    }

    /// What happens to events that a handler is too slow for, unless it says otherwise.
    pub fn backlog(mut self, policy: BacklogPolicy) -> Self {
        self.backlog = Some(policy);
        self
    }

    /// The queue between reader and store. An informer of several scopes keeps the default, since the others
    /// do not know which list is whose.
    pub fn queue(mut self, queue: QueueKind) -> Self {
        self.queue = queue;
        self
    }

    /// With some of client-go's behaviours in place of the better ones.
    pub fn parity(mut self, parity: Parity) -> Self {
        self.parity = parity;
        self
    }

    /// How the collection is read.
    pub fn reflector(mut self, settings: ReflectorSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Receives measurements. If one of its methods panics, that measurement is lost and the first panic is logged;
    /// the informer goes on.
    pub fn metrics(mut self, metrics: Arc<dyn Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Changes each object once before it is kept.
    #[track_caller]
    pub fn transform(mut self, transform: Transform<T>) -> Self {
        self.transform = Some((transform, Location::caller()));
        self
    }

    /// The informer. Nothing is read before it is started.
    pub fn build(self) -> SharedInformer<T> {
        let name = self.name.unwrap_or_else(|| match self.collections.first() {
            Some((_, collection)) => collection.description().into(),
            None => "nothing".into(),
        });
        let default_backlog = match self.parity.unbounded_backlogs {
            true => BacklogPolicy::InOrder,
            false => BacklogPolicy::default(),
        };
        let queue = if self.collections.len() > 1 { QueueKind::InOrder } else { self.queue };
        SharedInformer::from_hold(Hold::new(Core::new(Blueprint {
            name,
            collections: self.collections,
            resync: self.resync,
            backlog: self.backlog.unwrap_or(default_backlog),
            queue,
            parity: self.parity,
            settings: self.settings,
            metrics: Arc::new(GuardedMetrics::new(self.metrics)),
            transform: self.transform,
        })))
    }
}

impl<T> fmt::Debug for InformerBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scopes: Vec<_> = self.collections.iter().map(|(scope, _)| scope).collect();
        f.debug_struct("InformerBuilder")
            .field("name", &self.name)
            .field("scopes", &scopes)
            .field("resync", &self.resync)
            .field("backlog", &self.backlog)
            .finish_non_exhaustive()
    }
}
