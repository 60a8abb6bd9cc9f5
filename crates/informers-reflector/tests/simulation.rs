//! Reflectors against a simulated server that compacts, loses watches, refuses and lags: whatever happens,
//! at rest the sink holds what the server holds.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use informers_core::{
    Change, ChangeKind, Entry, Error, ErrorKind, Item, ListParams, ListPart, ListStream, ListTrailer,
    ListWatch, ObjectKey, ResourceVersion, Scope, Sink, SinkError, Stage, WatchEvent, WatchParams,
    WatchStream,
};
use informers_reflector::{Parity, Reflector};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

type Objects = BTreeMap<String, u64>;

#[derive(Clone, Copy, PartialEq)]
enum Streaming {
    Supported,
    Refused,
    /// Streams without ever sending the mark.
    Ignored,
}

struct World {
    version: u64,
    /// One change for each version, from the first on.
    history: Vec<(ChangeKind, String)>,
    objects: Objects,
    /// Nothing up to here is known any more.
    compacted: u64,
    snapshots: BTreeMap<u64, Objects>,
    /// This replica shows no more than this.
    lag: Option<u64>,
    trouble: bool,
    requests: u32,
    rng: fastrand::Rng,
}

impl World {
    fn change(&mut self) {
        self.version += 1;
        let name = format!("o{}", self.rng.u8(0..12));
        let kind = match self.objects.contains_key(&name) {
            true if self.rng.u8(0..3) == 0 => ChangeKind::Deleted,
            true => ChangeKind::Modified,
            false => ChangeKind::Added,
        };
        match kind {
            ChangeKind::Deleted => self.objects.remove(&name),
            _ => self.objects.insert(name.clone(), self.version),
        };
        self.history.push((kind, name));
        self.snapshots.insert(self.version, self.objects.clone());
    }

    fn compact(&mut self) {
        self.compacted = self.rng.u64(self.compacted..=self.version);
        self.snapshots = self.snapshots.split_off(&self.compacted);
        self.snapshots.entry(self.version).or_insert_with(|| self.objects.clone());
    }

    fn visible(&self) -> u64 {
        self.lag.unwrap_or(self.version).max(self.compacted)
    }

    fn state_at(&self, version: u64) -> (u64, Objects) {
        let (version, objects) = self.snapshots.range(..=version).next_back().expect("a snapshot is kept");
        (*version, objects.clone())
    }

    fn failure(&mut self) -> Option<Error> {
        self.requests += 1;
        if !self.trouble || self.rng.u8(0..4) > 0 {
            return None;
        }
        let kinds = [
            ErrorKind::ConnectionRefused,
            ErrorKind::ConnectionLost,
            ErrorKind::Internal,
            ErrorKind::Unavailable,
            ErrorKind::TooManyRequests,
            ErrorKind::Unauthorized,
            ErrorKind::Forbidden,
            ErrorKind::Timeout,
            ErrorKind::Expired,
            ErrorKind::Gone,
            ErrorKind::UnexpectedAnswer,
            ErrorKind::NotFound,
            ErrorKind::Other,
        ];
        let error = Error::new(kinds[self.rng.usize(0..kinds.len())], "ask the simulation");
        Some(if self.rng.bool() { error } else { error.with_retry_after(Duration::from_secs(1)) })
    }
}

#[derive(Clone)]
struct Simulation {
    world: Arc<Mutex<World>>,
    advanced: watch::Sender<u64>,
    streaming: Streaming,
}

impl Simulation {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    fn tell(&self) {
        let version = self.world().visible();
        self.advanced.send_replace(version);
    }
}

fn entry(name: &str, version: u64) -> Entry<()> {
    Entry::new(ObjectKey::cluster(name), "uid".into(), version.into(), ())
}

fn expired() -> Error {
    Error::new(ErrorKind::Expired, "ask the simulation")
}

