//! Informers that read built-in types from protobuf, beside others that read the same from JSON.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use informers::client::Gzip;
use informers::core::{Decode, ProtobufDecoder};
use informers::kube::resource_type;
use informers::prelude::*;
use integration_tests::control_plane::ControlPlane;
use integration_tests::follower::Follower;
use integration_tests::gate::Gate;
use integration_tests::harness::eventually;
use integration_tests::load::Load;
use integration_tests::provider::Cluster;
use integration_tests::world::{World, client, factory, paged};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::json;

integration_tests::control_plane_tests! {
    the_same_is_read_from_protobuf_and_json;
    pods_are_the_same_in_protobuf_and_json;
    an_expired_version_inside_a_protobuf_watch: own, needs [Compact];
    single_objects_are_read_from_protobuf;
}

/// What is held of a ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
struct Slim {
    #[serde(default)]
    metadata: Labels,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
struct Labels {
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SlimMessage {
    #[prost(message, optional, tag = "1")]
    metadata: Option<LabelsMessage>,
    #[prost(btree_map = "string, string", tag = "2")]
    data: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LabelsMessage {
    #[prost(btree_map = "string, string", tag = "11")]
    labels: BTreeMap<String, String>,
}

impl From<SlimMessage> for Slim {
    fn from(read: SlimMessage) -> Self {
        Self { metadata: Labels { labels: read.metadata.unwrap_or_default().labels }, data: read.data }
    }
}

fn config_maps(decoder: impl Decode<Slim>) -> Resource<Slim> {
    Resource::new(resource_type::<ConfigMap>(), decoder)
}

fn as_protobuf() -> Resource<Slim> {
    config_maps(ProtobufDecoder::<SlimMessage, Slim>::new())
}

fn app_of(entry: &Entry<Slim>) -> Option<String> {
    entry.metadata.labels.get("app").cloned()
}

async fn follow(
    factory: &Factory,
    resource: &Resource<Slim>,
    options: InformerOptions,
) -> Result<Follower<Slim>> {
    Follower::new(factory.informer_for_with(resource, options)?, app_of)?.start().await
}

/// Everything that a store holds.
fn contents(follower: &Follower<Slim>) -> BTreeMap<String, (String, String, Slim)> {
    let entries = follower.informer.store().list();
    let of = |entry: &Entry<Slim>| {
        let identity = (entry.uid().to_string(), entry.version().to_string());
        (entry.key().to_string(), (identity.0, identity.1, entry.object().clone()))
    };
    entries.iter().map(of).collect()
}

async fn the_same_is_read_from_protobuf_and_json(control_plane: Arc<ControlPlane>) -> Result<()> {
    let cluster: Arc<dyn Cluster> = Arc::clone(&control_plane) as _;
    let world = World::new(&cluster, "protobuf").await?;
    for number in 0..25 {
        world.create(&format!("c{number}"), "web", number).await?;
    }
    let mut kubeconfig = Config::from_kubeconfig_file(control_plane.kubeconfig(), None)?;
    let plain = Factory::new(Client::new(kubeconfig.clone())?);
    let json = follow(&plain, &config_maps(JsonDecoder::new()), world.options()).await?;
    let streamed = follow(&plain, &as_protobuf(), world.options()).await?;
    kubeconfig = kubeconfig.with_gzip(Gzip::Always);
    let compressed = Factory::new(Client::new(kubeconfig)?);
    let pages = world.options().variant("pages").reflector(paged(10));
    let in_pages = follow(&compressed, &as_protobuf(), pages).await?;
    ensure!(contents(&in_pages) == contents(&json), "{:?}", in_pages.informer.status());
    ensure!(contents(&in_pages).len() == 25);

    let load = Load::start(&world, 20, 23);
    load.goes_on(200).await?;
    let late =
        follow(&compressed, &as_protobuf(), world.options().variant("late").reflector(paged(3))).await?;
    load.goes_on(100).await?;
    load.end().await?;
    let followers = [&json, &streamed, &in_pages, &late];
    for follower in followers {
        follower.converges(&world.truth()).await?;
        ensure!(contents(follower) == contents(&json), "{:?}", follower.informer.status());
        let status = follower.informer.status().reflectors[0].1.clone();
        ensure!(status.lists == 1, "what changed came by the watch: {status:?}");
        ensure!(follower.informer.undecodable().is_empty(), "{:?}", follower.informer.undecodable());
    }
    plain.shutdown().await;
    compressed.shutdown().await;
    Ok(())
}

#[derive(Clone, PartialEq, prost::Message)]
struct PodMessage {
    #[prost(message, optional, tag = "1")]
    metadata: Option<MetadataMessage>,
    #[prost(message, optional, tag = "2")]
    spec: Option<SpecMessage>,
    #[prost(message, optional, tag = "3")]
    status: Option<StatusMessage>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct MetadataMessage {
    #[prost(btree_map = "string, string", tag = "12")]
    annotations: BTreeMap<String, String>,
    #[prost(message, repeated, tag = "13")]
    owner_references: Vec<OwnerMessage>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct OwnerMessage {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(bool, optional, tag = "6")]
    controller: Option<bool>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SpecMessage {
    #[prost(string, tag = "10")]
    node_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StatusMessage {
    #[prost(string, tag = "1")]
    phase: String,
}

async fn pods_are_the_same_in_protobuf_and_json(control_plane: Arc<ControlPlane>) -> Result<()> {
    let cluster: Arc<dyn Cluster> = Arc::clone(&control_plane) as _;
    let world = World::new(&cluster, "protobuf-pods").await?;
    let pods = world.collection("/api/v1", "pods");
    for number in 0..12 {
        let owner = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "cart", "uid": format!("u-{number}"),
            "controller": number % 2 == 0,
        });
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": format!("cart-{number}"), "annotations": {"note": format!("Grüße {number}\n😀")},
                "ownerReferences": [owner],
            },
            "spec": {"nodeName": format!("node-{number}"), "containers": [{"name": "c", "image": "i:1"}]},
        });
        world.admin.create(&pods.path, &pod).await?.ok()?;
    }
    let factory = factory(control_plane.kubeconfig())?;
    let slim: Resource<PodMessage> =
        Resource::new(resource_type::<Pod>(), ProtobufDecoder::<PodMessage>::new());
    let of_node = |entry: &Entry<PodMessage>| Some(entry.spec.as_ref()?.node_name.clone());
    let slim = Follower::new(factory.informer_for_with(&slim, world.options())?, of_node)?.start().await?;
    let whole = factory.informer_with::<Pod>(world.options())?;
    whole.start()?;
    whole.synced().within(Duration::from_secs(60)).await?;

