//! One informer per resource, whoever asks.

mod builder;
mod registry;

pub use builder::{FactoryBuilder, InformerOptions};

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use informers_core::{Resource, Source};

use self::builder::Defaults;
use self::registry::{Found, Key, Registry};
use crate::informer::{Hold, SharedInformer, check_scopes};
use crate::sync::SyncWait;
use crate::{Error, InformerBuilder};

/// Makes shared informers over one source, one for each resource, representation and scope.
///
/// Takes the place of client-go's `SharedInformerFactory`, for every type. Whoever asks for the same gets a
/// handle to the same informer, so there is one watch for all. The factory itself holds no informer: one
/// whose last handle is dropped stops, and asking again makes a fresh one. Clones are the same factory.
///
/// ```
/// use informers_core::{JsonDecoder, Resource, ResourceScope, ResourceType};
/// use informers_shared::Factory;
/// use informers_testkit::SimulatedServer;
/// use serde_json::json;
///
/// #[derive(serde::Deserialize)]
/// struct Node {}
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = SimulatedServer::new();
/// server.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}))?;
/// let resource: Resource<Node> =
///     Resource::new(ResourceType::new("", "v1", "Node", "nodes", ResourceScope::Cluster), JsonDecoder::new());
///
/// let factory = Factory::new(server);
/// let nodes = factory.informer_for(&resource)?;
/// let same = factory.informer_for(&resource)?;
/// factory.start()?;
/// factory.synced().within(std::time::Duration::from_secs(10)).await?;
/// assert!(nodes.get("node-1").is_some() && same.get("node-1").is_some());
/// assert_eq!(factory.source().requests().len(), 1, "one streaming list for both");
/// factory.shutdown().await;
/// # Ok(()) }
/// ```
pub struct Factory<S> {
    inner: Arc<Inner<S>>,
}

struct Inner<S> {
    source: S,
    defaults: Defaults,
    registry: Registry,
}

impl<S: Source> Factory<S> {
    /// A factory with default settings: all namespaces, no resync.
    #[must_use]
    pub fn new(source: S) -> Self {
        Self::builder(source).build()
    }

    /// Settings for a factory over `source`.
    pub fn builder(source: S) -> FactoryBuilder<S> {
        FactoryBuilder::new(source)
    }

    fn with_defaults(source: S, defaults: Defaults) -> Self {
        Self { inner: Arc::new(Inner { source, defaults, registry: Registry::default() }) }
    }

    /// The source.
    #[must_use]
    pub fn source(&self) -> &S {
        &self.inner.source
    }

    /// The informer of `resource` in the factory's own scope.
    ///
    /// # Errors
    /// If the source cannot serve it, or the factory was shut down.
    #[track_caller]
    pub fn informer_for<T: Send + Sync + 'static>(
        &self,
        resource: &Resource<T>,
    ) -> Result<SharedInformer<T>, Error> {
        self.informer_for_with(resource, InformerOptions::new())
    }

    /// The informer of `resource` with options of its own: other scopes, a resync period, or a name that
    /// sets it apart.
    ///
    /// # Errors
    /// As [`informer_for`](Self::informer_for); if the informer has another resync period already; and if there is
    /// no scope, or two of them share a namespace.
    #[track_caller]
    pub fn informer_for_with<T: Send + Sync + 'static>(
        &self,
        resource: &Resource<T>,
        options: InformerOptions,
    ) -> Result<SharedInformer<T>, Error> {
        let Inner { source, defaults, registry } = &*self.inner;
        let asked_at = Location::caller();
        let scopes = options.resolve_scopes(resource.resource_type().scope(), &defaults.scopes);
        let resync = options.resync.unwrap_or_else(|| defaults.resync_of(resource.resource_type()));
        let set = (resync, asked_at);
        let (key, wanted) = match defaults.parity.one_informer_per_type {
            true => (Key::of_type(resource), None),
            false => {
                let key = Key::new(resource, scopes.clone(), options.variant.clone());
                (key, options.resync.is_some().then_some(set))
            }
        };
        match registry.find::<T>(&key, wanted)? {
            Found::Informer(hold) => return Ok(SharedInformer::from_hold(hold)),
            Found::ShutDown => return Err(Error::FactoryShutDown),
            Found::Nothing => {}
        }
        // The source is foreign code, so it runs under no lock; if two ask at once, one of the two
        // informers is dropped unstarted.
        let name = key.to_string();
        check_scopes(&name, &scopes.iter().collect::<Vec<_>>())?;
        let mut collections = Vec::with_capacity(scopes.len());
        for scope in scopes {
            let collection = source
                .list_watch(resource, &scope)
                .map_err(|source| Error::Source { informer: name.clone(), source })?;
            collections.push((scope, collection));
        }
        let mut fresh = InformerBuilder::of_scopes(collections)
            .name(&name)
            .resync(resync)
            .parity(defaults.parity)
            .reflector(options.reflector.unwrap_or_else(|| defaults.reflector.clone()))
            .metrics(Arc::clone(&defaults.metrics));
        if let Some(policy) = defaults.backlog {
            fresh = fresh.backlog(policy);
        }
        let fresh = fresh.build();
        let hold: Arc<Hold<T>> = registry.insert(&key, fresh.hold(), set, wanted)?;
        Ok(SharedInformer::from_hold(hold))
    }

    /// Starts every informer that is not running yet. Informers that are made later need another start.
    ///
    /// # Errors
    /// If the factory was shut down; else the first one that an informer gives, and the others are started all
    /// the same.
    pub fn start(&self) -> Result<(), Error> {
        if self.inner.registry.is_shut_down() {
            return Err(Error::FactoryShutDown);
        }
        let mut outcome = Ok(());
        for informer in self.inner.registry.live() {
            let started = informer.start();
            if outcome.is_ok() {
                outcome = started;
            }
        }
        outcome
    }

    /// Waits until every informer that was asked for has its first contents, and every handler that was added
    /// so far has returned from them.
    pub fn synced(&self) -> SyncWait {
        SyncWait::all(self.inner.registry.live().into_iter().flat_map(|informer| informer.sync_waits()))
    }

    /// Stops every informer and waits until no task of theirs is left. No informers are made any more.
    ///
    /// Called from inside a handler it would wait for itself; let another task do it.
    ///
    /// # Cancel safety
    /// All are asked to stop at the first poll, whether the future is dropped later or not.
    pub async fn shutdown(&self) {
        let informers = self.inner.registry.shut_down();
        for informer in &informers {
            informer.request_stop();
        }
        for informer in informers {
            informer.ended().await;
        }
    }

    /// The names of the informers that are in use, sorted.
    #[must_use]
    pub fn informers(&self) -> Vec<String> {
        let mut names: Vec<_> = self.inner.registry.live().iter().map(|informer| informer.name()).collect();
        names.sort();
        names
    }
}

impl<S> Clone for Factory<S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<S> fmt::Debug for Factory<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.inner.registry.live().iter().map(|informer| informer.name()).collect();
        f.debug_struct("Factory").field("informers", &names).finish_non_exhaustive()
    }
}
