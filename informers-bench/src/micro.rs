//! The parts alone: every figure has the name that client-go's counterpart has in the comparison.
//!
//! Each part is measured as users have it, with its lock, and not as the machine inside.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use informers::core::{Change, Sink as _};
use informers::delta_fifo::{DeltaFifo, QueueOptions, delta_fifo};
use informers::prelude::*;
use informers::store::{NAMESPACE_INDEX, StoreWriter, namespace_values};
use informers::workqueue::rate_limiter::ItemExponentialFailure;
use serde_json::{Map, Value};
use tokio::runtime::Runtime;

use crate::pods::{AnyPod, Small};

const OBJECTS: usize = 100_000;
const NODES: usize = 5000;
const ROUNDS: usize = 10;

/// All figures by name: rates per second, and one time in seconds.
pub(crate) fn measure<P: AnyPod>(runtime: &Runtime, decoded: bool) -> Result<Value> {
    let mut figures = Map::new();
    figures.insert("peer".to_owned(), "informers".into());
    let mut put = |name: &str, value: f64| figures.insert(name.to_owned(), value.into());

    let keys: Vec<ObjectKey> = (0..OBJECTS).map(key).collect();
    put("workqueue_cycle_per_s", workqueue_cycle(runtime, &keys)?);
    put("workqueue_4workers_per_s", workqueue_with_workers(runtime, &keys)?);
    put("workqueue_add_after_per_s", workqueue_add_after()?);

    let pods = small_pods::<P>(decoded)?;
    let (mut writer, by_node) = indexed_store()?;
    for name in ["store_add_per_s", "store_update_per_s"] {
        let begun = Instant::now();
        for pod in &pods {
            writer.insert(pod.clone());
        }
        put(name, rate(OBJECTS, begun));
    }
    let store = writer.reader();
    for readers in [1, 4] {
        put(&format!("store_get_per_s_{readers}readers"), gets(readers, &store, &keys));
        put(&format!("store_by_index_20_per_s_{readers}readers"), look_ups(readers, &by_node)?);
    }
    let again = pods.clone();
    let begun = Instant::now();
    writer.replace(again, "1".into());
    put("store_replace_100k_s", begun.elapsed().as_secs_f64());

    put("delta_fifo_add_pop_per_s", delta_fifo_add_pop(runtime, store, &pods)?);
    Ok(figures.into())
}

fn rate(operations: usize, begun: Instant) -> f64 {
    operations as f64 / begun.elapsed().as_secs_f64()
}

fn key(n: usize) -> ObjectKey {
    ObjectKey::new(&format!("team-{:03}", n % 100), &format!("pod-{n:06}"))
}

/// Pods with the fields that client-go's counterpart fills: made in place as there, or decoded as those of a server,
/// which leaves them spread over the heap.
fn small_pods<P: AnyPod>(decoded: bool) -> Result<Vec<Entry<P>>> {
    let resource = P::resource();
    let pod = |n: usize| {
        let small = Small {
            namespace: format!("team-{:03}", n % 100),
            name: format!("pod-{n:06}"),
            uid: format!("0190a5a2-7a3c-7d4e-9f00-{n:012x}"),
            version: (n + 1).to_string(),
            app: format!("svc-{:04}", n % 2000),
            node: format!("node-{:04}", n % NODES),
        };
        if decoded {
            return Ok(resource.decoder().decode(small.to_json().as_bytes())?);
        }
        let (uid, version) = (small.uid.as_str().into(), small.version.as_str().into());
        Ok(Entry::new(key(n), uid, version, P::small(small)))
    };
    (0..OBJECTS).map(pod).collect()
}

/// One task: fill the queue with distinct keys, then get and finish each.
fn workqueue_cycle(runtime: &Runtime, keys: &[ObjectKey]) -> Result<f64> {
    let queue = WorkQueue::new();
    let begun = Instant::now();
    runtime.block_on(async {
        for _ in 0..ROUNDS {
            for key in keys {
                queue.add(key.clone())?;
            }
            for _ in keys {
                drop(queue.get().await);
            }
        }
        anyhow::Ok(())
    })?;
    let rate = rate(ROUNDS * keys.len(), begun);
    queue.shut_down();
    Ok(rate)
}

