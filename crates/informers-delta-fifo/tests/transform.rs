//! Transforms on the producers' side.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod fixture;

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fixture::{Store, key, obj, shown, take};
use informers_core::{Change, DecodeErrorKind, Scope, Sink, Transform};
use informers_delta_fifo::{
    Consumer, Deleted, Delta, DeltaFifo, InOrderQueue, Parity, QueueOptions, SharedQueue, delta_fifo,
    in_order_queue,
};

/// Versions from 900 on make it fail, 999 makes it panic.
fn counting() -> (Transform<u64>, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let transform = Transform::new(move |version: &mut u64| {
        counted.fetch_add(1, Ordering::SeqCst);
        match *version {
            999 => panic!("told to"),
            900.. => Err(std::io::Error::other("told to fail")),
            _ => {
                *version += 1000;
                Ok(())
            }
        }
    });
    (transform, calls)
}

fn deltas(consumer: &mut Consumer<u64>) -> Vec<Delta<u64>> {
    take(consumer).take_deltas()
}

fn all(deltas: &[Delta<u64>]) -> &informers_delta_fifo::ReplacedAll<u64> {
    match deltas {
        [Delta::ReplacedAll(all)] => all,
        other => panic!("{other:?}"),
    }
}

fn atomic(transform: Transform<u64>) -> (SharedQueue<u64>, Consumer<u64>) {
    in_order_queue(InOrderQueue::atomic(), QueueOptions::default().with_transform(transform))
}

#[test]
fn transformer() {
    let (transform, calls) = counting();
    for (queue, mut consumer) in [
        delta_fifo(DeltaFifo::new(), QueueOptions::default().with_transform(transform.clone())),
        in_order_queue(
            InOrderQueue::plain(Store::with([])),
            QueueOptions::default().with_transform(transform),
        ),
    ] {
        calls.store(0, Ordering::SeqCst);
        let mut sink = queue.sink();
        sink.apply(Change::added(obj("a", 1))).unwrap();
        sink.apply(Change::modified(obj("b", 2))).unwrap();
        let mut stage = sink.begin(&Scope::all());
        stage.offer(Change::added(obj("c", 3))).unwrap();
        stage.commit(&"4".into()).unwrap();
        // Each object once; the two tombstones hold what was transformed already.
        assert_eq!(calls.load(Ordering::SeqCst), 3);
        while !queue.is_empty() {
            for delta in deltas(&mut consumer) {
                assert!(**delta.entry().unwrap() > 1000, "{delta:?}");
            }
        }
    }
}

#[test]
fn resyncs_and_tombstones_are_not_transformed() {
    let (transform, calls) = counting();
    let machine = InOrderQueue::plain(Store::with([obj("a", 1)]));
    let (queue, _consumer) = in_order_queue(machine, QueueOptions::default().with_transform(transform));
    let mut sink = queue.sink();
    sink.resync().unwrap();
    sink.delete(Deleted::tombstone(key("a"), Some(obj("a", 1)))).unwrap();
    assert_eq!((queue.len(), calls.load(Ordering::SeqCst)), (2, 0));
}

