//! The line against a plain list that is searched from its front.

use informers_core::{Entry, ObjectKey};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::Line;
use crate::delta::Delta;

#[derive(Clone, Debug)]
enum Op {
    Push(u8),
    Pop,
    Drain,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![30 => any::<u8>().prop_map(|name| Op::Push(name % 40)), 12 => Just(Op::Pop), 1 => Just(Op::Drain)]
}

fn key(name: u8) -> ObjectKey {
    ObjectKey::new("shop", &name.to_string())
}

fn values<'a>(deltas: impl IntoIterator<Item = &'a Delta<usize>>) -> Vec<usize> {
    deltas.into_iter().filter_map(Delta::entry).map(|entry| *entry.object()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, rng_seed: RngSeed::Fixed(64), ..ProptestConfig::default() })]

    // Forty names and more pops than drains: the table grows while its first number is not 0, and names come again.
    #[test]
    fn a_line_is_a_list_with_one_place_for_each_key(ops in proptest::collection::vec(op(), 0..300)) {
        let mut line = Line::new();
        let mut model: Vec<(ObjectKey, Vec<usize>)> = Vec::new();
        for (step, op) in ops.into_iter().enumerate() {
            match op {
                Op::Push(name) => {
                    line.place_of(key(name)).push(Delta::Sync(Entry::keyed(key(name), step)));
                    match model.iter_mut().find(|(own, _)| *own == key(name)) {
                        Some((_, values)) => values.push(step),
                        None => model.push((key(name), vec![step])),
                    }
                }
                Op::Pop => {
                    let expected = (!model.is_empty()).then(|| model.remove(0));
                    prop_assert_eq!(line.pop_front().map(|(key, deltas)| (key, values(&deltas))), expected);
                }
                Op::Drain => {
                    let expected: Vec<usize> = model.drain(..).flat_map(|(_, values)| values).collect();
                    prop_assert_eq!(values(&line.drain().collect::<Vec<_>>()), expected);
                }
            }
            prop_assert_eq!((line.len(), line.is_empty()), (model.len(), model.is_empty()));
            let all: Vec<_> = line.iter().map(|(key, deltas)| (key.clone(), values(deltas))).collect();
            prop_assert_eq!(&all, &model);
            for name in 0..40 {
                let expected = model.iter().find(|(own, _)| *own == key(name)).map(|(_, values)| values.clone());
                prop_assert_eq!(line.contains(&key(name)), expected.is_some());
                prop_assert_eq!(line.get(&key(name)).map(values), expected);
            }
        }
    }
}

#[test]
fn keys_of_one_hash_have_places_of_their_own() {
    let mut first_of = std::collections::HashMap::new();
    let (one, other) = (0..)
        .find_map(|n: u32| {
            let key = ObjectKey::cluster(&n.to_string());
            first_of.insert(key.text_hash(), key.clone()).map(|before| (before, key))
        })
        .unwrap();
    assert_eq!(one.table_hash(), other.table_hash());

    let mut line = Line::new();
    for (value, key) in [&one, &other, &one].into_iter().enumerate() {
        line.place_of(key.clone()).push(Delta::Sync(Entry::keyed(key.clone(), value)));
    }
    assert_eq!(line.get(&one).map(values), Some(vec![0, 2]));
    assert_eq!(line.pop_front().map(|(key, deltas)| (key, values(&deltas))), Some((one.clone(), vec![0, 2])));
    assert!(!line.contains(&one));
    assert_eq!(line.get(&other).map(values), Some(vec![1]));
}
