//! Explores the interleavings of a latch and those who wait for it. `cargo xtask loom` runs it.
#![cfg(informers_loom)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use informers_core::wait::Latch;
use loom::future::block_on;
use loom::thread;

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(check);
}

fn waiter(latch: &Arc<Latch<u8>>) -> thread::JoinHandle<u8> {
    let latch = Arc::clone(latch);
    thread::spawn(move || block_on(latch.settled()))
}

#[test]
fn a_latch_wakes_each_of_two_waiters() {
    model(|| {
        let latch = Arc::new(Latch::new());
        let waiters = [waiter(&latch), waiter(&latch)];
        latch.settle(1);
        assert_eq!(waiters.map(|waiter| waiter.join().unwrap()), [1, 1]);
    });
}

#[test]
fn the_first_of_two_outcomes_stays() {
    model(|| {
        let latch = Arc::new(Latch::new());
        let waiter = waiter(&latch);
        let rival = thread::spawn({
            let latch = Arc::clone(&latch);
            move || latch.settle(2)
        });
        let first = latch.settle(1);
        assert_ne!(first, rival.join().unwrap());
        assert_eq!(waiter.join().unwrap(), if first { 1 } else { 2 });
    });
}

#[test]
fn a_waiter_that_gives_up_takes_no_wake_up_with_it() {
    model(|| {
        let latch = Arc::new(Latch::new());
        let impatient = thread::spawn({
            let latch = Arc::clone(&latch);
            move || match pin!(latch.settled()).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(outcome) => assert_eq!(outcome, 1),
                Poll::Pending => {}
            }
        });
        let patient = waiter(&latch);
        latch.settle(1);
        impatient.join().unwrap();
        assert_eq!(patient.join().unwrap(), 1);
    });
}
