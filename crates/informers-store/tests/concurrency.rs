//! Readers on other threads while the writer writes. Threads meet at barriers, not at points in time; each
//! test checks what must hold whatever the order.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};

use informers_core::{Entry, ObjectKey};
use informers_store::{Indexer, StoreWriter, Write};

const OBJECTS: u64 = 150;
const ROUNDS: u64 = 300;

/// All objects carry the number of the round that wrote them.
fn round(number: u64) -> Vec<Write<u64>> {
    let entry = |n: u64| Entry::keyed(ObjectKey::cluster(&n.to_string()), number);
    (0..OBJECTS).map(|n| Write::Insert(entry(n))).collect()
}

#[test]
fn no_read_sees_half_a_batch_nor_an_index_behind_its_map() {
    let mut writer = StoreWriter::new();
    let store = writer.reader();
    let (by_round, pending) = store.define_index(None, |entry: &Entry<u64>| Some(*entry.object())).unwrap();
    let (everything, all) = store.define_index(None, |_: &Entry<u64>| Some(())).unwrap();
    assert!(writer.install(pending).is_ok() && writer.install(all).is_ok());
    writer.apply(round(0));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Acquire) {
                    // What an index shows is whole, and the map is never older.
                    let mut rounds = Vec::new();
                    everything.visit(&(), |entry| rounds.push(*entry.object()));
                    assert_eq!(rounds.len() as u64, OBJECTS);
                    assert!(rounds.iter().all(|&round| round == rounds[0]), "half a batch: {rounds:?}");
                    let now = *store.get("7").unwrap().object();
                    assert!(rounds[0] <= now && last <= rounds[0], "{last}, {} then {now}", rounds[0]);
                    // And the index never behind the map: no later than `now` is everything under one round.
                    let hits = by_round.count(&now);
                    assert!(hits == 0 || hits as u64 == OBJECTS, "{hits} of {OBJECTS}");
                    if hits == 0 {
                        assert!(*store.get("7").unwrap().object() > now);
                    }
                    let mut listed = Vec::new();
                    store.visit(|entry| listed.push(*entry.object()));
                    assert!(listed.iter().all(|&round| round == listed[0] && round >= now));
                    last = listed[0];
                }
            });
        }
        for number in 1..=ROUNDS {
            match number % 3 {
                0 => {
                    let all = round(number).into_iter().filter_map(|write| match write {
                        Write::Insert(entry) => Some(entry),
                        _ => None,
                    });
                    writer.replace(all.collect(), number.into());
                }
                _ => drop(writer.apply(round(number))),
            }
        }
        done.store(true, Ordering::Release);
    });
}

#[test]
fn a_visit_holds_no_lock() {
    let mut writer = StoreWriter::new();
    writer.apply(round(1));
    let store = writer.reader();
    let (by_round, pending) = store.define_index(None, |entry: &Entry<u64>| Some(*entry.object())).unwrap();
    assert!(writer.install(pending).is_ok());
    // The writer works, and other reads too, while both visits stand at their first object.
    let mut seen = 0;
    store.visit(|entry| {
        if seen == 0 {
            by_round.visit(&1, |_| drop(writer.apply(round(2))));
            assert_eq!(*store.get("0").unwrap().object(), 2);
        }
        assert_eq!(*entry.object(), 1, "a visit shows one moment");
        seen += 1;
    });
    assert_eq!(seen, OBJECTS);
}

#[test]
fn index_functions_run_without_a_lock() {
    let indexer = Arc::new(Indexer::new(|n: &u64| ObjectKey::cluster(&n.to_string())));
    let (inside, function) = (Arc::clone(&indexer), Mutex::new(Vec::new()));
    let index = move |entry: &Entry<u64>| {
        // It reads and writes the very indexer that it serves.
        if *entry.object() < 10 {
            inside.add(entry.object() + 10).unwrap();
        }
        function.lock().unwrap().push(inside.len());
        Some(*entry.object())
    };
    let by_number = indexer.add_index(None, index).unwrap();
    indexer.add(1).unwrap();
    assert_eq!((indexer.len(), by_number.count(&1), by_number.count(&11)), (2, 1, 1));
}

#[test]
fn objects_are_dropped_without_a_lock() {
    /// Reads the store when it is dropped.
    struct Reads(Arc<Mutex<Option<informers_store::Store<Reads>>>>, mpsc::Sender<usize>);
    impl Drop for Reads {
        fn drop(&mut self) {
            if let Some(store) = &*self.0.lock().unwrap() {
                let _ = self.1.send(store.len());
            }
        }
    }
    let (slot, (sender, receiver)) = (Arc::new(Mutex::new(None)), mpsc::channel());
    let entry = |n: u64| {
        let object = Reads(Arc::clone(&slot), sender.clone());
        Entry::keyed(ObjectKey::cluster(&n.to_string()), object)
    };
    let mut writer = StoreWriter::new();
    let (_, pending) = writer.reader().define_index(None, |_: &Entry<Reads>| Some(1)).unwrap();
    assert!(writer.install(pending).is_ok());
    *slot.lock().unwrap() = Some(writer.reader());
    writer.insert(entry(1));
    writer.insert(entry(1));
    writer.insert(entry(2));
    writer.remove("2");
    writer.apply(vec![Write::Insert(entry(1)), Write::Remove(ObjectKey::cluster("1"))]);
    writer.replace(vec![entry(3)], "1".into());
    writer.replace(vec![], "2".into());
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1, 1, 0, 0, 0]);
    let _ = slot.lock().unwrap().take();
}

#[test]
fn many_threads_write_one_indexer() {
    let indexer = Indexer::new(|n: &u64| ObjectKey::cluster(&n.to_string()));
    let start = Barrier::new(5);
    let by_parity = std::thread::scope(|scope| {
        for thread in 0..4 {
            let (indexer, start) = (&indexer, &start);
            scope.spawn(move || {
                start.wait();
                for n in 0..250 {
                    indexer.add(thread * 250 + n).unwrap();
                }
            });
        }
        start.wait();
        // Added in the middle of it all.
        indexer.add_index(None, |entry: &Entry<u64>| Some(entry.object() % 2)).unwrap()
    });
    assert_eq!(indexer.len(), 1000);
    assert_eq!((by_parity.count(&0), by_parity.count(&1)), (500, 500));
}
