//! The plain informer: one collection, one store, one consumer that is called in line.

mod builder;

pub use builder::PlainInformerBuilder;

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use informers_core::{Handler, ListWatch};
use informers_delta_fifo::{Closed, Consumer, Delta, Outcome, SharedQueue, Synced};
use informers_reflector::{Reflector, StatusWatch};
use informers_store::{Index, IndexConflict, IndexValues, Store, StoreWriter};
use tokio_util::sync::CancellationToken;

use crate::processor::Processor;

/// Any error of a process function.
pub type ProcessError = Box<dyn std::error::Error + Send + Sync>;

/// Keeps a store equal to a collection and calls one handler, in line, for every change.
///
/// Takes the place of client-go's `Controller` made from a `Config`, and of `NewInformer` and
/// `NewIndexerInformer`. There is no backlog: the handler runs between the store's changes and should return
/// quickly, mostly by putting a key into a workqueue. For several handlers take a
/// [`SharedInformer`](crate::SharedInformer).
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use informers_core::{JsonDecoder, Resource, ResourceScope, ResourceType, Scope, Source};
/// use informers_shared::PlainInformer;
/// use informers_testkit::SimulatedServer;
/// use serde_json::json;
/// use tokio_util::sync::CancellationToken;
///
/// #[derive(serde::Deserialize)]
/// struct Node {}
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = SimulatedServer::new();
/// server.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}))?;
/// let nodes: Resource<Node> =
///     Resource::new(ResourceType::new("", "v1", "Node", "nodes", ResourceScope::Cluster), JsonDecoder::new());
///
/// let keys = Arc::new(Mutex::new(Vec::new()));
/// let seen = Arc::clone(&keys);
/// let informer = PlainInformer::builder(server.list_watch(&nodes, &Scope::all())?)
///     .on_event(move |event| seen.lock().unwrap().push(event.key().to_string()))
///     .build();
/// let (store, synced) = (informer.store().clone(), informer.synced());
/// let stop = CancellationToken::new();
/// let running = tokio::spawn(informer.run(stop.clone()));
/// synced.await?;
/// assert!(store.contains("node-1"));
/// assert_eq!(*keys.lock().unwrap(), ["node-1"]);
/// stop.cancel();
/// running.await?;
/// # Ok(()) }
/// ```
pub struct PlainInformer<T: Send + Sync + 'static> {
    name: Arc<str>,
    reflector: Reflector<T>,
    queue: SharedQueue<T>,
    consumer: Consumer<T>,
    processor: Processor<T>,
    store: Store<T>,
    process: Process<T>,
}

/// What is done with each batch.
pub(crate) enum Process<T> {
    /// The usual: the store is brought up to date, then the handler is called.
    Store(Box<dyn Handler<T>>),
    /// The user's own way.
    Custom(Custom<T>),
}

type Custom<T> =
    Box<dyn FnMut(&mut StoreWriter<T>, &[Delta<T>], bool) -> Result<Outcome, ProcessError> + Send>;

impl<T: Send + Sync + 'static> PlainInformer<T> {
    /// Settings for an informer of `collection`.
    pub fn builder(collection: Arc<dyn ListWatch<T>>) -> PlainInformerBuilder<T> {
        PlainInformerBuilder::new(collection)
    }

    /// The store. Clones of it stay readable when the informer has ended.
    #[must_use]
    pub fn store(&self) -> &Store<T> {
        &self.store
    }

    /// The store's writer, to fill the store before the start; what the first list does not have is then
    /// deleted, and the handler hears of it.
    pub fn writer(&mut self) -> &mut StoreWriter<T> {
        self.processor.writer()
    }

    /// Adds an index to the store.
    ///
    /// # Errors
    /// If there is an index of this name.
    pub fn index<V, R, F>(&mut self, name: Option<&str>, values_of: F) -> Result<Index<T, V>, IndexConflict>
    where
        V: Eq + Hash + Clone + Send + Sync + 'static,
        R: IndexValues<V>,
        F: Fn(&informers_core::Entry<T>) -> R + Send + Sync + 'static,
    {
        let (index, pending) = self.store.define_index(name, values_of)?;
        let installed = self.processor.writer().install(pending);
        debug_assert!(installed.is_ok(), "the index is of this very store");
        Ok(index)
    }

    /// Resolves when everything of the first list has been processed; fails if the informer ends before.
    pub fn synced(&self) -> Synced<T> {
        self.queue.synced()
    }

    /// Reads the status of the reader, also while the informer runs.
    #[must_use]
    pub fn status(&self) -> StatusWatch {
        self.reflector.status()
    }

    /// Runs until cancelled. What is still queued then is not processed.
    ///
    /// # Panics
    /// If the handler or the process function panics.
    ///
    /// # Cancel safety
    /// Dropping the future stops the informer at once.
    pub async fn run(self, cancel: CancellationToken) {
        let Self { name, reflector, queue, mut consumer, mut processor, store: _, mut process } = self;
        let reading = async {
            reflector.run(cancel.clone()).await;
            queue.close();
        };
        let processing = async {
            loop {
                let outcome = tokio::select! {
                    biased;
                    () = cancel.cancelled() => break,
                    outcome = consumer.process(|deltas, initial| match &mut process {
                        Process::Custom(process) => process(processor.writer(), deltas, initial),
                        Process::Store(handler) => {
                            apply(&mut processor, deltas, initial, &mut **handler);
                            Ok(Outcome::Done)
                        }
                    }) => outcome,
                };
                match outcome {
                    Err(Closed) => break,
                    Ok(Err(error)) => tracing::warn!(informer = %name, %error, "a batch was not processed"),
                    Ok(Ok(())) => {}
                }
                tokio::task::consume_budget().await;
            }
        };
        tokio::join!(reading, processing);
    }
}

fn apply<T: Send + Sync + 'static>(
    processor: &mut Processor<T>,
    deltas: &[Delta<T>],
    initial: bool,
    handler: &mut dyn Handler<T>,
) {
    let outcome = processor.process(deltas.iter().cloned(), initial);
    for (_, event) in outcome.events {
        handler.on_event(event);
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for PlainInformer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PlainInformer").field(&self.name).finish()
    }
}