#[async_trait]
impl ListWatch<()> for Simulation {
    async fn list(&self, params: ListParams) -> Result<ListStream<()>, Error> {
        sleep(Duration::from_millis(20)).await;
        let mut world = self.world();
        if let Some(error) = world.failure() {
            return Err(error);
        }
        let asked = params.version().as_number().unwrap_or(0);
        let (version, objects, skip) =
            match params.continue_token().map(|token| token.split_once(':').unwrap()) {
                Some((version, skip)) => {
                    let version: u64 = version.parse().unwrap();
                    let Some(objects) = world.snapshots.get(&version).cloned() else { return Err(expired()) };
                    (version, objects, skip.parse().unwrap())
                }
                None if params.version().is_empty() => (world.version, world.objects.clone(), 0),
                None if asked > world.visible() => {
                    return Err(Error::new(ErrorKind::TooLargeResourceVersion, "list the simulation"));
                }
                None => {
                    // Anything that is not older.
                    let visible = world.visible();
                    let least = asked.max(world.compacted);
                    let at = world.rng.u64(least..=visible.max(least));
                    let (version, objects) = world.state_at(at);
                    (version, objects, 0)
                }
            };
        let limit = if params.limit == 0 { usize::MAX } else { world.rng.usize(0..=params.limit as usize) };
        let items: Vec<_> =
            objects.iter().skip(skip).take(limit).map(|(name, v)| entry(name, *v).into()).collect();
        let end = skip + items.len();
        let mut trailer = ListTrailer::new(version.into());
        if end < objects.len() {
            trailer = trailer.with_continue(format!("{version}:{end}"));
        }
        let cut = world.trouble && world.rng.u8(0..8) == 0;
        let last = if cut {
            Err(Error::new(ErrorKind::ConnectionLost, "list"))
        } else {
            Ok(ListPart::Trailer(trailer))
        };
        let batches: Vec<_> = items.chunks(3).map(|batch| Ok(ListPart::Items(batch.to_vec()))).collect();
        Ok(futures_util::stream::iter(batches.into_iter().chain([last])).boxed())
    }

    async fn watch(&self, params: WatchParams) -> Result<WatchStream<()>, Error> {
        sleep(Duration::from_millis(20)).await;
        let mut world = self.world();
        if let Some(error) = world.failure() {
            return Err(error);
        }
        if params.send_initial_events && self.streaming == Streaming::Refused {
            return Err(Error::new(ErrorKind::Invalid, "watch the simulation"));
        }
        let asked = params.version.as_number().unwrap_or(0);
        let mut first = Vec::new();
        let mut at = asked;
        if params.send_initial_events || asked == 0 {
            if asked > world.visible() {
                return Err(Error::new(ErrorKind::TooLargeResourceVersion, "watch the simulation"));
            }
            let (version, objects) = (world.version, world.objects.clone());
            first.extend(objects.iter().map(|(name, v)| Change::added(entry(name, *v)).into()));
            if params.send_initial_events && self.streaming == Streaming::Supported {
                first.push(WatchEvent::Bookmark { version: version.into(), initial_events_end: true });
            }
            at = version;
        } else if asked < world.compacted {
            return Err(expired());
        }
        let life = match world.trouble {
            true => Duration::from_millis(world.rng.u64(0..8000)),
            false => params.timeout,
        };
        let state = Following {
            advanced: self.advanced.subscribe(),
            end: Instant::now() + life,
            at,
            how: world.rng.u8(0..4),
            rng: world.rng.fork(),
            last: false,
        };
        drop(world);
        Ok(follow(self.clone(), state, first))
    }

    fn description(&self) -> String {
        "the simulation".into()
    }
}

struct Following {
    advanced: watch::Receiver<u64>,
    end: Instant,
    at: u64,
    how: u8,
    rng: fastrand::Rng,
    last: bool,
}

fn follow(simulation: Simulation, state: Following, first: Vec<WatchEvent<()>>) -> WatchStream<()> {
    let first = futures_util::stream::iter((!first.is_empty()).then_some(Ok(first)));
    let rest = futures_util::stream::unfold((simulation, state), |(simulation, mut state)| async move {
        if state.last {
            return None;
        }
        loop {
            let events = {
                let world = simulation.world();
                if state.at < world.compacted {
                    drop(world);
                    state.last = true;
                    return Some((Err(expired()), (simulation, state)));
                }
                let end = world.visible().min(state.at + 5);
                let mut events = Vec::new();
                for version in state.at + 1..=end {
                    let (kind, name) = &world.history[version as usize - 1];
                    events.push(Change { kind: *kind, item: Item::from(entry(name, version)) }.into());
                }
                state.at = state.at.max(end);
                if !events.is_empty() && state.rng.u8(0..5) == 0 {
                    events.push(WatchEvent::Bookmark { version: state.at.into(), initial_events_end: false });
                }
                events
            };
            if !events.is_empty() {
                return Some((Ok(events), (simulation, state)));
            }
            tokio::select! {
                changed = state.advanced.changed() => {
                    if changed.is_err() {
                        return None;
                    }
                }
                () = sleep_until(state.end) => {
                    state.last = true;
                    return match state.how {
                        0 => Some((Err(Error::new(ErrorKind::ConnectionLost, "watch")), (simulation, state))),
                        1 => Some((Err(Error::new(ErrorKind::Internal, "watch")), (simulation, state))),
                        _ => None,
                    };
                }
            }
        }
    });
    first.chain(rest).boxed()
}

#[derive(Clone, Default)]
struct MapSink(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    objects: Objects,
    newest: u64,
    /// Changes that contradict what is held, and steps back in time.
    contradictions: Vec<String>,
}

