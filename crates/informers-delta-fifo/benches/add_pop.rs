//! Adds a number of objects and takes them out again, through the whole driver, as one task would.
//! `cargo bench -p informers-delta-fifo`
#![allow(missing_docs, reason = "criterion's macro makes a public function")]

use std::collections::HashMap;
use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use informers_core::{Change, Entry, KnownObjects, ObjectKey, Scope, Sink};
use informers_delta_fifo::{
    Batch, Consumer, DeltaFifo, InOrderQueue, QueueOptions, SharedQueue, delta_fifo, in_order_queue,
};

const OBJECTS: usize = 10_000;

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

fn add_pop((queue, consumer): &mut Pair, pods: &[Entry<u64>], batches: bool) {
    let mut sink = queue.sink();
    for pod in pods {
        let _ = sink.apply(Change::added(pod.clone()));
    }
    drain(consumer, pods.len(), batches);
}

fn queues(c: &mut Criterion) {
    let pods: Vec<_> = (0..OBJECTS)
        .map(|at| {
            let key = ObjectKey::new(&format!("namespace-{}", at % 50), &format!("pod-{at}"));
            Entry::new(key, format!("uid-{at}").into(), (at as u64).into(), at as u64)
        })
        .collect();
    let store: Arc<HashMap<_, _>> =
        Arc::new(pods.iter().map(|pod| (pod.key().clone(), pod.clone())).collect());
    let known: Arc<dyn KnownObjects<u64>> = store;

    let mut group = c.benchmark_group("delta-fifo");
    group.throughput(Throughput::Elements(OBJECTS as u64));
    let mut measure = |name: &str, mut pair: Pair, run: &dyn Fn(&mut Pair)| {
        group.bench_function(name, |b| b.iter(|| run(&mut pair)));
    };
    let fifo = DeltaFifo::new().with_known(Arc::clone(&known)).with_emit_replaced(true);
    let fifo = delta_fifo(fifo, QueueOptions::default());
    measure("DeltaFifo: add, pop", fifo, &|pair| add_pop(pair, &pods, false));
    let in_order = || in_order_queue(InOrderQueue::atomic(), QueueOptions::default());
    measure("in order: add, pop", in_order(), &|pair| add_pop(pair, &pods, false));
    measure("in order: add, pop in batches", in_order(), &|pair| add_pop(pair, &pods, true));
    let plain = in_order_queue(InOrderQueue::plain(Arc::clone(&known)), QueueOptions::default());
    measure("in order, plain: add, pop in batches", plain, &|pair| add_pop(pair, &pods, true));
    measure("in order: one list, pop", in_order(), &|(queue, consumer)| {
        let mut sink = queue.sink();
        let mut stage = sink.begin(&Scope::all());
        for pod in &pods {
            let _ = stage.offer(Change::added(pod.clone()));
        }
        let _ = stage.commit(&"1".into());
        drain(consumer, 1, true);
    });
    group.finish();
}

criterion_group!(benches, queues);
criterion_main!(benches);
