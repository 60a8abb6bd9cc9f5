//! What a test makes on its cluster: a namespace of its own and what is in it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use http::Method;
use informers::client::Config;
use informers::prelude::*;
use informers::shared::ReflectorSettings;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use crate::admin::{AdminClient, Connection};
use crate::follower::Follower;
use crate::harness::{eventually, unique_name};
use crate::leftovers::delete_afterwards;
use crate::provider::Cluster;

/// The ConfigMap that a controller of whole clusters puts into each namespace.
const ROOT_CA: &str = "kube-root-ca.crt";

/// A namespace of the test's own; its ConfigMaps are what most tests follow, since nobody else writes them.
///
/// Everything in it that was made through a [`collection`](Self::collection) is deleted when the test ends.
#[derive(Clone, Debug)]
pub struct World {
    /// Writes and reads without the crates under test.
    pub admin: AdminClient,
    /// The namespace.
    pub namespace: String,
}

impl World {
    /// Makes the namespace, with `what` in its name.
    ///
    /// # Errors
    /// When the server does not make it.
    ///
    /// # Panics
    /// Outside of a test's own task.
    pub async fn new(cluster: &Arc<dyn Cluster>, what: &str) -> Result<Self> {
        let world = Self { admin: cluster.admin(), namespace: unique_name(what) };
        delete_afterwards(format!("/api/v1/namespaces/{}", world.namespace));
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.namespace}});
        world.admin.create("/api/v1/namespaces", &object).await?.ok()?;
        let collection = world.collection("/api/v1", "configmaps").path;
        let root_ca = |namespace: &str| format!("/api/v1/namespaces/{namespace}/configmaps/{ROOT_CA}");
        if world.admin.get(&root_ca("default")).await?.status.is_success() {
            // Whoever counts events must not count this one's arrival.
            eventually(&format!("{ROOT_CA} is in {collection}"), || async {
                let status = world.admin.get(&root_ca(&world.namespace)).await?.status;
                Ok((!status.is_success()).then(|| status.to_string()))
            })
            .await?;
        }
        Ok(world)
    }

    /// The objects of one resource in this namespace, which are deleted when the test ends: `/apis/apps/v1`
    /// and `deployments`, say.
    ///
    /// # Panics
    /// Outside of a test's own task.
    #[must_use]
    pub fn collection(&self, api: &str, plural: &str) -> Collection {
        let path = format!("{api}/namespaces/{}/{plural}", self.namespace);
        delete_afterwards(&*path);
        Collection { admin: self.admin.clone(), path }
    }

    /// The ConfigMaps.
    #[must_use]
    pub fn truth(&self) -> Collection {
        Collection { admin: self.admin.clone(), path: self.config_maps() }
    }

    /// The path of the ConfigMaps.
    #[must_use]
    pub fn config_maps(&self) -> String {
        format!("/api/v1/namespaces/{}/configmaps", self.namespace)
    }

    /// A ConfigMap with the label `app` and the datum `value`.
    #[must_use]
    pub fn config_map(name: &str, app: &str, value: u32) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {"app": app}}, "data": {"value": value.to_string()},
        })
    }

    /// Creates a [`config_map`](Self::config_map).
    ///
    /// # Errors
    /// When the server does not do it.
    pub async fn create(&self, name: &str, app: &str, value: u32) -> Result<Value> {
        self.admin.create(&self.config_maps(), &Self::config_map(name, app, value)).await?.ok()
    }

    /// Sets a ConfigMap's value.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn update(&self, name: &str, value: u32) -> Result<Value> {
        let path = format!("{}/{name}", self.config_maps());
        self.admin.merge(&path, &json!({"data": {"value": value.to_string()}})).await?.ok()
    }

    /// Sets a ConfigMap's label `app`.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn relabel(&self, name: &str, app: &str) -> Result<Value> {
        let path = format!("{}/{name}", self.config_maps());
        self.admin.merge(&path, &json!({"metadata": {"labels": {"app": app}}})).await?.ok()
    }

    /// Deletes a ConfigMap.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub async fn delete(&self, name: &str) -> Result<Value> {
        self.admin.delete(&format!("{}/{name}", self.config_maps())).await?.ok()
    }

    /// Key and name of a ConfigMap, as informers write them.
    #[must_use]
    pub fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.namespace)
    }

    /// The scope of an informer that follows this namespace.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope::namespace(&self.namespace)
    }

    /// Options of an informer that follows this namespace.
    pub fn options(&self) -> InformerOptions {
        InformerOptions::new().scope(self.scope())
    }

    /// A follower of the namespace's ConfigMaps, by a client of its own.
    ///
    /// # Errors
    /// When the kubeconfig cannot be used.
    pub fn follow(&self, kubeconfig: &Path) -> Result<Follower<ConfigMap>> {
        Follower::of_config_maps(factory(kubeconfig)?.informer_with::<ConfigMap>(self.options())?)
    }

    /// Lets `writers` writers work at once, each over a connection of its own, and waits for all.
    ///
    /// # Errors
    /// The first one that a writer gives.
    pub async fn write_at_once<F>(&self, writers: u32, mut work: impl FnMut(u32, Writer) -> F) -> Result<()>
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let mut running = tokio::task::JoinSet::new();
        for number in 0..writers {
            let connection = self.admin.connect().await?;
            running.spawn(work(number, Writer { connection, collection: self.config_maps() }));
        }
        while let Some(ended) = running.join_next().await {
            ended.context("a writer panicked")??;
        }
        Ok(())
    }
}

