//! Many types in one factory, as metadata, as dynamic objects, and as the user's own.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use informers::kube::{dynamic, metadata, resource_type};
use informers::prelude::*;
use integration_tests::follower::Follower;
use integration_tests::harness::{PATIENCE, length};
use integration_tests::load::Load;
use integration_tests::provider::Cluster;
use integration_tests::world::{Collection, World, factory};
use k8s_openapi::api::apps::v1::{ControllerRevision, Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, LimitRange, PersistentVolumeClaim, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use serde_json::{Value, json};

integration_tests::cluster_tests! {
    many_types_in_one_factory;
    metadata_dynamic_and_own_types_under_load;
}

/// Three objects of a type, of which one is changed and one deleted, while an informer follows.
async fn follow_a_type<K>(world: &World, factory: &Factory, mut object: Value) -> Result<()>
where
    K: informers::kube::kube_core::Resource<DynamicType = (), Scope: informers::kube::StaticScope>
        + serde::de::DeserializeOwned
        + Clone
        + Send
        + Sync
        + 'static,
{
    let of = resource_type::<K>();
    let api = of.collection_path(None);
    let api = api.rsplit_once('/').context("no collection")?.0.to_owned();
    let collection = world.collection(&api, of.plural());
    object["apiVersion"] = of.api_version().into();
    object["kind"] = of.kind().into();
    let make = async |name: &str| {
        let mut object = object.clone();
        object["metadata"]["name"] = name.into();
        world.admin.create(&collection.path, &object).await?.ok().with_context(|| name.to_owned())
    };
    make("a").await?;
    let informer = factory.informer_with::<K>(world.options())?;
    let follower = Follower::new(informer, |entry| Some(entry.key().name().to_owned()))?.start().await?;
    make("b").await?;
    make("c").await?;
    let label = json!({"metadata": {"labels": {"changed": "yes"}}});
    world.admin.merge(&format!("{}/a", collection.path), &label).await?.ok()?;
    world.admin.delete(&format!("{}/b", collection.path)).await?.ok()?;
    follower.converges(&collection).await?;
    ensure!(follower.informer.undecodable().is_empty(), "{:?}", follower.informer.undecodable());
    let keys = [world.key("a"), world.key("c")];
    ensure!(keys.iter().all(|key| follower.informer.get(key).is_some()), "{:?}", follower.stored());
    Ok(())
}

async fn many_types_in_one_factory(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "types").await?;
    let factory = factory(cluster.kubeconfig())?;
    let labels = json!({"app": "x"});
    let template = |policy: &str| {
        json!({
            "metadata": {"labels": labels},
            "spec": {"restartPolicy": policy, "containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}]},
        })
    };
    let job = json!({"suspend": true, "template": template("Never")});
    // Nothing here makes pods run: zero replicas, suspended jobs.
    follow_a_type::<ConfigMap>(&world, &factory, json!({"data": {"a": "b"}})).await?;
    follow_a_type::<Secret>(&world, &factory, json!({"stringData": {"a": "b"}})).await?;
    follow_a_type::<Service>(&world, &factory, json!({"spec": {"clusterIP": "None", "selector": labels}}))
        .await?;
    follow_a_type::<ServiceAccount>(&world, &factory, json!({})).await?;
    let limits = json!({"spec": {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}});
    follow_a_type::<LimitRange>(&world, &factory, limits).await?;
    let claim = json!({"spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}},
    }});
    follow_a_type::<PersistentVolumeClaim>(&world, &factory, claim).await?;
    let mut workload = json!({"spec": {
        "replicas": 0, "selector": {"matchLabels": labels}, "template": template("Always"),
    }});
    follow_a_type::<Deployment>(&world, &factory, workload.clone()).await?;
    workload["spec"]["serviceName"] = "x".into();
    follow_a_type::<StatefulSet>(&world, &factory, workload).await?;
    follow_a_type::<ControllerRevision>(&world, &factory, json!({"revision": 1, "data": {"a": 1}})).await?;
    follow_a_type::<Job>(&world, &factory, json!({"spec": job})).await?;
    let cron = json!({"spec": {"schedule": "0 0 1 1 *", "suspend": true, "jobTemplate": {"spec": job}}});
    follow_a_type::<CronJob>(&world, &factory, cron).await?;
    follow_a_type::<Lease>(&world, &factory, json!({"spec": {"holderIdentity": "nobody"}})).await?;
    let ingress = json!({"spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 80}}}}});
    follow_a_type::<Ingress>(&world, &factory, ingress).await?;
    follow_a_type::<NetworkPolicy>(&world, &factory, json!({"spec": {"podSelector": {}}})).await?;
    let budget = json!({"spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}});
    follow_a_type::<PodDisruptionBudget>(&world, &factory, budget).await?;
    let rules = json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]});
    follow_a_type::<Role>(&world, &factory, rules).await?;
    let binding = json!({
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x"},
        "subjects": [{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}],
    });
    follow_a_type::<RoleBinding>(&world, &factory, binding).await?;
    crate::custom::follow_a_custom_type(&world, &factory).await?;
    factory.shutdown().await;
    Ok(())
}

/// The one field that its user wants.
#[derive(serde::Deserialize)]
struct Slim {
    #[serde(default)]
    data: std::collections::BTreeMap<String, String>,
}

async fn metadata_dynamic_and_own_types_under_load(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "forms").await?;
    let factory = factory(cluster.kubeconfig())?;
    let of = resource_type::<ConfigMap>;
    let slim: Resource<Slim> = Resource::new(of(), JsonDecoder::new());
    let metadata = factory.informer_for_with(&metadata::<ConfigMap>(), world.options())?;
    let dynamic = factory.informer_for_with(&dynamic(of()), world.options())?;
    let slim = factory.informer_for_with(&slim, world.options())?;
    let metadata = Follower::new(metadata, |e| e.metadata.labels.as_ref()?.get("app").cloned())?;
    let dynamic = Follower::new(dynamic, |e| Some(e.data["data"]["value"].as_str()?.to_owned()))?;
    let slim = Follower::new(slim, |e| e.data.get("value").cloned())?;
    let load = Load::start(&world, 20, 10);
    factory.start()?;
    factory.synced().within(PATIENCE).await?;
    load.goes_on(150 * length()).await?;
    load.end().await?;
    let truth = world.truth();
    metadata.converges(&truth).await?;
    dynamic.converges(&truth).await?;
    slim.converges(&truth).await?;
    same_contents(&truth, &metadata, &dynamic, &slim).await?;
    factory.shutdown().await;
    Ok(())
}

async fn same_contents(
    truth: &Collection,
    metadata: &Follower<informers::kube::PartialObjectMeta<ConfigMap>>,
    dynamic: &Follower<informers::kube::DynamicObject>,
    slim: &Follower<Slim>,
) -> Result<()> {
    for item in truth.items().await? {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let meta = &item["metadata"];
        let key = format!("{}/{}", text(&meta["namespace"]), text(&meta["name"]));
        let meta_of = metadata.informer.get(&key).with_context(|| key.clone())?;
        let app = meta_of.metadata.labels.as_ref().and_then(|labels| labels.get("app").cloned());
        ensure!(app.unwrap_or_default() == text(&meta["labels"]["app"]), "{key}: {item}");
        let dynamic = dynamic.informer.get(&key).with_context(|| key.clone())?;
        ensure!(dynamic.data["data"] == item["data"], "{key}: {item}");
        let slim = slim.informer.get(&key).with_context(|| key.clone())?;
        ensure!(json!(slim.data) == item["data"], "{key}: {item}");
    }
    Ok(())
}
