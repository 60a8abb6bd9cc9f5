//! Measurements that panic.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informers_core::{Metrics, ResourceVersion, Transform};
use informers_shared::BacklogPolicy;
use informers_testkit::{EventRecorder, SimulatedServer, settle};
use serde_json::json;

use crate::world::{Config, builder, config_maps, delete, put, server_with, stored};

/// Notes each call and panics.
#[derive(Default)]
struct Explosive(Mutex<BTreeSet<&'static str>>);

impl Explosive {
    fn call(&self, name: &'static str) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(name);
        panic!("as told by the test");
    }
}

impl Metrics for Explosive {
    fn queued_items(&self, _: &str, _: usize) {
        self.call("queued_items");
    }

    fn processing_latency(&self, _: &str, _: Duration) {
        self.call("processing_latency");
    }

    fn store_resource_version(&self, _: &str, _: &ResourceVersion) {
        self.call("store_resource_version");
    }

    fn handler_backlog(&self, _: &str, _: &str, _: usize) {
        self.call("handler_backlog");
    }

    fn handler_dropped(&self, _: &str, _: &str, events: u64) {
        assert!(events > 0);
        self.call("handler_dropped");
    }

    fn handler_panicked(&self, _: &str, _: &str) {
        self.call("handler_panicked");
    }

    fn list_completed(&self, _: &str, _: u64, _: Duration) {
        self.call("list_completed");
    }

    fn watch_ended(&self, _: &str, _: u64, _: Duration) {
        self.call("watch_ended");
    }

    fn undecodable(&self, _: &str) {
        self.call("undecodable");
    }

    fn refused(&self, _: &str) {
        self.call("refused");
    }
}

#[tokio::test(start_paused = true)]
async fn measurements_that_panic_cost_themselves_only() {
    let server: SimulatedServer = server_with(["a"]);
    let metrics = Arc::new(Explosive::default());
    let transform = Transform::new(|config: &mut Config| match config.data["value"].as_str() {
        "refused" => Err(std::io::Error::other("as told by the test")),
        _ => Ok(()),
    });
    let informer =
        builder(&server).transform(transform).metrics(Arc::clone(&metrics) as Arc<dyn Metrics>).build();
    let log = EventRecorder::new();
    let _log = informer.add_handler(log.clone());
    let shaky =
        informer.on_event(|event| assert_ne!(event.entry().data["value"], "1", "as told by the test"));
    let lagging = informer.handler().backlog(BacklogPolicy::Dropping { limit: 1 }).subscribe();
    informer.start().unwrap();
    informer.synced().within(Duration::from_secs(5)).await.unwrap();

    put(&server, "a", "1");
    put(&server, "b", "refused");
    server
        .create(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "ns", "name": "c"}, "data": {"value": 5},
        }))
        .unwrap();
    settle().await;
    // The watch ends with its version forgotten, and a list follows.
    server.compact();
    tokio::time::sleep(Duration::from_secs(1200)).await;
    server.delete(&config_maps(), Some("ns"), "c").unwrap();
    delete(&server, "b");
    put(&server, "a", "2");
    settle().await;

    assert_eq!(stored(&informer), ["a=2"]);
    assert_eq!(log.replay().unwrap()["ns/a"].data["value"], "2");
    assert_eq!(shaky.status().panics, 1);
    assert!(lagging.status().dropped > 0);
    let called: Vec<_> =
        metrics.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter().copied().collect();
    assert_eq!(
        called,
        [
            "handler_backlog",
            "handler_dropped",
            "handler_panicked",
            "list_completed",
            "processing_latency",
            "queued_items",
            "refused",
            "store_resource_version",
            "undecodable",
            "watch_ended"
        ]
    );
}
