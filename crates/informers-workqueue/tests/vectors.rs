//! Replays recorded runs of client-go 0.37.2 against the queue and the rate limiters.
//!
//! The traces are those below `$INFORMERS_VECTORS`, or the set beside the workspace, or the few committed here.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers may panic; the build collects the printed counts

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use informers_workqueue::rate_limiter::{
    self, Bucket, ItemExponentialFailure, ItemFastSlow, MaxOf, RateLimiter, WithMaxWait,
};
use informers_workqueue::{Drain, Parity, WorkQueue};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

/// Flags of traces whose callbacks fail in ways that types may rule out. Ours rules out none that occurs here.
const SKIPPABLE: [&str; 5] = ["key_errors", "known_faults", "poison", "index_errors", "misuse"];

struct Set {
    folder: PathBuf,
    /// How many traces must be replayed and skipped; `None` for a folder that the caller chose.
    expected: Option<(usize, usize)>,
}

fn set(component: &str) -> Set {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    if let Some(chosen) = std::env::var_os("INFORMERS_VECTORS") {
        return Set { folder: PathBuf::from(chosen).join(component), expected: None };
    }
    let shared = manifest.join("../../../shared/oracle/vectors/public").join(component);
    if shared.is_dir() {
        return Set { folder: shared, expected: Some((200, 0)) };
    }
    Set { folder: manifest.join("tests/vectors").join(component), expected: Some((12, 0)) }
}

#[derive(Deserialize)]
struct Header {
    component: String,
    config: Config,
}

#[derive(Deserialize)]
struct Config {
    limiter: Limiter,
    #[serde(flatten)]
    flags: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Limiter {
    ItemExponential { base_ns: u64, max_ns: u64 },
    ItemFastSlow { fast_ns: u64, slow_ns: u64, max_fast: usize },
    Bucket { qps: f64, burst: usize },
    MaxOf { limiters: Vec<Limiter> },
    MaxWait { limiters: Vec<Limiter>, max_ns: u64 },
    DefaultController,
    DefaultItem,
}

impl Limiter {
    fn build(&self) -> Box<dyn RateLimiter<String>> {
        let ns = Duration::from_nanos;
        match self {
            Self::ItemExponential { base_ns, max_ns } => {
                Box::new(ItemExponentialFailure::new(ns(*base_ns), ns(*max_ns)))
            }
            Self::ItemFastSlow { fast_ns, slow_ns, max_fast } => {
                Box::new(ItemFastSlow::new(ns(*fast_ns), ns(*slow_ns), *max_fast))
            }
            Self::Bucket { qps, burst } => Box::new(Bucket::new(*qps, *burst)),
            Self::MaxOf { limiters } => Box::new(MaxOf::new(limiters.iter().map(Self::build))),
            Self::MaxWait { limiters, max_ns } => {
                Box::new(WithMaxWait::new(limiters[0].build(), ns(*max_ns)))
            }
            Self::DefaultController => Box::new(rate_limiter::default_controller_rate_limiter()),
            Self::DefaultItem => Box::new(rate_limiter::default_item_based_rate_limiter()),
        }
    }