    let status = json!({"status": {"phase": "Running"}});
    let patched = world.admin.merge(&format!("{}/cart-3/status", pods.path), &status).await?.ok()?;
    let version = patched["metadata"]["resourceVersion"].as_str().context("a version")?.to_owned();
    let grace = format!("{}/cart-4?gracePeriodSeconds=0", pods.path);
    world.admin.delete(&grace).await?.ok()?;
    slim.converges(&pods).await?;
    let key = world.key("cart-3");
    eventually("the JSON informer has the change", || async {
        let stored = whole.get(&key).map(|pod| pod.version().to_string());
        Ok((stored.as_ref() != Some(&version) || whole.store().len() != 11).then(|| format!("{stored:?}")))
    })
    .await?;
    for entry in whole.store().list() {
        let read = slim.informer.get(entry.key().as_str()).context("in one store alone")?;
        ensure!((read.uid(), read.version()) == (entry.uid(), entry.version()));
        let (spec, status) = (entry.spec.as_ref().context("spec")?, entry.status.as_ref().context("status")?);
        ensure!(read.spec.as_ref().map(|spec| &spec.node_name) == spec.node_name.as_ref(), "{read:?}");
        ensure!(read.status.as_ref().map(|status| &status.phase) == status.phase.as_ref(), "{read:?}");
        let metadata = read.metadata.as_ref().context("metadata")?;
        ensure!(Some(&metadata.annotations) == entry.metadata.annotations.as_ref(), "{metadata:?}");
        let owner = &entry.metadata.owner_references.as_ref().context("owners")?[0];
        let expected =
            OwnerMessage { kind: owner.kind.clone(), name: owner.name.clone(), controller: owner.controller };
        ensure!(metadata.owner_references == [expected], "{metadata:?}");
    }
    factory.shutdown().await;
    Ok(())
}

async fn an_expired_version_inside_a_protobuf_watch(control_plane: Arc<ControlPlane>) -> Result<()> {
    let cluster: Arc<dyn Cluster> = Arc::clone(&control_plane) as _;
    let world = World::new(&cluster, "protobuf-expired").await?;
    for number in 0..5 {
        world.create(&format!("c{number}"), "web", number).await?;
    }
    let gate = Gate::before(control_plane.address()).await?;
    let factory = factory(&gate.kubeconfig(control_plane.kubeconfig())?)?;
    let follower = follow(&factory, &as_protobuf(), world.options()).await?;
    follower.converges(&world.truth()).await?;
    let lists = follower.informer.status().reflectors[0].1.lists;

    gate.close().await?;
    world.delete("c0").await?;
    world.update("c1", 100).await?;
    cluster.compact().await?;
    // The compacted version itself is still served.
    world.update("c1", 101).await?;
    gate.open().await?;
    follower.converges(&world.truth()).await?;
    let status = follower.informer.status().reflectors[0].1.clone();
    ensure!(status.lists == lists + 1, "the list was read again, once: {status:?}");
    let changed = follower.informer.get(&world.key("c1")).context("it is there")?;
    ensure!(changed.data["value"] == "101", "{:?}", changed.object());
    factory.shutdown().await;
    Ok(())
}

async fn single_objects_are_read_from_protobuf(control_plane: Arc<ControlPlane>) -> Result<()> {
    let cluster: Arc<dyn Cluster> = Arc::clone(&control_plane) as _;
    let world = World::new(&cluster, "protobuf-api").await?;
    let api = client(control_plane.kubeconfig())?.api(&as_protobuf(), Some(&world.namespace));
    let made = api.create(&World::config_map("a", "web", 1)).await?;
    ensure!((made.key().to_string(), made.data["value"].as_str()) == (world.key("a"), "1"));
    let read = api.get("a").await?;
    ensure!(read.version() == made.version() && read.object() == made.object());
    let unchanged = api.update_with("a", |_| {}).await?;
    ensure!(unchanged.version() == made.version());
    let changed = api.update_with("a", |object| object["data"]["value"] = "2".into()).await?;
    ensure!(changed.data["value"] == "2" && changed.version() != made.version());
    let patched = api.patch("a", &Patch::merge(&json!({"data": {"value": "3"}}))?).await?;
    ensure!(patched.data["value"] == "3");
    ensure!(api.list_all().await?.len() == world.truth().items().await?.len());
    let missing = api.get("none").await.err().context("it is not there")?;
    ensure!(
        missing.is_not_found() && missing.to_string().contains("configmaps \"none\" not found"),
        "{missing}"
    );
    Ok(())
}
