//! Values of an index whose `Hash` or `Eq` panics.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use informers_core::{Entry, ObjectKey};
use informers_store::{Index, StoreWriter, Write};
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
