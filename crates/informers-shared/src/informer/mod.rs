//! The shared informer: one reader of a collection, one store, many handlers.

mod builder;
pub(crate) mod core;
mod handlers;
mod scopes;
mod settings;
mod status;
mod status_line;
mod warm_up;

pub use builder::InformerBuilder;
pub use handlers::NewHandler;
pub use settings::ReflectorSettings;
pub use status::InformerStatus;
pub use warm_up::WarmUp;

pub(crate) use self::core::{Hold, StopMode};
pub(crate) use self::scopes::check as check_scopes;
pub(crate) use crate::pipeline::Command;

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::panic::Location;
use std::sync::Arc;

use informers_core::{Entry, Event, Handler, ListWatch, Scope, Transform, Undecodable};
use informers_reflector::StatusWatch;
use informers_store::{Index, IndexValues, Store};

use self::core::Life;
use crate::Error;
use crate::clock;
use crate::delivery::{HandlerGuard, Subscription};
use crate::sync::SyncWait;

/// Keeps a local copy of a collection, and tells handlers what changes.
///
/// Takes the place of client-go's `SharedIndexInformer`. It is a handle: clones are the same informer, which
/// reads its collection once, whoever uses it. The informer stops when the last of its handles, handler guards
/// and subscriptions is dropped, or by [`stop`](Self::stop). A handler that owns a handle of its own informer keeps it
/// running for ever; let it own a clone of the [`store`](Self::store) instead.
///
/// ```
/// # use std::sync::Arc;
/// # use informers_core::*;
/// # async fn f(pods: Arc<dyn ListWatch<String>>) -> Result<(), Box<dyn std::error::Error>> {
/// use informers_shared::SharedInformer;
///
/// let pods = SharedInformer::builder(pods).name("pods").build();
/// let mut events = pods.subscribe();
/// pods.start()?;
/// pods.synced().within(std::time::Duration::from_secs(30)).await?;
/// println!("{} pods", pods.store().len());
/// while let Some(event) = events.next().await {
///     println!("{event:?}");
/// }
/// # Ok(())
/// # }
/// ```
pub struct SharedInformer<T: Send + Sync + 'static> {
    hold: Arc<Hold<T>>,
}

