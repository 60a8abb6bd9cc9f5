//! Start, stop, warm-up, transforms, indexes, relists, and what is left afterwards.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informers_core::{Deletion, Entry, Event, JsonDecoder, ObjectKey, Resource, Scope, Source, Transform};
use informers_shared::{BacklogPolicy, Error, InformerBuilder, QueueKind, ReflectorSettings, SharedInformer};
use informers_testkit::{EventRecorder, Fault, RequestMatch, SimulatedServer, Status, settle};
use serde_json::json;

use crate::world::{Config, builder, config_maps, delete, informer, put, resource, server_with, stored};

fn alive_tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[tokio::test(start_paused = true)]
async fn a_stopped_informer_leaves_no_task_and_reads_nothing() {
    let server = server_with(["a"]);
    settle().await;
    let tasks = alive_tasks();
    let informer = informer(&server);
    let _handler = informer.on_event(|_| {});
    let mut events = informer.subscribe();
    informer.start().unwrap();
    informer.synced().await.unwrap();
    informer.stop().await;
    settle().await;
    assert_eq!(alive_tasks(), tasks);
    let requests = server.requests().len();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(server.requests().len(), requests);
    assert!(informer.is_stopped() && informer.status().stopped);
    assert!(events.next().await.is_none());
    assert!(informer.start().unwrap_err().is_stopped());
    assert_eq!(stored(&informer), ["a=0"], "the store stays readable");
}

#[tokio::test(start_paused = true)]
async fn the_last_handle_to_go_stops_the_informer() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    let (guard, store) = (informer.on_event(|_| {}), informer.store().clone());
    informer.start().unwrap();
    informer.synced().await.unwrap();
    drop(informer);
    put(&server, "a", "1");
    settle().await;
    assert_eq!(store.get("ns/a").unwrap().data["value"], "1", "the guard keeps it running");
    let tasks = alive_tasks();
    drop(guard);
    settle().await;
    assert!(alive_tasks() < tasks);
}