    /// Delays that come from floating point arithmetic may differ by this many nanoseconds.
    fn tolerance(&self) -> u64 {
        match self {
            Self::Bucket { .. } | Self::DefaultController => 1000,
            Self::MaxOf { limiters } | Self::MaxWait { limiters, .. } => {
                limiters.iter().map(Self::tolerance).max().unwrap_or(0)
            }
            Self::ItemExponential { .. } | Self::ItemFastSlow { .. } | Self::DefaultItem => 0,
        }
    }
}

#[derive(Deserialize)]
struct Op {
    op: String,
    #[serde(default)]
    item: String,
    #[serde(default)]
    ms: i64,
    #[serde(default)]
    ns: u64,
    #[serde(default)]
    count: usize,
    out: Map<String, Value>,
}

/// Replays all traces of the component and writes the count where the build collects them.
fn replay_all(component: &str, mut replay: impl FnMut(&str, &Header, &[Op])) {
    let set = set(component);
    let mut files: Vec<_> = fs::read_dir(&set.folder)
        .unwrap_or_else(|error| panic!("cannot list {}: {error}", set.folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no traces in {}", set.folder.display());
    let (mut replayed, mut skipped) = (0, 0);
    for file in &files {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).unwrap();
        let mut lines = text.lines();
        let header: Header = serde_json::from_str(lines.next().unwrap()).unwrap();
        assert_eq!(header.component, component, "{name}");
        let unknown = header.config.flags.keys().find(|flag| !SKIPPABLE.contains(&flag.as_str()));
        assert_eq!(unknown, None, "{name}: unknown flag");
        // `misuse` is replayed too: the parity rules cover it.
        if header.config.flags.iter().any(|(flag, on)| flag != "misuse" && on == &Value::Bool(true)) {
            skipped += 1;
            continue;
        }
        let ops: Vec<Op> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        replay(&name, &header, &ops);
        replayed += 1;
    }
    let line = format!("vectors {component}: replayed {replayed}, skipped {skipped} of {}\n", files.len());
    print!("{line}");
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    // A packaged crate has no workspace around it.
    if Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml").is_file() {
        fs::create_dir_all(&target).unwrap();
        let mut out =
            fs::OpenOptions::new().create(true).append(true).open(target.join("vectors.txt")).unwrap();
        out.write_all(line.as_bytes()).unwrap();
    }
    if let Some(expected) = set.expected {
        assert_eq!((replayed, skipped), expected, "another number of traces than committed for this set");
    }
}

#[test]
fn vectors_rate_limiters() {
    replay_all("rate-limiters", |name, header, ops| {
        let limiter = header.config.limiter.build();
        let tolerance = header.config.limiter.tolerance();
        let mut now = Instant::now();
        for (line, op) in ops.iter().enumerate() {
            let at = format!("{name}, operation {} {}", line + 1, op.op);
            let mut out = op.out.clone();
            match op.op.as_str() {
                "when" => {
                    let expected = out.remove("delay_ns").and_then(|ns| ns.as_u64()).unwrap();
                    assert_delay(&at, nanos(limiter.when(&op.item, now)), expected, tolerance);
                }
                "when_many" => {
                    let runs: Vec<(u64, usize)> =
                        serde_json::from_value(out.remove("delays").unwrap()).unwrap();
                    let expected: Vec<u64> =
                        runs.iter().flat_map(|&(ns, n)| std::iter::repeat_n(ns, n)).collect();
                    assert_eq!(expected.len(), op.count, "{at}");
                    for expected in expected {
                        assert_delay(&at, nanos(limiter.when(&op.item, now)), expected, tolerance);
                    }
                }
                "forget" => limiter.forget(&op.item),
                "num_requeues" => {}
                "step" => now += Duration::from_nanos(op.ns),
                other => panic!("{at}: unknown operation {other}"),
            }
            let mut ours = Map::new();
            if op.op != "step" {
                ours.insert("requeues".into(), json!(limiter.num_requeues(&op.item)));
            }
            assert_eq!(ours, out, "{at}");
        }
    });
}

fn nanos(delay: Duration) -> u64 {
    delay.as_nanos().try_into().unwrap()
}

fn assert_delay(at: &str, ours: u64, expected: u64, tolerance: u64) {
    assert!(ours.abs_diff(expected) <= tolerance, "{at}: delay {ours} ns, expected {expected} ns");
}

#[test]
fn vectors_workqueue() {
    replay_all("workqueue", |name, header, ops| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut driver = Driver::new(&header.config.limiter);
            for (line, op) in ops.iter().enumerate() {
                let at = format!("{name}, operation {} {}", line + 1, op.op);
                let mut ours = driver.perform(&at, op).await;
                settle().await;
                driver.observe(&mut ours).await;
                assert_eq!(Value::Object(ours), Value::Object(op.out.clone()), "{at}");
            }
        });
    });
}

/// Lets every other task come to rest.
async fn settle() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}

/// Remembers the last delay it gave out, which is also compared for adds that the shutdown refuses.
struct Recording {
    limiter: Box<dyn RateLimiter<String>>,
    last: Arc<Mutex<Option<Duration>>>,
}

