//! Explores the interleavings of what tasks of an informer hand to each other: events from pipeline to handler, and
//! the waits for sync. `cargo xtask loom` runs it.

use std::future::{IntoFuture, poll_fn};
use std::sync::Arc;
use std::time::{Duration, Instant};

use informers_core::wait::Latch;
use informers_core::{Deletion, Entry, Event, ObjectKey};
use informers_reflector::ResyncSchedule;
use loom::future::block_on;
use loom::thread;

use crate::delivery::{Delivery, HandlerId, counts_as_initial};
use crate::schedule::{CalendarSchedule, SharedCalendar};
use crate::sync::Awaited;
use crate::synctrack::{AsyncTracker, SingleFileTracker};
use crate::{BacklogPolicy, Error, Parity, SyncState, SyncWait};

fn model(check: impl Fn(BacklogPolicy) + Copy + Sync + Send + 'static) {
    for policy in [BacklogPolicy::Coalesced, BacklogPolicy::InOrder, BacklogPolicy::InOrderUpTo { limit: 1 }]
    {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(move || check(policy));
    }
}

fn handler(policy: BacklogPolicy) -> Arc<Delivery<u8>> {
    Delivery::new(HandlerId(1), "handler".to_owned(), None, policy)
}

fn added(name: &str, initial: bool) -> Event<u8> {
    Event::Added { object: Entry::keyed(ObjectKey::cluster(name), 0), initial }
}

/// The task of a handler: takes until there is no more, and gives how many events it took.
fn run(delivery: &Arc<Delivery<u8>>) -> thread::JoinHandle<usize> {
    let delivery = Arc::clone(delivery);
    thread::spawn(move || {
        let mut taken = 0;
        while let Some(event) = block_on(poll_fn(|cx| delivery.poll_next(cx))) {
            taken += 1;
            delivery.returned_from(counts_as_initial(&event));
        }
        delivery.finish();
        taken
    })
}

#[test]
fn a_waiting_handler_gets_every_event_and_then_the_end() {
    model(|policy| {
        let delivery = handler(policy);
        let calls = run(&delivery);
        delivery.deliver(1, [added("a", false)], Instant::now());
        delivery.deliver(1, [added("b", false)], Instant::now());
        delivery.drain();
        assert_eq!(calls.join().unwrap(), 2);
    });
}

#[test]
fn what_is_merged_while_the_handler_takes_adds_up() {
    model(|policy| {
        let delivery = handler(policy);
        let heard = thread::spawn({
            let delivery = Arc::clone(&delivery);
            move || {
                let mut present = false;
                while let Some(event) = block_on(poll_fn(|cx| delivery.poll_next(cx))) {
                    assert_eq!(
                        present,
                        matches!(event, Event::Deleted { .. }),
                        "each event follows from what was told before"
                    );
                    present = !present;
                }
                present
            }
        });
        let last = Entry::keyed(ObjectKey::cluster("a"), 0);
        delivery.deliver(1, [added("a", false)], Instant::now());
        delivery.deliver(1, [Event::Deleted { last, how: Deletion::Observed }], Instant::now());
        delivery.drain();
        assert!(!heard.join().unwrap(), "the object is gone");
    });
}

#[test]
fn a_removal_ends_the_handler_whatever_is_delivered_meanwhile() {
    model(|policy| {
        let delivery = handler(policy);
        let calls = run(&delivery);
        let pipeline = thread::spawn({
            let delivery = Arc::clone(&delivery);
            move || drop(delivery.deliver(1, [added("a", false)], Instant::now()))
        });
        delivery.remove();
        // Whoever closes the handler may count on no call after this.
        block_on(delivery.finished());
        let given = delivery.status(Instant::now()).delivered;
        pipeline.join().unwrap();
        assert_eq!(calls.join().unwrap(), given);
        assert_eq!(delivery.status(Instant::now()).waiting, 0);
    });
}

/// What a wait would say of itself if it failed.
struct Informer;

impl Awaited for Informer {
    fn name(&self) -> String {
        "pods".to_owned()
    }

    fn awaits_start(&self) -> bool {
        false
    }

    fn obstacle(&self) -> (String, Option<informers_core::Error>) {
        (String::new(), None)
    }
}

