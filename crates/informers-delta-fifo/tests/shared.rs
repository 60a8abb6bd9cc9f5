//! The driver: what goes from producers to the consumer, and what does not.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod fixture;

use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use fixture::{
    Store, atomic, commit, is_ready, key, limited, nameless, obj, poll_once, shown, take, undecodable,
};
use informers_core::{Change, Scope, Sink};
use informers_delta_fifo::{
    Closed, Delta, DeltaFifo, Fifo, InOrderQueue, Outcome, QueueOptions, delta_fifo, fifo, in_order_queue,
};

#[test]
fn a_dropped_batch_counts_as_processed() {
    let (queue, mut consumer) = atomic();
    commit(&mut queue.sink(), &["a"]);
    let mut batch = take(&mut consumer);
    assert_eq!(batch.take_deltas().len(), 1);
    assert!(batch.deltas().is_empty() && !queue.has_synced());
    drop(batch);
    assert!(queue.has_synced());

    let (queue, mut consumer) = atomic();
    commit(&mut queue.sink(), &["a"]);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let process = |_: &[Delta<u64>], _| -> Result<Outcome, ()> { panic!("the consumer failed") };
        let _ = poll_once(consumer.process(process));
    }));
    assert!(panicked.is_err() && queue.has_synced());
}

#[test]
fn processing_may_ask_for_another_try() {
    let options = || QueueOptions::default().with_retry_on_error(true);
    for (queue, mut consumer) in [
        in_order_queue(InOrderQueue::atomic(), options()),
        delta_fifo(DeltaFifo::new(), options()),
        fifo(Fifo::new(), options()),
    ] {
        queue.sink().apply(Change::added(obj("a", 1))).unwrap();
        let again = |_: &[Delta<u64>], _| Ok::<_, &str>(Outcome::Requeue);
        assert_eq!(poll_once(consumer.process(again)), Poll::Ready(Ok(Ok(()))));
        assert_eq!(poll_once(consumer.process(|_, _| Err("failed"))), Poll::Ready(Ok(Err("failed"))));
        assert_eq!(queue.len(), 1);
        let done = |deltas: &[Delta<u64>], _| {
            assert_eq!(shown(deltas), ["Added(a@1)"]);
            Ok::<_, &str>(Outcome::Done)
        };
        assert_eq!(poll_once(consumer.process(done)), Poll::Ready(Ok(Ok(()))));
        assert!(queue.is_empty());
    }
    // Without the option a failed batch is gone, as in client-go.
    let (queue, mut consumer) = atomic();
    queue.sink().apply(Change::added(obj("a", 1))).unwrap();
    assert_eq!(poll_once(consumer.process(|_, _| Err("failed"))), Poll::Ready(Ok(Err("failed"))));
    assert!(queue.is_empty());
}

#[test]
fn what_was_taken_may_be_added_again_later_unless_there_is_something_newer() {
    for (queue, mut consumer) in
        [delta_fifo(DeltaFifo::new(), QueueOptions::default()), fifo(Fifo::new(), QueueOptions::default())]
    {
        let mut sink = queue.sink();
        for name in ["a", "b"] {
            sink.apply(Change::added(obj(name, 1))).unwrap();
        }
        let mut failed = [take(&mut consumer), take(&mut consumer)].map(|mut batch| batch.take_deltas());
        sink.apply(Change::modified(obj("b", 2))).unwrap();
        failed.reverse();
        for deltas in failed {
            queue.add_if_not_present(deltas).unwrap();
        }
        assert_eq!(shown(take(&mut consumer).deltas()), ["Updated(b@2)"]);
        let again = take(&mut consumer).take_deltas();
        assert_eq!(shown(&again), ["Added(a@1)"]);
        queue.close();
        assert!(queue.add_if_not_present(again).unwrap_err().is_closed());
    }
    let (queue, _consumer) = atomic();
    let error = queue.add_if_not_present(vec![Delta::Added(obj("a", 1))]).unwrap_err();
    assert!(!error.is_closed(), "{error}");
}

