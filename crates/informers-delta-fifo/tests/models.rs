//! Random operations against naive models, and against a server whose state the store must reach.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod fixture;

use std::collections::BTreeMap;
use std::sync::Arc;

use fixture::{Machine, Store, key, list, obj};
use informers_core::{KnownObjects, Scope};
use informers_delta_fifo::{Deleted, DeltaFifo, Fifo, InOrderQueue, Popped, Ticket};
use proptest::prelude::*;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

#[derive(Clone, Debug)]
enum Op {
    Add(usize),
    Update(usize),
    Delete(usize),
    Tombstone(usize),
    Replace(Vec<usize>),
    Resync,
    Bookmark,
    Take,
    Finish,
    Store(usize),
    Forget(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let name = 0..NAMES.len();
    prop_oneof![
        3 => name.clone().prop_map(Op::Add),
        3 => name.clone().prop_map(Op::Update),
        2 => name.clone().prop_map(Op::Delete),
        1 => name.clone().prop_map(Op::Tombstone),
        1 => proptest::collection::vec(name.clone(), 0..5).prop_map(Op::Replace),
        1 => Just(Op::Resync),
        1 => Just(Op::Bookmark),
        3 => Just(Op::Take),
        3 => Just(Op::Finish),
        1 => name.clone().prop_map(Op::Store),
        1 => name.prop_map(Op::Forget),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    proptest::collection::vec(op(), 0..60)
}

/// An atomic queue as a list of texts, each with its key and whether it belongs to the first population.
#[derive(Default)]
struct ListModel {
    items: Vec<(String, Option<String>, bool)>,
    populated: bool,
    initial_in_hand: bool,
}

impl ListModel {
    fn push(&mut self, text: String, key: Option<&str>) {
        self.items.push((text, key.map(str::to_owned), false));
    }

    fn synced(&self) -> bool {
        self.populated && !self.initial_in_hand && self.items.iter().all(|(_, _, initial)| !initial)
    }

    fn batch(&mut self, size: usize) -> Vec<(String, Option<String>, bool)> {
        let mut end = 0;
        while end < self.items.len() && end < size {
            let (_, key, initial) = &self.items[end];
            let collective = key.is_none();
            let again = self.items[..end].iter().any(|(_, before, _)| before == key);
            if end > 0 && (collective || again || *initial != self.items[0].2) {
                break;
            }
            end += 1;
            if collective {
                break;
            }
        }
        self.items.drain(..end).collect()
    }
}

/// A `DeltaFifo` as a list of places, with everything looked up by going through it.
#[derive(Default)]
struct LineModel {
    line: Vec<(&'static str, Vec<String>)>,
}

impl LineModel {
    fn has(&self, name: &str) -> bool {
        self.line.iter().any(|(key, _)| *key == name)
    }

    fn push(&mut self, name: &'static str, text: String) {
        if !self.has(name) {
            self.line.push((name, Vec::new()));
        }
        let (_, deltas) = self.line.iter_mut().find(|(key, _)| *key == name).unwrap();
        let deletion = |text: &String| text.starts_with("Deleted");
        match deltas.last() {
            Some(last) if deletion(last) && deletion(&text) && last.contains("Inferred") => {
                deltas.pop();
                deltas.push(text);
            }
            Some(last) if deletion(last) && deletion(&text) => {}
            _ => deltas.push(text),
        }
    }
}

/// `name@version` of a delta's text, as far as it has one.
fn copy_in(text: &str) -> &str {
    text.split(['(', ',', ')']).nth(1).unwrap()
}

proptest! {
    #[test]
    fn an_atomic_queue_is_a_list(ops in ops(), size in 1_usize..6) {
        let mut queue = InOrderQueue::atomic().with_batch_size(size);
        let mut model = ListModel::default();
        let mut in_hand: Option<Ticket> = None;
        for (version, op) in (1..).zip(ops) {
            match op {
                Op::Add(at) => {
                    queue.add(obj(NAMES[at], version));
                    model.push(format!("Added({}@{version})", NAMES[at]), Some(NAMES[at]));
                    model.populated = true;
                }
                Op::Update(at) => {
                    queue.update(obj(NAMES[at], version));
                    model.push(format!("Updated({}@{version})", NAMES[at]), Some(NAMES[at]));
                    model.populated = true;
                }
                Op::Delete(at) => {
                    queue.delete(Deleted::observed(obj(NAMES[at], version)));
                    model.push(format!("Deleted({}@{version}, Observed)", NAMES[at]), Some(NAMES[at]));
                    model.populated = true;
                }
                Op::Tombstone(at) => {
                    queue.delete(Deleted::tombstone(key(NAMES[at]), None));
                    model.push(format!("Deleted({}, Inferred)", NAMES[at]), Some(NAMES[at]));
                    model.populated = true;
                }
                Op::Replace(items) => {
                    queue.replace(list(items.iter().map(|at| obj(NAMES[*at], version))));
                    model.push(format!("ReplacedAll(all namespaces@100, {} items)", items.len()), None);
                    if !model.populated {
                        model.populated = true;
                        model.items.iter_mut().for_each(|(_, _, initial)| *initial = true);
                    }
                }
                Op::Resync => {
                    queue.resync();
                    model.push("SyncAll".to_owned(), None);
                }
                Op::Bookmark => {
                    queue.bookmark(Scope::all(), version.into());
                    model.push(format!("Bookmark({version})"), None);
                }
                Op::Take if in_hand.is_none() => {
                    let synced = model.synced();
                    let expected = model.batch(size);
                    match queue.pop_batch() {
                        None => prop_assert!(expected.is_empty()),
                        Some(popped) => {
                            let texts: Vec<_> = expected.iter().map(|(text, _, _)| text.clone()).collect();
                            prop_assert_eq!(fixture::shown(&popped.deltas), texts);
                            prop_assert_eq!(popped.is_in_initial_list, !synced);
                            model.initial_in_hand = expected[0].2;
                            in_hand = Some(popped.ticket);
                        }
                    }
                }
                Op::Finish => {
                    if let Some(ticket) = in_hand.take() {
                        queue.finish(ticket);
                        model.initial_in_hand = false;
                    }
                }
                Op::Take | Op::Store(_) | Op::Forget(_) => {}
            }
            let texts: Vec<_> = model.items.iter().map(|(text, _, _)| text.clone()).collect();
            prop_assert_eq!(fixture::shown(queue.iter()), texts);
            prop_assert_eq!(queue.has_synced(), model.synced());
        }
    }

    #[test]
    fn a_delta_fifo_is_a_line_of_places(ops in ops(), behind in any::<bool>(), emit_replaced in any::<bool>()) {
        let store = Store::with([]);
        let mut queue = DeltaFifo::new().with_emit_replaced(emit_replaced);
        if behind {
            queue = queue.with_known(Arc::clone(&store) as _);
        }
        let mut model = LineModel::default();
        let stored = |name: &str| store.get_known(name).filter(|_| behind).map(|entry| format!("{entry:?}"));
        for (version, op) in (1..).zip(ops) {
            match op {
                Op::Add(at) => {
                    queue.add(obj(NAMES[at], version));
                    model.push(NAMES[at], format!("Added({}@{version})", NAMES[at]));
                }
                Op::Update(at) => {
                    queue.update(obj(NAMES[at], version));
                    model.push(NAMES[at], format!("Updated({}@{version})", NAMES[at]));
                }
                Op::Delete(at) => {
                    queue.delete(Deleted::observed(obj(NAMES[at], version)));
                    if model.has(NAMES[at]) || stored(NAMES[at]).is_some() {
                        model.push(NAMES[at], format!("Deleted({}@{version}, Observed)", NAMES[at]));
                    }
                }
                Op::Tombstone(at) => {
                    queue.delete(Deleted::tombstone(key(NAMES[at]), None));
                    if model.has(NAMES[at]) || stored(NAMES[at]).is_some() {
                        model.push(NAMES[at], format!("Deleted({}, Inferred)", NAMES[at]));
                    }
                }
                Op::Replace(items) => {
                    queue.replace(list(items.iter().map(|at| obj(NAMES[*at], version))));
                    for at in &items {
                        let kind = if emit_replaced { "Replaced" } else { "Sync" };
                        model.push(NAMES[*at], format!("{kind}({}@{version})", NAMES[*at]));
                    }
                    for (at, name) in NAMES.into_iter().enumerate().filter(|(at, _)| !items.contains(at)) {
                        let queued = model.line.iter().find(|(key, _)| *key == NAMES[at]);
                        let last = match queued {
                            Some((_, deltas)) => Some(copy_in(deltas.last().unwrap()).to_owned()),
                            None => stored(name),
                        };
                        if let Some(last) = last {
                            model.push(name, format!("Deleted({last}, Inferred)"));
                        }
                    }
                }
                Op::Resync => {
                    queue.resync();
                    for name in NAMES {
                        if let Some(entry) = stored(name)
                            && !model.has(name)
                        {
                            model.push(name, format!("Sync({entry})"));
                        }
                    }
                }
                Op::Take => {
                    let popped = queue.pop();
                    let expected = (!model.line.is_empty()).then(|| model.line.remove(0).1);
                    prop_assert_eq!(popped.as_ref().map(|popped| fixture::shown(&popped.deltas)), expected);
                    if let Some(popped) = popped {
                        queue.finish(popped.ticket);
                    }
                }
                Op::Store(at) => store.put(obj(NAMES[at], version)),
                Op::Forget(at) => store.remove(NAMES[at]),
                Op::Bookmark | Op::Finish => {}
            }
            let waiting: Vec<_> = queue.iter().map(|(key, deltas)| (key.to_string(), fixture::shown(deltas))).collect();
            let expected: Vec<_> = model.line.iter().map(|(key, deltas)| (key.to_string(), deltas.clone())).collect();
            prop_assert_eq!(waiting, expected);
        }
    }
}

/// What happens around a queue.
#[derive(Clone, Debug)]
enum Step {
    Put(usize),
    Remove(usize),
    /// The watch breaks: from here on the server changes unseen, until the next list.
    Cut,
    List,
    Resync,
    Take,
    Finish,
    PutBack,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = 0..NAMES.len();
    let step = prop_oneof![
        6 => name.clone().prop_map(Step::Put),
        4 => name.prop_map(Step::Remove),
        1 => Just(Step::Cut),
        2 => Just(Step::List),
        1 => Just(Step::Resync),
        4 => Just(Step::Take),
        3 => Just(Step::Finish),
        1 => Just(Step::PutBack),
    ];
    proptest::collection::vec(step, 0..80)
}

/// Lets the store follow the server through `queue`, and compares them at the end.
fn follow(queue: &mut dyn Machine, store: &Store, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut server = BTreeMap::new();
    let mut cut = true;
    let mut in_hand: Option<Popped<u64>> = None;
    let finish = |queue: &mut dyn Machine, popped: Popped<u64>| {
        store.apply(&popped.deltas);
        queue.finish(popped.ticket);
    };
    for (version, step) in (1..).zip(steps.iter().chain([&Step::List])) {
        match step {
            Step::Put(at) => {
                let created = server.insert(NAMES[*at], version).is_none();
                match (cut, created) {
                    (true, _) => {}
                    (false, true) => queue.add(obj(NAMES[*at], version)),
                    (false, false) => queue.update(obj(NAMES[*at], version)),
                }
            }
            Step::Remove(at) => {
                if server.remove(NAMES[*at]).is_some() && !cut {
                    let deleted = Deleted::observed(obj(NAMES[*at], version));
                    queue.delete(deleted);
                }
            }
            Step::Cut => cut = true,
            Step::List => {
                let all = list(server.iter().map(|(name, version)| obj(name, *version)));
                queue.replace(all);
                cut = false;
            }
            Step::Resync => queue.resync(),
            Step::Take => {
                if in_hand.is_none() {
                    in_hand = queue.pop_batch();
                }
            }
            Step::Finish => {
                if let Some(popped) = in_hand.take() {
                    finish(queue, popped);
                }
            }
            Step::PutBack => {
                if let Some(popped) = in_hand.take() {
                    queue.put_back(popped);
                }
            }
        }
    }
    while let Some(popped) = in_hand.take().or_else(|| queue.pop_batch()) {
        finish(queue, popped);
    }
    let expected: Vec<_> = server.iter().map(|(name, version)| format!("{name}@{version}")).collect();
    prop_assert_eq!(store.shown(), expected);
    prop_assert!(queue.has_synced());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_store_reaches_the_server_through_an_atomic_queue(steps in steps()) {
        follow(&mut InOrderQueue::atomic(), &Store::with([]), &steps)?;
    }

    #[test]
    fn the_store_reaches_the_server_through_a_plain_queue(steps in steps()) {
        let store = Store::with([]);
        follow(&mut InOrderQueue::plain(Arc::clone(&store) as _), &store, &steps)?;
    }

    #[test]
    fn the_store_reaches_the_server_through_a_delta_fifo(steps in steps()) {
        let store = Store::with([]);
        follow(&mut DeltaFifo::new().with_known(Arc::clone(&store) as _), &store, &steps)?;
    }
}

/// The plain `Fifo` against a line of keys beside a map of their newest versions.
fn in_line(steps: &[Step]) -> Result<(), TestCaseError> {
    let mut queue = Fifo::new();
    let mut line: Vec<(&str, u64)> = Vec::new();
    let put = |line: &mut Vec<(&'static str, u64)>, name, version| match line
        .iter_mut()
        .find(|(own, _)| *own == name)
    {
        Some(item) => item.1 = version,
        None => line.push((name, version)),
    };
    for (version, step) in (1..).zip(steps) {
        match step {
            Step::Put(at) => {
                queue.update(obj(NAMES[*at], version));
                put(&mut line, NAMES[*at], version);
            }
            Step::Remove(at) => {
                queue.delete(Deleted::observed(obj(NAMES[*at], version)));
                line.retain(|(name, _)| *name != NAMES[*at]);
            }
            Step::List => {
                queue.replace(list([obj(NAMES[0], version), obj(NAMES[1], version)]));
                line.retain(|(name, _)| NAMES[..2].contains(name));
                put(&mut line, NAMES[0], version);
                put(&mut line, NAMES[1], version);
            }
            Step::Take | Step::Finish | Step::PutBack => {
                let popped = queue.pop();
                let first = (!line.is_empty()).then(|| line.remove(0));
                prop_assert_eq!(
                    popped.as_ref().map(|popped| **popped.deltas[0].entry().unwrap()),
                    first.map(|(_, v)| v)
                );
                match popped {
                    Some(popped) if matches!(step, Step::PutBack) => {
                        queue.put_back(popped);
                        line.extend(first);
                    }
                    Some(popped) => queue.finish(popped.ticket),
                    None => {}
                }
            }
            Step::Cut | Step::Resync => {}
        }
        let waiting: Vec<_> = queue.iter().map(|delta| **delta.entry().unwrap()).collect();
        prop_assert_eq!(waiting, line.iter().map(|(_, version)| *version).collect::<Vec<_>>());
    }
    while let Some(popped) = queue.pop() {
        queue.finish(popped.ticket);
    }
    prop_assert!(
        queue.has_synced()
            || steps.iter().all(|step| !matches!(step, Step::Put(_) | Step::Remove(_) | Step::List))
    );
    Ok(())
}

proptest! {
    #[test]
    fn a_plain_fifo_equals_a_naive_line(steps in steps()) {
        in_line(&steps)?;
    }
}