fn keep(objects: &mut Objects, change: &Change<()>) {
    let name = change.item.key().unwrap().name().to_owned();
    match change.kind {
        ChangeKind::Deleted => objects.remove(&name),
        _ => objects.insert(name, change.item.version().as_number().unwrap()),
    };
}

impl Sink<()> for MapSink {
    fn apply(&mut self, change: Change<()>) -> Result<(), SinkError> {
        let mut kept = self.0.lock().unwrap();
        let version = change.item.version().as_number().unwrap();
        if let Some(held) =
            kept.objects.get(change.item.key().unwrap().name()).filter(|held| **held > version)
        {
            let contradiction = format!("{:?} at {version} after {held}", change.item.key());
            kept.contradictions.push(contradiction);
        }
        kept.newest = kept.newest.max(version);
        keep(&mut kept.objects, &change);
        Ok(())
    }

    fn begin(&mut self, _: &Scope) -> Box<dyn Stage<()> + '_> {
        Box::new(Replacement { sink: self, staged: Objects::new() })
    }
}

struct Replacement<'a> {
    sink: &'a MapSink,
    staged: Objects,
}

impl Stage<()> for Replacement<'_> {
    fn offer(&mut self, change: Change<()>) -> Result<(), SinkError> {
        keep(&mut self.staged, &change);
        Ok(())
    }

    fn commit(self: Box<Self>, version: &ResourceVersion) -> Result<(), SinkError> {
        let mut kept = self.sink.0.lock().unwrap();
        // Without a version: the resource is gone, and what comes back has nothing to do with it.
        let (version, newest) = (version.as_number(), kept.newest);
        if version.is_some_and(|version| version < newest) {
            let version = version.unwrap_or_default();
            kept.contradictions.push(format!("a list of {version} after {newest}"));
        }
        kept.newest = version.unwrap_or_default();
        kept.objects = self.staged;
        Ok(())
    }
}

/// One run; the number of requests that were made.
async fn run(seed: u64, streaming: Streaming, parity: Parity) -> u32 {
    let mut world = World {
        version: 0,
        history: Vec::new(),
        objects: Objects::new(),
        compacted: 0,
        snapshots: BTreeMap::from([(0, Objects::new())]),
        lag: None,
        trouble: true,
        requests: 0,
        rng: fastrand::Rng::with_seed(seed),
    };
    for _ in 0..8 {
        world.change();
    }
    // No server gives out version 0.
    world.compacted = 1;
    world.snapshots.remove(&0);
    let simulation = Simulation {
        advanced: watch::Sender::new(world.version),
        world: Arc::new(Mutex::new(world)),
        streaming,
    };
    let sink = MapSink::default();
    let cancel = CancellationToken::new();
    let reflector = Reflector::builder(Arc::new(simulation.clone()), sink.clone())
        .seed(seed)
        .page_size(if seed.is_multiple_of(2) { 0 } else { 4 })
        .parity(parity)
        .build();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    let mut dice = fastrand::Rng::with_seed(seed ^ 0xd1ce);
    for _ in 0..150 {
        sleep(Duration::from_millis(dice.u64(0..800))).await;
        {
            let mut world = simulation.world();
            match dice.u8(0..20) {
                0 => world.compact(),
                1 => world.lag = Some(world.version.saturating_sub(3)),
                2..5 => world.lag = None,
                _ => world.change(),
            }
        }
        simulation.tell();
    }
    {
        let mut world = simulation.world();
        world.trouble = false;
        world.lag = None;
    }
    simulation.tell();
    // The longest pause is that of a lasting denial.
    sleep(Duration::from_secs(900)).await;
    let kept = std::mem::take(&mut *sink.0.lock().unwrap());
    let (held, requests) = {
        let world = simulation.world();
        (world.objects.clone(), world.requests)
    };
    assert_eq!(kept.objects, held, "seed {seed}");
    assert_eq!(kept.contradictions, Vec::<String>::new(), "seed {seed}");
    cancel.cancel();
    task.await.unwrap();
    requests
}

#[tokio::test(start_paused = true)]
async fn at_rest_the_sink_equals_the_server() {
    for seed in 0..300 {
        let streaming = [Streaming::Supported, Streaming::Refused, Streaming::Ignored][seed as usize % 3];
        let requests = run(seed, streaming, Parity::default()).await;
        assert!((2..400).contains(&requests), "seed {seed}: {requests} requests");
    }
}

#[tokio::test(start_paused = true)]
async fn at_rest_the_sink_equals_the_server_under_client_gos_rules() {
    for seed in 1000_u64..1150 {
        // Where the mark never comes, client-go waits for ever.
        let streaming = if seed.is_multiple_of(2) { Streaming::Supported } else { Streaming::Refused };
        let requests = run(seed, streaming, Parity::client_go_0_37()).await;
        assert!((2..600).contains(&requests), "seed {seed}: {requests} requests");
    }
}
