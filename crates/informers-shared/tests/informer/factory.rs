//! One informer per key, and its life.

use std::time::Duration;

use informers_core::{JsonDecoder, Resource, ResourceScope, ResourceType, Scope, Source};
use informers_shared::{Error, Factory, InformerBuilder, InformerOptions};
use informers_testkit::settle;

use crate::world::{Config, put, resource, server_with};

#[tokio::test(start_paused = true)]
async fn one_watch_serves_all_who_ask_for_the_same() {
    let factory = Factory::new(server_with(["a"]));
    let first = factory.informer_for(&resource()).unwrap();
    let second = factory.informer_for(&resource()).unwrap();
    factory.start().unwrap();
    factory.start().unwrap();
    factory.synced().await.unwrap();
    assert_eq!(factory.source().requests().len(), 1);
    put(factory.source(), "a", "1");
    settle().await;
    for informer in [first, second] {
        assert_eq!(informer.get("ns/a").unwrap().data["value"], "1");
    }
}

#[tokio::test(start_paused = true)]
async fn scope_representation_and_variant_tell_informers_apart() {
    #[derive(serde::Deserialize)]
    struct Other {}
    let factory = Factory::new(server_with(["a"]));
    let other: Resource<Other> = Resource::new(resource().resource_type().clone(), JsonDecoder::new());
    let selected = InformerOptions::new().scope(Scope::all().with_labels("app=x".parse().unwrap()));
    let _all = factory.informer_for(&resource()).unwrap();
    let _other = factory.informer_for(&other).unwrap();
    let _namespace =
        factory.informer_for_with(&resource(), InformerOptions::new().scope(Scope::namespace("ns"))).unwrap();
    let _selected = factory.informer_for_with(&resource(), selected).unwrap();
    let _variant = factory.informer_for_with(&resource(), InformerOptions::new().variant("slim")).unwrap();
    assert_eq!(
        factory.informers(),
        [
            "configmaps",
            "configmaps",
            "configmaps (slim)",
            "configmaps in all namespaces, labels app=x",
            "configmaps in namespace ns",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn another_resync_period_is_an_error_that_names_both_places() {
    let factory = Factory::new(server_with([]));
    let every = |seconds| InformerOptions::new().resync(Duration::from_secs(seconds));
    let _first = factory.informer_for_with(&resource(), every(10)).unwrap();
    let _same = factory.informer_for_with(&resource(), every(10)).unwrap();
    let _silent = factory.informer_for(&resource()).unwrap();
    let error = factory.informer_for_with(&resource(), every(20)).unwrap_err();
    assert!(matches!(error, Error::SetTwice { .. }));
    assert_eq!(error.to_string().matches("factory.rs:").count(), 2, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a29_who_releases_the_last_handle_stops_it_and_who_asks_again_gets_a_fresh_one() {
    let factory = Factory::new(server_with(["a"]));
    let (first, second) =
        (factory.informer_for(&resource()).unwrap(), factory.informer_for(&resource()).unwrap());
    factory.start().unwrap();
    factory.synced().await.unwrap();
    drop(first);
    put(factory.source(), "a", "1");
    settle().await;
    assert_eq!(second.get("ns/a").unwrap().data["value"], "1", "one holder is left");
    settle().await;
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    drop(second);
    settle().await;
    assert!(tokio::runtime::Handle::current().metrics().num_alive_tasks() < tasks);
    assert!(factory.informers().is_empty());
    let requests = factory.source().requests().len();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(factory.source().requests().len(), requests, "nobody asks the server any more");

    let fresh = factory.informer_for(&resource()).unwrap();
    factory.start().unwrap();
    fresh.synced().await.unwrap();
    assert_eq!(fresh.get("ns/a").unwrap().data["value"], "1");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_informer_is_replaced_by_a_fresh_one() {
    let factory = Factory::new(server_with(["a"]));
    let old = factory.informer_for(&resource()).unwrap();
    factory.start().unwrap();
    old.stop().await;
    let fresh = factory.informer_for(&resource()).unwrap();
    factory.start().unwrap();
    fresh.synced().await.unwrap();
    assert!(old.is_stopped() && !fresh.is_stopped());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_leaves_no_task_and_makes_no_informers() {
    let factory = Factory::new(server_with(["a"]));
    settle().await;
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let informer = factory.informer_for(&resource()).unwrap();
    let _guard = informer.on_event(|_| {});
    factory.start().unwrap();
    factory.synced().await.unwrap();
    factory.shutdown().await;
    settle().await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), tasks);
    assert!(informer.is_stopped());
    assert!(matches!(factory.informer_for(&resource()), Err(Error::FactoryShutDown)));
    assert!(matches!(factory.start(), Err(Error::FactoryShutDown)));
}

#[tokio::test(start_paused = true)]
async fn a_period_for_one_resource_overrides_the_default() {
    let nodes: Resource<Config> = Resource::new(
        ResourceType::new("", "v1", "Node", "nodes", ResourceScope::Cluster),
        JsonDecoder::new(),
    );
    let factory = Factory::builder(server_with(["a"]))
        .resync(Duration::from_secs(60))
        .resync_of(nodes.resource_type().clone(), Duration::from_secs(5))
        .build();
    let guards = [
        factory.informer_for(&nodes).unwrap().on_event(|_| {}),
        factory.informer_for(&resource()).unwrap().on_event(|_| {}),
    ];
    assert_eq!(guards.map(|guard| guard.resync().unwrap().as_secs()), [5, 60]);
}

#[tokio::test(start_paused = true)]
async fn a_resync_period_that_an_informer_does_not_have_is_never_promised_in_silence() {
    let factory = Factory::new(server_with([]));
    let _without = factory.informer_for(&resource()).unwrap();
    let every = |seconds| InformerOptions::new().resync(Duration::from_secs(seconds));
    let error = factory.informer_for_with(&resource(), every(10)).unwrap_err();
    assert!(matches!(error, Error::SetTwice { .. }), "{error}");
    assert_eq!(error.to_string().matches("factory.rs:").count(), 2, "{error}");
    let _as_it_is = factory.informer_for_with(&resource(), every(0)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn scopes_that_would_delete_each_others_objects_are_refused() {
    let factory = Factory::new(server_with(["a"]));
    let labelled = |scope: Scope, app: &str| scope.with_labels(format!("app={app}").parse().unwrap());
    for scopes in [
        [labelled(Scope::namespace("ns"), "x"), labelled(Scope::namespace("ns"), "y")],
        [labelled(Scope::all(), "x"), labelled(Scope::all(), "y")],
        [labelled(Scope::all(), "x"), Scope::namespace("ns")],
    ] {
        let error = factory
            .informer_for_with(&resource(), InformerOptions::new().scopes(scopes.clone()))
            .unwrap_err();
        assert!(matches!(error, Error::OverlappingScopes { .. }), "{error}");
        assert!(error.to_string().contains("labels app=x"), "{error}");

        let parts = scopes.map(|scope| {
            let collection = factory.source().list_watch(&resource(), &scope).unwrap();
            (scope, collection)
        });
        let error = InformerBuilder::of_scopes(parts.into()).build().start().unwrap_err();
        assert!(matches!(error, Error::OverlappingScopes { .. }), "{error}");
    }
    let two = [labelled(Scope::namespace("a"), "x"), labelled(Scope::namespace("b"), "x")];
    let _fine = factory.informer_for_with(&resource(), InformerOptions::new().scopes(two)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_informer_of_no_namespace_at_all_is_an_error() {
    let factory = Factory::builder(server_with(["a"])).namespaces(Vec::<String>::new()).build();
    let error = factory.informer_for(&resource()).unwrap_err();
    assert!(matches!(error, Error::NoScope { .. }), "{error}");
}
