//! The main job over a `kube::Client`.

use std::collections::BTreeMap;
use std::time::Duration;

use informers_core::{ResourceType, ResourceVersion};
use informers_kube::{KubeSource, kube_client, resource, resource_type};
use informers_shared::{Factory, SharedInformer};
use informers_testkit::{ApiServer, RequestRecord, Verb, eventually};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

/// An informer waits up to a second before it tries again.
const PATIENCE: Duration = Duration::from_secs(30);

fn map(name: &str, color: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"color": color},
    })
}

/// Version by key, of the server and of the informer.
fn on_server(server: &ApiServer, maps: &ResourceType) -> BTreeMap<String, ResourceVersion> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let meta = |object: &Value| {
        let meta = &object["metadata"];
        (
            format!("{}/{}", text(&meta["namespace"]), text(&meta["name"])),
            text(&meta["resourceVersion"]).into(),
        )
    };
    server.list(maps, None).iter().map(meta).collect()
}

fn in_store(informer: &SharedInformer<ConfigMap>) -> BTreeMap<String, ResourceVersion> {
    informer.store().list().iter().map(|entry| (entry.key().to_string(), entry.version().clone())).collect()
}

#[tokio::test]
async fn a_shared_informer_over_a_kube_client_equals_the_server() {
    let server = ApiServer::start().await.unwrap();
    let maps = resource_type::<ConfigMap>();
    for number in 0..20 {
        server.create(map(&format!("m-{number}"), "red")).unwrap();
    }
    let mut config = kube_client::Config::new(server.url().parse().unwrap());
    config.default_retry = false;
    let source = KubeSource::new(kube_client::Client::try_from(config).unwrap());
    let factory = Factory::new(source);
    let informer = factory.informer_for(&resource::<ConfigMap>()).unwrap();
    let by_color = informer.index(|map| map.data.as_ref()?.get("color").cloned());
    factory.start().unwrap();
    informer.synced().within(PATIENCE).await.unwrap();
    assert_eq!(in_store(&informer), on_server(&server, &maps));
    assert_eq!(by_color.get("red").len(), 20);

    server.update(map("m-0", "blue")).unwrap();
    server.delete(&maps, Some("default"), "m-1").unwrap();
    server.create(map("m-20", "blue")).unwrap();
    assert!(eventually(PATIENCE, || in_store(&informer) == on_server(&server, &maps)).await);
    assert_eq!(by_color.get("blue").len(), 2);

    // While the server is away, it forgets what happened.
    server.stop_listening().await;
    server.delete(&maps, Some("default"), "m-2").unwrap();
    server.update(map("m-3", "green")).unwrap();
    server.compact();
    server.clear_requests();
    server.start_listening().await.unwrap();
    assert!(eventually(PATIENCE, || in_store(&informer) == on_server(&server, &maps)).await);
    assert_eq!((by_color.get("green").len(), informer.store().len()), (1, 19));
    let requests = server.requests();
    let whole = |request: &RequestRecord| {
        request.verb() == Some(Verb::List) || request.query_parameter("sendInitialEvents").is_some()
    };
    assert!(requests.iter().any(whole), "it was listed again: {requests:?}");
    factory.shutdown().await;
}
