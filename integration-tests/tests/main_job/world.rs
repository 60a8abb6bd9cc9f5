//! What the tests need: a namespace of their own, a follower that checks what it hears, patience.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use informers::client::Config;
use informers::core::Event;
use informers::prelude::*;
use informers::shared::ReflectorSettings;
use integration_tests::admin::AdminClient;
use integration_tests::harness::unique_name;
use integration_tests::provider::Cluster;
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Longer than anything a test waits for takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A namespace of the test's own; its ConfigMaps are what most tests follow, since nobody else writes them.
pub(crate) struct World {
    pub(crate) admin: AdminClient,
    pub(crate) namespace: String,
}

impl World {
    pub(crate) async fn new(cluster: &Arc<dyn Cluster>, what: &str) -> Result<Self> {
        let (admin, namespace) = (cluster.admin(), unique_name(what));
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        admin.create("/api/v1/namespaces", &object).await?.ok()?;
        Ok(Self { admin, namespace })
    }

    pub(crate) fn config_maps(&self) -> String {
        format!("/api/v1/namespaces/{}/configmaps", self.namespace)
    }

    pub(crate) async fn create(&self, name: &str, app: &str, value: u32) -> Result<Value> {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {"app": app}}, "data": {"value": value.to_string()},
        });
        self.admin.create(&self.config_maps(), &object).await?.ok()
    }

    pub(crate) async fn update(&self, name: &str, value: u32) -> Result<Value> {
        let path = format!("{}/{name}", self.config_maps());
        self.admin.merge(&path, &json!({"data": {"value": value.to_string()}})).await?.ok()
    }

    pub(crate) async fn relabel(&self, name: &str, app: &str) -> Result<Value> {
        let path = format!("{}/{name}", self.config_maps());
        self.admin.merge(&path, &json!({"metadata": {"labels": {"app": app}}})).await?.ok()
    }

    pub(crate) async fn delete(&self, name: &str) -> Result<Value> {
        self.admin.delete(&format!("{}/{name}", self.config_maps())).await?.ok()
    }

    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.namespace)
    }

    /// The truth: key and version of every ConfigMap of the namespace.
    pub(crate) async fn versions(&self) -> Result<BTreeMap<String, String>> {
        versions(&self.admin, &self.config_maps()).await
    }

    /// A follower of the namespace's ConfigMaps.
    pub(crate) fn follow(&self, kubeconfig: &Path) -> Result<Follower> {
        let factory = factory(kubeconfig)?;
        let options = InformerOptions::new().scope(Scope::namespace(&self.namespace));
        Follower::new(factory.informer_with::<ConfigMap>(options)?)
    }

    /// The namespace and what is in it go, whether the test succeeded or not.
    pub(crate) async fn clean_up(self) -> Result<()> {
        for key in self.versions().await?.into_keys() {
            let (_, name) = key.rsplit_once('/').context("a key without a namespace")?;
            self.admin.delete(&format!("{}/{name}", self.config_maps())).await?;
        }
        self.admin.delete(&format!("/api/v1/namespaces/{}", self.namespace)).await?.ok()?;
        Ok(())
    }
}

pub(crate) fn factory(kubeconfig: &Path) -> Result<Factory> {
    Ok(Factory::new(Client::new(Config::from_kubeconfig_file(kubeconfig, None)?)?))
}

/// Key and version of every object of a collection.
pub(crate) async fn versions(admin: &AdminClient, collection: &str) -> Result<BTreeMap<String, String>> {
    let list = admin.get(collection).await?.ok()?;
    let items = list["items"].as_array().context("a list without items")?;
    items
        .iter()
        .map(|item| {
            let text = |field: &str| item["metadata"][field].as_str().unwrap_or_default();
            ensure!(!text("name").is_empty(), "an item without a name: {item}");
            Ok((
                ObjectKey::new(text("namespace"), text("name")).to_string(),
                text("resourceVersion").to_owned(),
            ))
        })
        .collect()
}

