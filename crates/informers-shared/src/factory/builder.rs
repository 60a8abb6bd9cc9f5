//! The settings of a factory and of one of its informers.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use informers_core::{Metrics, NoMetrics, ResourceScope, ResourceType, Scope, Source};

use super::Factory;
use crate::{BacklogPolicy, Parity, ReflectorSettings};

/// Settings of a [`Factory`], or of a type around one; see [`Factory::builder`].
#[must_use]
pub struct FactoryBuilder<S, F = Factory<S>> {
    source: S,
    defaults: Defaults,
    product: PhantomData<fn() -> F>,
}

/// What holds for every informer that does not say otherwise.
pub(super) struct Defaults {
    pub(super) scopes: Vec<Scope>,
    pub(super) backlog: Option<BacklogPolicy>,
    pub(super) parity: Parity,
    pub(super) reflector: ReflectorSettings,
    pub(super) metrics: Arc<dyn Metrics>,
    resync: Duration,
    resync_of: HashMap<ResourceType, Duration>,
}

impl Defaults {
    pub(super) fn resync_of(&self, resource: &ResourceType) -> Duration {
        self.resync_of.get(resource).copied().unwrap_or(self.resync)
    }
}

impl<S: Source> FactoryBuilder<S> {
    pub(super) fn new(source: S) -> Self {
        Self {
            source,
            defaults: Defaults {
                scopes: vec![Scope::all()],
                backlog: None,
                parity: Parity::default(),
                reflector: ReflectorSettings::new(),
                metrics: Arc::new(NoMetrics),
                resync: Duration::ZERO,
                resync_of: HashMap::new(),
            },
            product: PhantomData,
        }
    }
}

impl<S: Source, F: From<Factory<S>>> FactoryBuilder<S, F> {
    /// Makes [`build`](Self::build) give another type, such as one that adds methods to a factory.
    pub fn build_as<G: From<Factory<S>>>(self) -> FactoryBuilder<S, G> {
        FactoryBuilder { source: self.source, defaults: self.defaults, product: PhantomData }
    }

    /// How often handlers are shown every object again; zero, the default, is never.
    pub fn resync(mut self, period: Duration) -> Self {
        self.defaults.resync = period;
        self
    }

    /// The same for one resource, in place of the period for all.
    pub fn resync_of(mut self, resource: ResourceType, period: Duration) -> Self {
        self.defaults.resync_of.insert(resource, period);
        self
    }

    /// The part of each resource that is read; everything by default. Cluster-scoped resources ignore a
    /// namespace.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.defaults.scopes = vec![scope];
        self
    }

    /// Several namespaces in place of all of them. As in client-go the empty name stands for all, and swallows the
    /// others: check what comes from the environment. With none at all, asking for an informer is an error.
    pub fn namespaces<N: AsRef<str>>(mut self, namespaces: impl IntoIterator<Item = N>) -> Self {
        self.defaults.scopes = namespaces.into_iter().map(|name| Scope::namespace(name.as_ref())).collect();
        self
    }

    /// What happens to events that a handler is too slow for.
    pub fn backlog(mut self, policy: BacklogPolicy) -> Self {
        self.defaults.backlog = Some(policy);
        self
    }

    /// With some of client-go's behaviours in place of the better ones.
    pub fn parity(mut self, parity: impl Into<Parity>) -> Self {
        self.defaults.parity = parity.into();
        self
    }

    /// How collections are read.
    pub fn reflector(mut self, settings: ReflectorSettings) -> Self {
        self.defaults.reflector = settings;
        self
    }

    /// Receives measurements.
    pub fn metrics(mut self, metrics: Arc<dyn Metrics>) -> Self {
        self.defaults.metrics = metrics;
        self
    }

    /// The factory.
    #[must_use]
    pub fn build(self) -> F {
        Factory::with_defaults(self.source, self.defaults).into()
    }
}

impl<S, F> fmt::Debug for FactoryBuilder<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactoryBuilder").field("scopes", &self.defaults.scopes).finish_non_exhaustive()
    }
}

/// What sets one informer of a factory apart from the factory's defaults.
///
/// ```
/// use std::time::Duration;
/// use informers_core::Scope;
/// use informers_shared::InformerOptions;
///
/// let options = InformerOptions::new()
///     .scope(Scope::namespace("shop").with_labels("app=web".parse().unwrap()))
///     .resync(Duration::from_secs(600));
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct InformerOptions {
    pub(super) resync: Option<Duration>,
    pub(super) variant: Option<String>,
    pub(super) reflector: Option<ReflectorSettings>,
    scopes: Option<Vec<Scope>>,
}

impl InformerOptions {
    /// The factory's defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another part of the resource. An informer of another scope is another informer.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scopes = Some(vec![scope]);
        self
    }

    /// Several parts of the resource in one view. Where one of them is everything, it swallows the rest; else no
    /// two may share a namespace, whatever their selectors.
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        self.scopes = Some(scopes.into_iter().collect());
        self
    }

    /// How often handlers are shown every object again. It belongs to the informer, so whoever sets it must
    /// agree with whoever asked for the informer first, also if that one left it to the factory.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// A name that makes this an informer of its own, beside another of the same resource and scope: say,
    /// with a transform that others do not want.
    pub fn variant(mut self, name: &str) -> Self {
        self.variant = Some(name.to_owned());
        self
    }

    /// How the collection is read. It counts for the informer's first user alone.
    pub fn reflector(mut self, settings: ReflectorSettings) -> Self {
        self.reflector = Some(settings);
        self
    }

    /// The scopes, normalised: no namespace of a cluster-scoped resource, nothing twice, and "all" alone.
    pub(super) fn resolve_scopes(&self, resource: ResourceScope, defaults: &[Scope]) -> Vec<Scope> {
        let mut scopes: Vec<Scope> = Vec::new();
        for scope in self.scopes.as_deref().unwrap_or(defaults) {
            let scope = match resource {
                ResourceScope::Namespaced => scope.clone(),
                ResourceScope::Cluster => {
                    Scope::all().with_labels(scope.labels().clone()).with_fields(scope.fields().clone())
                }
            };
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        let swallowed = |scope: &Scope| {
            scope.namespace_name().is_some()
                && scopes.iter().any(|other| {
                    other.namespace_name().is_none()
                        && other.labels() == scope.labels()
                        && other.fields() == scope.fields()
                })
        };
        let mut kept: Vec<_> = scopes.iter().filter(|scope| !swallowed(scope)).cloned().collect();
        kept.sort_by_key(ToString::to_string);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(resource: ResourceScope, namespaces: &[&str]) -> Vec<String> {
        let scopes = namespaces.iter().map(|name| Scope::namespace(name));
        let scopes = InformerOptions::new().scopes(scopes).resolve_scopes(resource, &[Scope::all()]);
        scopes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a30_scopes_are_normalised() {
        use ResourceScope::{Cluster, Namespaced};
        assert_eq!(resolved(Namespaced, &["a"]), ["namespace a"]);
        assert_eq!(resolved(Namespaced, &["b", "a"]), ["namespace a", "namespace b"]);
        assert_eq!(resolved(Namespaced, &["a", "a"]), ["namespace a"]);
        assert_eq!(resolved(Namespaced, &["a", ""]), ["all namespaces"]);
        assert_eq!(resolved(Cluster, &["a", "b"]), ["all namespaces"]);
        let default = InformerOptions::new().resolve_scopes(Namespaced, &[Scope::namespace("d")]);
        assert_eq!(default, [Scope::namespace("d")]);
    }
}
