//! Several API servers of one cluster behind a load balancer, over connections of different length: an answer tells
//! what was true when and where it was made, and arrives when others that were asked for later are there already.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use informers::core::{
    Change, Error, Item, ListParams, ListPart, ListStart, ListStream, ListWatch, ResourceVersion,
    VersionMatch, WatchEvent, WatchParams, WatchStream,
};
use informers_testkit::SimulatedServer;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, sleep_until};

/// How many initial events come at once.
const BATCH: usize = 3;

/// How far one reader is from the present.
pub(crate) struct Distance {
    rng: fastrand::Rng,
    /// The longest time that an answer or a batch of events is on its way.
    latency: Duration,
    /// How many changes of the whole cluster the server does not know yet that it asks, at most.
    behind: u64,
}

impl Default for Distance {
    fn default() -> Self {
        Self { rng: fastrand::Rng::with_seed(0), latency: Duration::ZERO, behind: 0 }
    }
}

impl Distance {
    /// Another way to another server, and what to call it.
    pub(crate) fn change(&mut self, rng: &mut fastrand::Rng) -> String {
        let seconds = [0, 0, 1, 5, 20][rng.usize(..5)];
        self.rng = rng.fork();
        self.latency = Duration::from_secs(seconds);
        self.behind = [0, 1, 3, 10][rng.usize(..4)];
        format!("up to {seconds} s away from a server that lacks up to {} changes", self.behind)
    }

    fn latency(&mut self) -> Duration {
        self.latency.mul_f64(self.rng.f64())
    }

    fn behind(&mut self) -> u64 {
        self.rng.u64(..=self.behind)
    }
}

/// A list-watch at such a distance.
pub(crate) struct Distant<T> {
    pub(crate) list_watch: Arc<dyn ListWatch<T>>,
    pub(crate) server: SimulatedServer,
    pub(crate) distance: Arc<Mutex<Distance>>,
}

impl<T: Send + Sync + 'static> Distant<T> {
    /// The version that the asked server has, if it is an older one and will do for who wants one that is not older
    /// than `version`.
    fn older(&self, version: &ResourceVersion) -> Option<u64> {
        let now = self.server.revision();
        let behind = self.distance.lock().behind();
        let known = now.saturating_sub(behind).max(version.as_number()?).max(1);
        (known < now).then_some(known)
    }

    /// A list as a server makes it that is behind. None if it is not, or has thrown that version away.
    async fn list_older(&self, params: &ListParams) -> Option<Result<ListStream<T>, Error>> {
        let ListStart::Version { version, version_match } = &params.start else { return None };
        let is_exact = match version_match {
            Some(rule) => *rule == VersionMatch::Exact,
            None => version.is_specific() && params.limit > 0,
        };
        if is_exact || version.is_empty() {
            return None;
        }
        let older = self.older(version)?;
        let exact = ListParams::first(older.into()).with_limit(params.limit);
        let answer = self.list_watch.list(exact.with_version_match(VersionMatch::Exact)).await;
        (!matches!(&answer, Err(error) if error.is_expired())).then_some(answer)
    }

    /// A streaming list as a server makes it that is behind: its state, then what it learns.
    async fn stream_older(&self, params: &WatchParams) -> Option<Result<WatchStream<T>, Error>> {
        if !params.send_initial_events || params.version.is_empty() {
            return None;
        }
        let at: ResourceVersion = self.older(&params.version)?.into();
        let exact = ListParams::first(at.clone()).with_version_match(VersionMatch::Exact);
        let mut parts = self.list_watch.list(exact).await.ok()?;
        let mut items: Vec<Item<T>> = Vec::new();
        while let Some(part) = parts.next().await {
            if let ListPart::Items(more) = part.ok()? {
                items.extend(more);
            }
        }
        let news = self.list_watch.watch(WatchParams::from_version(at.clone(), params.timeout)).await;
        let news = match news {
            Ok(news) => news,
            Err(error) => return Some(Err(error)),
        };
        let mut events: Vec<WatchEvent<T>> =
            items.into_iter().map(|item| Change::added(item).into()).collect();
        events.push(WatchEvent::Bookmark { version: at, initial_events_end: true });
        let initial: Vec<_> = events.chunks(BATCH).map(|batch| Ok(batch.to_vec())).collect();
        Some(Ok(Box::pin(stream::iter(initial).chain(news))))
    }
}

#[async_trait]
impl<T: Send + Sync + 'static> ListWatch<T> for Distant<T> {
    async fn list(&self, params: ListParams) -> Result<ListStream<T>, Error> {
        let answer = match self.list_older(&params).await {
            Some(answer) => answer,
            None => self.list_watch.list(params).await,
        };
        let latency = self.distance.lock().latency();
        sleep(latency).await;
        answer
    }

    async fn watch(&self, params: WatchParams) -> Result<WatchStream<T>, Error> {
        let answer = match self.stream_older(&params).await {
            Some(answer) => answer,
            None => self.list_watch.watch(params).await,
        };
        let latency = self.distance.lock().latency();
        sleep(latency).await;
        Ok(delayed(answer?, Arc::clone(&self.distance)))
    }

    fn supports_streaming_list(&self) -> bool {
        self.list_watch.supports_streaming_list()
    }

    fn description(&self) -> String {
        self.list_watch.description()
    }
}

/// Batches that are on their way, each for a time of its own, in their order: that is kept by any connection. What
/// the server sent before it ended the watch still comes.
fn delayed<T: Send + Sync + 'static>(
    events: WatchStream<T>,
    distance: Arc<Mutex<Distance>>,
) -> WatchStream<T> {
    let way = (Some(events), VecDeque::new(), distance);
    Box::pin(stream::unfold(way, |(mut events, mut under_way, distance)| async move {
        loop {
            let arrives = under_way.front().map(|(arrives, _)| *arrives);
            tokio::select! {
                biased;
                batch = next(&mut events), if events.is_some() => match batch {
                    None => events = None,
                    Some(batch) => {
                        let latest = under_way.back().map_or_else(Instant::now, |(arrives, _)| *arrives);
                        let latency = distance.lock().latency();
                        under_way.push_back((latest.max(Instant::now() + latency), batch));
                    }
                },
                () = sleep_until(arrives.unwrap_or_else(Instant::now)), if arrives.is_some() => {
                    let (_, batch) = under_way.pop_front()?;
                    return Some((batch, (events, under_way, distance)));
                }
                else => return None,
            }
        }
    }))
}

async fn next<T>(events: &mut Option<WatchStream<T>>) -> Option<Result<Vec<WatchEvent<T>>, Error>> {
    events.as_mut()?.next().await
}