impl<T: Send + Sync + 'static> SharedInformer<T> {
    /// Settings for an informer of `collection`.
    pub fn builder(collection: Arc<dyn ListWatch<T>>) -> InformerBuilder<T> {
        InformerBuilder::new(collection)
    }

    pub(crate) fn from_hold(hold: Arc<Hold<T>>) -> Self {
        Self { hold }
    }

    pub(crate) fn hold(&self) -> &Arc<Hold<T>> {
        &self.hold
    }

    /// The informer's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.hold.core().name
    }

    /// The local copy. A clone of it goes on to be readable, but does not keep the informer running.
    #[must_use]
    pub fn store(&self) -> &Store<T> {
        &self.hold.core().store
    }

    /// The object of this key, if the store has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Entry<T>> {
        self.store().get(key)
    }

    /// An index: look-ups by what `values_of` gives of an object, which may be nothing, one value or
    /// several. It may be added at any time; until it is filled, look-ups scan the store.
    ///
    /// If the function fails or panics, that object stays in the store, is not indexed, and is reported.
    pub fn index<V, R, F>(&self, values_of: F) -> Index<T, V>
    where
        V: Eq + Hash + Clone + Send + Sync + 'static,
        R: IndexValues<V>,
        F: Fn(&Entry<T>) -> R + Send + Sync + 'static,
    {
        match self.define_index(None, values_of) {
            Ok(index) => index,
            // Only names can be in conflict.
            Err(_) => unreachable!("an index without a name is in nobody's way"),
        }
    }

    /// As [`index`](Self::index), with a name under which the store's string look-ups find it too.
    ///
    /// # Errors
    /// If there is an index of this name.
    pub fn named_index<V, R, F>(&self, name: &str, values_of: F) -> Result<Index<T, V>, Error>
    where
        V: Eq + Hash + Clone + Send + Sync + 'static,
        R: IndexValues<V>,
        F: Fn(&Entry<T>) -> R + Send + Sync + 'static,
    {
        self.define_index(Some(name), values_of)
    }

    fn define_index<V, R, F>(&self, name: Option<&str>, values_of: F) -> Result<Index<T, V>, Error>
    where
        V: Eq + Hash + Clone + Send + Sync + 'static,
        R: IndexValues<V>,
        F: Fn(&Entry<T>) -> R + Send + Sync + 'static,
    {
        let defined = self.store().define_index(name, values_of);
        let (index, pending) =
            defined.map_err(|source| Error::Index { informer: self.name().to_owned(), source })?;
        self.hold.send(Command::Install(pending));
        Ok(index)
    }

    /// Settings for a handler: its name, its resync period, its backlog.
    #[track_caller]
    pub fn handler(&self) -> NewHandler<'_, T> {
        NewHandler::new(self, Location::caller())
    }

    /// Adds a handler with default settings. Added after the start, it is first shown what is there.
    #[track_caller]
    pub fn add_handler(&self, handler: impl Handler<T>) -> HandlerGuard<T> {
        self.handler().add(handler)
    }

    /// Adds a closure as a handler, with default settings.
    #[track_caller]
    pub fn on_event(&self, handler: impl FnMut(Event<T>) + Send + 'static) -> HandlerGuard<T> {
        self.handler().on_event(handler)
    }

    /// Adds an async closure as a handler, with default settings. The next call begins after the future of the last
    /// one has ended.
    #[track_caller]
    pub fn for_each<F>(&self, handler: impl FnMut(Event<T>) -> F + Send + 'static) -> HandlerGuard<T>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.handler().for_each(handler)
    }

    /// The events as a stream, with default settings.
    #[track_caller]
    pub fn subscribe(&self) -> Subscription<T> {
        self.handler().subscribe()
    }

    /// Changes each object once before it is kept; for all users of this informer alike.
    ///
    /// # Errors
    /// If one was set before, or the informer was started.
    #[track_caller]
    pub fn set_transform(&self, transform: Transform<T>) -> Result<(), Error> {
        const WHAT: &str = "the transform";
        let second = Location::caller();
        let informer = self.name().to_owned();
        match &mut *self.hold.core().life() {
            Life::Ready(setup) => match &setup.transform {
                Some((_, first)) => Err(Error::SetTwice { what: WHAT, informer, first, second }),
                None => {
                    setup.transform = Some((transform, second));
                    Ok(())
                }
            },
            _ => Err(Error::AlreadyStarted { what: WHAT, informer }),
        }
    }

    /// Lends the store's writer before the start, to fill it from elsewhere. Handlers are shown these objects
    /// as initial additions, and hear of their deletion if the first list does not have them.
    ///
    /// # Errors
    /// If the informer was started, or the writer is lent already.
    pub fn warm_up(&self) -> Result<WarmUp<T>, Error> {
        WarmUp::new(Arc::clone(&self.hold))
    }

    /// Starts reading. Starting it again does nothing.
    ///
    /// # Errors
    /// If it has stopped, is being warmed up, there is no Tokio runtime, or its scopes make no view: there is none,
    /// or two of them share a namespace.
    pub fn start(&self) -> Result<(), Error> {
        self.hold.core().start()
    }

    /// Waits until the store has its first contents. Handlers may not have seen them all yet; each has a
    /// [`synced`](HandlerGuard::synced) of its own.
    pub fn synced(&self) -> SyncWait {
        self.hold.wait_for(self.hold.core().sync_state())
    }

    /// Stops and waits until no task of the informer is left. What waits for handlers is dropped.
    ///
    /// Called from inside one of its own handlers it would wait for itself; let another task do it.
    ///
    /// # Cancel safety
    /// It stops from the first poll on, whether the future is dropped later or not.
    pub async fn stop(&self) {
        self.hold.core().request_stop(StopMode::AtOnce);
        self.hold.core().ended().await;
    }

    /// Stops reading, stores and delivers what has arrived, and waits until no task of the informer is left.
    ///
    /// # Cancel safety
    /// As [`stop`](Self::stop).
    pub async fn stop_after_delivery(&self) {
        self.hold.core().request_stop(StopMode::AfterDelivery);
        self.hold.core().ended().await;
    }

    /// Whether it has stopped; it cannot be started again.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.hold.core().is_stopped()
    }

    /// The objects that exist on the server but cannot be decoded. A copy that the store has of one is stale.
    #[must_use]
    pub fn undecodable(&self) -> Vec<Undecodable> {
        self.hold.core().undecodable.list()
    }

    /// How it is doing.
    #[must_use]
    pub fn status(&self) -> InformerStatus {
        let core = self.hold.core();
        let now = clock::now();
        let (started, stopped) = {
            let life = core.life();
            (!matches!(*life, Life::Ready(_) | Life::WarmingUp), matches!(*life, Life::Stopped))
        };
        let deliveries: Vec<_> =
            core.deliveries.lock().values().filter_map(std::sync::Weak::upgrade).collect();
        let reflectors = core.reflectors.get().map(Vec::as_slice).unwrap_or_default();
        InformerStatus {
            name: core.name.to_string(),
            at: now,
            started,
            stopped,
            synced: core.sync_state().outcome() == Some(crate::SyncState::Synced),
            objects: core.store.len(),
            version: core.store.version(),
            undecodable: core.undecodable.len(),
            reflectors: reflectors.iter().map(|(scope, status)| (scope.clone(), status.current())).collect(),
            handlers: deliveries.iter().map(|delivery| delivery.status(now)).collect(),
        }
    }

    /// The status of the reader of each scope, to be awaited for changes: for logs and readiness probes.
    /// Empty before the start.
    #[must_use]
    pub fn watch_status(&self) -> Vec<(Scope, StatusWatch)> {
        self.hold.core().reflectors.get().cloned().unwrap_or_default()
    }
}

impl<T: Send + Sync + 'static> Clone for SharedInformer<T> {
    fn clone(&self) -> Self {
        Self { hold: Arc::clone(&self.hold) }
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for SharedInformer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedInformer").field(&self.name()).finish()
    }
}
