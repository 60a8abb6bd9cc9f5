//! How a world is set up, whether it is served or simulated.

use std::time::{Duration, SystemTime};

use informers_core::ResourceType;

use super::World;
use crate::store::{Store, StoreConfig};

#[derive(Clone, Debug)]
pub(crate) struct WorldConfig {
    pub(crate) store: StoreConfig,
    /// Beside the built-in ones.
    pub(crate) resources: Vec<ResourceType>,
    pub(crate) bookmark_interval: Duration,
}

impl WorldConfig {
    pub(crate) fn new(check_namespaces: bool) -> Self {
        Self {
            store: StoreConfig { seed: 0, history_limit: 1 << 15, check_namespaces },
            resources: Vec::new(),
            bookmark_interval: Duration::from_secs(60),
        }
    }

    pub(crate) fn build(self) -> World {
        let mut store = Store::new(self.store, SystemTime::now());
        for resource in &self.resources {
            store.register_custom(resource);
        }
        World::new(store, self.bookmark_interval)
    }
}
