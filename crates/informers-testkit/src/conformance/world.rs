//! A playground in a simulated world.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use informers_core::{JsonDecoder, ListWatch, Resource, ResourceScope, ResourceType, Scope, Source};
use serde::Deserialize;
use serde_json::json;

use super::{Playground, PlaygroundError};
use crate::World;

/// The objects that the checks use: config maps, of which only the data is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Probe {
    /// The config map's `data`.
    #[serde(default)]
    pub data: BTreeMap<String, String>,
}

/// Config maps in the namespace `default` of a [`World`], read through any [`Source`] that leads there: the
/// [`SimulatedServer`](crate::SimulatedServer) itself, or a client of the [`ApiServer`](crate::ApiServer).
#[derive(Debug)]
pub struct WorldPlayground<S> {
    world: World,
    source: S,
    changes: AtomicU64,
}

impl<S: Source> WorldPlayground<S> {
    /// The config maps of `world`, read through `source`.
    pub fn new(world: World, source: S) -> Self {
        Self { world, source, changes: AtomicU64::new(0) }
    }

    fn config_maps() -> ResourceType {
        ResourceType::new("", "v1", "ConfigMap", "configmaps", ResourceScope::Namespaced)
    }
}

#[async_trait]
impl<S: Source> Playground<Probe> for WorldPlayground<S> {
    async fn put(&self, name: &str, labels: &[(&str, &str)]) -> Result<(), PlaygroundError> {
        let labels: BTreeMap<_, _> = labels.iter().copied().collect();
        let change = self.changes.fetch_add(1, Ordering::Relaxed).to_string();
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"namespace": "default", "name": name, "labels": labels},
            "data": {"change": change},
        });
        match self.world.update(object.clone()) {
            Err(status) if status.code() == 404 => self.world.create(object)?,
            other => other?,
        };
        Ok(())
    }

    async fn delete(&self, name: &str) -> Result<(), PlaygroundError> {
        match self.world.delete(&Self::config_maps(), Some("default"), name) {
            Err(status) if status.code() != 404 => Err(status.into()),
            _ => Ok(()),
        }
    }

    async fn expire(&self) -> Result<bool, PlaygroundError> {
        self.world.compact();
        Ok(true)
    }

    fn list_watch(&self, labels: &str) -> Result<Arc<dyn ListWatch<Probe>>, PlaygroundError> {
        let resource = Resource::new(Self::config_maps(), JsonDecoder::new());
        let scope = Scope::namespace("default").with_labels(labels.parse()?);
        Ok(self.source.list_watch(&resource, &scope)?)
    }
}