/// Writes ConfigMaps of one namespace over one connection.
#[derive(Debug)]
pub struct Writer {
    connection: Connection,
    collection: String,
}

impl Writer {
    /// As [`World::create`].
    ///
    /// # Errors
    /// As [`World::create`].
    pub async fn create(&mut self, name: &str, app: &str, value: u32) -> Result<()> {
        let object = World::config_map(name, app, value);
        let path = self.collection.clone();
        self.connection.send(Method::POST, &path, "application/json", Some(&object)).await?.ok().map(drop)
    }

    /// As [`World::update`].
    ///
    /// # Errors
    /// As [`World::update`].
    pub async fn update(&mut self, name: &str, value: u32) -> Result<()> {
        let (path, patch) =
            (format!("{}/{name}", self.collection), json!({"data": {"value": value.to_string()}}));
        let kind = "application/merge-patch+json";
        self.connection.send(Method::PATCH, &path, kind, Some(&patch)).await?.ok().map(drop)
    }
}

/// The objects of a resource, read by the admin client: what informers are judged by.
#[derive(Clone, Debug)]
pub struct Collection {
    /// Reads without the crates under test.
    pub admin: AdminClient,
    /// Where the objects are, possibly with a query.
    pub path: String,
}

impl Collection {
    /// The same with a query, such as `labelSelector=app%3Dweb`.
    #[must_use]
    pub fn with_query(&self, query: &str) -> Self {
        Self { admin: self.admin.clone(), path: format!("{}?{query}", self.path) }
    }

    /// The objects as the server has them now.
    ///
    /// # Errors
    /// When the server gives none.
    pub async fn items(&self) -> Result<Vec<Value>> {
        let list = self.admin.get(&self.path).await?.ok()?;
        Ok(list["items"].as_array().context("a list without items")?.clone())
    }

    /// Key and version of each object.
    ///
    /// # Errors
    /// As [`items`](Self::items).
    pub async fn versions(&self) -> Result<BTreeMap<String, String>> {
        let items = self.items().await?;
        items
            .iter()
            .map(|item| {
                let text = |field: &str| item["metadata"][field].as_str().unwrap_or_default();
                ensure!(!text("name").is_empty(), "an item without a name: {item}");
                let key = match text("namespace") {
                    "" => ObjectKey::cluster(text("name")),
                    namespace => ObjectKey::new(namespace, text("name")),
                };
                Ok((key.to_string(), text("resourceVersion").to_owned()))
            })
            .collect()
    }
}

/// A factory over a client of its own.
///
/// # Errors
/// When the kubeconfig cannot be used.
pub fn factory(kubeconfig: &Path) -> Result<Factory> {
    Ok(Factory::new(client(kubeconfig)?))
}

/// A client of its own.
///
/// # Errors
/// When the kubeconfig cannot be used.
pub fn client(kubeconfig: &Path) -> Result<Client> {
    Ok(Client::new(Config::from_kubeconfig_file(kubeconfig, None)?)?)
}

/// Lists in pages of this many objects, without a streaming list.
#[must_use]
pub fn paged(objects: u32) -> ReflectorSettings {
    ReflectorSettings::new().streaming_list(false).page_size(objects)
}
