//! A stock kube-rs client, with its own transport, requests and reflector. It shows that the embedded server is one
//! that others' programs work with, since they do there what they do on the real one.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use futures_util::StreamExt;
use integration_tests::follower::difference;
use integration_tests::harness::{PATIENCE, eventually, length};
use integration_tests::load::Load;
use integration_tests::provider::Cluster;
use integration_tests::world::World;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{
    Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, VersionMatch, WatchEvent, WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Client, Config, ResourceExt};
use serde_json::{Value, json};

integration_tests::cluster_tests! {
    a_stock_kube_client_writes_in_every_way;
    a_stock_kube_client_lists_and_watches;
    a_stock_kube_client_finds_what_the_server_serves;
    stock_kube_reflectors_follow_under_load;
}

async fn client(cluster: &Arc<dyn Cluster>) -> Result<Client> {
    // More than one kind of cryptography may have been built in; whoever is first has chosen.
    let _chosen = kube_crypto();
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig())?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

fn kube_crypto() -> Result<(), Arc<rustls::crypto::CryptoProvider>> {
    rustls::crypto::ring::default_provider().install_default()
}

fn config_map(name: &str, value: &str) -> Result<ConfigMap> {
    let object = json!({"metadata": {"name": name, "labels": {"app": "web"}}, "data": {"value": value}});
    Ok(serde_json::from_value(object)?)
}

fn value(object: &ConfigMap, key: &str) -> Option<String> {
    object.data.as_ref()?.get(key).cloned()
}

fn code<T: std::fmt::Debug>(answer: Result<T, kube::Error>) -> Result<u16> {
    match answer {
        Err(kube::Error::Api(status)) => Ok(status.code),
        other => anyhow::bail!("a refusal was expected: {other:?}"),
    }
}

async fn a_stock_kube_client_writes_in_every_way(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "kube-writes").await?;
    let client = client(&cluster).await?;
    let objects: Api<ConfigMap> = Api::namespaced(client.clone(), &world.namespace);
    let (post, none) = (PostParams::default(), PatchParams::default());

    let created = objects.create(&post, &config_map("a", "1")?).await?;
    ensure!(created.uid().is_some() && created.resource_version().is_some(), "{created:?}");
    ensure!(code(objects.create(&post, &config_map("a", "1")?).await)? == 409);
    ensure!(code(objects.get("missing").await)? == 404);
    ensure!(objects.get_opt("missing").await?.is_none());

    let mut changed = created.clone();
    changed.data.get_or_insert_default().insert("value".into(), "2".into());
    let replaced = objects.replace("a", &post, &changed).await?;
    ensure!(value(&replaced, "value").as_deref() == Some("2"), "{replaced:?}");
    ensure!(code(objects.replace("a", &post, &changed).await)? == 409, "it was of an older version");

    let merged = objects.patch("a", &none, &Patch::Merge(json!({"data": {"merged": "yes"}}))).await?;
    ensure!(value(&merged, "merged").is_some() && value(&merged, "value").is_some(), "{merged:?}");
    let strategic =
        Patch::Strategic(json!({"metadata": {"labels": {"tier": "x"}}, "data": {"merged": null}}));
    let patched = objects.patch("a", &none, &strategic).await?;
    ensure!(patched.labels().len() == 2 && value(&patched, "merged").is_none(), "{patched:?}");

    // Fields have owners: who applies takes what it names, and gives up what it names no more.
    let apply = |fields: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}});
        object["data"] = fields;
        Patch::Apply(object)
    };
    let (one, other) = (PatchParams::apply("one"), PatchParams::apply("other"));
    objects.patch("applied", &one, &apply(json!({"a": "1", "b": "1"}))).await?;
    let applied = objects.patch("applied", &one, &apply(json!({"a": "2"}))).await?;
    ensure!(applied.data == Some(BTreeMap::from([("a".into(), "2".into())])), "{applied:?}");
    ensure!(code(objects.patch("applied", &other, &apply(json!({"a": "3"}))).await)? == 409);
    let forced = objects.patch("applied", &other.clone().force(), &apply(json!({"a": "3"}))).await?;
    ensure!(value(&forced, "a").as_deref() == Some("3"), "{forced:?}");
    let owners: BTreeSet<_> =
        forced.managed_fields().iter().filter_map(|owner| owner.manager.clone()).collect();
    ensure!(owners.contains("other"), "{owners:?}");

    let dry = PostParams { dry_run: true, ..PostParams::default() };
    objects.create(&dry, &config_map("dry", "1")?).await?;
    ensure!(objects.get_opt("dry").await?.is_none(), "a dry run leaves nothing");

    let uid = created.uid().context("a uid")?;
    let wrong = kube::api::Preconditions { uid: Some("another".into()), ..Default::default() };
    let right = kube::api::Preconditions { uid: Some(uid), ..Default::default() };
    let only_if =
        |preconditions| DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    ensure!(code(objects.delete("a", &only_if(wrong)).await)? == 409);
    objects.delete("a", &only_if(right)).await?;
    objects.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    ensure!(objects.list(&ListParams::default()).await?.items.is_empty());

    scale(&world, client).await
}

