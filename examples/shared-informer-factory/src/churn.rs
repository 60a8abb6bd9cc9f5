//! Objects that come and go, so that there is something to see.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use demo_cluster::Cluster;
use informers::client::{Api, ClientError, DeleteOptions, Patch};
use informers::kube::resource;
use informers_testkit::ApiServer;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, ServiceAccount};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::observer::Observer;
use crate::outage;
use crate::view::Row;
use crate::watched::APP;
use crate::widget::Widget;

/// Where everything is made, and nowhere else.
pub(crate) const NAMESPACE: &str = "informers-demo";
/// How long taking it all away again may take.
const CLEAN_UP: Duration = Duration::from_secs(20);
/// The rounds in which the embedded server goes away: the second, and every eighth after it.
const OUTAGE: (u64, u64) = (2, 8);

/// Makes, changes and deletes objects by the client, on the embedded server and on a real one alike.
pub(crate) struct Churn {
    pods: Api<Pod>,
    deployments: Api<Deployment>,
    widgets: Api<Widget>,
    namespaces: Api<Namespace>,
    config_maps: Api<ConfigMap>,
    service_accounts: Api<ServiceAccount>,
    /// The embedded server, which can be made to fail.
    server: Option<Arc<ApiServer>>,
    /// Set when the namespace was made by this very run.
    made_namespace: OnceCell<()>,
}

impl Churn {
    /// One for this cluster; on a real one only if it was asked for.
    pub(crate) fn of(cluster: &Cluster, wanted: bool) -> Option<Self> {
        let client = &cluster.client;
        (wanted || cluster.server.is_some()).then(|| Self {
            pods: client.api(&resource::<Pod>(), Some(NAMESPACE)),
            deployments: client.api(&resource::<Deployment>(), Some(NAMESPACE)),
            widgets: client.api(&resource::<Widget>(), Some(NAMESPACE)),
            namespaces: client.api(&resource::<Namespace>(), None),
            config_maps: client.api(&resource::<ConfigMap>(), Some(NAMESPACE)),
            service_accounts: client.api(&resource::<ServiceAccount>(), Some(NAMESPACE)),
            server: cluster.server.clone(),
            made_namespace: OnceCell::new(),
        })
    }

