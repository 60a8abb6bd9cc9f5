//! Handlers: order, independence, lateness, removal, panics.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use informers_core::{Event, Handler};
use informers_shared::{BacklogPolicy, HandlerGuard};
use informers_testkit::{EventRecorder, settle};

use crate::world::{Config, delete, informer, put, server_with, stored};

fn names(recorder: &EventRecorder<Config>) -> Vec<String> {
    recorder
        .events()
        .iter()
        .map(|event| match event {
            Event::Added { object, initial: true } => format!("initial {}", object.key().name()),
            Event::Added { object, .. } => format!("+{}", object.key().name()),
            Event::Updated { old, new } => {
                format!("{} {}->{}", new.key().name(), old.data["value"], new.data["value"])
            }
            Event::Deleted { last, .. } => format!("-{}", last.key().name()),
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_handler_hears_of_a_change_only_after_the_store_shows_it() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    let store = informer.store().clone();
    let (seen, log) = (Arc::new(Mutex::new(Vec::new())), EventRecorder::new());
    let recording = Arc::clone(&seen);
    let _handler = informer.handler().backlog(BacklogPolicy::InOrder).on_event(move |event| {
        let stored = store.get(event.key().as_str()).map(|entry| entry.data["value"].clone());
        recording.lock().unwrap().push(stored);
    });
    let _log = informer.add_handler(log.clone());
    informer.start().unwrap();
    settle().await;
    put(&server, "a", "1");
    settle().await;
    delete(&server, "a");
    settle().await;
    assert_eq!(*seen.lock().unwrap(), [Some("0".to_owned()), Some("1".to_owned()), None]);
    assert_eq!(names(&log), ["initial a", "a 0->1", "-a"]);
}

#[tokio::test(start_paused = true)]
async fn a_late_handler_is_shown_what_is_there_and_then_what_comes() {
    let server = server_with(["a", "b"]);
    let informer = informer(&server);
    informer.start().unwrap();
    informer.synced().await.unwrap();
    put(&server, "a", "1");
    settle().await;
    let late = EventRecorder::new();
    let guard = informer.add_handler(late.clone());
    guard.synced().await.unwrap();
    put(&server, "c", "0");
    delete(&server, "b");
    settle().await;
    let mut heard = names(&late);
    heard[..2].sort();
    assert_eq!(heard, ["initial a", "initial b", "+c", "-b"]);
    assert_eq!(late.replay().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a18_a_slow_handler_delays_nobody_and_its_backlog_is_bounded() {
    let server = server_with(["a", "b"]);
    let informer = informer(&server);
    let fast = EventRecorder::new();
    let _fast = informer.add_handler(fast.clone());
    let slow_log = EventRecorder::new();
    let recording = slow_log.clone();
    let slow = informer.handler().name("slow").for_each(move |event| {
        let recording = recording.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            recording.record(event);
        }
    });
    informer.start().unwrap();
    informer.synced().await.unwrap();
    for value in 1..=500 {
        put(&server, if value % 2 == 0 { "a" } else { "b" }, &value.to_string());
        settle().await;
        assert!(slow.status().waiting <= 4, "{:?}", slow.status());
    }
    assert_eq!(fast.len(), 502, "the fast handler heard everything at once");
    tokio::time::sleep(Duration::from_secs(20)).await;
    let told = slow_log.replay().expect("every old was told before");
    assert_eq!((told["ns/a"].data["value"].as_str(), told["ns/b"].data["value"].as_str()), ("500", "499"));
    assert_eq!(slow.status().waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn an_in_order_backlog_keeps_every_event() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    let log = EventRecorder::new();
    let recording = log.clone();
    let guard = informer.handler().backlog(BacklogPolicy::InOrder).for_each(move |event| {
        let recording = recording.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            recording.record(event);
        }
    });
    informer.start().unwrap();
    informer.synced().await.unwrap();
    for value in 1..=50 {
        put(&server, "a", &value.to_string());
    }
    settle().await;
    assert!(guard.status().waiting >= 49 && guard.status().waiting_for.is_some(), "{:?}", guard.status());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(log.len(), 51);
}

#[tokio::test(start_paused = true)]
async fn a18_a_full_backlog_delays_nobody_whatever_becomes_of_what_does_not_fit() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    let mut blocking = informer.handler().backlog(BacklogPolicy::InOrderUpTo { limit: 3 }).subscribe();
    let mut dropping = informer.handler().backlog(BacklogPolicy::Dropping { limit: 3 }).subscribe();
    let log = EventRecorder::new();
    let _prompt = informer.handler().backlog(BacklogPolicy::InOrder).add(log.clone());
    informer.start().unwrap();
    informer.synced().await.unwrap();
    for value in 1..=9 {
        put(&server, "a", &value.to_string());
        settle().await;
    }
    assert_eq!(stored(&informer), ["a=9"]);
    assert_eq!(names(&log).len(), 10, "the prompt one hears everything");
    assert_eq!((blocking.status().waiting, blocking.status().dropped), (4, 0));
    assert_eq!((dropping.status().waiting, dropping.status().dropped), (3, 7));
    let told = |event: Event<Config>| event.entry().data["value"].clone();
    let mut heard = Vec::new();
    for _ in 0..4 {
        heard.push(told(blocking.next().await.unwrap()));
    }
    assert_eq!(heard, ["0", "1", "2", "9"]);
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(told(dropping.next().await.unwrap()));
    }
    assert_eq!(heard, ["0", "1", "2"]);
    // There is room again.
    put(&server, "a", "10");
    assert_eq!(told(dropping.next().await.unwrap()), "10");
    assert_eq!(told(blocking.next().await.unwrap()), "10");
    assert!(informer.status().to_string().contains("; 7 events of handler "), "{}", informer.status());
}

#[tokio::test(start_paused = true)]
async fn a19_a_panic_costs_one_event_and_still_counts_for_sync() {
    let server = server_with(["a", "b", "c"]);
    let informer = informer(&server);
    let (calls, other) = (Arc::new(AtomicUsize::new(0)), EventRecorder::new());
    let counting = Arc::clone(&calls);
    let bad = informer.on_event(move |event| {
        counting.fetch_add(1, Ordering::SeqCst);
        assert_ne!(event.key().name(), "b", "as told by the test");
    });
    let bad_async =
        informer.for_each(|event| async move { assert_ne!(event.key().name(), "b", "as told by the test") });
    let good = informer.add_handler(other.clone());
    informer.start().unwrap();
    for handler in [&bad, &bad_async, &good] {
        handler.synced().within(Duration::from_secs(5)).await.unwrap();
    }
    put(&server, "b", "1");
    delete(&server, "b");
    put(&server, "c", "1");
    settle().await;
    assert_eq!(bad.status().panics, bad_async.status().panics);
    assert!(
        (2..=3).contains(&bad.status().panics),
        "the change and the deletion of b may be merged: {:?}",
        bad.status()
    );
    assert_eq!(good.status().panics, 0);
    assert_eq!(other.replay().unwrap()["ns/c"].data["value"], "1");
    assert!(calls.load(Ordering::SeqCst) >= 5, "delivery went on");
}

#[tokio::test(start_paused = true)]
async fn a21_after_removal_no_call_begins() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    let log = EventRecorder::new();
    let guard = informer.add_handler(log.clone());
    informer.start().unwrap();
    guard.synced().await.unwrap();
    guard.close().await;
    put(&server, "a", "1");
    settle().await;
    assert_eq!(log.len(), 1);
    assert!(informer.status().handlers.is_empty(), "{:?}", informer.status().handlers);
}