#[test]
fn a_closed_queue_drains_and_takes_nothing() {
    let (queue, mut consumer) = atomic();
    let mut sink = queue.sink();
    sink.apply(Change::added(obj("a", 1))).unwrap();
    queue.close();
    queue.close();
    assert!(queue.is_closed());
    assert!(sink.apply(Change::added(obj("b", 1))).unwrap_err().is_closed());
    assert!(sink.begin(&Scope::all()).commit(&"1".into()).unwrap_err().is_closed());
    assert!(sink.resync().unwrap_err().is_closed() && sink.bookmark(&"1".into()).unwrap_err().is_closed());
    assert!(queue.remove_scope(&Scope::all()).unwrap_err().is_closed());
    assert_eq!(shown(take(&mut consumer).deltas()), ["Added(a@1)"]);
    assert!(matches!(poll_once(consumer.pop_batch()), Poll::Ready(Err(Closed))));
}

#[test]
fn nothing_is_kept_for_a_consumer_who_is_gone() {
    let (queue, consumer) = atomic();
    let mut sink = queue.sink();
    let entry = obj("a", 1);
    sink.apply(Change::added(entry.clone())).unwrap();
    drop(consumer);
    assert!(queue.is_closed() && queue.is_empty());
    assert!(sink.apply(Change::added(entry)).unwrap_err().is_closed());
    assert!(is_ready(&mut sink));
}

#[test]
fn the_soft_limit_counts_a_list_as_one() {
    let (queue, mut consumer) = limited(2);
    let mut sink = queue.sink();
    commit(&mut sink, &["a", "b", "c", "d"]);
    assert!(is_ready(&mut sink));
    {
        sink.apply(Change::added(obj("e", 1))).unwrap();
        let mut stage = sink.begin(&Scope::all());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(stage.poll_ready(&mut cx).is_ready());
    }
    assert!(!is_ready(&mut sink));
    take(&mut consumer).finish();
    assert!(is_ready(&mut sink));
}

#[test]
fn the_default_limit_is_two_batches() {
    let (queue, _consumer) = atomic();
    let mut sink = queue.sink();
    for version in 0..2000 {
        assert!(is_ready(&mut sink));
        sink.apply(Change::added(obj("a", version))).unwrap();
    }
    assert!(!is_ready(&mut sink));
}

#[test]
fn a_stage_that_is_dropped_leaves_everything() {
    let (queue, _consumer) = atomic();
    let mut sink = queue.sink();
    let mut stage = sink.begin(&Scope::all());
    stage.offer(Change::added(obj("a", 1))).unwrap();
    drop(stage);
    assert!(queue.is_empty() && !queue.has_synced());
}

#[test]
fn a_streaming_list_may_change_and_take_back() {
    let (queue, mut consumer) = atomic();
    let mut sink = queue.sink();
    let mut stage = sink.begin(&Scope::namespace("shop"));
    for change in [
        Change::added(obj("shop/a", 1)),
        Change::added(obj("shop/b", 1)),
        Change::added(undecodable("shop/bad", 1)),
        Change::added(obj("shop/c", 1)),
        Change::added(obj("shop/d", 1)),
        Change::modified(obj("shop/c", 2)),
        Change::deleted(obj("shop/a", 2)),
        Change::modified(obj("shop/e", 2)),
        Change::modified(obj("shop/bad", 2)),
        Change::added(obj("shop/a", 3)),
        Change::modified(undecodable("shop/d", 3)),
        Change::deleted(obj("shop/never", 3)),
        Change::deleted(undecodable("shop/e", 3)),
    ] {
        stage.offer(change).unwrap();
    }
    stage.commit(&"4".into()).unwrap();
    let batch = take(&mut consumer);
    let [Delta::ReplacedAll(all)] = batch.deltas() else { panic!("{batch:?}") };
    let items: Vec<_> = all.items.iter().map(|item| format!("{item:?}")).collect();
    assert_eq!(items, ["shop/b@1", "shop/c@2", "shop/d@1", "shop/bad@2", "shop/a@3"]);
    let bad: Vec<_> = all.undecodable.iter().map(|bad| bad.key().unwrap().as_str()).collect();
    assert_eq!(bad, ["shop/d"]);
    assert_eq!((&all.scope, &all.version), (&Scope::namespace("shop"), &"4".into()));
}

