//! Explores the interleavings of producers, the consumer and those who wait for sync, with each queue.
//! `cargo xtask loom` runs it.
#![cfg(informers_loom)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use informers_core::{Change, Entry, ObjectKey, Scope, Sink};
use informers_delta_fifo::{
    Closed, Consumer, DeltaFifo, Fifo, InOrderQueue, QueueOptions, SharedQueue, delta_fifo, fifo,
    in_order_queue,
};
use loom::future::block_on;
use loom::thread;

type Queue = (SharedQueue<u8>, Consumer<u8>);

/// Explores `check` with each queue, which asks producers to pause when one object waits.
fn model(check: impl Fn(Queue) + Copy + Sync + Send + 'static) {
    let queues: [fn() -> Queue; 3] = [
        || in_order_queue(InOrderQueue::atomic(), QueueOptions::default().with_soft_limit(1)),
        || delta_fifo(DeltaFifo::new(), QueueOptions::default().with_soft_limit(1)),
        || fifo(Fifo::new(), QueueOptions::default().with_soft_limit(1)),
    ];
    for queue in queues {
        explore(queue, check);
    }
}

fn explore(queue: fn() -> Queue, check: impl Fn(Queue) + Copy + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || check(queue()));
}

fn add(queue: &SharedQueue<u8>, name: &str) {
    queue.sink().apply(Change::added(Entry::keyed(ObjectKey::cluster(name), 0))).unwrap();
}

/// Puts in a list of one object.
fn list(queue: &SharedQueue<u8>) {
    let mut sink = queue.sink();
    let mut stage = sink.begin(&Scope::all());
    stage.offer(Change::added(Entry::keyed(ObjectKey::cluster("a"), 0))).unwrap();
    stage.commit(&"1".into()).unwrap();
}

/// A producer that waits until he may go on.
fn producer(queue: &SharedQueue<u8>) -> thread::JoinHandle<()> {
    let mut sink = queue.sink();
    thread::spawn(move || block_on(poll_fn(|cx| sink.poll_ready(cx))))
}

fn observer(queue: &SharedQueue<u8>) -> thread::JoinHandle<Result<(), Closed>> {
    let synced = queue.synced();
    thread::spawn(move || block_on(synced))
}

#[test]
fn a_waiting_pop_gets_what_each_of_two_producers_puts_in() {
    model(|(queue, mut consumer)| {
        let producers = ["a", "b"].map(|name| {
            let queue = queue.clone();
            thread::spawn(move || add(&queue, name))
        });
        let mut taken = 0;
        while taken < 2 {
            taken += block_on(consumer.pop_batch()).unwrap().deltas().len();
        }
        producers.map(|producer| producer.join().unwrap());
        assert!(queue.is_empty());
    });
}

#[test]
fn a_pop_that_was_dropped_leaves_the_object_to_the_next() {
    model(|(queue, mut consumer)| {
        let producer = thread::spawn({
            let queue = queue.clone();
            move || add(&queue, "a")
        });
        let mut context = Context::from_waker(Waker::noop());
        let early = match pin!(consumer.pop()).poll(&mut context) {
            Poll::Ready(batch) => batch.unwrap().deltas().len(),
            Poll::Pending => 0,
        };
        if early == 0 {
            assert_eq!(block_on(consumer.pop()).unwrap().deltas().len(), 1);
        }
        producer.join().unwrap();
    });
}

#[test]
fn room_lets_each_of_two_waiting_producers_go_on() {
    model(|(queue, mut consumer)| {
        add(&queue, "a");
        let producers = [producer(&queue), producer(&queue)];
        block_on(consumer.pop()).unwrap().finish();
        producers.map(|producer| producer.join().unwrap());
    });
}

#[test]
fn close_wakes_each_of_two_producers_though_nobody_takes() {
    model(|(queue, _consumer)| {
        add(&queue, "a");
        let producers = [producer(&queue), producer(&queue)];
        queue.close();
        producers.map(|producer| producer.join().unwrap());
        assert_eq!(queue.len(), 1);
    });
}

#[test]
fn close_wakes_the_consumer_and_a_producer() {
    model(|(queue, mut consumer)| {
        add(&queue, "a");
        let producer = producer(&queue);
        let consumer = thread::spawn(move || {
            let first = block_on(consumer.pop()).map(|batch| batch.deltas().len());
            (first, block_on(consumer.pop()).map(drop))
        });
        queue.close();
        producer.join().unwrap();
        assert_eq!(consumer.join().unwrap(), (Ok(1), Err(Closed)));
    });
}

#[test]
fn close_lets_those_who_wait_for_sync_know() {
    model(|(queue, _consumer)| {
        let observers = [observer(&queue), observer(&queue)];
        queue.close();
        assert_eq!(observers.map(|observer| observer.join().unwrap()), [Err(Closed), Err(Closed)]);
    });
}

#[test]
fn a_consumer_that_goes_wakes_producer_and_observer() {
    model(|(queue, consumer)| {
        // A list that nobody will process; the producer waits behind it.
        list(&queue);
        let (producer, observer) = (producer(&queue), observer(&queue));
        drop(consumer);
        producer.join().unwrap();
        assert_eq!(observer.join().unwrap(), Err(Closed));
    });
}

#[test]
fn the_end_of_the_first_list_wakes_each_of_two_observers() {
    model(|(queue, mut consumer)| {
        let observers = [observer(&queue), observer(&queue)];
        list(&queue);
        let batch = block_on(consumer.pop()).unwrap();
        assert!(!queue.has_synced());
        batch.finish();
        assert!(queue.has_synced());
        assert_eq!(observers.map(|observer| observer.join().unwrap()), [Ok(()), Ok(())]);
    });
}

#[test]
fn an_observer_learns_of_sync_or_of_the_end_when_both_come_at_once() {
    model(|(queue, mut consumer)| {
        list(&queue);
        let observer = observer(&queue);
        let closing = thread::spawn({
            let queue = queue.clone();
            move || queue.close()
        });
        block_on(consumer.pop()).unwrap().finish();
        closing.join().unwrap();
        assert_eq!(observer.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_deletion_that_shortens_the_queue_lets_each_of_two_waiting_producers_go_on() {
    explore(
        || fifo(Fifo::new(), QueueOptions::default().with_soft_limit(1)),
        |(queue, _consumer)| {
            add(&queue, "a");
            let producers = [producer(&queue), producer(&queue)];
            queue.sink().apply(Change::deleted(Entry::keyed(ObjectKey::cluster("a"), 0))).unwrap();
            producers.map(|producer| producer.join().unwrap());
        },
    );
}

#[test]
fn what_another_thread_puts_back_wakes_the_consumer() {
    model(|(queue, mut consumer)| {
        add(&queue, "a");
        let batch = block_on(consumer.pop()).unwrap();
        let elsewhere = thread::spawn(move || batch.put_back());
        assert_eq!(block_on(consumer.pop()).unwrap().deltas().len(), 1);
        elsewhere.join().unwrap();
    });
}

#[test]
fn what_is_put_back_while_the_consumer_goes_ends_the_wait_for_sync() {
    model(|(queue, mut consumer)| {
        list(&queue);
        let observer = observer(&queue);
        let batch = block_on(consumer.pop()).unwrap();
        let elsewhere = thread::spawn(move || batch.put_back());
        drop(consumer);
        elsewhere.join().unwrap();
        // Whether it counts as processed depends on the queue.
        let _ = observer.join().unwrap();
        assert!(queue.is_empty());
    });
}
