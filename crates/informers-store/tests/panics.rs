//! Values of an index whose `Hash`, `Eq` or `Drop` panics, and priorities whose `Ord` does.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

use informers_core::{Entry, ObjectKey};
use informers_store::{Heap, Index, StoreWriter, Write};
use proptest::prelude::*;

thread_local! {
    /// How many comparisons from now on go well before one panics.
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Its comparison panics when the fuse has burnt down, its hash if it is 99.
#[derive(Clone, Debug)]
struct Touchy(u8);

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        if let Some(left) = FUSE.get() {
            FUSE.set(left.checked_sub(1));
            assert!(left > 0, "not comparable");
        }
        self.0 == other.0
    }
}

impl Eq for Touchy {}

impl Hash for Touchy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(self.0 != 99, "no hash");
        self.0.hash(state);
    }
}

/// An object is its values.
type Object = Vec<u8>;

fn entry(name: &str, values: &[u8]) -> Entry<Object> {
    Entry::keyed(ObjectKey::cluster(name), values.to_vec())
}

fn index_of(writer: &mut StoreWriter<Object>) -> Index<Object, Touchy> {
    let values = |entry: &Entry<Object>| entry.iter().copied().map(Touchy).collect::<Vec<_>>();
    let (index, pending) = writer.reader().define_index(Some("touchy"), values).unwrap();
    assert!(writer.install(pending).is_ok());
    index
}

fn with_fuse<R>(comparisons: u32, write: impl FnOnce() -> R) -> R {
    FUSE.set(Some(comparisons));
    let result = write();
    FUSE.set(None);
    result
}

fn names(index: &Index<Object, Touchy>, value: u8) -> Vec<String> {
    index.keys(&Touchy(value)).iter().map(ToString::to_string).collect()
}

#[test]
fn a_value_whose_hash_or_eq_panics_costs_its_object_its_place_in_the_index() {
    let mut writer = StoreWriter::new();
    let index = index_of(&mut writer);
    writer.insert(entry("a", &[1]));
    writer.insert(entry("b", &[1, 99]));
    with_fuse(0, || writer.insert(entry("c", &[2, 1])));
    with_fuse(0, || writer.insert(entry("a", &[1])));
    assert_eq!((writer.reader().len(), names(&index, 1), names(&index, 2)), (3, vec![], vec![]));

    let report = writer.index_errors();
    let said: Vec<_> = report.recent.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "index \"touchy\" leaves out b: the `Hash` of its value panicked: no hash",
            "index \"touchy\" leaves out c: the `Eq` of its value panicked: not comparable",
            "index \"touchy\" leaves out a: the `Eq` of its value panicked: not comparable",
        ]
    );
    assert!(report.recent.iter().all(informers_store::IndexError::is_panic));

    // The others of a batch, of a whole content and of a new index keep their places.
    let batch = ["a", "b", "c"].map(|name| Write::Insert(entry(name, &[7])));
    with_fuse(0, || writer.apply(batch.into()));
    assert_eq!(names(&index, 7), ["a", "c"]);
    let all = ["a", "b", "c"].map(|name| entry(name, &[7]));
    with_fuse(1, || writer.replace(all.into(), "9".into()));
    assert_eq!(names(&index, 7), ["a", "b"]);
    let (other, pending) =
        writer.reader().define_index(None, |entry: &Entry<Object>| Some(Touchy(entry[0]))).unwrap();
    assert!(with_fuse(0, || writer.install(pending)).is_ok());
    assert_eq!(names(&other, 7).len(), 2);
    assert_eq!(writer.index_errors().total, 6);
}

/// Panics once when it is dropped, if it is 13 and its turn has come.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Sticky(u8);

impl Drop for Sticky {
    fn drop(&mut self) {
        if self.0 == 13 && FUSE.take().is_some() {
            panic!("cannot be dropped");
        }
    }
}

