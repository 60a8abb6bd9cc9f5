//! Waiting for several things at once.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::{Duration, Instant};

use informers_core::{Sink, SinkError, Stage};
use tokio_util::sync::CancellationToken;

use super::{Observer, Stop, now};
use crate::ResyncSchedule;
use crate::machine::Memory;

/// What ended a wait, other than the end of the reflector.
pub(super) enum Waited<O> {
    Done(O),
    TimedOut,
    /// Only told where it has consequences.
    ResyncRefused(SinkError),
}

/// Waits for `future` until `deadline`.
pub(super) async fn bounded<F: Future>(
    future: F,
    cancel: &CancellationToken,
    deadline: Option<Instant>,
) -> Result<Option<F::Output>, Stop> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Stop),
        output = future => Ok(Some(output)),
        () = sleep_until(deadline) => Ok(None),
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// Waits until the sink wants more.
pub(super) async fn sink_ready<T>(sink: &mut dyn Sink<T>, cancel: &CancellationToken) -> Result<(), Stop> {
    bounded(poll_fn(|cx| sink.poll_ready(cx)), cancel, None).await.map(drop)
}

/// Waits until the stage wants more, and says for how long that was.
pub(super) async fn stage_ready<T>(
    stage: &mut dyn Stage<T>,
    cancel: &CancellationToken,
) -> Result<Duration, Stop> {
    let began = now();
    bounded(poll_fn(|cx| stage.poll_ready(cx)), cancel, None).await?;
    Ok(now().duration_since(began))
}

/// The resync schedule as the reflector keeps it.
pub(crate) struct Resyncs {
    schedule: Option<Box<dyn ResyncSchedule>>,
    /// Under client-go's rules: there is no watch, so no tick.
    resting: bool,
    /// A schedule that names a time and then is not due is not asked again before this.
    not_before: Option<Instant>,
    refusal_ends_watch: bool,
    restarts: bool,
}

impl Resyncs {
    pub(crate) fn new(schedule: Option<Box<dyn ResyncSchedule>>, memory: &Memory) -> Self {
        let like_client_go = memory.parity().restart_resync;
        Self {
            schedule,
            resting: like_client_go,
            not_before: None,
            refusal_ends_watch: like_client_go,
            restarts: like_client_go,
        }
    }

    /// A list was taken.
    pub(super) fn list_taken(&mut self) {
        if self.restarts {
            self.resting = false;
            if let Some(schedule) = &mut self.schedule {
                schedule.restart(now());
            }
        }
    }

    pub(super) fn rest_unless(&mut self, memory: &Memory, watching: bool) {
        self.resting = memory.parity().restart_resync && !watching;
    }

    fn next(&mut self) -> Option<Instant> {
        if self.resting {
            return None;
        }
        let next = self.schedule.as_mut()?.next(now())?;
        Some(self.not_before.map_or(next, |not_before| next.max(not_before)))
    }

    fn is_due(&mut self) -> bool {
        let now = now();
        if self.next().is_none_or(|next| next > now) {
            return false;
        }
        let due = self.schedule.as_mut().is_some_and(|schedule| schedule.due(now));
        self.not_before = (!due).then(|| now + Duration::from_millis(1));
        due
    }

    async fn changed(&mut self) {
        match &mut self.schedule {
            Some(schedule) if !self.resting => poll_fn(|cx| schedule.poll_changed(cx)).await,
            _ => std::future::pending().await,
        }
    }
}

/// Waits for `future` until `deadline`, and makes the resyncs that fall due meanwhile.
pub(super) async fn resyncing<T, F: Future>(
    future: F,
    sink: &mut dyn Sink<T>,
    resyncs: &mut Resyncs,
    observer: &Observer,
    cancel: &CancellationToken,
    deadline: Option<Instant>,
) -> Result<Waited<F::Output>, Stop> {
    let mut future = pin!(future);
    loop {
        if resyncs.is_due()
            && let Err(error) = sink.resync()
        {
            observer.refused(&error)?;
            if resyncs.refusal_ends_watch {
                return Ok(Waited::ResyncRefused(error));
            }
        }
        let next = resyncs.next();
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Stop),
            output = &mut future => return Ok(Waited::Done(output)),
            () = sleep_until(deadline) => return Ok(Waited::TimedOut),
            () = sleep_until(next) => {}
            () = resyncs.changed() => {}
        }
    }
}