#[test]
fn undecodable_objects_travel_in_order() {
    let (queue, mut consumer) = atomic();
    let mut sink = queue.sink();
    sink.apply(Change::added(obj("a", 1))).unwrap();
    sink.apply(Change::modified(undecodable("b", 2))).unwrap();
    sink.apply(Change::deleted(undecodable("c", 3))).unwrap();
    sink.apply(Change::deleted(nameless())).unwrap();
    assert_eq!(
        shown(take(&mut consumer).deltas()),
        ["Added(a@1)", "Undecodable(b@2)", "Deleted(c, Observed)", "Undecodable(?)"]
    );

    // One place for each object: an object without a name has none.
    let (queue, mut consumer) = delta_fifo(DeltaFifo::new(), QueueOptions::default());
    let mut sink = queue.sink();
    let error = sink.apply(Change::added(nameless())).unwrap_err();
    assert_eq!(error.to_string(), "refused: an object without a readable name has no place in the queue");
    assert!(std::error::Error::source(&error).is_some());
    let mut stage = sink.begin(&Scope::all());
    assert!(stage.offer(Change::added(nameless())).is_err());
    stage.offer(Change::added(undecodable("b", 2))).unwrap();
    stage.commit(&"1".into()).unwrap();
    assert_eq!(shown(take(&mut consumer).deltas()), ["Undecodable(b@2)"]);
}

#[test]
fn a_removed_scope_waits_its_turn() {
    let (queue, mut consumer) = atomic();
    queue.sink().apply(Change::added(obj("shop/a", 1))).unwrap();
    queue.remove_scope(&Scope::namespace("shop")).unwrap();
    take(&mut consumer).finish();
    let batch = take(&mut consumer);
    let [Delta::ReplacedAll(all)] = batch.deltas() else { panic!("{batch:?}") };
    assert!(all.items.is_empty() && all.missing == informers_core::Deletion::ScopeRemoved);
}

#[test]
fn the_known_entry_is_that_of_the_store_in_exactly_this_version() {
    let stored = obj("a", 5);
    let store = Store::with([stored.clone()]);
    let (queue, _consumer) =
        in_order_queue(InOrderQueue::atomic(), QueueOptions::default().with_known(store));
    let mut sink = queue.sink();
    assert!(sink.known(&key("a"), &"uid".into(), &"5".into()).unwrap().ptr_eq(&stored));
    assert!(sink.known(&key("a"), &"uid".into(), &"6".into()).is_none());
    assert!(sink.known(&key("a"), &"other".into(), &"5".into()).is_none());
    assert!(sink.begin(&Scope::all()).known(&key("a"), &"uid".into(), &"5".into()).is_some());
}

#[test]
fn no_lock_is_held_while_the_consumer_processes() {
    let (queue, mut consumer) = atomic();
    let mut sink = queue.sink();
    sink.apply(Change::added(obj("a", 1))).unwrap();
    let calls = Mutex::new(Vec::new());
    let process = |deltas: &[Delta<u64>], _| {
        sink.apply(Change::added(obj("b", 1))).unwrap();
        calls.lock().unwrap().push((deltas.len(), queue.len()));
        Ok::<_, ()>(Outcome::Done)
    };
    assert_eq!(poll_once(consumer.process(process)), Poll::Ready(Ok(Ok(()))));
    assert_eq!(*calls.lock().unwrap(), [(1, 1)]);
}

#[test]
fn an_object_that_a_streaming_list_adds_twice_is_there_once() {
    let machines = [
        in_order_queue(InOrderQueue::plain(Store::with([])), QueueOptions::default()),
        delta_fifo(DeltaFifo::new(), QueueOptions::default()),
    ];
    for (queue, _consumer) in machines {
        let mut sink = queue.sink();
        let mut stage = sink.begin_streaming(&Scope::all());
        for object in [obj("a", 1), obj("b", 2), obj("a", 3)] {
            stage.offer(Change::added(object)).unwrap();
        }
        stage.commit(&"4".into()).unwrap();
        let versions: Vec<_> = queue.snapshot().iter().map(|delta| **delta.entry().unwrap()).collect();
        assert_eq!(versions, [3, 2]);
    }
}

#[test]
fn a_bookmark_tells_of_what_its_producer_lists() {
    let (queue, mut consumer) = atomic();
    let [mut a, mut b] = [queue.sink(), queue.sink()];
    a.bookmark(&"1".into()).unwrap();
    drop(a.begin(&Scope::namespace("a")));
    drop(b.begin_streaming(&Scope::namespace("b")));
    a.bookmark(&"2".into()).unwrap();
    b.bookmark(&"3".into()).unwrap();
    let told: Vec<_> = (0..3).flat_map(|_| shown(take(&mut consumer).deltas())).collect();
    assert_eq!(told, ["Bookmark(1)", "Bookmark(namespace a@2)", "Bookmark(namespace b@3)"]);
}