impl RateLimiter<String> for Recording {
    fn when(&self, item: &String, now: Instant) -> Duration {
        let delay = self.limiter.when(item, now);
        *self.last.lock().unwrap() = Some(delay);
        delay
    }

    fn forget(&self, item: &String) {
        self.limiter.forget(item);
    }

    fn num_requeues(&self, item: &String) -> usize {
        self.limiter.num_requeues(item)
    }
}

struct Driver {
    queue: WorkQueue<String>,
    last_delay: Arc<Mutex<Option<Duration>>>,
    getting: Option<JoinHandle<Option<String>>>,
    drain: Option<JoinHandle<()>>,
}

impl Driver {
    fn new(limiter: &Limiter) -> Self {
        let last_delay = Arc::new(Mutex::new(None));
        let limiter = Recording { limiter: limiter.build(), last: last_delay.clone() };
        let queue = WorkQueue::builder().rate_limiter(limiter).parity(Parity::client_go_0_37()).build();
        Self { queue, last_delay, getting: None, drain: None }
    }

    async fn perform(&mut self, at: &str, op: &Op) -> Map<String, Value> {
        let queue = &self.queue;
        let item = op.item.clone();
        let mut out = Map::new();
        match op.op.as_str() {
            // After the shutdown client-go says nothing and does nothing; we say so and do nothing.
            "add" => assert_eq!(queue.add(item).is_err(), queue.shutting_down(), "{at}"),
            "add_after" => {
                let delay = Duration::from_millis(op.ms.try_into().unwrap_or(0));
                assert_eq!(queue.add_after(item, delay).is_err(), queue.shutting_down(), "{at}");
            }
            "add_rate_limited" => {
                assert_eq!(queue.add_rate_limited(item).is_err(), queue.shutting_down(), "{at}");
                let delay = self.last_delay.lock().unwrap().take().unwrap();
                out.insert("delay_ms".into(), json!(u64::try_from(delay.as_millis()).unwrap()));
            }
            "done" => queue.done(&op.item).unwrap(),
            "forget" => queue.forget(&op.item),
            "num_requeues" | "len" => {}
            "get" => {
                let mut get = tokio_test::task::spawn(queue.get());
                let std::task::Poll::Ready(taken) = get.poll() else { panic!("{at}: get blocks") };
                out = got(taken.map(informers_workqueue::Taken::into_key));
            }
            "get_wait" => {
                let queue = queue.clone();
                self.getting =
                    Some(tokio::spawn(
                        async move { queue.get().await.map(informers_workqueue::Taken::into_key) },
                    ));
            }
            "step" => tokio::time::advance(Duration::from_millis(op.ms.try_into().unwrap())).await,
            "shut_down" => drop(queue.shut_down()),
            "shut_down_with_drain" => {
                let drain: Drain<String> = queue.shut_down_with_drain();
                self.drain = Some(tokio::spawn(async move {
                    // Released or drained, client-go's call returns.
                    let _ = drain.await;
                }));
            }
            other => panic!("{at}: unknown operation {other}"),
        }
        if matches!(op.op.as_str(), "add_rate_limited" | "forget" | "num_requeues") {
            out.insert("requeues".into(), json!(self.queue.num_requeues(&op.item)));
        }
        out
    }

    async fn observe(&mut self, out: &mut Map<String, Value>) {
        if let Some(getting) = self.getting.take_if(|getting| getting.is_finished()) {
            out.insert("delivered".into(), Value::Object(got(getting.await.unwrap())));
        }
        out.insert("len".into(), json!(self.queue.len()));
        out.insert("shutting_down".into(), json!(self.queue.shutting_down()));
        if let Some(drain) = &self.drain {
            out.insert("drain".into(), json!(if drain.is_finished() { "done" } else { "waiting" }));
        }
    }
}

fn got(item: Option<String>) -> Map<String, Value> {
    let shutdown = item.is_none();
    let mut out = Map::new();
    out.insert("item".into(), json!(item.unwrap_or_default()));
    out.insert("shutdown".into(), json!(shutdown));
    out
}
