//! Deleting what selectors choose, in one request.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use informers::client::{DeleteOptions, Propagation};
use informers::core::{FieldSelector, LabelSelector};
use informers::kube::resource;
use integration_tests::harness::eventually;
use integration_tests::provider::Cluster;
use integration_tests::world::{World, client};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

integration_tests::cluster_tests! {
    what_selectors_choose_is_deleted_at_once;
}

/// The objects that this test made; a controller of whole clusters adds its own.
async fn left(world: &World) -> Result<Vec<String>> {
    let items = world.truth().items().await?;
    let names = items.iter().filter_map(|item| item["metadata"]["name"].as_str());
    Ok(names.filter(|name| name.starts_with('c')).map(str::to_owned).collect())
}

async fn what_selectors_choose_is_deleted_at_once(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "collection").await?;
    for (name, app) in [("c0", "web"), ("c1", "db"), ("c2", "web"), ("c3", "db"), ("c4", "job")] {
        world.create(name, app, 0).await?;
    }
    let client = client(cluster.kubeconfig())?;
    let config_maps = client.api(&resource::<ConfigMap>(), Some(&world.namespace));
    let options = DeleteOptions::new().with_propagation(Propagation::Background).with_grace_period_seconds(0);
    let (any_field, web): (_, LabelSelector) = (FieldSelector::default(), "app=web".parse()?);

    config_maps.clone().with_dry_run().delete_collection(&web, &any_field, &options).await?;
    config_maps.clone().with_dry_run().delete("c0", &options).await?;
    ensure!(left(&world).await?.len() == 5, "a dry run deletes: {:?}", left(&world).await?);
    config_maps.delete_collection(&web, &any_field, &options).await?;
    ensure!(left(&world).await? == ["c1", "c3", "c4"], "{:?}", left(&world).await?);
    config_maps.delete_collection(&web, &any_field, &options).await.context("nothing is chosen")?;

    let not_c1: FieldSelector = "metadata.name!=c1".parse()?;
    config_maps.delete_collection(&"app=db".parse()?, &not_c1, &options).await?;
    ensure!(left(&world).await? == ["c1", "c4"], "{:?}", left(&world).await?);

    // A precondition holds for each object; what went before the first for which it does not is gone.
    let c1 = config_maps.get("c1").await?.uid().to_string();
    let jobs_and_db: LabelSelector = "app in (db, job)".parse()?;
    let only = options.clone().with_uid(c1);
    let refused = config_maps.delete_collection(&jobs_and_db, &any_field, &only).await;
    let refused = refused.err().context("another uid passed")?;
    ensure!(refused.is_conflict(), "{refused:?}");
    eventually("what has the uid is gone", || async {
        let left = left(&world).await?;
        Ok((left != ["c4"]).then(|| format!("{left:?}")))
    })
    .await?;

    // With a finalizer it is gone later.
    let path = format!("{}/c4", world.config_maps());
    world.admin.merge(&path, &json!({"metadata": {"finalizers": ["example.com/hold"]}})).await?.ok()?;
    config_maps.delete_collection(&"app=job".parse()?, &any_field, &options).await?;
    let held = world.admin.get(&path).await?.ok()?;
    ensure!(held["metadata"]["deletionTimestamp"].is_string(), "{held}");
    world.admin.merge(&path, &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    ensure!(left(&world).await?.is_empty(), "{:?}", left(&world).await?);

    let unknown: FieldSelector = "data.value=0".parse()?;
    let refused = config_maps.delete_collection(&LabelSelector::default(), &unknown, &options).await;
    let refused = refused.err().context("an unknown field selects")?;
    ensure!(refused.status().is_some_and(|status| status.code == 400), "{refused:?}");
    Ok(())
}