    /// Makes what is there from the beginning.
    pub(crate) async fn set_up(&self) -> Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        if create(&self.namespaces, &namespace).await? {
            // It cannot be set twice: this is the only place.
            let _ = self.made_namespace.set(());
        }
        // Clusters make it by themselves, but perhaps a moment later than the first pod wants it.
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        create(&self.service_accounts, &account).await?;
        for app in ["web", "api"] {
            create(&self.deployments, &deployment(app, 2)).await?;
            for number in 0..2 {
                create(&self.pods, &pod(app, number, Some(&node(number)))).await?;
            }
        }
        for name in ["sprocket", "gear"] {
            match create(&self.widgets, &widget(name)).await {
                // A cluster without the custom resource.
                Err(error) if error.is_not_found() => {}
                outcome => _ = outcome?,
            }
        }
        Ok(())
    }

    /// Changes things until it is dropped, or the cluster refuses something, which is told.
    pub(crate) async fn run(&self, observer: &Observer) {
        if let Err(error) = self.rounds(observer).await {
            observer.row(Row::new("churn", "stopped", "", format!("{error:#}")));
        }
    }

    async fn rounds(&self, observer: &Observer) -> Result<()> {
        let step = Duration::from_millis(if self.server.is_some() { 350 } else { 1000 });
        for round in 1_u64.. {
            let pause = || tokio::time::sleep(step);
            let name = format!("web-{}", round + 1);
            pause().await;
            // Where no scheduler runs, the pod stays without a node for a while, as it would with one.
            let at_once = self.server.is_none().then(|| node(round));
            create(&self.pods, &pod("web", round + 1, at_once.as_deref())).await?;
            pause().await;
            let placed = match self.server {
                Some(_) => json!({"spec": {"nodeName": node(round)}}),
                None => json!({"metadata": {"annotations": {"informers-demo/round": round.to_string()}}}),
            };
            self.pods.patch(&name, &Patch::merge(&placed)?).await?;
            pause().await;
            let replicas = json!({"spec": {"replicas": 2 + round % 3}});
            self.deployments.patch("web", &Patch::merge(&replicas)?).await?;
            pause().await;
            let size = json!({"spec": {"size": round}});
            if_there(self.widgets.patch("gear", &Patch::merge(&size)?).await.map(drop))?;
            pause().await;
            delete(&self.pods, &format!("web-{}", round - 1)).await?;
            if let Some(server) = &self.server
                && round % OUTAGE.1 == OUTAGE.0
            {
                pause().await;
                outage::run(server, round, observer).await?;
            }
        }
        Ok(())
    }

    /// Deletes what was made here, unless it goes with the embedded server anyway.
    pub(crate) async fn clean_up(&self) -> Result<()> {
        if self.server.is_some() {
            return Ok(());
        }
        let cleaned = tokio::time::timeout(CLEAN_UP, self.delete_all()).await;
        let left = || format!("something of this demonstration may be left in the namespace {NAMESPACE}");
        cleaned.with_context(left)?.with_context(left)
    }

    async fn delete_all(&self) -> Result<()> {
        delete_marked(&self.pods).await?;
        delete_marked(&self.deployments).await?;
        match delete_marked(&self.widgets).await {
            Err(error) if error.is_not_found() => {}
            outcome => outcome?,
        }
        if self.made_namespace.initialized() && self.has_controllers().await? {
            if_there(self.namespaces.delete(NAMESPACE, &DeleteOptions::new()).await)?;
        }
        Ok(())
    }

    /// Whether controllers look after namespaces: this object of theirs is in every one. Without them a deleted
    /// namespace would stay half deleted for ever, so it is better left as it is.
    async fn has_controllers(&self) -> Result<bool, ClientError> {
        match self.config_maps.get("kube-root-ca.crt").await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Creates an object; false if there is one of its name already, as after a run that was killed.
async fn create<K: Send + Sync + 'static>(api: &Api<K>, object: &Value) -> Result<bool, ClientError> {
    match api.create(object).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_already_exists() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Deletes an object at once; no kubelet has to agree. It may be gone already.
async fn delete<K: Send + Sync + 'static>(api: &Api<K>, name: &str) -> Result<(), ClientError> {
    if_there(api.delete(name, &DeleteOptions::new().with_grace_period_seconds(0)).await)
}

/// Deletes the objects that carry the mark of this demonstration.
async fn delete_marked<K>(api: &Api<K>) -> Result<(), ClientError>
where
    K: informers::kube::kube_core::Resource + Send + Sync + 'static,
{
    for item in api.list_all().await? {
        let informers::core::Item::Decoded(object) = item else { continue };
        let labels = object.meta().labels.as_ref();
        if labels.and_then(|labels| labels.get(MARK)).is_some_and(|value| value == NAMESPACE) {
            delete(api, object.key().name()).await?;
        }
    }
    Ok(())
}

fn if_there(outcome: Result<(), ClientError>) -> Result<(), ClientError> {
    match outcome {
        Err(error) if error.is_not_found() => Ok(()),
        outcome => outcome,
    }
}

/// The label that every object made here has.
const MARK: &str = "app.kubernetes.io/managed-by";

fn node(number: u64) -> String {
    format!("demo-node-{}", number % 2 + 1)
}

/// A pod that no real node will run.
pub(crate) fn pod(app: &str, number: u64, node: Option<&str>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("{app}-{number}"), "namespace": NAMESPACE, "labels": {APP: app, MARK: NAMESPACE},
        },
        "spec": {
            "nodeName": node,
            "automountServiceAccountToken": false,
            "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}],
        },
    })
}

/// A deployment that is paused, so that no controller acts on it.
fn deployment(app: &str, replicas: u64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": app, "namespace": NAMESPACE, "labels": {APP: app, MARK: NAMESPACE}},
        "spec": {
            "paused": true, "replicas": replicas,
            "selector": {"matchLabels": {"demo": app}},
            "template": {
                "metadata": {"labels": {"demo": app}},
                "spec": {"containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]},
            },
        },
    })
}

fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {MARK: NAMESPACE}},
        "spec": {"size": 1, "colour": "blue"},
    })
}
