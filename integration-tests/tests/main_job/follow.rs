//! Following a collection while nothing goes wrong.

use std::sync::Arc;

use anyhow::{Result, ensure};
use informers::prelude::*;
use integration_tests::follower::Follower;
use integration_tests::harness::eventually;
use integration_tests::provider::Cluster;
use integration_tests::world::{World, factory, paged};
use k8s_openapi::api::core::v1::ConfigMap;

integration_tests::cluster_tests! {
    an_object_lives_and_dies;
    several_pages_make_one_list;
    selectors_narrow_an_informer;
    metadata_and_dynamic_objects_are_followed;
}

async fn an_object_lives_and_dies(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "lifecycle").await?;
    let follower = world.follow(cluster.kubeconfig())?.start().await?;
    world.create("a", "web", 1).await?;
    follower.converges(&world.truth()).await?;
    world.update("a", 2).await?;
    follower.converges(&world.truth()).await?;
    world.relabel("a", "api").await?;
    follower.converges(&world.truth()).await?;
    world.delete("a").await?;
    follower.converges(&world.truth()).await?;
    let log = follower.history.lock().log.clone();
    let mine: Vec<_> = log.iter().filter(|line| line.contains(&world.key("a"))).collect();
    ensure!(mine.len() == 4, "{mine:?}");
    ensure!(mine[0].starts_with("Added(") && !mine[0].contains("initial"), "{mine:?}");
    ensure!(mine[1].starts_with("Updated(") && mine[2].starts_with("Updated("), "{mine:?}");
    ensure!(mine[3].starts_with("Deleted(") && mine[3].contains("Observed"), "{mine:?}");
    follower.stop().await;
    Ok(())
}

async fn several_pages_make_one_list(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "pages").await?;
    for number in 0..57 {
        world.create(&format!("c{number}"), if number % 3 == 0 { "web" } else { "api" }, number).await?;
    }
    let options = InformerOptions::new().scope(Scope::namespace(&world.namespace)).reflector(paged(10));
    let informer = factory(cluster.kubeconfig())?.informer_with::<ConfigMap>(options)?;
    let follower = Follower::of_config_maps(informer)?.start().await?;
    ensure!(follower.informer.store().len() >= 57, "synced with {} objects", follower.informer.store().len());
    follower.converges(&world.truth()).await?;
    follower.stop().await;
    Ok(())
}

async fn selectors_narrow_an_informer(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "selectors").await?;
    world.create("a", "web", 1).await?;
    world.create("b", "api", 1).await?;
    let factory = factory(cluster.kubeconfig())?;
    let scope = Scope::namespace(&world.namespace);
    let web = InformerOptions::new().scope(scope.clone().with_labels("app=web".parse()?));
    let only_b = InformerOptions::new().scope(scope.with_fields("metadata.name=b".parse()?));
    let web = Follower::of_config_maps(factory.informer_with::<ConfigMap>(web)?)?.start().await?;
    let only_b = factory.informer_with::<ConfigMap>(only_b)?;
    factory.start()?;
    factory.synced().within(std::time::Duration::from_secs(60)).await?;
    ensure!(only_b.store().keys() == [ObjectKey::new(&world.namespace, "b")], "{:?}", only_b.store().keys());
    ensure!(web.informer.store().keys() == [ObjectKey::new(&world.namespace, "a")]);

    // Into the selection and out of it again: to the informer that is an addition and a deletion.
    world.relabel("b", "web").await?;
    let in_view = |key: &str| web.history.lock().told.contains_key(key);
    let key = world.key("b");
    eventually("b comes into view", || async { Ok((!in_view(&key)).then(String::new)) }).await?;
    world.relabel("b", "api").await?;
    eventually("b goes out of view", || async { Ok(in_view(&key).then(String::new)) }).await?;
    ensure!(web.history.lock().violations.is_empty(), "{:?}", web.history.lock().violations);
    factory.shutdown().await;
    Ok(())
}

async fn metadata_and_dynamic_objects_are_followed(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "kinds").await?;
    world.create("a", "web", 7).await?;
    let factory = factory(cluster.kubeconfig())?;
    let options = || InformerOptions::new().scope(Scope::namespace(&world.namespace));
    let metadata = factory.informer_for_with(&informers::kube::metadata::<ConfigMap>(), options())?;
    let dynamic = factory.informer_for_with(
        &informers::kube::dynamic(informers::kube::resource_type::<ConfigMap>()),
        options(),
    )?;
    let slim: Resource<Slim> =
        Resource::new(informers::kube::resource_type::<ConfigMap>(), JsonDecoder::new());
    let slim = factory.informer_for_with(&slim, options())?;
    factory.start()?;
    factory.synced().within(std::time::Duration::from_secs(60)).await?;
    let key = world.key("a");
    let label = |labels: &Option<std::collections::BTreeMap<String, String>>| {
        labels.as_ref().map(|l| l["app"].clone())
    };
    ensure!(
        metadata.get(&key).is_some_and(|object| label(&object.metadata.labels).as_deref() == Some("web"))
    );
    let object = dynamic.get(&key);
    ensure!(object.is_some_and(
        |o| o.data["data"]["value"] == "7" && o.types.as_ref().is_some_and(|t| t.kind == "ConfigMap")
    ));
    ensure!(slim.get(&key).is_some_and(|object| object.data["value"] == "7"));
    factory.shutdown().await;
    Ok(())
}

/// A user's own type: what it does not name is not held.
#[derive(serde::Deserialize)]
struct Slim {
    data: std::collections::BTreeMap<String, String>,
}
