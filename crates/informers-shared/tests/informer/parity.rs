//! Deviations from client-go, switched back one by one, and the choice of the queue.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informers_core::{Event, Scope};
use informers_shared::{BacklogPolicy, Error, Factory, InformerOptions, Parity, QueueKind};
use informers_testkit::{EventRecorder, settle};
use tokio::time::Instant;

use crate::world::{builder, delete, put, resource, server_with, stored};

const QUEUES: [QueueKind; 3] = [QueueKind::InOrder, QueueKind::PlainInOrder, QueueKind::DeltaFifo];

/// Parity in one point.
fn only(change: impl FnOnce(&mut Parity)) -> Parity {
    let mut parity = Parity::default();
    change(&mut parity);
    parity
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn every_queue_serves_the_same_informer() {
    for queue in QUEUES {
        for parity in [Parity::default(), Parity::client_go_0_37()] {
            let server = server_with(["a", "b"]);
            let informer = builder(&server).queue(queue).parity(parity).build();
            let log = EventRecorder::new();
            let guard = informer.add_handler(log.clone());
            informer.start().unwrap();
            informer.synced().await.unwrap();
            guard.synced().await.unwrap();
            assert_eq!(log.events().len(), 2);
            assert!(log.events().iter().all(|event| matches!(event, Event::Added { initial: true, .. })));
            put(&server, "a", "1");
            settle().await;
            delete(&server, "b");
            settle().await;
            assert_eq!(stored(&informer), ["a=1"]);
            assert!(matches!(&log.events()[2..], [Event::Updated { .. }, Event::Deleted { .. }]));
            informer.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_queue_syncs_on_an_empty_collection() {
    for queue in QUEUES {
        let informer = builder(&server_with([])).queue(queue).build();
        let guard = informer.on_event(|_| {});
        informer.start().unwrap();
        informer.synced().within(secs(5)).await.unwrap();
        guard.synced().within(secs(5)).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn every_queue_resyncs_each_handler_in_its_own_period() {
    for queue in QUEUES {
        let start = Instant::now();
        let server = server_with(["a", "b"]);
        let informer = builder(&server).queue(queue).build();
        let shown = |period: u64| {
            let times = Arc::new(Mutex::new(Vec::new()));
            let recording = Arc::clone(&times);
            let handler = informer.handler().resync(secs(period));
            let guard = handler.on_event(move |event| {
                if event.is_resync() {
                    recording.lock().unwrap().push(start.elapsed().as_secs());
                }
            });
            (guard, times)
        };
        let (_seven, sevens) = shown(7);
        let (_ten, tens) = shown(10);
        informer.start().unwrap();
        tokio::time::sleep(secs(22)).await;
        assert_eq!(*sevens.lock().unwrap(), [7, 7, 14, 14, 21, 21], "{queue:?}");
        assert_eq!(*tens.lock().unwrap(), [10, 10, 20, 20], "{queue:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn client_go_coerces_resync_periods() {
    let coerced = |informer| {
        builder(&server_with(["a"]))
            .resync(informer)
            .parity(only(|parity| parity.coerced_resync = true))
            .build()
    };
    let none = coerced(Duration::ZERO);
    assert_eq!(none.handler().resync(secs(5)).on_event(|_| {}).resync(), None);

    let informer = coerced(secs(20));
    let period = |asked| informer.handler().resync(asked).on_event(|_| {}).resync();
    assert_eq!(period(secs(25)), Some(secs(25)));
    assert_eq!(period(Duration::from_millis(3)), Some(secs(1)));
    informer.start().unwrap();
    assert_eq!(period(Duration::from_millis(3)), Some(secs(1)));
    assert_eq!(informer.on_event(|_| {}).resync(), Some(secs(20)));

    let late = coerced(secs(20));
    late.start().unwrap();
    assert_eq!(late.handler().resync(secs(5)).on_event(|_| {}).resync(), Some(secs(20)));

    // By default everybody has the period that he asks for.
    let exact = builder(&server_with(["a"])).resync(secs(20)).build();
    for asked in [secs(25), Duration::from_millis(3), secs(5)] {
        assert_eq!(exact.handler().resync(asked).on_event(|_| {}).resync(), Some(asked));
    }
    assert_eq!(exact.on_event(|_| {}).resync(), Some(secs(20)));
}

#[tokio::test(start_paused = true)]
async fn client_go_keeps_every_event_for_a_slow_handler() {
    let events = |parity, policy: Option<BacklogPolicy>| async move {
        let server = server_with(["a"]);
        let mut settings = builder(&server).parity(parity);
        if let Some(policy) = policy {
            settings = settings.backlog(policy);
        }
        let informer = settings.build();
        let mut slow = informer.subscribe();
        informer.start().unwrap();
        informer.synced().await.unwrap();
        for value in ["1", "2", "3"] {
            put(&server, "a", value);
            settle().await;
        }
        let waiting = slow.status().waiting;
        assert!(slow.next().await.is_some());
        waiting
    };
    let unbounded = only(|parity| parity.unbounded_backlogs = true);
    assert_eq!(events(unbounded, None).await, 4);
    assert_eq!(events(unbounded, Some(BacklogPolicy::Coalesced)).await, 1, "what was chosen counts");
    assert_eq!(events(Parity::default(), None).await, 1);
}

#[tokio::test(start_paused = true)]
async fn client_gos_handlers_never_sync_after_a_panic_and_rest_a_second() {
    for (parity, rest) in [(Parity::default(), 0), (only(|parity| parity.panic_blocks_sync = true), 1)] {
        let informer = builder(&server_with(["a", "b"])).parity(parity).build();
        let (start, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let recording = Arc::clone(&times);
        let guard = informer.on_event(move |_| {
            let mut times = recording.lock().unwrap();
            times.push(start.elapsed());
            let first = times.len() == 1;
            drop(times);
            assert!(!first, "the first object is too much");
        });
        informer.start().unwrap();
        let outcome = guard.synced().within(secs(60)).await;
        assert_eq!(matches!(outcome, Err(Error::NotSynced { .. })), rest == 1, "{outcome:?}");
        assert_eq!(*times.lock().unwrap(), [Duration::ZERO, secs(rest)]);
        assert_eq!((guard.status().panics, guard.status().delivered), (1, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn client_gos_factories_have_one_informer_per_type() {
    let factory = Factory::builder(server_with(["a"]))
        .parity(only(|parity| parity.one_informer_per_type = true))
        .resync(secs(30))
        .build();
    let first = factory.informer_for(&resource()).unwrap();
    let elsewhere =
        InformerOptions::new().scope(Scope::namespace("elsewhere")).resync(secs(5)).variant("mine");
    let second = factory.informer_for_with(&resource(), elsewhere).unwrap();
    factory.start().unwrap();
    first.synced().await.unwrap();
    assert_eq!(second.store().len(), 1, "it reads what the first one asked for");
    assert_eq!(factory.informers().len(), 1);
    assert_eq!(second.on_event(|_| {}).resync(), Some(secs(30)));
    factory.shutdown().await;

    // By default each of these would be an informer of its own, and another period of the same one an error.
    let factory = Factory::builder(server_with(["a"])).resync(secs(30)).build();
    let first = factory.informer_for(&resource()).unwrap();
    let elsewhere = InformerOptions::new().scope(Scope::namespace("elsewhere")).resync(secs(5));
    let second = factory.informer_for_with(&resource(), elsewhere).unwrap();
    assert_eq!(factory.informers().len(), 2);
    assert_eq!(second.on_event(|_| {}).resync(), Some(secs(5)));
    let error = factory.informer_for_with(&resource(), InformerOptions::new().resync(secs(5))).unwrap_err();
    assert!(matches!(error, Error::SetTwice { .. }), "{error}");
    drop(first);
}

#[tokio::test(start_paused = true)]
async fn a_handler_of_an_informer_that_was_not_started_is_closed_at_once() {
    let informer = builder(&server_with(["a"])).build();
    let log = EventRecorder::new();
    let guard = informer.add_handler(log.clone());
    tokio::time::timeout(secs(1), guard.close()).await.unwrap();
    informer.start().unwrap();
    informer.synced().await.unwrap();
    settle().await;
    assert!(log.events().is_empty());
}
