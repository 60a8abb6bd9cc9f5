//! The loop around the machine: requests, sink, time.

mod consistency;
mod list;
mod observer;
mod stream;
mod waits;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use informers_core::{ListWatch, ResourceVersion, Scope, Sink};
use tokio_util::sync::CancellationToken;

use crate::machine::{Denied, Memory, Next, Then, Waiting};
use crate::{Phase, ReflectorBuilder, StatusWatch};

pub(crate) use observer::Observer;
pub(crate) use waits::Resyncs;
use waits::{Waited, resyncing};

/// Keeps a [`Sink`] equal to the collection that a [`ListWatch`] reads; client-go's `Reflector`.
///
/// # Guarantees
/// - The sink sees a replacement when it is complete, or nothing of it.
/// - The version to go on from moves only after the sink took an event, or refused it and that was reported.
/// - Later lists are not older than what was seen, unless the server no longer has that version or never
///   had it.
/// - Every failure is followed by another attempt after a pause; [`status`](Self::status) tells which.
///
/// The front page of this crate has an example.
pub struct Reflector<T> {
    list_watch: Arc<dyn ListWatch<T>>,
    sink: Box<dyn Sink<T>>,
    scope: Scope,
    memory: Memory,
    resyncs: Resyncs,
    observer: Observer,
    consistency_check: bool,
}

/// The reflector is to end.
struct Stop;

type Step = Result<Next, Stop>;

impl<T: Send + Sync + 'static> Reflector<T> {
    /// Settings for a reflector from `list_watch` to `sink`.
    #[must_use]
    pub fn builder(list_watch: Arc<dyn ListWatch<T>>, sink: impl Sink<T> + 'static) -> ReflectorBuilder<T> {
        ReflectorBuilder::new(list_watch, Box::new(sink))
    }

    pub(crate) fn new(
        list_watch: Arc<dyn ListWatch<T>>,
        sink: Box<dyn Sink<T>>,
        scope: Scope,
        memory: Memory,
        resyncs: Resyncs,
        observer: Observer,
        consistency_check: bool,
    ) -> Self {
        Self { list_watch, sink, scope, memory, resyncs, observer, consistency_check }
    }

    /// The name in logs and metrics.
    #[must_use]
    pub fn name(&self) -> &str {
        self.observer.name()
    }

    /// Reads the status, also while the reflector runs and after it ended.
    #[must_use]
    pub fn status(&self) -> StatusWatch {
        self.observer.status()
    }

    /// Lists, watches and goes on after every failure, until `cancel` is cancelled or the sink is closed.
    ///
    /// # Cancel safety
    /// Cancelling and dropping the future both interrupt every wait and request. The sink, which is dropped
    /// too, keeps what it took; a replacement that was not complete is dropped whole.
    pub async fn run(mut self, cancel: CancellationToken) {
        self.observer.debug("starting");
        let mut next = self.memory.start(now());
        while !cancel.is_cancelled() {
            let step = match next {
                Next::Stream(streaming) => self.stream(streaming, &cancel).await,
                Next::List(listing) => self.list(listing, &cancel).await,
                Next::Open(opening) => self.open(opening, &cancel).await,
                Next::Wait(waiting) => self.wait(waiting, &cancel).await,
                Next::Empty(waiting) => self.empty(waiting),
            };
            self.observer.tell(&mut self.memory);
            match step {
                Ok(following) => next = following,
                Err(Stop) => break,
            }
        }
        self.observer.debug("stopping");
    }

    async fn wait(&mut self, waiting: Waiting, cancel: &CancellationToken) -> Step {
        let Self { sink, memory, resyncs, observer, .. } = self;
        if let Some(reason) = waiting.reason.clone() {
            let until = waiting.until;
            observer.enter(match waiting.denied {
                None => Phase::Waiting { reason, until },
                Some(Denied::Forbidden) => Phase::Forbidden { reason, until },
                Some(Denied::Gone) => Phase::Gone { reason, until },
            });
        }
        resyncs.rest_unless(memory, waiting.then == Then::Watch);
        let never = std::future::pending::<()>();
        match resyncing(never, &mut **sink, resyncs, observer, cancel, Some(waiting.until)).await? {
            // client-go's watch ends with a resync that the sink refuses.
            Waited::ResyncRefused(error) => Ok(memory.resync_refused(watch::resync_error(error), now())),
            Waited::TimedOut | Waited::Done(()) => Ok(waiting.over(memory, now())),
        }
    }

    /// Replaces everything by nothing.
    fn empty(&mut self, waiting: Waiting) -> Step {
        let stage = self.sink.begin(&self.scope);
        if let Err(error) = stage.commit(&ResourceVersion::default()) {
            self.observer.refused(&error)?;
        }
        self.observer.update(|status| status.version = ResourceVersion::default());
        Ok(Next::Wait(waiting))
    }
}

impl<T> fmt::Debug for Reflector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflector")
            .field("name", &self.observer.name())
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

/// The time, as tokio tells it, which tests can set.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
