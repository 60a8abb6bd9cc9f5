//! The configuration of a plain informer.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use informers_core::{Error, Event, Handler, ListWatch, Scope, Transform};
use informers_delta_fifo::{Delta, Outcome, QueueOptions};
use informers_reflector::{Every, Reflector, ResyncSchedule};
use informers_store::StoreWriter;

use super::{PlainInformer, Process, ProcessError};
use crate::delivery::Closure;
use crate::processor::Processor;
use crate::undecodable::UndecodableObjects;
use crate::{Parity, QueueKind, ReflectorSettings};

/// Settings of a [`PlainInformer`], which are those of client-go's controller `Config`; see
/// [`PlainInformer::builder`].
#[must_use]
pub struct PlainInformerBuilder<T> {
    name: Option<Arc<str>>,
    collection: Arc<dyn ListWatch<T>>,
    queue: QueueKind,
    process: Process<T>,
    resync: Duration,
    should_resync: Option<Box<dyn FnMut() -> bool + Send>>,
    retry_on_error: bool,
    settings: ReflectorSettings,
    transform: Option<Transform<T>>,
    parity: Parity,
}

impl<T: Send + Sync + 'static> PlainInformerBuilder<T> {
    pub(super) fn new(collection: Arc<dyn ListWatch<T>>) -> Self {
        Self {
            name: None,
            collection,
            queue: QueueKind::default(),
            process: Process::Store(Box::new(Closure(|_: Event<T>| {}))),
            resync: Duration::ZERO,
            should_resync: None,
            retry_on_error: false,
            settings: ReflectorSettings::new(),
            transform: None,
            parity: Parity::default(),
        }
    }

    /// The name in logs; by default what the collection calls itself.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The queue between reader and store.
    pub fn queue(mut self, queue: QueueKind) -> Self {
        self.queue = queue;
        self
    }

    /// What is called with each event, after the store shows it.
    pub fn handler(mut self, handler: impl Handler<T>) -> Self {
        self.process = Process::Store(Box::new(handler));
        self
    }

    /// A closure as the handler.
    pub fn on_event(self, handler: impl FnMut(Event<T>) + Send + 'static) -> Self {
        self.handler(Closure(handler))
    }

    /// Replaces the usual processing: `process` is given the store's writer, the deltas, and whether they belong to
    /// the first list, and does what it wants. No handler is called then.
    ///
    /// Its failure is logged; what failed is dropped, unless it asks for [`Outcome::Requeue`] or
    /// [`retry_on_error`](Self::retry_on_error) is set.
    pub fn process(
        mut self,
        process: impl FnMut(&mut StoreWriter<T>, &[Delta<T>], bool) -> Result<Outcome, ProcessError>
        + Send
        + 'static,
    ) -> Self {
        self.process = Process::Custom(Box::new(process));
        self
    }

    /// How often every object is shown again; zero, the default, is never.
    pub fn full_resync_period(mut self, period: Duration) -> Self {
        self.resync = period;
        self
    }

    /// Asked at each turn of the resync period whether there is to be one. Always, by default.
    pub fn should_resync(mut self, ask: impl FnMut() -> bool + Send + 'static) -> Self {
        self.should_resync = Some(Box::new(ask));
        self
    }

    /// Called with failed lists and watches.
    pub fn watch_error_handler(mut self, handler: impl Fn(&Error) + Send + Sync + 'static) -> Self {
        self.settings = self.settings.watch_error_handler(handler);
        self
    }

    /// How many objects are asked for in one page of a list.
    pub fn watch_list_page_size(mut self, objects: u32) -> Self {
        self.settings = self.settings.page_size(objects);
        self
    }

    /// Whether what failed to process goes back into the queue. Off by default.
    pub fn retry_on_error(mut self, on: bool) -> Self {
        self.retry_on_error = on;
        self
    }

    /// How the collection is read. It replaces what was set of this before.
    pub fn reflector(mut self, settings: ReflectorSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Changes each object once before it is queued.
    pub fn transform(mut self, transform: Transform<T>) -> Self {
        self.transform = Some(transform);
        self
    }

    /// With some of client-go's behaviours. Its handler is then shown everything, whether it resyncs or not.
    pub fn parity(mut self, parity: Parity) -> Self {
        self.parity = parity;
        self
    }

    /// The informer. Nothing is read before it is run.
    #[must_use]
    pub fn build(self) -> PlainInformer<T> {
        let name = self.name.unwrap_or_else(|| self.collection.description().into());
        let writer = StoreWriter::with_parity(self.parity.store);
        let store = writer.reader();
        let mut options = QueueOptions::default().with_name(&name).with_retry_on_error(self.retry_on_error);
        if let Some(transform) = self.transform {
            options = options.with_transform(transform);
        }
        let undecodable = UndecodableObjects::default();
        let (queue, consumer) = self.queue.connect(&store, &undecodable, options, &self.parity);
        let reflector = self
            .settings
            .apply(Reflector::builder(self.collection, queue.sink()), &self.parity)
            .name(&name)
            .resync(Asked { every: Every::new(self.resync), ask: self.should_resync })
            .build();
        let processor = Processor::new(writer, undecodable, [Scope::all()])
            .with_parity(self.parity, self.queue.keeps_lists_whole());
        PlainInformer { name, reflector, queue, consumer, processor, store, process: self.process }
    }
}

/// A resync period with a question at each of its turns.
struct Asked {
    every: Every,
    ask: Option<Box<dyn FnMut() -> bool + Send>>,
}

impl ResyncSchedule for Asked {
    fn next(&mut self, now: Instant) -> Option<Instant> {
        self.every.next(now)
    }

    fn due(&mut self, now: Instant) -> bool {
        self.every.due(now) && self.ask.as_mut().is_none_or(|ask| ask())
    }

    fn poll_changed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.every.poll_changed(cx)
    }

    fn restart(&mut self, now: Instant) {
        self.every.restart(now);
    }
}

impl<T> fmt::Debug for PlainInformerBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlainInformerBuilder")
            .field("name", &self.name)
            .field("queue", &self.queue)
            .field("resync", &self.resync)
            .field("retry_on_error", &self.retry_on_error)
            .finish_non_exhaustive()
    }
}
