//! Waiting for initial contents: of stores, of handlers, of all of them; and why they do not come.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informers_shared::{Error, Factory, InformerOptions};
use informers_testkit::{RequestMatch, SimulatedServer, Status, settle};

use crate::world::{informer, resource, server_with};

#[tokio::test(start_paused = true)]
async fn a20_a_handler_is_synced_when_it_has_returned_from_everything() {
    let server = server_with(["a", "b", "c", "d"]);
    let informer = informer(&server);
    let returned = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&returned);
    let guard = informer.for_each(move |_| {
        let counting = Arc::clone(&counting);
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            counting.fetch_add(1, Ordering::SeqCst);
        }
    });
    informer.start().unwrap();
    informer.synced().await.unwrap();
    assert!(returned.load(Ordering::SeqCst) < 4, "the store is synced before a slow handler");
    guard.synced().await.unwrap();
    assert_eq!(returned.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn a20_an_empty_collection_syncs() {
    let server = server_with([]);
    let informer = informer(&server);
    let guard = informer.on_event(|_| {});
    informer.start().unwrap();
    informer.synced().within(Duration::from_secs(1)).await.unwrap();
    guard.synced().within(Duration::from_secs(1)).await.unwrap();
    let late = informer.on_event(|_| {});
    late.synced().within(Duration::from_secs(1)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a20_a_stop_ends_every_wait() {
    let server = SimulatedServer::new();
    server.inject(
        RequestMatch::any(),
        informers_testkit::Fault::from(Status::new(503, "not yet")),
        usize::MAX,
    );
    let informer = informer(&server);
    let guard = informer.on_event(|_| {});
    informer.start().unwrap();
    let waits = [informer.synced(), guard.synced()].map(|wait| tokio::spawn(async { wait.await }));
    settle().await;
    informer.stop().await;
    for wait in waits {
        assert!(wait.await.unwrap().unwrap_err().is_stopped());
    }
    assert!(informer.synced().await.unwrap_err().is_stopped());
}

#[tokio::test(start_paused = true)]
async fn a_missed_deadline_says_what_stood_in_the_way() {
    let server = SimulatedServer::new();
    let denied =
        Status::new(403, "configmaps is forbidden: User \"bob\" cannot list resource \"configmaps\"");
    server.inject(RequestMatch::any(), informers_testkit::Fault::from(denied), usize::MAX);
    let informer = informer(&server);
    informer.start().unwrap();
    let error = informer.synced().within(Duration::from_secs(30)).await.unwrap_err();
    assert!(error.is_timeout());
    assert_eq!(
        error.to_string(),
        "informer config has not synced within 30s: not permitted to read the resource; it tries again"
    );
    let cause = std::error::Error::source(&error).expect("the server's answer").to_string();
    assert!(cause.contains("User \"bob\" cannot list"), "{cause}");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_what_nobody_started_is_an_error() {
    let server = server_with([]);
    let informer = informer(&server);
    let error = informer.synced().await.unwrap_err();
    assert!(matches!(error, Error::NotStarted { .. }), "{error}");
    assert_eq!(error.to_string(), "informer config was not started; call start() before waiting for it");
}

#[tokio::test(start_paused = true)]
async fn two_waiters_on_two_tasks_both_wake() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    informer.start().unwrap();
    let waits: Vec<_> =
        (0..2).map(|_| informer.synced()).map(|wait| tokio::spawn(async { wait.await })).collect();
    for wait in waits {
        wait.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a20_a_factory_waits_for_stores_and_handlers() {
    let server = server_with(["a", "b"]);
    let factory = Factory::new(server);
    let informer = factory.informer_for(&resource()).unwrap();
    let returned = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&returned);
    let _guard = informer.for_each(move |_| {
        let counting = Arc::clone(&counting);
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            counting.fetch_add(1, Ordering::SeqCst);
        }
    });
    factory.start().unwrap();
    factory.synced().await.unwrap();
    assert_eq!(returned.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_is_removed_while_a_factory_waits_is_passed_over() {
    let factory = Factory::new(server_with(["a"]));
    let informer = factory.informer_for(&resource()).unwrap();
    let guard = informer.on_event(|_| {});
    factory.start().unwrap();
    let (all, own) = (factory.synced(), guard.synced());
    drop(guard);
    all.await.unwrap();
    let error = own.await.unwrap_err();
    assert!(matches!(error, Error::HandlerRemoved { .. }) && !error.is_stopped(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_beyond_all_measure_is_none() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    informer.start().unwrap();
    informer.synced().within(Duration::MAX).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_informer_that_nobody_started_fails_the_wait_for_all_at_once() {
    let server = SimulatedServer::new();
    server.inject(
        RequestMatch::any(),
        informers_testkit::Fault::from(Status::new(503, "not yet")),
        usize::MAX,
    );
    let factory = Factory::new(server);
    let started = factory.informer_for(&resource()).unwrap();
    started.start().unwrap();
    let _forgotten: Vec<_> = ["x", "y"]
        .map(|name| factory.informer_for_with(&resource(), InformerOptions::new().variant(name)).unwrap())
        .into();
    let error = tokio::time::timeout(Duration::from_secs(3600), async { factory.synced().await }).await;
    assert!(matches!(error, Ok(Err(Error::NotStarted { .. }))), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_factory_that_misses_its_deadline_names_all_who_lag_behind() {
    let server = server_with(["a"]);
    server.inject(
        RequestMatch::any(),
        informers_testkit::Fault::from(Status::new(503, "not yet")),
        usize::MAX,
    );
    let factory = Factory::new(server);
    let variant = |name: &str| {
        let options = informers_shared::InformerOptions::new().variant(name);
        factory.informer_for_with(&resource(), options).unwrap()
    };
    let _informers = [variant("one"), variant("two"), variant("three")];
    factory.start().unwrap();
    let error = factory.synced().within(Duration::from_secs(5)).await.unwrap_err().to_string();
    for name in ["configmaps (one)", "configmaps (two)", "configmaps (three)"] {
        assert_eq!(error.matches(name).count(), 1, "{error}");
    }
    assert!(error.contains("; nor have configmaps ("), "{error}");
}