/// Subresources of a Deployment that makes no pods.
async fn scale(world: &World, client: Client) -> Result<()> {
    let _left = world.collection("/apis/apps/v1", "deployments");
    let deployments: Api<Deployment> = Api::namespaced(client, &world.namespace);
    let labels = json!({"app": "x"});
    let template = json!({
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}]},
    });
    let deployment = serde_json::from_value(json!({
        "metadata": {"name": "d"},
        "spec": {"paused": true, "replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    }))?;
    deployments.create(&PostParams::default(), &deployment).await?;
    let none = PatchParams::default();
    let scaled = deployments.patch_scale("d", &none, &Patch::Merge(json!({"spec": {"replicas": 0}}))).await?;
    ensure!(scaled.spec.is_some_and(|spec| spec.replicas.unwrap_or_default() == 0));
    let status = json!({"status": {"observedGeneration": 1}});
    let told = deployments.patch_status("d", &none, &Patch::Merge(status)).await?;
    ensure!(told.status.is_some_and(|status| status.observed_generation >= Some(1)));
    Ok(())
}

async fn a_stock_kube_client_lists_and_watches(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "kube-reads").await?;
    for number in 0..25 {
        world.create(&format!("c{number:02}"), if number % 5 == 0 { "web" } else { "api" }, number).await?;
    }
    let client = client(&cluster).await?;
    let objects: Api<ConfigMap> = Api::namespaced(client.clone(), &world.namespace);
    let (mut names, mut pages, mut token) = (Vec::new(), 0, None::<String>);
    loop {
        let mut params = ListParams::default().labels("app in (web,api)").limit(10);
        if let Some(token) = &token {
            params = params.continue_token(token);
        }
        let page = objects.list(&params).await?;
        pages += 1;
        token = page.metadata.continue_.clone().filter(|token| !token.is_empty());
        names.extend(page.items.iter().map(ResourceExt::name_any));
        if token.is_none() {
            break;
        }
    }
    ensure!(pages == 3 && names.len() == 25 && names.is_sorted(), "{pages} pages: {names:?}");
    let selected = objects.list(&ListParams::default().labels("app=web")).await?;
    ensure!(selected.items.len() == 5, "{selected:?}");
    let one = objects.list(&ListParams::default().fields("metadata.name=c07")).await?;
    ensure!(one.items.len() == 1 && value(&one.items[0], "value").as_deref() == Some("7"), "{one:?}");
    let version = selected.metadata.resource_version.clone().context("a list has a version")?;
    let exact = ListParams::default().at(&version).matching(VersionMatch::Exact);
    world.create("later", "web", 0).await?;
    ensure!(objects.list(&exact.labels("app=web")).await?.items.len() == 5, "the state of then");
    let metadata: kube::core::ObjectList<PartialObjectMeta<ConfigMap>> =
        objects.list_metadata(&ListParams::default().labels("app=web")).await?;
    ensure!(metadata.items.len() == 6 && metadata.items[0].labels()["app"] == "web", "{metadata:?}");

    // A watch from a version tells what came after it, and only what is selected.
    let mut events =
        pin!(objects.watch(&WatchParams::default().labels("app=web").timeout(60), &version).await?);
    world.update("c05", 50).await?;
    world.relabel("c10", "api").await?;
    world.delete("c15").await?;
    let mut told = Vec::new();
    while told.len() < 4 {
        match events.next().await.context("the watch ended")?? {
            WatchEvent::Added(object) => told.push(("added", object.name_any())),
            WatchEvent::Modified(object) => told.push(("modified", object.name_any())),
            WatchEvent::Deleted(object) => told.push(("deleted", object.name_any())),
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => anyhow::bail!("{status:?}"),
        }
    }
    let expected = [("added", "later"), ("modified", "c05"), ("deleted", "c10"), ("deleted", "c15")];
    ensure!(told.iter().map(|(what, name)| (*what, name.as_str())).eq(expected), "{told:?}");
    Ok(())
}

async fn a_stock_kube_client_finds_what_the_server_serves(cluster: Arc<dyn Cluster>) -> Result<()> {
    let client = client(&cluster).await?;
    let version = client.apiserver_version().await?;
    ensure!(version.major == "1", "{version:?}");
    let groups = client.list_api_groups().await?;
    ensure!(groups.groups.iter().any(|group| group.name == "apps"), "{groups:?}");
    let discovery = kube::Discovery::new(client.clone()).filter(&["", "apps"]).run().await?;
    let found: BTreeSet<_> = discovery
        .groups()
        .flat_map(kube::discovery::ApiGroup::recommended_resources)
        .map(|(resource, _)| resource.kind)
        .collect();
    ensure!(["ConfigMap", "Pod", "Deployment"].iter().all(|kind| found.contains(*kind)), "{found:?}");
    let aggregated = kube::Discovery::new(client.clone()).filter(&["apps"]).run_aggregated().await?;
    ensure!(aggregated.has_group("apps"), "the aggregated form has it too");
    let pods: Api<Pod> = Api::all(client);
    pods.list(&ListParams::default().limit(1)).await?;
    Ok(())
}

async fn stock_kube_reflectors_follow_under_load(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "kube-follows").await?;
    for number in 0..25 {
        world.create(&format!("c{number}"), "web", number).await?;
    }
    let client = client(&cluster).await?;
    let objects = || Api::<ConfigMap>::namespaced(client.clone(), &world.namespace);
    // The server is asked to end watches now and then, which each of them has to live with.
    let settings = || watcher::Config::default().timeout(3);
    let mut stores = Vec::new();
    let mut running = tokio::task::JoinSet::new();
    for (name, config) in [
        ("in pages", settings().page_size(10)),
        ("from the server's memory", settings().any_semantic()),
        ("streamed", settings().streaming_lists()),
        ("selected", settings().labels("app=web")),
    ] {
        let (store, writer) = reflector::store();
        let events = reflector(writer, watcher(objects(), config)).default_backoff();
        running.spawn(async move {
            let mut events = pin!(events);
            while events.next().await.is_some() {}
        });
        stores.push((name, store));
    }
    for (name, store) in &stores {
        let ready = tokio::time::timeout(PATIENCE, store.wait_until_ready()).await;
        ready.with_context(|| format!("{name}: no first list"))??;
        ensure!(store.len() >= 25, "{name}: {} objects", store.len());
    }
    let load = Load::start(&world, 20, 20);
    load.goes_on(150 * length()).await?;
    load.end().await?;
    for (name, store) in &stores {
        let truth = match *name {
            "selected" => world.truth().with_query("labelSelector=app%3Dweb"),
            _ => world.truth(),
        };
        eventually(&format!("{name}: the store equals a fresh list"), || async {
            let truth = truth.versions().await?;
            let stored: BTreeMap<_, _> = store
                .state()
                .iter()
                .map(|object| (world.key(&object.name_any()), object.resource_version().unwrap_or_default()))
                .collect();
            Ok((stored != truth).then(|| difference(&stored, &truth)))
        })
        .await?;
    }
    running.shutdown().await;
    Ok(())
}
