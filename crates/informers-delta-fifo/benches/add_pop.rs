//! Adds a number of objects and takes them out again, through the whole driver, as one task would: objects
//! a second, the best of several rounds. `cargo bench -p informers-delta-fifo`
#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::collections::HashMap;
use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use informers_core::{Change, Entry, KnownObjects, ObjectKey, Scope, Sink};
use informers_delta_fifo::{
    Batch, Consumer, DeltaFifo, InOrderQueue, QueueOptions, SharedQueue, delta_fifo, in_order_queue,
};

const OBJECTS: usize = 100_000;
const ROUNDS: usize = 10;

type Pair = (SharedQueue<u64>, Consumer<u64>);

fn take<F: Future<Output = Result<Batch<u64>, informers_delta_fifo::Closed>>>(pop: F) -> usize {
    match pin!(pop).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(batch)) => black_box(batch.deltas()).len(),
        _ => 0,
    }
}

fn drain(consumer: &mut Consumer<u64>, deltas: usize, batches: bool) {
    let mut taken = 0;
    while taken < deltas {
        taken += if batches { take(consumer.pop_batch()) } else { take(consumer.pop()) };
    }
}

fn report(name: &str, pods: &[Entry<u64>], make: impl Fn() -> Pair, run: impl Fn(&mut Pair, &[Entry<u64>])) {
    let mut pair = make();
    let best = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            run(&mut pair, pods);
            start.elapsed()
        })
        .min()
        .unwrap_or_default();
    println!("{name:40} {:6.2} M/s", pods.len() as f64 / best.as_secs_f64() / 1e6);
}

fn add_pop((queue, consumer): &mut Pair, pods: &[Entry<u64>], batches: bool) {
    let mut sink = queue.sink();
    for pod in pods {
        let _ = sink.apply(Change::added(pod.clone()));
    }
    drain(consumer, pods.len(), batches);
}

fn main() {
    let pods: Vec<_> = (0..OBJECTS)
        .map(|at| {
            let key = ObjectKey::new(&format!("namespace-{}", at % 50), &format!("pod-{at}"));
            Entry::new(key, format!("uid-{at}").into(), (at as u64).into(), at as u64)
        })
        .collect();
    let store: Arc<HashMap<_, _>> =
        Arc::new(pods.iter().map(|pod| (pod.key().clone(), pod.clone())).collect());
    let known: Arc<dyn KnownObjects<u64>> = store;

    let machine = || DeltaFifo::new().with_known(Arc::clone(&known)).with_emit_replaced(true);
    let fifo = || delta_fifo(machine(), QueueOptions::default());
    report("DeltaFifo: add, pop", &pods, fifo, |pair, pods| add_pop(pair, pods, false));
    let in_order = || in_order_queue(InOrderQueue::atomic(), QueueOptions::default());
    report("in order: add, pop", &pods, in_order, |pair, pods| add_pop(pair, pods, false));
    report("in order: add, pop in batches", &pods, in_order, |pair, pods| add_pop(pair, pods, true));
    let plain = || in_order_queue(InOrderQueue::plain(Arc::clone(&known)), QueueOptions::default());
    report("in order, plain: add, pop in batches", &pods, plain, |pair, pods| add_pop(pair, pods, true));
    report("in order: one list, pop", &pods, in_order, |(queue, consumer), pods| {
        let mut sink = queue.sink();
        let mut stage = sink.begin(&Scope::all());
        for pod in pods {
            let _ = stage.offer(Change::added(pod.clone()));
        }
        let _ = stage.commit(&"1".into());
        drain(consumer, 1, true);
    });
}
