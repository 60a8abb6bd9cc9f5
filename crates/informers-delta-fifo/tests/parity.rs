//! Deviations from client-go, each switched back alone: what happens by default, and what happens then.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod fixture;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use fixture::{Store, key, list, obj, shown};
use informers_core::{Change, Scope, Sink, Transform};
use informers_delta_fifo::{
    Closed, Consumer, DeltaFifo, InOrderQueue, Parity, QueueOptions, SharedQueue, delta_fifo, in_order_queue,
};

/// The default, and this switch alone.
fn both(switch: fn(&mut Parity)) -> [Parity; 2] {
    let mut on = Parity::default();
    switch(&mut on);
    assert_ne!(on, Parity::default());
    [Parity::default(), on]
}

/// Each queue under this rule.
fn queues(parity: Parity, options: impl Fn() -> QueueOptions<u64>) -> [(SharedQueue<u64>, Consumer<u64>); 3] {
    let store = Store::with([obj("old", 1)]);
    [
        in_order_queue(InOrderQueue::atomic().with_parity(parity), options().with_known(store.clone())),
        in_order_queue(InOrderQueue::plain(store.clone()).with_parity(parity), options()),
        delta_fifo(DeltaFifo::new().with_known(store).with_parity(parity), options()),
    ]
}

/// The next batch, without waiting.
fn take(consumer: &mut Consumer<u64>) -> Result<Vec<String>, Closed> {
    match pin!(consumer.pop_batch()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(batch) => batch.map(|batch| shown(batch.deltas())),
        Poll::Pending => panic!("nothing to take"),
    }
}

#[test]
fn accept_after_close() {
    let [ours, theirs] = both(|parity| parity.accept_after_close = true);
    for (queue, mut consumer) in queues(ours, QueueOptions::default) {
        queue.close();
        assert!(queue.sink().apply(Change::added(obj("a", 1))).unwrap_err().is_closed());
        assert_eq!(take(&mut consumer), Err(Closed));
    }
    for (queue, mut consumer) in queues(theirs, QueueOptions::default) {
        queue.close();
        queue.sink().apply(Change::added(obj("a", 1))).unwrap();
        assert_eq!(take(&mut consumer).unwrap(), ["Added(a@1)"]);
        assert_eq!(take(&mut consumer), Err(Closed));
        // But not without anybody who would take them.
        drop(consumer);
        assert!(queue.sink().apply(Change::added(obj("a", 2))).unwrap_err().is_closed());
    }
}

#[test]
fn synced_before_processing() {
    for (parity, when_taken) in
        both(|parity| parity.synced_before_processing = true).into_iter().zip([false, true])
    {
        let mut queue = DeltaFifo::new().with_parity(parity);
        queue.replace(list([obj("a", 1)]));
        let popped = queue.pop().unwrap();
        assert!(popped.is_in_initial_list);
        assert_eq!(queue.has_synced(), when_taken);
        queue.finish(popped.ticket);
        assert!(queue.has_synced());
    }
}

#[test]
fn bookmark_uses_up_initial_count() {
    for (parity, early) in
        both(|parity| parity.bookmark_uses_up_initial_count = true).into_iter().zip([false, true])
    {
        let mut queue = InOrderQueue::atomic().with_parity(parity);
        queue.bookmark(Scope::all(), "5".into());
        let bookmark = queue.pop_batch().unwrap();
        queue.replace(list([obj("a", 1)]));
        queue.finish(bookmark.ticket);
        assert_eq!(queue.has_synced(), early, "the list is still queued");
        let first_list = queue.pop_batch().unwrap();
        queue.finish(first_list.ticket);
        assert!(queue.has_synced());
    }
}

/// Fails on the version 9.
fn failing() -> QueueOptions<u64> {
    QueueOptions::default().with_transform(Transform::new(|version: &mut u64| match *version {
        9 => Err(std::io::Error::other("told to fail")),
        _ => Ok(()),
    }))
}

#[test]
fn drop_failed_transforms() {
    let [ours, theirs] = both(|parity| parity.drop_failed_transforms = true);
    for (parity, left) in [(ours, vec!["Undecodable(old@9)", "Deleted(old, Observed)"]), (theirs, vec![])] {
        for (queue, _consumer) in queues(parity, failing) {
            let mut sink = queue.sink();
            assert_eq!(sink.apply(Change::modified(obj("old", 9))).unwrap_err().key(), Some(&key("old")));
            assert!(sink.apply(Change::deleted(obj("old", 9))).is_err());
            assert_eq!(shown(&queue.snapshot()), left);
            assert!(queue.has_synced(), "either way it was the first population");
        }
    }
    // In a list.
    let listed = |parity, expected: [&[&str]; 3]| {
        for ((queue, _consumer), expected) in queues(parity, failing).into_iter().zip(expected) {
            let mut sink = queue.sink();
            let mut stage = sink.begin(&Scope::all());
            let offered =
                [obj("a", 1), obj("b", 9), obj("old", 1)].map(|object| stage.offer(Change::added(object)));
            let committed = stage.commit(&"4".into());
            assert_eq!((offered[1].is_err(), committed.is_err()), (parity == ours, parity == theirs));
            assert_eq!(shown(&queue.snapshot()), expected);
        }
    };
    listed(
        ours,
        [
            &["ReplacedAll(all namespaces@4, 2 items, 1 undecodable)"],
            &["Replaced(a@1)", "Replaced(old@1)", "Undecodable(b@9)"],
            &["Sync(a@1)", "Sync(old@1)", "Undecodable(b@9)"],
        ],
    );
    listed(theirs, [&[], &["Replaced(a@1)"], &["Sync(a@1)"]]);
}

#[test]
fn transform_every_copy() {
    for (parity, known_again, streamed) in [
        (both(|parity| parity.transform_every_copy = true)[0], 0, 1),
        (both(|parity| parity.transform_every_copy = true)[1], 1, 2),
    ] {
        let calls = Arc::new(AtomicU64::new(0));
        let counting = || {
            let calls = Arc::clone(&calls);
            QueueOptions::default().with_transform(Transform::infallible(move |_: &mut u64| {
                calls.fetch_add(1, Ordering::Relaxed);
            }))
        };
        for (queue, _consumer) in queues(parity, counting) {
            let mut sink = queue.sink();
            // What a reflector does with a copy that may be known already.
            let again = sink.known(&key("old"), &"uid".into(), &1.into()).unwrap_or_else(|| obj("old", 1));
            sink.apply(Change::modified(again)).unwrap();
            assert_eq!(calls.swap(0, Ordering::Relaxed), known_again);
            let mut stage = sink.begin_streaming(&Scope::all());
            stage.offer(Change::added(obj("new", 2))).unwrap();
            stage.commit(&"4".into()).unwrap();
            assert_eq!(calls.swap(0, Ordering::Relaxed), streamed);
        }
    }
}