#[test]
fn a_value_whose_drop_panics_puts_no_index_out_of_step() {
    let mut writer = StoreWriter::new();
    let store = writer.reader();
    let values = |entry: &Entry<Object>| entry.iter().copied().map(Sticky).collect::<Vec<_>>();
    let (sticky, pending) = store.define_index(None, values).unwrap();
    assert!(writer.install(pending).is_ok());
    let (plain, pending) = store.define_index(None, |entry: &Entry<Object>| entry.to_vec()).unwrap();
    assert!(writer.install(pending).is_ok());
    // What is dropped: the second copy of a staged value, one that nobody has any more, and one of a batch.
    let rounds: [(&[u8], &[u8]); 3] = [(&[13], &[13]), (&[13], &[5]), (&[13, 13], &[13, 13, 6])];
    for (before, after) in rounds {
        writer.insert(entry("a", before));
        FUSE.set(Some(0));
        writer.insert(entry("a", after));
        FUSE.set(None);
        writer.apply(vec![Write::Insert(entry("b", &[7])), Write::Insert(entry("c", &[8]))]);
        for value in 0..20 {
            let mut expected = vec![("a", after), ("b", &[7]), ("c", &[8])];
            expected.retain(|(_, values)| values.contains(&value));
            let expected: Vec<_> = expected.iter().map(|(name, _)| ObjectKey::cluster(name)).collect();
            assert_eq!(sticky.keys(&Sticky(value)), expected, "value {value} after {after:?}");
            assert_eq!(plain.keys(&value), expected, "value {value} after {after:?}");
        }
    }
}

impl Ord for Touchy {
    fn cmp(&self, other: &Self) -> Ordering {
        // Comparing for equality burns the fuse.
        if self == other { Ordering::Equal } else { self.0.cmp(&other.0) }
    }
}

impl PartialOrd for Touchy {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Whichever comparison panics, in whatever call: every item that was in, and not in the hands of that call, comes out once.
#[test]
fn a_heap_loses_nothing_to_a_priority_that_cannot_be_compared() {
    type Call = fn(&Heap<Object, Touchy>);
    let calls: [Call; 4] = [
        |heap| drop(heap.add(entry("new", &[3]))),
        |heap| drop(heap.add(entry("c", &[0]))),
        |heap| drop(heap.add_all(vec![entry("b", &[9]), entry("f", &[1])])),
        |heap| drop(heap.delete(&ObjectKey::cluster("d"))),
    ];
    for (number, call) in calls.into_iter().enumerate() {
        for fuse in 0.. {
            let heap = Heap::new(|entry: &Entry<Object>| Touchy(entry[0]));
            heap.add_all(
                ["a", "b", "c", "d", "e"].iter().zip(1..).map(|(name, n)| entry(name, &[n])).collect(),
            )
            .unwrap();
            FUSE.set(Some(fuse));
            let panicked = catch_unwind(AssertUnwindSafe(|| call(&heap))).is_err();
            FUSE.set(None);
            let mut popped: Vec<_> =
                std::iter::from_fn(|| heap.try_pop()).map(|entry| entry.key().clone()).collect();
            popped.sort();
            popped.retain(|key| !["new", "f"].contains(&key.name()));
            let expected: &[&str] =
                if number == 3 && !panicked { &["a", "b", "c", "e"] } else { &["a", "b", "c", "d", "e"] };
            assert_eq!(
                popped,
                expected.iter().map(|name| ObjectKey::cluster(name)).collect::<Vec<_>>(),
                "call {number}, fuse {fuse}"
            );
            assert!(heap.is_empty(), "call {number}, fuse {fuse}");
            if !panicked {
                break;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comparison panics, the index is as if the objects that it was reported to leave out had no values.
    #[test]
    fn an_index_is_whole_after_any_panic(
        ops in prop::collection::vec(
            (0..6usize, prop::option::weighted(0.8, prop::collection::vec(0..4u8, 0..4)), prop::option::of(0..4u32)),
            1..60,
        )
    ) {
        let mut writer = StoreWriter::new();
        let index = index_of(&mut writer);
        let mut indexed: BTreeMap<String, BTreeSet<u8>> = BTreeMap::new();
        for (object, values, fuse) in ops {
            let name = format!("o{object}");
            let before = writer.index_errors().total;
            FUSE.set(fuse);
            match &values {
                Some(values) => drop(writer.insert(entry(&name, values))),
                None => drop(writer.remove(&name)),
            }
            FUSE.set(None);
            let failed = writer.index_errors().total > before;
            prop_assert!(!failed || fuse.is_some());
            indexed.insert(name, values.filter(|_| !failed).unwrap_or_default().into_iter().collect());
            for value in 0..4 {
                let expected: Vec<_> =
                    indexed.iter().filter(|(_, values)| values.contains(&value)).map(|(name, _)| name.clone()).collect();
                prop_assert_eq!(names(&index, value), expected);
            }
        }
    }
}