#[tokio::test(start_paused = true)]
async fn a_stop_after_delivery_tells_everything_that_is_stored() {
    let server = server_with(["a", "b", "c"]);
    let informer = informer(&server);
    let log = EventRecorder::new();
    let recording = log.clone();
    let _guard = informer.for_each(move |event| {
        let recording = recording.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            recording.record(event);
        }
    });
    informer.start().unwrap();
    informer.synced().await.unwrap();
    put(&server, "a", "1");
    settle().await;
    informer.stop_after_delivery().await;
    let told: BTreeMap<_, _> =
        log.replay().unwrap().into_iter().map(|(key, entry)| (key, entry.version().clone())).collect();
    let stored: BTreeMap<_, _> = informer
        .store()
        .list()
        .into_iter()
        .map(|entry| (entry.key().clone(), entry.version().clone()))
        .collect();
    assert_eq!(told, stored);
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_never_started_stops_too() {
    let server = server_with([]);
    let informer = informer(&server);
    let guard = informer.on_event(|_| {});
    informer.stop().await;
    guard.close().await;
    assert!(informer.start().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_handler_of_a_stopped_informer_is_told_so() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    informer.start().unwrap();
    informer.stop().await;
    let guard = informer.on_event(|_| {});
    assert!(guard.synced().await.unwrap_err().is_stopped());
    guard.close().await;
    assert!(informer.subscribe().next().await.is_none());
}

#[test]
fn a_start_outside_a_runtime_is_an_error() {
    let server = server_with([]);
    let error = informer(&server).start().unwrap_err();
    assert!(matches!(error, Error::NoRuntime { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_was_put_in_before_the_start_is_told_and_then_removed_by_the_first_list() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    let log = EventRecorder::new();
    let _guard = informer.handler().backlog(BacklogPolicy::InOrder).add(log.clone());
    {
        let mut writer = informer.warm_up().unwrap();
        writer.insert(Entry::keyed(ObjectKey::new("default", "mypod"), Config { data: BTreeMap::new() }));
        assert!(matches!(informer.start(), Err(Error::WarmingUp { .. })));
        assert!(matches!(informer.warm_up(), Err(Error::WarmingUp { .. })));
    }
    informer.start().unwrap();
    informer.synced().await.unwrap();
    settle().await;
    let events = log.events();
    assert!(
        matches!(&events[0], Event::Added { object, initial: true } if object.key() == "default/mypod"),
        "{events:?}"
    );
    assert!(
        matches!(&events[1], Event::Deleted { last, how: Deletion::Inferred } if last.key() == "default/mypod")
    );
    assert_eq!(stored(&informer), ["a=0"]);
    assert!(matches!(informer.warm_up(), Err(Error::AlreadyStarted { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_transform_runs_once_for_each_version_of_an_object() {
    let server = server_with(["a"]);
    let runs = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&runs);
    let transform = Transform::new(move |config: &mut Config| {
        counting.fetch_add(1, Ordering::SeqCst);
        config.data.insert("seen".to_owned(), "yes".to_owned());
        Ok::<_, std::convert::Infallible>(())
    });
    let informer = builder(&server).transform(transform).build();
    informer.start().unwrap();
    informer.synced().await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    put(&server, "a", "1");
    settle().await;
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    // The server forgets, so everything is listed anew; what did not change is not transformed again.
    server.compact();
    server.close_watches();
    put(&server, "b", "0");
    server.compact();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(stored(&informer), ["a=1", "b=0"]);
    assert_eq!(runs.load(Ordering::SeqCst), 3);
    assert!(informer.store().list().iter().all(|entry| entry.data["seen"] == "yes"));
}

#[tokio::test(start_paused = true)]
async fn a_transform_is_set_once_and_before_the_start() {
    let server = server_with([]);
    let informer = informer(&server);
    let nothing = || Transform::new(|_: &mut Config| Ok::<_, std::convert::Infallible>(()));
    informer.set_transform(nothing()).unwrap();
    let error = informer.set_transform(nothing()).unwrap_err().to_string();
    assert_eq!(error.matches("life.rs:").count(), 2, "both places are named: {error}");
    informer.start().unwrap();
    assert!(matches!(informer.set_transform(nothing()), Err(Error::AlreadyStarted { .. })));
}

#[tokio::test(start_paused = true)]
async fn an_index_may_be_added_at_any_time_and_is_right_at_once() {
    let server = server_with(["a", "b"]);
    let informer = informer(&server);
    let value = |entry: &Entry<Config>| entry.data.get("value").cloned();
    let early = informer.index(value);
    informer.start().unwrap();
    informer.synced().await.unwrap();
    put(&server, "b", "1");
    settle().await;
    let late = informer.named_index("value", value).unwrap();
    for index in [&early, &late] {
        assert_eq!(index.keys("0"), [ObjectKey::new("ns", "a")]);
    }
    late.filled().await.unwrap();
    delete(&server, "a");
    settle().await;
    for index in [&early, &late] {
        assert!(index.keys("0").is_empty());
        assert_eq!(index.keys("1"), [ObjectKey::new("ns", "b")]);
    }
    assert!(matches!(informer.named_index("value", value), Err(Error::Index { .. })));
}

#[tokio::test(start_paused = true)]
async fn an_index_function_that_panics_costs_one_object_its_place_in_the_index() {
    let server = server_with(["a", "b"]);
    let informer = informer(&server);
    let index = informer.index(|entry| {
        assert_ne!(entry.key().name(), "b", "as told by the test");
        Some(1)
    });
    informer.start().unwrap();
    informer.synced().await.unwrap();
    assert_eq!(index.keys(&1), [ObjectKey::new("ns", "a")]);
    assert_eq!(stored(&informer), ["a=0", "b=0"]);
}

#[tokio::test(start_paused = true)]
async fn a_value_of_an_index_that_panics_stops_no_informer() {
    #[derive(Clone, PartialEq, Eq)]
    struct Name(String);
    impl std::hash::Hash for Name {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            assert_ne!(self.0, "b", "as told by the test");
            self.0.hash(state);
        }
    }
    let server = server_with(["a", "b"]);
    let informer = informer(&server);
    let index = informer.index(|entry| Some(Name(entry.key().name().to_owned())));
    informer.start().unwrap();
    informer.synced().await.unwrap();
    put(&server, "b", "1");
    put(&server, "c", "0");
    settle().await;
    assert_eq!(stored(&informer), ["a=0", "b=1", "c=0"]);
    assert_eq!(index.count(&Name("a".to_owned())) + index.count(&Name("c".to_owned())), 2);
}

#[tokio::test(start_paused = true)]
async fn a_relist_after_an_expired_version_tells_what_happened_meanwhile() {
    let server = server_with(["changed", "gone", "recreated", "same"]);
    let informer = informer(&server);
    let log = EventRecorder::new();
    let _guard = informer.handler().backlog(BacklogPolicy::InOrder).add(log.clone());
    informer.start().unwrap();
    informer.synced().await.unwrap();
    settle().await;
    let _first_contents = log.take();
    server.close_watches();
    put(&server, "changed", "1");
    delete(&server, "gone");
    delete(&server, "recreated");
    put(&server, "recreated", "2");
    put(&server, "new", "0");
    server.compact();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let told: Vec<_> = log
        .events()
        .iter()
        .map(|event| match event {
            Event::Added { object, initial } => format!("+{} {initial}", object.key().name()),
            Event::Updated { new, .. } => format!("~{}", new.key().name()),
            Event::Deleted { last, how } => format!("-{} {how:?}", last.key().name()),
        })
        .collect();
    let mut sorted = told.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        ["+new false", "+recreated false", "-gone Inferred", "-recreated Inferred", "~changed"]
    );
    let place = |what: &str| told.iter().position(|line| line == what).unwrap();
    assert!(place("-recreated Inferred") < place("+recreated false"));
    assert_eq!(stored(&informer), ["changed=1", "new=0", "recreated=2", "same=0"]);
}

/// A type that does not know every value there is.
#[derive(Clone, Debug, serde::Deserialize)]
struct Painted {
    data: Paint,
}

#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
struct Paint {
    value: Colour,
}

#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Green,
}

#[tokio::test(start_paused = true)]
async fn a11_one_bad_object_costs_only_itself() {
    let server = SimulatedServer::new();
    for (name, colour) in [("good", "red"), ("never-good", "infrared"), ("spoiled", "green")] {
        put(&server, name, colour);
    }
    let resource: Resource<Painted> = Resource::new(config_maps(), JsonDecoder::new());
    let informer = SharedInformer::builder(server.list_watch(&resource, &Scope::all()).unwrap()).build();
    let log = EventRecorder::new();
    let _guard = informer.handler().backlog(BacklogPolicy::InOrder).add(log.clone());
    informer.start().unwrap();
    informer.synced().await.unwrap();
    let bad = || {
        informer
            .undecodable()
            .iter()
            .map(|object| object.key().unwrap().name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!((informer.store().len(), bad()), (2, vec!["never-good".to_owned()]));
    assert_eq!(informer.undecodable()[0].error().path(), Some("data.value"));

    put(&server, "spoiled", "ultraviolet");
    put(&server, "good", "green");
    settle().await;
    assert_eq!(informer.get("ns/good").unwrap().data.value, Colour::Green, "others go on");
    assert_eq!(informer.get("ns/spoiled").unwrap().data.value, Colour::Green, "the good copy stays");
    assert_eq!(bad(), ["never-good", "spoiled"], "and is known to be stale");

    put(&server, "spoiled", "red");
    delete(&server, "never-good");
    settle().await;
    assert!(bad().is_empty());
    let told: Vec<_> = log.events().iter().map(|event| event.key().name().to_owned()).collect();
    assert!(
        !told.contains(&"never-good".to_owned()),
        "nobody hears the deletion of what he never saw: {told:?}"
    );
    assert_eq!(log.replay().unwrap()["ns/spoiled"].data.value, Colour::Red, "the repair is an update");
}

#[tokio::test(start_paused = true)]
async fn a_bad_object_that_went_is_forgotten_behind_every_queue() {
    for queue in [QueueKind::InOrder, QueueKind::PlainInOrder, QueueKind::DeltaFifo] {
        let server = SimulatedServer::new();
        put(&server, "never-good", "infrared");
        put(&server, "also-bad", "ultraviolet");
        put(&server, "good", "red");
        let resource: Resource<Painted> = Resource::new(config_maps(), JsonDecoder::new());
        let collection = server.list_watch(&resource, &Scope::all()).unwrap();
        let informer = SharedInformer::builder(collection).queue(queue).build();
        informer.start().unwrap();
        informer.synced().await.unwrap();
        settle().await;
        assert_eq!(informer.undecodable().len(), 2, "{queue:?}");

        delete(&server, "also-bad");
        settle().await;
        assert_eq!(informer.undecodable().len(), 1, "{queue:?}: {:?}", informer.undecodable());

        // Nothing runs between these: no watch tells of the deletion, and the next list lacks the object.
        server.close_watches();
        delete(&server, "never-good");
        put(&server, "good", "green");
        server.compact();
        put(&server, "good", "red");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(informer.undecodable().is_empty(), "{queue:?}: {:?}", informer.undecodable());
        assert_eq!(informer.store().len(), 1, "{queue:?}");
        informer.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a30_several_namespaces_make_one_view() {
    let server = SimulatedServer::new();
    let create = |namespace: &str, name: &str| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}});
        server.create(object).unwrap();
    };
    create("a", "x");
    create("b", "x");
    create("c", "x");
    let part = |namespace: &str| {
        let scope = Scope::namespace(namespace);
        let collection = server.list_watch(&resource(), &scope).unwrap();
        (scope, collection)
    };
    let informer = InformerBuilder::of_scopes(vec![part("a"), part("b")]).build();
    let log = EventRecorder::new();
    let _guard = informer.add_handler(log.clone());
    informer.start().unwrap();
    informer.synced().await.unwrap();
    create("a", "y");
    create("c", "y");
    settle().await;
    let mut keys: Vec<_> = informer.store().keys().iter().map(ToString::to_string).collect();
    keys.sort();
    assert_eq!(keys, ["a/x", "a/y", "b/x"]);
    assert_eq!(log.replay().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a30_a_namespace_that_does_not_answer_holds_up_no_resync_and_no_version() {
    for silent in ["a", "b", "c"] {
        let server = SimulatedServer::new();
        let part = |namespace: &str| {
            let scope = Scope::namespace(namespace);
            (scope.clone(), server.list_watch(&resource(), &scope).unwrap())
        };
        for namespace in ["a", "b", "c"] {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": "x"}});
            server.create(object).unwrap();
        }
        let day = Fault::Delay(Duration::from_secs(24 * 3600));
        server.inject(RequestMatch::any().with_namespace(silent), day, usize::MAX);
        let informer = InformerBuilder::of_scopes(vec![part("a"), part("b"), part("c")])
            .resync(Duration::from_secs(10))
            .build();
        let resyncs = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&resyncs);
        let _guard = informer.on_event(move |event| {
            counting.fetch_add(usize::from(event.is_resync()), Ordering::SeqCst);
        });
        informer.start().unwrap();
        tokio::time::sleep(Duration::from_secs(35)).await;
        let status = informer.status();
        assert!(status.objects == 2 && !status.synced, "{status}");
        assert_eq!(resyncs.load(Ordering::SeqCst), 3 * 2, "once for each turn, though three keep the time");
        assert!(status.version.is_empty(), "{status}");
        let line = status.to_string();
        assert!(
            line.contains(&format!("; watching 2 of 3 scopes; namespace {silent}: reading the list")),
            "{line}"
        );
        informer.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_server_refuses_reaches_the_watch_error_handler() {
    let server = server_with(["a"]);
    let denied = Status::new(403, "access denied");
    server.inject(RequestMatch::any(), denied, usize::MAX);
    let told = Arc::new(Mutex::new(Vec::new()));
    let hearing = Arc::clone(&told);
    let settings = ReflectorSettings::new()
        .watch_error_handler(move |error| hearing.lock().unwrap().push((error.code(), error.to_string())));
    let informer = builder(&server).reflector(settings).build();
    informer.start().unwrap();
    settle().await;
    let told = told.lock().unwrap().clone();
    assert!(matches!(&told[..], [(Some(403), text)] if text.contains("access denied")), "{told:?}");
}
