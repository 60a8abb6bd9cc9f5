//! The task that owns an informer's store: it takes batches from the queue, applies them, and hands events
//! to the handlers.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

use informers_core::wait::Latch;
use informers_core::{Event, Metrics};
use informers_delta_fifo::{Closed, Consumer, Delta, SharedQueue};
use informers_store::PendingIndex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock;
use crate::delivery::{Delivered, Delivery, HandlerId, Runner};
use crate::processor::{Audience, Outcome, Processor};
use crate::schedule::SharedCalendar;
use crate::sync::SyncState;

/// What users ask of a pipeline. Commands are carried out between batches, so each of them sees the store
/// and the handlers in step.
pub(crate) enum Command<T> {
    AddHandler { delivery: Arc<Delivery<T>>, runner: Runner<T> },
    RemoveHandler(HandlerId),
    Install(PendingIndex<T>),
}

pub(crate) struct Pipeline<T> {
    pub(crate) informer: Arc<str>,
    pub(crate) processor: Processor<T>,
    pub(crate) commands: mpsc::UnboundedReceiver<Command<T>>,
    pub(crate) calendar: Arc<SharedCalendar>,
    pub(crate) synced: Arc<Latch<SyncState>>,
    pub(crate) metrics: Arc<dyn Metrics>,
    pub(crate) handlers: BTreeMap<HandlerId, Arc<Delivery<T>>>,
    /// For the gauge of its length.
    pub(crate) queue: SharedQueue<T>,
    /// The tasks that call handlers.
    pub(crate) runners: TaskTracker,
    pub(crate) first_contents: FirstContents,
    /// See [`Parity`](crate::Parity).
    pub(crate) panic_blocks_sync: bool,
}

/// Who knows whether the store has its first contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstContents {
    /// The processor, which is given whole lists.
    Lists,
    /// The queue, which takes lists apart.
    Queue,
}

impl<T: Send + Sync + 'static> Pipeline<T> {
    /// Runs until the queue is closed and empty, or at once when told.
    pub(crate) async fn run(mut self, mut consumer: Consumer<T>, stop_now: CancellationToken) {
        let mut queue_synced = pin!(self.queue.synced());
        loop {
            tokio::select! {
                biased;
                () = stop_now.cancelled() => break,
                Some(command) = self.commands.recv() => self.obey(command),
                // An empty list leaves nothing to process.
                Ok(()) = &mut queue_synced, if self.waits_for_queue() => self.note_first_contents(),
                batch = consumer.pop_batch() => match batch {
                    Ok(mut batch) => {
                        let initial = batch.is_in_initial_list();
                        let deltas = batch.take_deltas();
                        self.process(deltas, initial);
                        drop(batch);
                        self.note_first_contents();
                        self.metrics.queued_items(&self.informer, self.queue.len());
                    }
                    Err(Closed) => break,
                },
            }
            tokio::task::consume_budget().await;
        }
        self.end(&stop_now).await;
    }

    fn process(&mut self, deltas: Vec<Delta<T>>, initial: bool) {
        let begun = clock::now();
        let outcome = self.processor.process(deltas, initial && !self.is_synced());
        self.distribute(&outcome);
        self.metrics.processing_latency(&self.informer, clock::now().saturating_duration_since(begun));
        self.metrics.store_resource_version(&self.informer, &self.processor.writer().reader().version());
    }

    fn is_synced(&self) -> bool {
        self.synced.outcome() == Some(SyncState::Synced)
    }

    fn waits_for_queue(&self) -> bool {
        self.first_contents == FirstContents::Queue && self.synced.outcome().is_none()
    }

    fn note_first_contents(&mut self) {
        let complete = match self.first_contents {
            FirstContents::Lists => self.processor.is_synced(),
            FirstContents::Queue => self.queue.has_synced(),
        };
        if complete && self.synced.settle(SyncState::Synced) {
            tracing::debug!(informer = %self.informer, "the store has its first contents");
            self.handlers.values().for_each(|delivery| delivery.complete_initial());
        }
    }

    fn distribute(&self, outcome: &Outcome<T>) {
        let waiting = if outcome.resynced { self.calendar.take_waiting() } else { Vec::new() };
        let Outcome { events, .. } = outcome;
        if events.is_empty() {
            return;
        }
        let unchanged = events.iter().any(|(audience, _)| *audience == Audience::Syncing);
        let syncing = if unchanged { self.calendar.syncing() } else { Vec::new() };
        let now = clock::now();
        for (id, delivery) in &self.handlers {
            let hears = |audience| match audience {
                Audience::Everyone => true,
                Audience::Resyncing => waiting.contains(id),
                Audience::Syncing => syncing.contains(id),
            };
            let heard = events.iter().filter(|(audience, _)| hears(*audience)).map(|(_, event)| event);
            let count = heard.clone().count();
            self.measure(delivery, &delivery.deliver(count, heard.cloned(), now));
        }
    }

    fn measure(&self, delivery: &Delivery<T>, delivered: &Delivered) {
        self.metrics.handler_backlog(&self.informer, delivery.name(), delivered.waiting);
        if delivered.dropped > 0 {
            self.metrics.handler_dropped(&self.informer, delivery.name(), delivered.dropped);
        }
    }

    fn obey(&mut self, command: Command<T>) {
        match command {
            Command::AddHandler { delivery, runner } => self.add(delivery, runner),
            Command::RemoveHandler(id) => {
                self.handlers.remove(&id);
                self.calendar.remove(id);
            }
            Command::Install(index) => {
                let filled = self.processor.writer().install(index);
                // Only an index of another store is given back, which the informer's own methods rule out.
                debug_assert!(filled.is_ok());
            }
        }
    }

    /// A handler that comes late is first shown what is there.
    fn add(&mut self, delivery: Arc<Delivery<T>>, runner: Runner<T>) {
        let now = clock::now();
        let present = self.processor.writer().reader().list();
        let count = present.len();
        let shown = present.into_iter().map(|object| Event::Added { object, initial: true });
        self.measure(&delivery, &delivery.deliver(count, shown, now));
        if self.is_synced() {
            delivery.complete_initial();
        }
        self.calendar.begin(delivery.id(), delivery.resync(), now);
        self.handlers.insert(delivery.id(), Arc::clone(&delivery));
        let calls = runner.run(
            delivery,
            Arc::clone(&self.informer),
            Arc::clone(&self.metrics),
            self.panic_blocks_sync,
        );
        self.runners.spawn(calls);
    }

    /// Handlers still get what waits for them, unless the informer was stopped at once.
    async fn end(mut self, stop_now: &CancellationToken) {
        self.commands.close();
        // Also waits for a command that is just being sent.
        while let Some(command) = self.commands.recv().await {
            self.obey(command);
        }
        for delivery in self.handlers.values() {
            if stop_now.is_cancelled() {
                delivery.stop();
            } else {
                delivery.drain();
            }
        }
        self.synced.settle(SyncState::Stopped);
    }
}
