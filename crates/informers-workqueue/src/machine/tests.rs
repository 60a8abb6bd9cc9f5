use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn run(machine: &mut Machine<&'static str>, now: Instant) -> Vec<&'static str> {
    let mut ran = Vec::new();
    while let Some(take) = machine.get(now) {
        ran.push(take.key);
        machine.finish(take.id, now);
    }
    ran
}

#[test]
fn an_add_cancels_the_later_wish_unless_parity_keeps_it() {
    let t0 = Instant::now();
    for (add_keeps_waiting, runs_later) in [(false, vec![]), (true, vec!["a"])] {
        let parity = Parity { add_keeps_waiting, ..Parity::default() };
        let mut machine = Machine::new(Fifo::default(), parity);
        machine.add_after("a", s(18_000), t0).unwrap();
        machine.add("a", t0).unwrap();
        assert_eq!(machine.waiting_len(), runs_later.len());
        assert_eq!(run(&mut machine, t0), ["a"]);
        assert_eq!(run(&mut machine, t0 + s(18_000)), runs_later);
    }
}

#[test]
fn a_delay_asked_for_a_queued_key_is_kept() {
    let t0 = Instant::now();
    let mut machine = Machine::default();
    machine.add("a", t0).unwrap();
    machine.add_after("a", s(60), t0).unwrap();
    assert_eq!(run(&mut machine, t0), ["a"]);
    assert_eq!(machine.next_deadline(), Some(t0 + s(60)));
    assert_eq!(run(&mut machine, t0 + s(60)), ["a"]);
}

#[test]
fn delayed_keys_come_in_the_order_of_their_times_then_of_arrival() {
    let t0 = Instant::now();
    let mut machine = Machine::default();
    for (key, delay) in [("c", 3), ("a", 1), ("b1", 2), ("b2", 2), ("d", 9)] {
        machine.add_after(key, s(delay), t0).unwrap();
    }
    machine.add_after("d", s(1), t0).unwrap(); // earlier than before: moves up
    machine.add_after("a", s(8), t0).unwrap(); // later than before: ignored
    assert_eq!(run(&mut machine, t0 + s(1)), ["a", "d"]);
    assert_eq!(run(&mut machine, t0 + s(3)), ["b1", "b2", "c"]);
    assert_eq!(machine.waiting_len(), 0);
}

#[test]
fn a_key_coming_due_goes_before_one_added_later() {
    let t0 = Instant::now();
    let mut machine = Machine::default();
    machine.add_after("delayed", s(1), t0).unwrap();
    machine.add("immediate", t0 + s(2)).unwrap();
    assert_eq!(run(&mut machine, t0 + s(2)), ["delayed", "immediate"]);
}

#[test]
fn an_endless_delay_is_cut_and_a_zero_delay_is_immediate() {
    let t0 = Instant::now();
    let mut machine = Machine::default();
    machine.add_after("never", Duration::MAX, t0).unwrap();
    machine.add_after("now", Duration::ZERO, t0).unwrap();
    assert_eq!(run(&mut machine, t0), ["now"]);
    assert!(machine.next_deadline().unwrap() > t0 + s(50 * 365 * 24 * 3600));
}

#[test]
fn done_of_a_key_not_taken_is_an_error_or_queues_it_twice() {
    let t0 = Instant::now();
    let mut machine = Machine::default();
    machine.add("a", t0).unwrap();
    assert_eq!(machine.done(&"a", t0), Err(Error::NotTaken { key: "a" }));
    assert_eq!(machine.done(&"unknown", t0), Err(Error::NotTaken { key: "unknown" }));
    assert_eq!(machine.len(), 1);

    let parity = Parity { done_of_untaken_requeues: true, ..Parity::default() };
    let mut machine = Machine::new(Fifo::default(), parity);
    machine.add("a", t0).unwrap();
    machine.done(&"a", t0).unwrap();
    machine.done(&"unknown", t0).unwrap();
    assert_eq!(machine.len(), 2);
    assert_eq!(run(&mut machine, t0), ["a", "a"]);
}

#[test]
fn a_stale_take_finishes_nothing() {
    let t0 = Instant::now();
    let mut machine = Machine::default();
    machine.add("a", t0).unwrap();
    let first = machine.get(t0).unwrap();
    machine.done(&"a", t0).unwrap();
    machine.add("a", t0).unwrap();
    let second = machine.get(t0).unwrap();
    machine.finish(first.id, t0);
    assert_eq!(machine.processing_len(), 1);
    machine.finish(second.id, t0);
    assert_eq!(machine.processing_len(), 0);
}

#[test]
fn phases_of_the_shutdown() {
    let t0 = Instant::now();
    let mut machine = Machine::default();
    machine.add("queued", t0).unwrap();
    machine.add_after("waits", s(5), t0).unwrap();
    assert_eq!(machine.shut_down_with_drain(t0), ["waits"]);
    assert_eq!(machine.phase(), Phase::Draining);
    assert_eq!(machine.add("late", t0), Err(Error::ShutDown { key: "late" }));
    assert_eq!(machine.add_after("late", s(1), t0), Err(Error::ShutDown { key: "late" }));
    let take = machine.get(t0).unwrap();
    assert_eq!(machine.phase(), Phase::Draining);
    machine.finish(take.id, t0);
    assert_eq!(machine.phase(), Phase::Drained);
    assert!(machine.shut_down(t0).is_empty());
    assert_eq!(machine.phase(), Phase::ShuttingDown);
}

#[test]
fn keys_due_at_the_shutdown_still_run() {
    let t0 = Instant::now();
    let mut machine = Machine::default();
    machine.add_after("due", s(1), t0).unwrap();
    machine.add_after("late", s(3), t0).unwrap();
    machine.add_after("taken", s(4), t0).unwrap();
    machine.add_after("also queued", s(5), t0).unwrap();
    machine.add_after("taken", s(1), t0).unwrap();
    assert_eq!(machine.shut_down(t0 + s(2)), ["late", "also queued"]);
    assert_eq!(run(&mut machine, t0 + s(2)), ["due", "taken"]);
    assert_eq!((machine.len(), machine.processing_len(), machine.waiting_len()), (0, 0, 0));
}

#[test]
fn a_taken_key_that_waits_is_given_back_by_the_shutdown() {
    let t0 = Instant::now();
    let mut machine = Machine::default();
    machine.add("a", t0).unwrap();
    let take = machine.get(t0).unwrap();
    machine.add_after("a", s(3), t0).unwrap();
    assert_eq!(machine.shut_down(t0), ["a"]);
    machine.finish(take.id, t0);
    assert_eq!(machine.snapshot(t0).processing, []);
    assert_eq!(machine.get(t0 + s(3)), None);
}

#[test]
fn parity_drains_only_what_is_in_flight() {
    let t0 = Instant::now();
    for (drain_in_flight_only, phase) in [(true, Phase::Drained), (false, Phase::Draining)] {
        let parity = Parity { drain_in_flight_only, ..Parity::default() };
        let mut machine = Machine::new(Fifo::default(), parity);
        machine.add("taken", t0).unwrap();
        machine.add("queued", t0).unwrap();
        let take = machine.get(t0).unwrap();
        machine.shut_down_with_drain(t0);
        assert_eq!(machine.phase(), Phase::Draining);
        machine.finish(take.id, t0);
        assert_eq!((machine.phase(), machine.len()), (phase, 1));
    }
}

#[test]
fn parity_ignores_the_second_plain_shutdown() {
    let t0 = Instant::now();
    for (repeated_shut_down_ignored, phase) in [(true, Phase::Draining), (false, Phase::ShuttingDown)] {
        let parity = Parity { repeated_shut_down_ignored, ..Parity::default() };
        let mut machine = Machine::new(Fifo::default(), parity);
        machine.add("a", t0).unwrap();
        machine.shut_down(t0);
        machine.shut_down_with_drain(t0);
        machine.shut_down(t0);
        assert_eq!(machine.phase(), phase);
    }
}

/// Hands out every ticket twice and a few that never were.
#[derive(Default)]
struct Liar(VecDeque<Ticket>);

impl<T> Storage<T> for Liar {
    fn push(&mut self, ticket: Ticket, _key: &T) {
        self.0.extend([Ticket(ticket.0 + 1000), ticket, ticket]);
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn pop(&mut self) -> Option<Ticket> {
        self.0.pop_front()
    }
}

#[test]
fn a_storage_that_lies_hands_out_no_key_twice() {
    let t0 = Instant::now();
    let mut machine = Machine::new(Liar::default(), Parity::default());
    for key in ["a", "b", "a"] {
        machine.add(key, t0).unwrap();
    }
    let taken: Vec<_> = std::iter::from_fn(|| machine.get(t0)).map(|take| take.key).collect();
    assert_eq!(taken, ["a", "b"]);
    machine.done(&"a", t0).unwrap();
    machine.done(&"b", t0).unwrap();
    assert_eq!(machine.processing_len(), 0);
}

#[test]
fn nothing_is_kept_of_a_finished_key() {
    let t0 = Instant::now();
    let key: Arc<str> = "big object".into();
    let mut machine = Machine::default();
    machine.add(key.clone(), t0).unwrap();
    machine.add_after(key.clone(), s(1), t0).unwrap();
    for _ in 0..2 {
        let take = machine.get(t0 + s(1)).unwrap();
        machine.add(key.clone(), t0 + s(1)).unwrap();
        machine.finish(take.id, t0 + s(1));
    }
    let take = machine.get(t0 + s(1)).unwrap();
    machine.finish(take.id, t0 + s(1));
    drop(take);
    assert_eq!(Arc::strong_count(&key), 1);
}

#[test]
fn the_memory_of_a_burst_is_given_back_and_that_of_steady_work_is_kept() {
    let t0 = Instant::now();
    let mut machine = Machine::default().keeping_times();
    let round = |machine: &mut Machine<u32>, keys: u32| {
        for key in 0..keys {
            machine.add_after(key, s(1), t0).unwrap();
        }
        while let Some(take) = machine.get(t0 + s(1)) {
            machine.finish(take.id, t0 + s(1));
        }
        machine.take_observations();
        machine.slots.capacity()
    };
    assert!(round(&mut machine, 50_000) >= 50_000);
    assert!(round(&mut machine, 50_000) >= 50_000);
    assert!(round(&mut machine, 100) < 5_000);
    assert!(round(&mut machine, 5_000) >= 5_000);
    assert_eq!(machine.processing_len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each step schedules a slot, cancels one, or takes out what has come due.
    #[test]
    fn the_heap_of_delays_equals_a_sorted_map(steps in prop::collection::vec((0..3u8, 0..40usize, 1..1000u64), 1..300)) {
        let t0 = Instant::now();
        let mut delays = Delays::default();
        let mut model = BTreeMap::<usize, (Instant, usize)>::new();
        for (arrival, (kind, slot, millis)) in steps.into_iter().enumerate() {
            let at = t0 + Duration::from_millis(millis);
            match kind {
                0 => {
                    delays.schedule(slot, at);
                    let present = model.entry(slot).or_insert((at, arrival));
                    present.0 = present.0.min(at);
                }
                1 => {
                    delays.cancel(slot);
                    model.remove(&slot);
                }
                _ => {
                    let first = model.iter().map(|(&slot, &order)| (order, slot)).min();
                    let due = first.filter(|&((time, _), _)| time <= at).map(|((time, _), slot)| (slot, time));
                    prop_assert_eq!(delays.pop_due(at), due);
                    if let Some((slot, _)) = due {
                        model.remove(&slot);
                    }
                }
            }
            prop_assert_eq!(delays.next(), model.values().map(|&(at, _)| at).min());
            prop_assert_eq!(delays.len(), model.len());
            prop_assert_eq!(delays.time_of(slot), model.get(&slot).map(|&(at, _)| at));
        }
    }
}
