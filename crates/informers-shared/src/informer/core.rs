//! What all handles of one informer share, and the informer's life.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use informers_core::wait::Latch;
use informers_core::{ListWatch, Metrics, Scope, Transform};
use informers_delta_fifo::QueueOptions;
use informers_reflector::{Reflector, StatusWatch};
use informers_store::{Store, StoreWriter};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::delivery::{Delivery, HandlerId};
use crate::pipeline::{Command, FirstContents, Pipeline};
use crate::processor::Processor;
use crate::schedule::{CalendarSchedule, SharedCalendar};
use crate::sync::{Awaited, SyncState, SyncWait};
use crate::undecodable::UndecodableObjects;
use crate::{BacklogPolicy, Error, Parity, QueueKind, ReflectorSettings};

/// A strong hold on an informer: it stops when the last one is dropped.
pub(crate) struct Hold<T: Send + Sync + 'static> {
    core: Arc<Core<T>>,
}

impl<T: Send + Sync + 'static> Hold<T> {
    pub(crate) fn new(core: Arc<Core<T>>) -> Arc<Self> {
        Arc::new(Self { core })
    }

    pub(crate) fn core(&self) -> &Arc<Core<T>> {
        &self.core
    }

    /// Sends a command; to an informer that has stopped it means nothing.
    pub(crate) fn send(&self, command: Command<T>) {
        let _ = self.core.commands.send(command);
    }

    pub(crate) fn wait_for(&self, state: Arc<Latch<SyncState>>) -> SyncWait {
        SyncWait::one(state, Arc::clone(&self.core) as Arc<dyn Awaited>)
    }
}

impl<T: Send + Sync + 'static> Drop for Hold<T> {
    fn drop(&mut self) {
        self.core.request_stop(StopMode::AtOnce);
    }
}

/// How an informer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopMode {
    /// What waits is dropped.
    AtOnce,
    /// What has arrived is still stored and delivered.
    AfterDelivery,
}

pub(crate) struct Core<T> {
    pub(crate) name: Arc<str>,
    pub(crate) store: Store<T>,
    pub(crate) calendar: Arc<SharedCalendar>,
    pub(crate) backlog: BacklogPolicy,
    queue: QueueKind,
    parity: Parity,
    pub(crate) undecodable: UndecodableObjects,
    pub(crate) deliveries: Mutex<BTreeMap<HandlerId, std::sync::Weak<Delivery<T>>>>,
    pub(crate) reflectors: OnceLock<Vec<(Scope, StatusWatch)>>,
    commands: mpsc::UnboundedSender<Command<T>>,
    life: Mutex<Life<T>>,
    synced: Arc<Latch<SyncState>>,
    stop_reading: CancellationToken,
    stop_now: CancellationToken,
    ended: Latch<()>,
    next_handler: AtomicU64,
}

/// One variant per state; what exists only in a state lives only there.
pub(crate) enum Life<T> {
    /// Not started; holds what the start needs.
    Ready(Box<Setup<T>>),
    /// Not started, and the store is lent out.
    WarmingUp,
    Started,
    Stopped,
}

pub(crate) struct Setup<T> {
    pub(crate) collections: Vec<(Scope, Arc<dyn ListWatch<T>>)>,
    pub(crate) writer: StoreWriter<T>,
    pub(crate) commands: mpsc::UnboundedReceiver<Command<T>>,
    pub(crate) settings: ReflectorSettings,
    pub(crate) metrics: Arc<dyn Metrics>,
    pub(crate) transform: Option<(Transform<T>, &'static Location<'static>)>,
}

/// What a new informer is made of.
pub(crate) struct Blueprint<T> {
    pub(crate) name: Arc<str>,
    pub(crate) collections: Vec<(Scope, Arc<dyn ListWatch<T>>)>,
    pub(crate) resync: Option<Duration>,
    pub(crate) backlog: BacklogPolicy,
    pub(crate) queue: QueueKind,
    pub(crate) parity: Parity,
    pub(crate) settings: ReflectorSettings,
    pub(crate) metrics: Arc<dyn Metrics>,
    pub(crate) transform: Option<(Transform<T>, &'static Location<'static>)>,
}

