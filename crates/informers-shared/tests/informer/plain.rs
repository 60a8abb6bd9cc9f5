//! The plain informer and its configuration.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informers_core::{Deletion, Entry, Event, ObjectKey, Transform};
use informers_delta_fifo::Outcome;
use informers_shared::{PlainInformer, QueueKind};
use informers_store::Write;
use informers_testkit::{EventRecorder, settle};
use tokio_util::sync::CancellationToken;

use crate::world::{Config, collection, delete, put, server_with};

#[tokio::test(start_paused = true)]
async fn both_queues_keep_the_store_and_call_the_handler() {
    for queue in [QueueKind::InOrder, QueueKind::DeltaFifo] {
        let server = server_with(["a", "b"]);
        let log = EventRecorder::new();
        let mut informer =
            PlainInformer::builder(collection(&server)).queue(queue).handler(log.clone()).build();
        let index = informer.index(Some("value"), |entry| entry.data.get("value").cloned()).unwrap();
        let (store, synced, stop) = (informer.store().clone(), informer.synced(), CancellationToken::new());
        let running = tokio::spawn(informer.run(stop.clone()));
        synced.await.unwrap();
        put(&server, "a", "1");
        delete(&server, "b");
        settle().await;
        assert_eq!(store.len(), 1, "{queue:?}");
        assert_eq!(index.keys("1"), [ObjectKey::new("ns", "a")]);
        assert_eq!(log.replay().unwrap().len(), 1);
        stop.cancel();
        running.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_put_in_before_the_start_is_removed_by_the_first_list() {
    let server = server_with(["a"]);
    let log = EventRecorder::new();
    let mut informer = PlainInformer::builder(collection(&server)).handler(log.clone()).build();
    informer
        .writer()
        .insert(Entry::keyed(ObjectKey::new("default", "mypod"), Config { data: BTreeMap::new() }));
    let (store, synced, stop) = (informer.store().clone(), informer.synced(), CancellationToken::new());
    let running = tokio::spawn(informer.run(stop.clone()));
    synced.await.unwrap();
    assert!(!store.contains("default/mypod") && store.contains("ns/a"));
    let deleted = |event: &Event<Config>| matches!(event, Event::Deleted { last, how: Deletion::Inferred } if last.key() == "default/mypod");
    assert!(log.events().iter().any(deleted), "{:?}", log.events());
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_process_function_of_ones_own_is_retried_if_wanted() {
    for retry in [true, false] {
        let server = server_with([]);
        let (calls, keys) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (counting, recording) = (Arc::clone(&calls), Arc::clone(&keys));
        let informer = PlainInformer::builder(collection(&server))
            .queue(QueueKind::DeltaFifo)
            .retry_on_error(retry)
            .process(move |writer, deltas, _| {
                if counting.fetch_add(1, Ordering::SeqCst) < 2 {
                    return Err("not yet".into());
                }
                for entry in deltas.iter().filter_map(|delta| delta.entry()) {
                    recording.lock().unwrap().push(entry.key().to_string());
                    writer.apply(vec![Write::Insert(entry.clone())]);
                }
                Ok(Outcome::Done)
            })
            .build();
        let (store, stop) = (informer.store().clone(), CancellationToken::new());
        let running = tokio::spawn(informer.run(stop.clone()));
        settle().await;
        put(&server, "a", "0");
        settle().await;
        assert_eq!(store.contains("ns/a"), retry);
        assert_eq!(calls.load(Ordering::SeqCst), if retry { 3 } else { 1 });
        stop.cancel();
        running.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_resync_shows_everything_again_unless_told_not_to() {
    for (answer, expected) in [(true, 3), (false, 0)] {
        let server = server_with(["a"]);
        let shown = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&shown);
        let informer = PlainInformer::builder(collection(&server))
            .full_resync_period(Duration::from_secs(10))
            .should_resync(move || answer)
            .on_event(move |event| {
                counting.fetch_add(usize::from(event.is_resync()), Ordering::SeqCst);
            })
            .build();
        let stop = CancellationToken::new();
        let running = tokio::spawn(informer.run(stop.clone()));
        tokio::time::sleep(Duration::from_secs(35)).await;
        assert_eq!(shown.load(Ordering::SeqCst), expected);
        stop.cancel();
        running.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn failures_reach_the_watch_error_handler() {
    let server = server_with([]);
    server.fail_next(informers_testkit::RequestMatch::any(), 500);
    let errors = Arc::new(Mutex::new(Vec::new()));
    let recording = Arc::clone(&errors);
    let informer = PlainInformer::builder(collection(&server))
        .reflector(informers_shared::ReflectorSettings::new().streaming_list(false))
        .watch_error_handler(move |error| recording.lock().unwrap().push(error.code()))
        .watch_list_page_size(2)
        .build();
    let (synced, stop) = (informer.synced(), CancellationToken::new());
    let running = tokio::spawn(informer.run(stop.clone()));
    synced.await.unwrap();
    assert_eq!(*errors.lock().unwrap(), [Some(500)]);
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_handler_reaches_who_runs_the_informer() {
    let informer = PlainInformer::builder(collection(&server_with(["a"])))
        .on_event(|_| panic!("as told by the test"))
        .build();
    let outcome = tokio::spawn(informer.run(CancellationToken::new())).await;
    assert!(outcome.unwrap_err().is_panic());
}

#[tokio::test(start_paused = true)]
async fn a_transform_comes_before_store_and_handler_and_not_again_at_resyncs() {
    for queue in [QueueKind::InOrder, QueueKind::PlainInOrder, QueueKind::DeltaFifo] {
        let server = server_with(["a", "b"]);
        let transform = Transform::new(|config: &mut Config| {
            let done = config.data.insert("transformed".to_owned(), "yes".to_owned());
            assert_eq!(done, None, "it was transformed before");
            Ok::<_, std::convert::Infallible>(())
        });
        let log = EventRecorder::new();
        let informer = PlainInformer::builder(collection(&server))
            .queue(queue)
            .transform(transform)
            .full_resync_period(Duration::from_secs(5))
            .handler(log.clone())
            .build();
        let (store, stop) = (informer.store().clone(), CancellationToken::new());
        let running = tokio::spawn(informer.run(stop.clone()));
        settle().await;
        put(&server, "a", "1");
        delete(&server, "b");
        tokio::time::sleep(Duration::from_secs(12)).await;
        assert!(log.events().iter().filter(|event| event.is_resync()).count() >= 2, "{queue:?}");
        assert!(log.events().iter().all(|event| event.entry().data["transformed"] == "yes"), "{queue:?}");
        assert_eq!(store.get("ns/a").unwrap().data["transformed"], "yes");
        stop.cancel();
        running.await.unwrap();
    }
}
