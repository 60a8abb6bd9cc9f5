//! Keys through the queue, and rate limiters. `cargo bench -p informers-workqueue`
#![allow(missing_docs, reason = "criterion's macro makes a public function")]

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use informers_workqueue::rate_limiter::{RateLimiter, default_controller_rate_limiter};
use informers_workqueue::{Taken, WorkQueue};

const KEYS: usize = 1_000;

fn take(queue: &WorkQueue<Arc<str>>) -> Option<Taken<Arc<str>>> {
    match pin!(queue.get()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(taken) => taken,
        Poll::Pending => None,
    }
}

fn cycles(c: &mut Criterion) {
    let keys: Vec<Arc<str>> = (0..KEYS).map(|n| format!("team-{:03}/pod-{n:06}", n % 100).into()).collect();
    let mut group = c.benchmark_group("workqueue");
    group.throughput(Throughput::Elements(KEYS as u64));
    let queue = WorkQueue::new();
    group.bench_function("add, get, done", |b| {
        b.iter(|| {
            for key in &keys {
                let _ = black_box(queue.add(Arc::clone(key)));
            }
            while let Some(key) = take(&queue) {
                key.done();
            }
        });
    });
    group.bench_function("add of queued keys", |b| {
        b.iter(|| {
            for key in &keys {
                let _ = black_box(queue.add(Arc::clone(key)));
            }
        });
    });
    group.bench_function("add_after", |b| {
        let fill = |queue: WorkQueue<_>| {
            for key in &keys {
                let _ = black_box(queue.add_after(Arc::clone(key), Duration::from_secs(3600)));
            }
            queue
        };
        b.iter_batched(WorkQueue::new, fill, BatchSize::SmallInput);
    });
    group.bench_function("the default limiter: when, forget", |b| {
        let (limiter, now) = (default_controller_rate_limiter(), Instant::now());
        b.iter(|| {
            for key in &keys {
                black_box(limiter.when(key, now));
                limiter.forget(key);
            }
        });
    });
    group.finish();
}

criterion_group!(benches, cycles);
criterion_main!(benches);
