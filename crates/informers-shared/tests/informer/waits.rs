//! Everything that can be awaited: two tasks may wait for the same, and a wait that is dropped, at whichever of its await
//! points, loses nothing.

use std::future::{Future, IntoFuture, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use informers_core::Event;
use informers_shared::{Factory, HandlerGuard, PlainInformer, SharedInformer, SyncWait};
use informers_testkit::{EventRecorder, SimulatedServer, settle};
use tokio_util::sync::CancellationToken;

use crate::world::{Config, collection, informer, put, resource, server_with};

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Polls `future` that often, with everybody else running in between, and drops it. Gives whether it was through.
async fn abandoned_after<F: Future>(polls: usize, future: F) -> bool {
    let mut future = pin!(future);
    for _ in 0..polls {
        if poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await {
            return true;
        }
        settle().await;
    }
    false
}

/// A handler that takes a second for each event.
fn slow(informer: &SharedInformer<Config>) -> (HandlerGuard<Config>, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&calls);
    let guard = informer.for_each(move |_| {
        let counting = Arc::clone(&counting);
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            counting.fetch_add(1, Ordering::SeqCst);
        }
    });
    (guard, calls)
}

fn synced(wait: SyncWait) -> Wait {
    Box::pin(async move { wait.await.unwrap() })
}

