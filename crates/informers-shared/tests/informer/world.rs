//! A server with ConfigMaps, and informers of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use informers_core::{JsonDecoder, ListWatch, Resource, ResourceScope, ResourceType, Scope, Source};
use informers_shared::{InformerBuilder, ReflectorSettings, SharedInformer};
use informers_testkit::SimulatedServer;
use serde_json::json;

/// What the tests read of a ConfigMap.
#[derive(Clone, Debug, serde::Deserialize)]
pub(crate) struct Config {
    #[serde(default)]
    pub(crate) data: BTreeMap<String, String>,
}

pub(crate) fn config_maps() -> ResourceType {
    ResourceType::new("", "v1", "ConfigMap", "configmaps", ResourceScope::Namespaced)
}

pub(crate) fn resource() -> Resource<Config> {
    Resource::new(config_maps(), JsonDecoder::new())
}

pub(crate) fn put(server: &SimulatedServer, name: &str, value: &str) {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "ns", "name": name}, "data": {"value": value},
    });
    if server.get(&config_maps(), Some("ns"), name).is_some() {
        server.patch(&config_maps(), Some("ns"), name, json!({"data": {"value": value}})).unwrap();
    } else {
        server.create(object).unwrap();
    }
}

pub(crate) fn delete(server: &SimulatedServer, name: &str) {
    server.delete(&config_maps(), Some("ns"), name).unwrap();
}

/// A server that holds these, each with the value "0".
pub(crate) fn server_with<const N: usize>(names: [&str; N]) -> SimulatedServer {
    let server = SimulatedServer::new();
    for name in names {
        put(&server, name, "0");
    }
    server
}

pub(crate) fn collection(server: &SimulatedServer) -> Arc<dyn ListWatch<Config>> {
    server.list_watch(&resource(), &Scope::all()).unwrap()
}

pub(crate) fn builder(server: &SimulatedServer) -> InformerBuilder<Config> {
    SharedInformer::builder(collection(server)).name("config").reflector(ReflectorSettings::new().seed(7))
}

pub(crate) fn informer(server: &SimulatedServer) -> SharedInformer<Config> {
    builder(server).build()
}

/// The values in the store, by name.
pub(crate) fn stored(informer: &SharedInformer<Config>) -> Vec<String> {
    let mut values: Vec<_> = informer
        .store()
        .list()
        .iter()
        .map(|entry| format!("{}={}", entry.key().name(), entry.data["value"]))
        .collect();
    values.sort();
    values
}
