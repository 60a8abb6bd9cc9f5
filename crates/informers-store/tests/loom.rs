//! Explores the interleavings of those who wait: for an index to be filled, for an entry of a heap.
//! `cargo xtask loom` runs it.
#![cfg(informers_loom)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use informers_core::{Entry, ObjectKey};
use informers_store::{Heap, Index, NeverFilled, StoreWriter};
use loom::future::block_on;
use loom::thread;

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(check);
}

fn filled(index: &Index<u8, u8>) -> thread::JoinHandle<Result<(), NeverFilled>> {
    let index = index.clone();
    thread::spawn(move || block_on(index.filled()))
}

#[test]
fn installing_an_index_wakes_each_of_two_waiters() {
    model(|| {
        let mut writer = StoreWriter::new();
        let (index, pending) = writer.reader().define_index(None, |entry: &Entry<u8>| Some(**entry)).unwrap();
        let waiters = [filled(&index), filled(&index)];
        assert!(writer.install(pending).is_ok());
        assert!(waiters.map(|waiter| waiter.join().unwrap()).iter().all(Result::is_ok));
    });
}

#[test]
fn giving_an_index_up_wakes_each_of_two_waiters() {
    model(|| {
        let writer = StoreWriter::new();
        let (index, pending) = writer.reader().define_index(None, |entry: &Entry<u8>| Some(**entry)).unwrap();
        let waiters = [filled(&index), filled(&index)];
        drop(pending);
        assert!(waiters.map(|waiter| waiter.join().unwrap()).iter().all(Result::is_err));
    });
}

type Numbers = Arc<Heap<u8, u8>>;

fn heap() -> Numbers {
    Arc::new(Heap::new(|entry: &Entry<u8>| **entry))
}

fn number(n: u8) -> Entry<u8> {
    Entry::keyed(ObjectKey::cluster(&n.to_string()), n)
}

/// Pops one, or learns that the heap is closed.
fn pop(heap: &Numbers) -> thread::JoinHandle<Option<u8>> {
    let heap = Arc::clone(heap);
    thread::spawn(move || block_on(heap.pop()).ok().map(|entry| *entry))
}

#[test]
fn each_of_two_pops_gets_one_of_two_additions() {
    model(|| {
        let heap = heap();
        let pops = [pop(&heap), pop(&heap)];
        heap.add(number(1)).unwrap();
        heap.add_if_absent(number(2)).unwrap();
        let mut got = pops.map(|pop| pop.join().unwrap());
        got.sort_unstable();
        assert_eq!(got, [Some(1), Some(2)]);
    });
}

#[test]
fn several_at_once_serve_several_pops() {
    model(|| {
        let heap = heap();
        let pops = [pop(&heap), pop(&heap)];
        heap.add_all(vec![number(1), number(2)]).unwrap();
        assert!(pops.map(|pop| pop.join().unwrap()).iter().all(Option::is_some));
    });
}

#[test]
fn a_pop_that_gives_up_takes_no_wake_up_with_it() {
    model(|| {
        let heap = heap();
        let impatient = thread::spawn({
            let heap = Arc::clone(&heap);
            move || {
                matches!(pin!(heap.pop()).poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(_)))
            }
        });
        let patient = pop(&heap);
        heap.add(number(1)).unwrap();
        // If the impatient one was lucky, the patient one needs another entry.
        if impatient.join().unwrap() {
            heap.add(number(2)).unwrap();
        }
        assert!(patient.join().unwrap().is_some());
    });
}

#[test]
fn closing_a_heap_wakes_every_pop() {
    model(|| {
        let heap = heap();
        let pops = [pop(&heap), pop(&heap)];
        heap.close();
        assert_eq!(pops.map(|pop| pop.join().unwrap()), [None, None]);
    });
}