/// Lets two tasks wait, does `then`, and wants to see both through.
async fn both(waits: [Wait; 2], then: impl FnOnce()) {
    let tasks = waits.map(|wait| tokio::spawn(wait));
    settle().await;
    assert!(tasks.iter().all(|task| !task.is_finished()), "there is something to wait for");
    then();
    for task in tasks {
        tokio::time::timeout(Duration::from_secs(60), task).await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn two_tasks_wait_for_the_same_contents() {
    let server = server_with(["a", "b"]);
    let factory = Factory::new(server);
    let informer = factory.informer_for(&resource()).unwrap();
    let (guard, _) = slow(&informer);
    let mut events = informer.subscribe();
    // A wait before the start would be an error; the server is asked when somebody lets the tasks run.
    informer.start().unwrap();
    let waits = [&informer, &informer].map(|informer| synced(informer.synced()));
    let stores = waits.map(|wait| tokio::spawn(wait));
    both([guard.synced(), guard.synced()].map(synced), || ()).await;
    for store in stores {
        store.await.unwrap();
    }
    both([events.synced(), events.synced()].map(synced), || {
        tokio::spawn(async move { while events.next().await.is_some() {} });
    })
    .await;
    let (late, _) = slow(&informer);
    both([factory.synced(), factory.synced()].map(synced), || ()).await;
    late.synced().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn two_tasks_wait_for_the_same_end() {
    type End = fn(SharedInformer<Config>) -> Wait;
    let ends: [End; 2] = [
        |informer| Box::pin(async move { informer.stop().await }),
        |informer| Box::pin(async move { informer.stop_after_delivery().await }),
    ];
    for end in ends {
        let informer = informer(&server_with(["a", "b"]));
        let (_guard, calls) = slow(&informer);
        informer.start().unwrap();
        informer.synced().await.unwrap();
        settle().await;
        both([end(informer.clone()), end(informer.clone())], || ()).await;
        assert!(informer.is_stopped() && calls.load(Ordering::SeqCst) > 0);
    }

    let factory = Factory::new(server_with(["a"]));
    let informer = factory.informer_for(&resource()).unwrap();
    let (_guard, _) = slow(&informer);
    factory.start().unwrap();
    informer.synced().await.unwrap();
    settle().await;
    let shutdown =
        |factory: Factory<SimulatedServer>| -> Wait { Box::pin(async move { factory.shutdown().await }) };
    both([shutdown(factory.clone()), shutdown(factory.clone())], || ()).await;
    assert!(informer.is_stopped());
}

#[tokio::test(start_paused = true)]
async fn two_tasks_wait_for_a_plain_informer() {
    let informer = PlainInformer::builder(collection(&server_with(["a"]))).build();
    let waits = [informer.synced(), informer.synced()];
    let waits = waits.map(|synced| -> Wait { Box::pin(async move { synced.await.unwrap() }) });
    let stop = CancellationToken::new();
    both(waits, || {
        tokio::spawn(informer.run(stop.clone()));
    })
    .await;
    stop.cancel();
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_sync_that_is_dropped_disturbs_no_other() {
    for polls in 0..4 {
        let factory = Factory::new(server_with(["a", "b"]));
        let informer = factory.informer_for(&resource()).unwrap();
        let (guard, calls) = slow(&informer);
        factory.start().unwrap();
        let patient = [
            tokio::spawn(informer.synced().into_future()),
            tokio::spawn(guard.synced().into_future()),
            tokio::spawn(factory.synced().into_future()),
        ];
        for wait in
            [informer.synced(), guard.synced(), factory.synced(), guard.synced().within(Duration::MAX)]
        {
            abandoned_after(polls, wait.into_future()).await;
        }
        assert!(
            patient.iter().any(|task| !task.is_finished()),
            "some were dropped while there was something to wait for"
        );
        for task in patient {
            tokio::time::timeout(Duration::from_secs(60), task).await.unwrap().unwrap().unwrap();
        }
        assert_eq!(calls.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_was_polled_once_happens() {
    type End = fn(&SharedInformer<Config>) -> Pin<Box<dyn Future<Output = ()> + '_>>;
    let ends: [End; 2] =
        [|informer| Box::pin(informer.stop()), |informer| Box::pin(informer.stop_after_delivery())];
    for end in ends {
        for polls in 0..4 {
            let informer = informer(&server_with(["a", "b"]));
            let (_guard, calls) = slow(&informer);
            informer.start().unwrap();
            informer.synced().await.unwrap();
            settle().await;
            abandoned_after(polls, end(&informer)).await;
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert_eq!(informer.is_stopped(), polls > 0);
            assert!(calls.load(Ordering::SeqCst) >= 1, "the running call ends by itself");
        }
    }
    for polls in 0..4 {
        let factory = Factory::new(server_with(["a"]));
        let informer = factory.informer_for(&resource()).unwrap();
        let (_guard, _) = slow(&informer);
        factory.start().unwrap();
        settle().await;
        abandoned_after(polls, factory.shutdown()).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(informer.is_stopped(), polls > 0);
        assert_eq!(factory.informer_for(&resource()).is_err(), polls > 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_close_that_is_dropped_removes_the_handler_all_the_same() {
    for polls in 0..4 {
        let server = server_with(["a", "b", "c"]);
        let informer = informer(&server);
        let (guard, calls) = slow(&informer);
        informer.start().unwrap();
        informer.synced().await.unwrap();
        settle().await;
        abandoned_after(polls, guard.close()).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(calls.load(Ordering::SeqCst), 1, "the running call ended, no other began");
        assert!(informer.status().handlers.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_next_that_is_dropped_at_any_await_point_loses_no_event() {
    for polls in 0..4 {
        let server = server_with(["a"]);
        let informer = informer(&server);
        let mut events = informer.subscribe();
        informer.start().unwrap();
        informer.synced().await.unwrap();
        let first = events.next().await.unwrap();
        assert!(matches!(first, Event::Added { initial: true, .. }));
        // It waits, and is dropped before or after it was woken, but before it took anything.
        {
            let mut next = pin!(events.next());
            for _ in 0..polls {
                assert!(poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx).is_pending())).await);
            }
            put(&server, "a", "1");
            settle().await;
        }
        let event = tokio::time::timeout(Duration::from_secs(1), events.next()).await.unwrap().unwrap();
        assert!(matches!(event, Event::Updated { new, .. } if new.data["value"] == "1"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_stops_at_once_and_leaves_the_store() {
    for polls in [0, 1, 3, 50] {
        let server = server_with(["a"]);
        let log = EventRecorder::new();
        let informer = PlainInformer::builder(collection(&server)).handler(log.clone()).build();
        let (store, synced) = (informer.store().clone(), informer.synced());
        assert!(!abandoned_after(polls, informer.run(CancellationToken::new())).await);
        let requests = server.requests().len();
        put(&server, "b", "0");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!((server.requests().len(), log.events().len()), (requests, store.len()));
        assert_eq!(synced.await.is_ok(), store.len() == 1, "whoever waits learns what came of it");
    }
}
