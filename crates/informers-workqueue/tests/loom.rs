//! Explores the interleavings of the queue's lock and its list of waiters. `cargo xtask loom` runs it.
#![cfg(informers_loom)]
#![allow(clippy::unwrap_used)] // helpers of tests may panic too

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use informers_workqueue::{Taken, WorkQueue};
use loom::future::block_on;
use loom::thread;

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(check);
}

fn take(queue: &WorkQueue<u8>) -> Option<u8> {
    block_on(queue.get()).map(|taken: Taken<u8>| *taken)
}

#[test]
fn each_of_two_waiters_gets_one_of_two_keys() {
    model(|| {
        let queue = WorkQueue::new();
        let waiters = [(); 2].map(|()| {
            let queue = queue.clone();
            thread::spawn(move || take(&queue))
        });
        queue.add(1).unwrap();
        queue.add(2).unwrap();
        let mut got = waiters.map(|waiter| waiter.join().unwrap());
        got.sort_unstable();
        assert_eq!(got, [Some(1), Some(2)]);
    });
}

#[test]
fn a_dropped_waiter_takes_no_wake_up_with_it() {
    model(|| {
        let queue = WorkQueue::new();
        let impatient = thread::spawn({
            let queue = queue.clone();
            move || match pin!(queue.get()).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(taken) => taken.map(Taken::into_key),
                Poll::Pending => None,
            }
        });
        let patient = thread::spawn({
            let queue = queue.clone();
            move || take(&queue)
        });
        queue.add(1).unwrap();
        // If the impatient one was lucky, the patient one needs another key.
        if impatient.join().unwrap().is_some() {
            queue.add(2).unwrap();
        }
        assert!(patient.join().unwrap().is_some());
    });
}

#[test]
fn a_shutdown_wakes_every_waiter() {
    model(|| {
        let queue = WorkQueue::<u8>::new();
        let waiters = [(); 2].map(|()| {
            let queue = queue.clone();
            thread::spawn(move || take(&queue))
        });
        queue.shut_down();
        assert_eq!(waiters.map(|waiter| waiter.join().unwrap()), [None, None]);
    });
}

#[test]
fn a_drain_ends_whenever_the_last_key_is_finished() {
    model(|| {
        let queue = WorkQueue::new();
        queue.add(1).unwrap();
        let worker = thread::spawn({
            let queue = queue.clone();
            move || while take(&queue).is_some() {}
        });
        block_on(queue.shut_down_with_drain()).unwrap();
        assert_eq!((queue.len(), queue.processing_len()), (0, 0));
        worker.join().unwrap();
    });
}
