//! Random operations on the machine against two naive sets, a list and a map.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use informers_workqueue::machine::{Machine, Phase};
use informers_workqueue::{Error, Fifo, Parity};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Op {
    Add(u8),
    AddAfter(u8, u64),
    Get,
    /// Finishes the nth taken key.
    Done(usize),
    /// Finishes a key whether it is taken or not.
    DoneAny(u8),
    Step(u64),
    ShutDown,
    Drain,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (0..6u8).prop_map(Op::Add),
        12 => (0..6u8, 0..40u64).prop_map(|(key, delay)| Op::AddAfter(key, delay)),
        14 => Just(Op::Get),
        10 => (0..6usize).prop_map(Op::Done),
        3 => (0..7u8).prop_map(Op::DoneAny),
        12 => (0..30u64).prop_map(Op::Step),
        1 => Just(Op::ShutDown),
        1 => Just(Op::Drain),
    ]
}

fn parity() -> impl Strategy<Value = Parity> {
    let flags = any::<(bool, bool, bool, bool)>();
    flags.prop_map(|(keeps, in_flight, requeues, ignored)| {
        let mut parity = Parity::default();
        parity.add_keeps_waiting = keeps;
        parity.drain_in_flight_only = in_flight;
        parity.done_of_untaken_requeues = requeues;
        parity.repeated_shut_down_ignored = ignored;
        parity
    })
}

#[derive(Default)]
struct Model {
    parity: Parity,
    dirty: BTreeSet<u8>,
    processing: BTreeSet<u8>,
    queue: VecDeque<u8>,
    waiting: BTreeMap<u8, (u64, u64)>,
    arrivals: u64,
    phase: Phase,
    shut_down_before: bool,
}

impl Model {
    fn advance(&mut self, now: u64) {
        let due = |model: &Self| {
            model.waiting.iter().map(|(&key, &time)| (time, key)).min().filter(|&((at, _), _)| at <= now)
        };
        while let Some((_, key)) = due(self) {
            self.waiting.remove(&key);
            self.mark(key);
        }
    }

    fn mark(&mut self, key: u8) {
        if self.dirty.insert(key) && !self.processing.contains(&key) {
            self.queue.push_back(key);
        }
    }

    fn add(&mut self, key: u8) -> bool {
        if self.phase != Phase::Running {
            return false;
        }
        if !self.parity.add_keeps_waiting {
            self.waiting.remove(&key);
        }
        self.mark(key);
        true
    }

    fn add_after(&mut self, key: u8, delay: u64, now: u64) -> bool {
        if delay == 0 || self.phase != Phase::Running {
            return self.add(key);
        }
        let at = now + delay;
        self.arrivals += 1;
        let present = self.waiting.entry(key).or_insert((at, self.arrivals));
        present.0 = present.0.min(at);
        true
    }

    fn get(&mut self) -> Option<u8> {
        let key = self.queue.pop_front()?;
        self.processing.insert(key);
        self.dirty.remove(&key);
        Some(key)
    }

    fn done(&mut self, key: u8) -> bool {
        let taken = self.processing.remove(&key);
        if !taken && !self.parity.done_of_untaken_requeues {
            return false;
        }
        if self.dirty.contains(&key) {
            self.queue.push_back(key);
        }
        self.settle();
        true
    }

    fn settle(&mut self) {
        let idle = self.processing.is_empty() && (self.parity.drain_in_flight_only || self.queue.is_empty());
        if self.phase == Phase::Draining && idle {
            self.phase = Phase::Drained;
        }
    }

    fn abandon(&mut self) -> Vec<u8> {
        let mut waiting: Vec<_> =
            std::mem::take(&mut self.waiting).into_iter().map(|(key, at)| (at, key)).collect();
        waiting.sort_unstable();
        waiting.into_iter().map(|(_, key)| key).filter(|key| !self.dirty.contains(key)).collect()
    }

    fn shut_down(&mut self) -> Vec<u8> {
        if self.shut_down_before && self.parity.repeated_shut_down_ignored {
            return Vec::new();
        }
        self.shut_down_before = true;
        self.phase = Phase::ShuttingDown;
        self.abandon()
    }

    fn drain(&mut self) -> Vec<u8> {
        self.phase = Phase::Draining;
        let abandoned = self.abandon();
        self.settle();
        abandoned
    }
}

fn check(parity: Parity, ops: Vec<Op>) -> Result<(), TestCaseError> {
    let t0 = Instant::now();
    let mut elapsed = 0;
    let mut machine = Machine::new(Fifo::default(), parity).keeping_times();
    let mut model = Model { parity, ..Model::default() };
    for op in ops {
        let now = |elapsed| t0 + Duration::from_millis(elapsed);
        model.advance(elapsed);
        match op {
            Op::Add(key) => prop_assert_eq!(machine.add(key, now(elapsed)).is_ok(), model.add(key)),
            Op::AddAfter(key, delay) => {
                let added = machine.add_after(key, Duration::from_millis(delay), now(elapsed));
                prop_assert_eq!(added.is_ok(), model.add_after(key, delay, elapsed));
            }
            Op::Get => prop_assert_eq!(machine.get(now(elapsed)).map(|take| take.key), model.get()),
            Op::Done(nth) => {
                if let Some(&key) = model.processing.iter().nth(nth) {
                    prop_assert!(machine.done(&key, now(elapsed)).is_ok());
                    prop_assert!(model.done(key));
                }
            }
            Op::DoneAny(key) => match machine.done(&key, now(elapsed)) {
                Ok(_) => prop_assert!(model.done(key)),
                Err(error) => {
                    prop_assert_eq!(error, Error::NotTaken { key });
                    prop_assert!(!model.done(key));
                }
            },
            Op::Step(millis) => {
                elapsed += millis;
                model.advance(elapsed);
                machine.advance(now(elapsed));
            }
            Op::ShutDown => prop_assert_eq!(machine.shut_down(now(elapsed)), model.shut_down()),
            Op::Drain => prop_assert_eq!(machine.shut_down_with_drain(now(elapsed)), model.drain()),
        }
        prop_assert_eq!(machine.phase(), model.phase);
        prop_assert_eq!(machine.len(), model.queue.len());
        prop_assert_eq!(machine.processing_len(), model.processing.len());
        prop_assert_eq!(machine.waiting_len(), model.waiting.len());
        let next = model.waiting.values().map(|&(at, _)| now(at)).min();
        prop_assert_eq!(machine.next_deadline(), next);
        let snapshot = machine.snapshot(now(elapsed));
        let taken: BTreeSet<u8> = snapshot.processing.iter().map(|taken| taken.key).collect();
        prop_assert_eq!(&taken, &model.processing);
        if !parity.done_of_untaken_requeues {
            let queued: Vec<u8> = snapshot.queued.iter().map(|queued| queued.key).collect();
            prop_assert_eq!(&queued, &Vec::from(model.queue.clone()));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_machine_equals_two_naive_sets(parity in parity(), ops in prop::collection::vec(op(), 1..120)) {
        check(parity, ops)?;
    }
}