#[test]
fn a_known_entry_is_not_transformed_again() {
    let store = Store::with([obj("a", 5)]);
    let (transform, calls) = counting();
    let options = QueueOptions::default().with_known(Arc::clone(&store) as _).with_transform(transform);
    let (queue, mut consumer) = in_order_queue(InOrderQueue::atomic(), options);
    let mut sink = queue.sink();
    let mut stage = sink.begin(&Scope::all());
    let known = stage.known(&key("a"), &"uid".into(), &"5".into()).unwrap();
    // The store moves on between the question and the offer.
    store.put(obj("a", 6));
    stage.offer(Change::added(known.clone())).unwrap();
    stage.offer(Change::added(obj("b", 7))).unwrap();
    stage.commit(&"8".into()).unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let deltas = deltas(&mut consumer);
    assert!(all(&deltas).items[0].ptr_eq(&known));

    // An entry that somebody else took out of the store, too; a fresh copy of the same version is fresh.
    let stored = informers_core::KnownObjects::get_known(&*store, "a").unwrap();
    sink.apply(Change::modified(stored)).unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    sink.apply(Change::modified(obj("a", 6))).unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[test]
fn a_failed_transform_refuses_the_object_and_makes_the_copy_stale() {
    for bad in [900, 999] {
        let (queue, mut consumer) = atomic(counting().0);
        let mut sink = queue.sink();
        let error = sink.apply(Change::modified(obj("a", bad))).unwrap_err();
        assert_eq!(error.key(), Some(&key("a")));
        assert_eq!(error.to_string(), "a was refused: its transform failed");
        let source = error.source().unwrap().to_string();
        assert!(["cannot transform a", "the transform panicked"].contains(&source.as_str()), "{source}");
        let deltas = deltas(&mut consumer);
        assert_eq!(shown(&deltas), [format!("Undecodable(a@{bad})")]);
        let [Delta::Undecodable(undecodable)] = &deltas[..] else { panic!("{deltas:?}") };
        assert_eq!(undecodable.error().kind(), DecodeErrorKind::Malformed);
        assert_eq!(undecodable.error().source().unwrap().to_string(), source);
    }
}

#[test]
fn a_failed_transform_does_not_hide_a_deletion() {
    for (queue, mut consumer) in [
        atomic(counting().0),
        delta_fifo(DeltaFifo::new(), QueueOptions::default().with_transform(counting().0)),
    ] {
        let mut sink = queue.sink();
        sink.apply(Change::added(obj("a", 1))).unwrap();
        assert!(sink.apply(Change::deleted(obj("a", 900))).is_err());
        assert_eq!(queue.snapshot().len(), 2);
        let all: Vec<_> =
            std::iter::from_fn(|| (!queue.is_empty()).then(|| deltas(&mut consumer))).flatten().collect();
        assert_eq!(shown(&all), ["Added(a@1)", "Deleted(a, Observed)"]);
    }
}

#[test]
fn a_failed_transform_spares_the_rest_of_the_list() {
    let (queue, mut consumer) = atomic(counting().0);
    let mut sink = queue.sink();
    let mut stage = sink.begin(&Scope::all());
    stage.offer(Change::added(obj("a", 1))).unwrap();
    assert_eq!(stage.offer(Change::added(obj("b", 900))).unwrap_err().key(), Some(&key("b")));
    stage.offer(Change::added(obj("c", 3))).unwrap();
    // Taking back needs no transform.
    stage.offer(Change::deleted(obj("c", 900))).unwrap();
    stage.commit(&"4".into()).unwrap();
    let deltas = deltas(&mut consumer);
    let all = all(&deltas);
    // The refused object is in the list all the same, so that nobody infers its deletion.
    assert_eq!(all.keys().collect::<Vec<_>>(), [&key("a"), &key("b")]);
    assert!(all.proves_absence());
}

#[test]
fn client_go_fails_the_whole_list() {
    let parity = Parity::client_go_0_37();
    let options = || QueueOptions::default().with_transform(counting().0);
    let plain = InOrderQueue::plain(Store::with([obj("old", 1)])).with_parity(parity);
    let cases: [(_, &[&str]); 3] = [
        (in_order_queue(InOrderQueue::atomic().with_parity(parity), options()), &[]),
        (in_order_queue(plain, options()), &["Deleted(old@1, Inferred)", "Replaced(a@1)"]),
        (delta_fifo(DeltaFifo::new().with_parity(parity), options()), &["Sync(a@1)"]),
    ];
    for ((queue, _consumer), left) in cases {
        let mut sink = queue.sink();
        let mut stage = sink.begin(&Scope::all());
        for object in [obj("a", 1), obj("b", 900), obj("c", 3)] {
            stage.offer(Change::added(object)).unwrap();
        }
        assert_eq!(stage.commit(&"4".into()).unwrap_err().key(), Some(&key("b")));
        assert_eq!(shown(&queue.snapshot()), left);
        assert!(!queue.has_synced());
    }
}

#[test]
fn client_go_drops_what_it_cannot_transform() {
    let machine = InOrderQueue::atomic().with_parity(Parity::client_go_0_37());
    let (queue, _consumer) = in_order_queue(machine, QueueOptions::default().with_transform(counting().0));
    let mut sink = queue.sink();
    assert!(sink.apply(Change::added(obj("a", 900))).is_err());
    assert!(sink.apply(Change::deleted(obj("a", 900))).is_err());
    assert!(queue.is_empty());
    // It counts as the first population all the same.
    assert!(queue.has_synced());
}

/// Counts how often it saw an object, in the digits above the version; 9 makes it fail.
fn marking() -> QueueOptions<u64> {
    QueueOptions::default().with_transform(Transform::new(|version: &mut u64| match *version % 100 {
        9 => Err(std::io::Error::other("told to fail")),
        _ => {
            *version += 100;
            Ok(())
        }
    }))
}

#[test]
fn client_go_transforms_a_streaming_list_twice_and_misses_what_fails() {
    let parity = Parity::client_go_0_37();
    let store = Store::with([obj("kept", 3)]);
    let machines = [
        in_order_queue(InOrderQueue::atomic().with_parity(parity), marking()),
        in_order_queue(InOrderQueue::plain(store.clone()).with_parity(parity), marking()),
        delta_fifo(DeltaFifo::new().with_known(store).with_parity(parity), marking()),
    ];
    for (queue, mut consumer) in machines {
        let mut sink = queue.sink();
        let mut stage = sink.begin_streaming(&Scope::all());
        assert!(stage.known(&key("kept"), &"uid".into(), &3.into()).is_none(), "every copy is transformed");
        stage.offer(Change::added(obj("kept", 3))).unwrap();
        assert_eq!(stage.offer(Change::added(obj("missing", 9))).unwrap_err().key(), Some(&key("missing")));
        // The failed change leaves what was there before.
        assert!(stage.offer(Change::modified(obj("kept", 9))).is_err());
        stage.offer(Change::added(obj("gone", 4))).unwrap();
        stage.offer(Change::deleted(obj("gone", 9))).unwrap();
        stage.commit(&"10".into()).unwrap();
        let deltas = deltas(&mut consumer);
        let items = match &deltas[..] {
            [Delta::ReplacedAll(all)] => all.items.clone(),
            other => other.iter().filter_map(Delta::entry).cloned().collect(),
        };
        assert_eq!(
            items.iter().map(|entry| (entry.key().to_string(), **entry)).collect::<Vec<_>>(),
            [("kept".to_owned(), 203)]
        );
        assert!(queue.is_empty());
    }
}