/// Waits until a condition holds, and says what it still lacked if it never does.
pub(crate) async fn eventually<F>(what: &str, mut condition: impl FnMut() -> F) -> Result<()>
where
    F: Future<Output = Result<Option<String>>>,
{
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let Some(lacking) = condition().await? else { return Ok(()) };
        if tokio::time::Instant::now() > deadline {
            bail!("{what}: not within {} s: {lacking}", PATIENCE.as_secs());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// An informer with a handler that checks every event against what it was told before.
pub(crate) struct Follower {
    pub(crate) informer: SharedInformer<ConfigMap>,
    pub(crate) history: Arc<Mutex<History>>,
    by_app: Index<ConfigMap, String>,
    pub(crate) handler: HandlerGuard<ConfigMap>,
}

/// What a handler was told.
#[derive(Default, Debug)]
pub(crate) struct History {
    pub(crate) told: BTreeMap<String, String>,
    pub(crate) log: Vec<String>,
    pub(crate) violations: Vec<String>,
}

impl History {
    pub(crate) fn hear<T>(&mut self, event: &Event<T>) {
        let (key, version) = (event.key().to_string(), event.entry().version().to_string());
        let before = match event {
            Event::Added { .. } => self.told.insert(key, version).map(|old| format!("{old} was there")),
            Event::Updated { old, .. } => {
                let expected = Some(old.version().to_string());
                let before = self.told.insert(key, version);
                (before != expected).then(|| format!("{before:?} was told last"))
            }
            Event::Deleted { .. } => self.told.remove(&key).is_none().then(|| "nothing was there".to_owned()),
        };
        if let Some(problem) = before {
            self.violations.push(format!("{event:?}: {problem}"));
        }
        self.log.push(format!("{event:?}"));
    }
}

impl Follower {
    pub(crate) fn new(informer: SharedInformer<ConfigMap>) -> Result<Self> {
        let history = Arc::new(Mutex::new(History::default()));
        let hearing = Arc::clone(&history);
        let handler = informer.on_event(move |event| hearing.lock().hear(&event));
        let by_app = informer.named_index("app", app_of)?;
        Ok(Self { informer, history, by_app, handler })
    }

    pub(crate) async fn start(self) -> Result<Self> {
        self.informer.start()?;
        self.informer.synced().within(PATIENCE).await?;
        self.handler.synced().within(PATIENCE).await?;
        Ok(self)
    }

    /// Waits until store, handler and index all show what a fresh list shows.
    pub(crate) async fn converges(&self, world: &World) -> Result<()> {
        eventually("store and handler equal to a fresh list", || async {
            let truth = world.versions().await?;
            let stored: BTreeMap<_, _> = self
                .informer
                .store()
                .list()
                .iter()
                .map(|entry| (entry.key().to_string(), entry.version().to_string()))
                .collect();
            if stored != truth {
                return Ok(Some(format!(
                    "stored {stored:?}, on the server {truth:?}; {:?}",
                    self.informer.status()
                )));
            }
            let history = self.history.lock();
            ensure!(history.violations.is_empty(), "{:?}", history.violations);
            Ok((history.told != truth).then(|| format!("told {:?}, on the server {truth:?}", history.told)))
        })
        .await?;
        let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for entry in self.informer.store().list() {
            if let Some(app) = app_of(&entry) {
                expected.entry(app).or_default().push(entry.key().to_string());
            }
        }
        let mut apps = self.by_app.values();
        apps.sort();
        ensure!(apps.iter().eq(expected.keys()), "indexed {apps:?}, recomputed {expected:?}");
        for (app, mut keys) in expected {
            let mut found: Vec<_> = self.by_app.keys(&app).iter().map(ToString::to_string).collect();
            found.sort();
            keys.sort();
            ensure!(found == keys, "app {app}: indexed {found:?}, recomputed {keys:?}");
        }
        Ok(())
    }

    pub(crate) async fn stop(self) {
        self.informer.stop().await;
    }
}

fn app_of(entry: &Entry<ConfigMap>) -> Option<String> {
    entry.metadata.labels.as_ref()?.get("app").cloned()
}

/// Lists in pages of this many objects, without a streaming list.
pub(crate) fn paged(objects: u32) -> ReflectorSettings {
    ReflectorSettings::new().streaming_list(false).page_size(objects)
}