fn wait(state: &Arc<Latch<SyncState>>) -> SyncWait {
    SyncWait::one(Arc::clone(state), Arc::new(Informer))
}

fn waiter(wait: SyncWait) -> thread::JoinHandle<Result<(), Error>> {
    thread::spawn(move || block_on(wait.into_future()))
}

#[test]
fn a_store_that_is_filled_wakes_each_of_two_waiters() {
    model(|_| {
        let store = Arc::new(Latch::new());
        let waiters = [waiter(wait(&store)), waiter(wait(&store))];
        store.settle(SyncState::Synced);
        assert!(waiters.map(|waiter| waiter.join().unwrap()).iter().all(Result::is_ok));
    });
}

#[test]
fn a_handler_is_synced_when_it_has_returned_and_the_list_is_complete() {
    model(|policy| {
        let delivery = handler(policy);
        let waiter = waiter(wait(&delivery.sync_state()));
        let calls = run(&delivery);
        delivery.deliver(1, [added("a", true)], Instant::now());
        delivery.complete_initial();
        assert!(waiter.join().unwrap().is_ok());
        assert_eq!(delivery.status(Instant::now()).delivered, 1);
        delivery.remove();
        calls.join().unwrap();
    });
}

#[test]
fn a_handler_that_is_removed_ends_its_own_wait_and_not_that_of_the_factory() {
    model(|policy| {
        let delivery = handler(policy);
        let store = Arc::new(Latch::new());
        let all = waiter(SyncWait::all([wait(&store), wait(&delivery.sync_state())]));
        let own = waiter(wait(&delivery.sync_state()));
        let filling = thread::spawn(move || store.settle(SyncState::Synced));
        delivery.remove();
        assert!(all.join().unwrap().is_ok());
        assert!(matches!(own.join().unwrap(), Err(Error::HandlerRemoved { .. })));
        filling.join().unwrap();
    });
}

#[test]
fn a_stop_ends_every_wait_even_if_it_comes_with_sync() {
    model(|policy| {
        let delivery = handler(policy);
        let waiter = waiter(wait(&delivery.sync_state()));
        let pipeline = thread::spawn({
            let delivery = Arc::clone(&delivery);
            move || delivery.complete_initial()
        });
        delivery.stop();
        let outcome = waiter.join().unwrap();
        assert!(outcome.is_ok() || outcome.unwrap_err().is_stopped());
        pipeline.join().unwrap();
    });
}

#[test]
fn a_tracker_is_synced_whether_the_work_or_the_handler_ends_last() {
    model(|_| {
        let (keys, work) = (AsyncTracker::new("keys"), SingleFileTracker::new("work"));
        keys.start(1);
        let in_progress = work.start();
        let worker = thread::spawn({
            let keys = keys.clone();
            move || {
                keys.finished(&1);
                drop(in_progress);
            }
        });
        let waiter = thread::spawn({
            let (keys, work) = (keys.clone(), work.clone());
            move || {
                block_on(keys.synced());
                block_on(work.synced());
            }
        });
        keys.upstream_has_synced();
        work.upstream_has_synced();
        worker.join().unwrap();
        waiter.join().unwrap();
    });
}

#[test]
fn nobody_waits_for_a_handler_that_vanished() {
    model(|policy| {
        let delivery = handler(policy);
        let waiter = waiter(wait(&delivery.sync_state()));
        drop(delivery);
        assert!(waiter.join().unwrap().unwrap_err().is_stopped());
    });
}

#[test]
fn the_reader_of_each_scope_hears_of_a_handler_that_resyncs() {
    model(|_| {
        let calendar = SharedCalendar::new(None, &Parity::default(), true);
        let readers = [(); 2].map(|()| {
            let mut schedule = CalendarSchedule::new(&calendar);
            thread::spawn(move || {
                block_on(poll_fn(|cx| schedule.poll_changed(cx)));
                schedule.next(Instant::now()).is_some()
            })
        });
        calendar.begin(HandlerId(1), Some(Duration::from_secs(1)), Instant::now());
        assert_eq!(readers.map(|reader| reader.join().unwrap()), [true, true], "they know the turn");
    });
}