/// One producer, four workers, all of them tasks: until every distinct key of every round was finished.
fn workqueue_with_workers(runtime: &Runtime, keys: &[ObjectKey]) -> Result<f64> {
    let queue = WorkQueue::new();
    let (keys, all) = (keys.to_vec(), ROUNDS * keys.len());
    let begun = Instant::now();
    for _ in 0..4 {
        let queue = queue.clone();
        runtime.spawn(async move { while queue.get().await.is_some() {} });
    }
    let producer = async move {
        for _ in 0..ROUNDS {
            for key in &keys {
                queue.add(key.clone())?;
            }
            while !queue.is_empty() {
                tokio::task::yield_now().await;
            }
        }
        queue.shut_down_with_drain().await?;
        anyhow::Ok(())
    };
    runtime.block_on(runtime.spawn(producer))??;
    Ok(rate(all, begun))
}

fn workqueue_add_after() -> Result<f64> {
    let keys: Vec<ObjectKey> = (0..2 * OBJECTS).map(key).collect();
    let limiter = ItemExponentialFailure::new(Duration::from_millis(1), Duration::from_secs(3600));
    let queue = WorkQueue::builder().rate_limiter(limiter).build();
    let begun = Instant::now();
    for key in &keys {
        queue.add_after(key.clone(), Duration::from_secs(3600))?;
    }
    let rate = rate(keys.len(), begun);
    queue.shut_down();
    Ok(rate)
}

fn indexed_store<P: AnyPod>() -> Result<(StoreWriter<P>, Index<P, String>)> {
    let mut writer = StoreWriter::new();
    let node = |pod: &Entry<P>| pod.node().map(str::to_owned);
    let (_, by_namespace) = writer.reader().define_index(Some(NAMESPACE_INDEX), namespace_values)?;
    let (index, by_node) = writer.reader().define_index(Some("node"), node)?;
    for pending in [by_namespace, by_node] {
        writer.install(pending).map_err(|_| anyhow!("an index of another store"))?;
    }
    Ok((writer, index))
}

/// Runs the same on each of several threads.
fn on_threads(readers: usize, run: impl Fn(usize) + Sync) {
    std::thread::scope(|scope| {
        for reader in 0..readers {
            let run = &run;
            scope.spawn(move || run(reader));
        }
    });
}

fn gets<P: AnyPod>(readers: usize, store: &Store<P>, keys: &[ObjectKey]) -> f64 {
    const EACH: usize = 1_000_000;
    let begun = Instant::now();
    on_threads(readers, |reader| {
        for at in 0..EACH {
            black_box(store.get_by_key(&keys[(at * 7 + reader) % keys.len()]));
        }
    });
    rate(readers * EACH, begun)
}

/// Look-ups with 20 hits, each of which is read.
fn look_ups<P: AnyPod>(readers: usize, by_node: &Index<P, String>) -> Result<f64> {
    const EACH: usize = 100_000;
    if by_node.count("node-0000") != OBJECTS / NODES {
        return Err(anyhow!("the index does not have what was put in"));
    }
    let begun = Instant::now();
    on_threads(readers, |reader| {
        for at in 0..EACH {
            let hits = by_node.get(format!("node-{:04}", (at + reader) % NODES).as_str());
            black_box(hits.iter().map(|pod| pod.read()).sum::<usize>());
        }
    });
    Ok(rate(readers * EACH, begun))
}

fn delta_fifo_add_pop<P: AnyPod>(runtime: &Runtime, store: Store<P>, pods: &[Entry<P>]) -> Result<f64> {
    let machine = DeltaFifo::new().with_known(Arc::new(store)).with_emit_replaced(true);
    let (queue, mut consumer) = delta_fifo(machine, QueueOptions::default());
    let mut sink = queue.sink();
    let begun = Instant::now();
    runtime.block_on(async {
        for pod in pods {
            sink.apply(Change::added(pod.clone()))?;
        }
        for _ in pods {
            consumer.pop().await?.finish();
        }
        anyhow::Ok(())
    })?;
    Ok(rate(pods.len(), begun))
}