#[tokio::test(start_paused = true)]
async fn a21_close_waits_for_the_running_call() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    let done = Arc::new(AtomicUsize::new(0));
    let finishing = Arc::clone(&done);
    let guard = informer.for_each(move |_| {
        let finishing = Arc::clone(&finishing);
        async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            finishing.fetch_add(1, Ordering::SeqCst);
        }
    });
    informer.start().unwrap();
    settle().await;
    guard.close().await;
    assert_eq!(done.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a21_a_dropped_guard_does_not_wait_for_the_running_call() {
    let server = server_with(["a", "b"]);
    let informer = informer(&server);
    let (begun, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (beginning, finishing) = (Arc::clone(&begun), Arc::clone(&done));
    let guard = informer.for_each(move |_| {
        let finishing = Arc::clone(&finishing);
        beginning.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            finishing.fetch_add(1, Ordering::SeqCst);
        }
    });
    informer.start().unwrap();
    settle().await;
    drop(guard);
    assert_eq!(done.load(Ordering::SeqCst), 0);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(
        (begun.load(Ordering::SeqCst), done.load(Ordering::SeqCst)),
        (1, 1),
        "it ends, no other begins"
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_is_added_twice_is_removed_twice() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    let log = EventRecorder::new();
    let (first, second) = (informer.add_handler(log.clone()), informer.add_handler(log.clone()));
    informer.start().unwrap();
    settle().await;
    assert_eq!((log.take().len(), informer.status().handlers.len()), (2, 2));
    first.close().await;
    put(&server, "a", "1");
    settle().await;
    assert_eq!((log.take().len(), informer.status().handlers.len()), (1, 1));
    // A stopped informer lets go of its handlers too.
    informer.stop().await;
    second.close().await;
    assert!(log.is_empty());
}

/// Removes itself at its first event.
struct Suicidal(Arc<OnceLock<Mutex<Option<HandlerGuard<Config>>>>>, Arc<AtomicUsize>);

impl Handler<Config> for Suicidal {
    fn on_event(&mut self, _: Event<Config>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        drop(self.0.get().unwrap().lock().unwrap().take());
    }
}

#[tokio::test(start_paused = true)]
async fn a21_a_handler_may_remove_itself() {
    let server = server_with(["a", "b", "c"]);
    let informer = informer(&server);
    let (cell, calls) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
    let guard = informer.add_handler(Suicidal(Arc::clone(&cell), Arc::clone(&calls)));
    assert!(cell.set(Mutex::new(Some(guard))).is_ok());
    informer.start().unwrap();
    settle().await;
    assert_eq!(calls.load(Ordering::SeqCst), 1, "three objects, one call");
}

#[tokio::test(start_paused = true)]
async fn a21_an_async_handler_may_close_itself_without_waiting_for_itself() {
    let server = server_with(["a", "b"]);
    let informer = informer(&server);
    let cell: Arc<Mutex<Option<HandlerGuard<Config>>>> = Arc::default();
    let (inside, closed) = (Arc::clone(&cell), Arc::new(AtomicUsize::new(0)));
    let counting = Arc::clone(&closed);
    let guard = informer.for_each(move |_| {
        let (inside, counting) = (Arc::clone(&inside), Arc::clone(&counting));
        async move {
            let guard = inside.lock().unwrap().take();
            if let Some(guard) = guard {
                guard.close().await;
                counting.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    *cell.lock().unwrap() = Some(guard);
    informer.start().unwrap();
    settle().await;
    assert_eq!(closed.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a21_handlers_come_and_go_under_traffic_and_leave_nothing() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    informer.start().unwrap();
    informer.synced().await.unwrap();
    settle().await;
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    for value in 0..300 {
        let guard = informer.on_event(|_| {});
        put(&server, "a", &value.to_string());
        if value % 3 == 0 {
            tokio::task::yield_now().await;
        }
        if value % 2 == 0 {
            guard.close().await;
        }
    }
    settle().await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), tasks);
    assert_eq!(stored(&informer), ["a=299"]);
}

#[tokio::test(start_paused = true)]
async fn a_detached_handler_lives_as_long_as_the_informer() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    let log = EventRecorder::new();
    informer.add_handler(log.clone()).detach();
    informer.start().unwrap();
    settle().await;
    put(&server, "a", "1");
    settle().await;
    assert_eq!(names(&log), ["initial a", "a 0->1"]);
}

#[tokio::test(start_paused = true)]
async fn two_subscribers_on_two_tasks_both_hear() {
    let server = server_with([]);
    let informer = informer(&server);
    let tasks: Vec<_> = (0..2)
        .map(|_| {
            let mut events = informer.subscribe();
            tokio::spawn(async move { events.next().await.map(|event| event.key().to_string()) })
        })
        .collect();
    informer.start().unwrap();
    settle().await;
    put(&server, "a", "1");
    for task in tasks {
        assert_eq!(task.await.unwrap().as_deref(), Some("ns/a"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_next_loses_no_event() {
    let server = server_with(["a", "b"]);
    let informer = informer(&server);
    let mut events = informer.subscribe();
    assert!(tokio::time::timeout(Duration::from_millis(10), events.next()).await.is_err(), "not started");
    informer.start().unwrap();
    let mut heard = Vec::new();
    for _ in 0..2 {
        let event = loop {
            // Dropped at its first await, over and over.
            tokio::select! {
                biased;
                event = events.next() => break event,
                () = tokio::task::yield_now() => {}
            }
        };
        heard.push(event.unwrap().key().name().to_owned());
    }
    heard.sort();
    assert_eq!(heard, ["a", "b"]);
}

/// On threads, so that they truly meet.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handlers_may_come_while_the_informer_starts_and_go_while_it_stops() {
    for _ in 0..20 {
        let server = server_with(["a", "b", "c"]);
        let informer = informer(&server);
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..8 {
            let (informer, server) = (informer.clone(), server.clone());
            tasks.spawn(async move {
                let log = EventRecorder::new();
                let guard = informer.add_handler(log.clone());
                if task % 4 == 0 {
                    informer
                        .start()
                        .or_else(|error| if informer.is_stopped() { Err(error) } else { Ok(()) })
                        .unwrap();
                }
                put(&server, &format!("of-{task}"), "0");
                while guard.synced().await.is_err_and(|error| !error.is_stopped()) {
                    tokio::task::yield_now().await;
                }
                let told = log.replay().expect("nothing twice, nothing of what was never shown");
                assert!(["ns/a", "ns/b", "ns/c"].iter().all(|key| told.contains_key(*key)), "{told:?}");
                drop(guard);
            });
        }
        // The time only ends a test that would hang.
        tokio::time::timeout(Duration::from_secs(120), tasks.join_all()).await.expect("a wake-up was lost");
        informer.stop().await;
        assert!(informer.status().handlers.is_empty());
    }
}

#[test]
fn a_handler_is_named_after_the_place_where_it_was_added() {
    let informer = informer(&server_with([]));
    let unnamed = informer.on_event(|_| {});
    assert!(unnamed.name().contains("handlers.rs:"), "{}", unnamed.name());
    assert_eq!(informer.handler().name("cache").on_event(|_| {}).name(), "cache");
}
