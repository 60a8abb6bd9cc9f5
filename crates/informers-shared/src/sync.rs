//! Waiting for initial contents.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use informers_core::wait::Latch;

use crate::Error;

/// What came of a wait for initial contents. The first outcome stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncState {
    Synced,
    /// It can never come, since the informer stopped.
    Stopped,
    /// It can never come, since the handler was removed.
    Removed,
}

/// What is waited for, and what to say if it does not come.
pub(crate) trait Awaited: Send + Sync {
    fn name(&self) -> String;
    fn awaits_start(&self) -> bool;
    /// What is being done instead, and the last failure.
    fn obstacle(&self) -> (String, Option<informers_core::Error>);
}

/// A wait for the initial contents of informers or handlers; `.await` it, with a deadline or without.
///
/// It waits as long as there is hope: a denied permission may be granted yet. It ends with an error if an
/// informer stops, was never started, or misses the deadline, and then says what stood in the way. The wait of
/// a whole factory passes over handlers that are removed meanwhile.
///
/// # Cancel safety
/// Dropping it has no effect on what is waited for.
#[must_use = "nothing is waited for unless it is awaited"]
pub struct SyncWait {
    parts: Vec<Part>,
    limit: Option<Duration>,
    /// Whether a handler that is removed need not be waited for.
    passes_over_removed: bool,
}

struct Part {
    state: Arc<Latch<SyncState>>,
    awaited: Arc<dyn Awaited>,
}

impl SyncWait {
    pub(crate) fn one(state: Arc<Latch<SyncState>>, awaited: Arc<dyn Awaited>) -> Self {
        Self { parts: vec![Part { state, awaited }], limit: None, passes_over_removed: false }
    }

    pub(crate) fn all(waits: impl IntoIterator<Item = Self>) -> Self {
        let parts = waits.into_iter().flat_map(|wait| wait.parts).collect();
        Self { parts, limit: None, passes_over_removed: true }
    }

    /// With a deadline, counted from the first poll. One beyond what the clock can count is none.
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Whether it has come already.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.parts.iter().all(|part| match part.state.outcome() {
            Some(SyncState::Synced) => true,
            Some(SyncState::Removed) => self.passes_over_removed,
            Some(SyncState::Stopped) | None => false,
        })
    }

    /// The names of those after the first one that lag behind too.
    fn others_behind(&self, first: usize) -> Vec<String> {
        let behind = self.parts[first + 1..].iter().filter(|part| part.state.outcome().is_none());
        let mut names: Vec<_> = behind.map(|part| part.awaited.name()).collect();
        names.sort();
        names.dedup();
        names.retain(|name| *name != self.parts[first].awaited.name());
        names
    }

    async fn wait(self) -> Result<(), Error> {
        let deadline =
            self.limit.and_then(|limit| Some((tokio::time::Instant::now().checked_add(limit)?, limit)));
        for Part { state, awaited } in &self.parts {
            if state.outcome().is_none() && awaited.awaits_start() {
                return Err(Error::NotStarted { informer: awaited.name() });
            }
        }
        for (at, Part { state, awaited }) in self.parts.iter().enumerate() {
            let settled = match deadline {
                None => state.settled().await,
                Some((end, limit)) => match tokio::time::timeout_at(end, state.settled()).await {
                    Ok(settled) => settled,
                    Err(_) => {
                        let (doing, source) = awaited.obstacle();
                        let (informer, others) = (awaited.name(), self.others_behind(at));
                        return Err(Error::NotSynced { informer, others, limit, doing, source });
                    }
                },
            };
            match settled {
                SyncState::Synced => {}
                SyncState::Removed if self.passes_over_removed => {}
                SyncState::Removed => return Err(Error::HandlerRemoved { informer: awaited.name() }),
                SyncState::Stopped => return Err(Error::Stopped { informer: awaited.name() }),
            }
        }
        Ok(())
    }
}

impl IntoFuture for SyncWait {
    type Output = Result<(), Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.wait())
    }
}

impl std::fmt::Debug for SyncWait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.parts.iter().map(|part| part.awaited.name()).collect();
        f.debug_struct("SyncWait").field("for", &names).field("limit", &self.limit).finish()
    }
}