impl<T: Send + Sync + 'static> Core<T> {
    pub(crate) fn new(blueprint: Blueprint<T>) -> Arc<Self> {
        let Blueprint { name, collections, resync, backlog, queue, parity, settings, metrics, transform } =
            blueprint;
        let writer = StoreWriter::with_parity(parity.store);
        let (commands, receiver) = mpsc::unbounded_channel();
        let store = writer.reader();
        let setup = Setup { collections, writer, commands: receiver, settings, metrics, transform };
        let stop_now = CancellationToken::new();
        Arc::new(Self {
            name,
            store,
            calendar: SharedCalendar::new(resync, &parity, queue.keeps_lists_whole()),
            backlog,
            queue,
            parity,
            undecodable: UndecodableObjects::default(),
            deliveries: Mutex::default(),
            reflectors: OnceLock::new(),
            commands,
            life: Mutex::new(Life::Ready(Box::new(setup))),
            synced: Arc::default(),
            stop_reading: stop_now.child_token(),
            stop_now,
            ended: Latch::new(),
            next_handler: AtomicU64::new(0),
        })
    }

    pub(crate) fn next_handler(&self) -> HandlerId {
        HandlerId(self.next_handler.fetch_add(1, Ordering::Relaxed))
    }

    /// Hands a new handler to the pipeline; if that has ended, the handler has too.
    pub(crate) fn register(&self, delivery: &Arc<Delivery<T>>, command: Command<T>) {
        {
            let mut deliveries = self.deliveries.lock();
            deliveries.retain(|_, delivery| delivery.strong_count() > 0);
            deliveries.insert(delivery.id(), Arc::downgrade(delivery));
        }
        // A stop is noted before it looks for handlers, so one of the two sees the other.
        if self.commands.send(command).is_err() || self.is_stopped() {
            delivery.stop();
            delivery.finish();
        }
    }

    pub(crate) fn sync_state(&self) -> Arc<Latch<SyncState>> {
        Arc::clone(&self.synced)
    }

    pub(crate) fn awaits_start(&self) -> bool {
        matches!(*self.life.lock(), Life::Ready(_) | Life::WarmingUp)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        matches!(*self.life.lock(), Life::Stopped)
    }

    pub(crate) fn life(&self) -> parking_lot::MutexGuard<'_, Life<T>> {
        self.life.lock()
    }

    /// Starts the informer's tasks. Starting it again does nothing.
    pub(crate) fn start(self: &Arc<Self>) -> Result<(), Error> {
        let informer = || self.name.to_string();
        let mut life = self.life.lock();
        match &*life {
            Life::Started => return Ok(()),
            Life::Stopped => return Err(Error::Stopped { informer: informer() }),
            Life::WarmingUp => return Err(Error::WarmingUp { informer: informer() }),
            Life::Ready(setup) => {
                let scopes: Vec<_> = setup.collections.iter().map(|(scope, _)| scope).collect();
                super::check_scopes(&self.name, &scopes)?;
            }
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return Err(Error::NoRuntime { informer: informer() });
        };
        if let Life::Ready(setup) = std::mem::replace(&mut *life, Life::Started) {
            // A runtime that is shutting down drops the task at once, which ends the informer.
            drop(life);
            runtime.spawn(self.assemble(*setup));
        }
        Ok(())
    }

    /// Connects reflectors, queue and pipeline, and gives what runs them.
    fn assemble(self: &Arc<Self>, setup: Setup<T>) -> impl Future<Output = ()> + Send + use<T> {
        let Setup { collections, writer, commands, settings, metrics, transform } = setup;
        let mut options = QueueOptions::default().with_name(&self.name);
        if let Some((transform, _)) = transform {
            options = options.with_transform(transform);
        }
        let (queue, consumer) = self.queue.connect(&self.store, &self.undecodable, options, &self.parity);
        self.calendar.start();
        let mut statuses = Vec::new();
        let mut reflectors = Vec::new();
        let scopes: Vec<_> = collections.iter().map(|(scope, _)| scope.clone()).collect();
        for (scope, list_watch) in collections {
            let reflector = settings
                .apply(Reflector::builder(list_watch, queue.sink()), &self.parity)
                .name(&self.name)
                .scope(scope.clone())
                .metrics(Arc::clone(&metrics))
                .resync(CalendarSchedule::new(&self.calendar))
                .build();
            statuses.push((scope, reflector.status()));
            reflectors.push(reflector);
        }
        // The cell is written here alone, and an informer starts once.
        let _ = self.reflectors.set(statuses);

        let runners = TaskTracker::new();
        let whole_lists = self.queue.keeps_lists_whole();
        let pipeline = Pipeline {
            informer: Arc::clone(&self.name),
            processor: Processor::new(writer, self.undecodable.clone(), scopes)
                .with_parity(self.parity, whole_lists),
            commands,
            calendar: Arc::clone(&self.calendar),
            synced: Arc::clone(&self.synced),
            metrics,
            handlers: BTreeMap::new(),
            runners: runners.clone(),
            queue: queue.clone(),
            first_contents: if whole_lists { FirstContents::Lists } else { FirstContents::Queue },
            panic_blocks_sync: self.parity.panic_blocks_sync,
        };
        let ending = Ending(Arc::clone(self));
        async move {
            let core = &ending.0;
            let mut reading = JoinSet::new();
            for reflector in reflectors {
                reading.spawn(reflector.run(core.stop_reading.clone()));
            }
            let mut processing = tokio::spawn(pipeline.run(consumer, core.stop_now.clone()));
            let outcome = tokio::select! {
                () = core.reading_ends(&mut reading) => {
                    queue.close();
                    (&mut processing).await
                }
                outcome = &mut processing => {
                    core.stop_reading.cancel();
                    core.reading_ends(&mut reading).await;
                    outcome
                }
            };
            if let Err(error) = outcome {
                tracing::error!(informer = %core.name, %error, "the pipeline of an informer failed; the informer stops");
                core.remove_handlers();
            }
            runners.close();
            tokio::select! {
                () = runners.wait() => {}
                // What a stop after delivery still had to deliver is not wanted any more.
                () = core.stop_now.cancelled() => {
                    core.remove_handlers();
                    runners.wait().await;
                }
            }
        }
    }

    /// Waits for all readers. If one of them fails, the others end too: a view that stays without one of its
    /// parts would look like a good one.
    async fn reading_ends(&self, reading: &mut JoinSet<()>) {
        while let Some(outcome) = reading.join_next().await {
            if let Err(error) = outcome {
                tracing::error!(informer = %self.name, %error, "a reader of an informer failed; the informer stops");
                self.stop_reading.cancel();
            }
        }
    }

    /// Asks the tasks to end, without waiting for them.
    pub(crate) fn request_stop(&self, mode: StopMode) {
        let mut life = self.life.lock();
        match mode {
            StopMode::AtOnce => self.stop_now.cancel(),
            StopMode::AfterDelivery => self.stop_reading.cancel(),
        }
        // An informer that never ran has nothing to end, and never will run.
        if matches!(*life, Life::Ready(_) | Life::WarmingUp) {
            // What was to be started holds the user's handlers, which may look at the informer when they go.
            let unused = std::mem::replace(&mut *life, Life::Stopped);
            drop(life);
            self.end();
            drop(unused);
        }
    }

    fn end(&self) {
        *self.life.lock() = Life::Stopped;
        self.synced.settle(SyncState::Stopped);
        // Not under the lock, since it wakes tasks, and the last hold on a delivery may go with it.
        let deliveries = std::mem::take(&mut *self.deliveries.lock());
        for delivery in deliveries.into_values().filter_map(|delivery| delivery.upgrade()) {
            delivery.drain();
            delivery.finish();
        }
        self.ended.settle(());
    }

    fn remove_handlers(&self) {
        let deliveries: Vec<_> =
            self.deliveries.lock().values().filter_map(std::sync::Weak::upgrade).collect();
        deliveries.iter().for_each(|delivery| delivery.stop());
    }

    pub(crate) async fn ended(&self) {
        self.ended.settled().await;
    }
}

/// Ends an informer when its last task does, or when the runtime drops that.
struct Ending<T: Send + Sync + 'static>(Arc<Core<T>>);

impl<T: Send + Sync + 'static> Drop for Ending<T> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<T: Send + Sync + 'static> Awaited for Core<T> {
    fn name(&self) -> String {
        self.name.to_string()
    }

    fn awaits_start(&self) -> bool {
        self.awaits_start()
    }

    fn obstacle(&self) -> (String, Option<informers_core::Error>) {
        let statuses = self.reflectors.get().map(Vec::as_slice).unwrap_or_default();
        let unsynced = statuses.iter().map(|(_, status)| status.current()).find(|status| !status.synced);
        match unsynced {
            None => ("its handlers are still working through their first events".to_owned(), None),
            Some(status) => {
                let obstacle = super::status::obstacle(&status);
                (obstacle, status.phase.reason().cloned().or(status.last_error))
            }
        }
    }
}
