//! Informers that see a part of a collection.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use informers::prelude::*;
use integration_tests::follower::Follower;
use integration_tests::harness::{eventually, length};
use integration_tests::load::Load;
use integration_tests::provider::Cluster;
use integration_tests::world::{World, factory};
use k8s_openapi::api::core::v1::ConfigMap;

integration_tests::cluster_tests! {
    objects_move_in_and_out_of_selectors_under_load;
    several_namespaces_make_one_view;
}

async fn objects_move_in_and_out_of_selectors_under_load(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "moving").await?;
    let factory = factory(cluster.kubeconfig())?;
    let mut followers = Vec::new();
    for (labels, fields) in [
        ("app=web", ""),
        ("app!=web", ""),
        ("app in (web,api)", ""),
        ("!app", ""),
        ("", "metadata.name=l3"),
        ("", "metadata.name!=l3"),
        ("app=web", "metadata.name!=l3"),
    ] {
        let scope = world.scope().with_labels(labels.parse()?).with_fields(fields.parse()?);
        let informer = factory.informer_with::<ConfigMap>(InformerOptions::new().scope(scope.clone()))?;
        let query = |text: String| text.replace('=', "%3D").replace(' ', "%20").replace('!', "%21");
        let truth = world.truth().with_query(&format!(
            "labelSelector={}&fieldSelector={}",
            query(scope.labels().to_string()),
            query(scope.fields().to_string())
        ));
        followers.push((Follower::of_config_maps(informer)?.start().await?, truth));
    }
    let load = Load::start(&world, 12, 6);
    load.goes_on(200 * length()).await?;
    load.end().await?;
    for (follower, truth) in &followers {
        follower.converges(truth).await?;
    }
    let log = followers[0].0.history.lock().log.clone();
    ensure!(log.iter().any(|line| line.starts_with("Deleted(")), "no object left the selection: {log:?}");
    factory.shutdown().await;
    Ok(())
}

async fn several_namespaces_make_one_view(cluster: Arc<dyn Cluster>) -> Result<()> {
    let worlds = [
        World::new(&cluster, "view-a").await?,
        World::new(&cluster, "view-b").await?,
        World::new(&cluster, "unseen").await?,
    ];
    let options = InformerOptions::new().scopes(worlds[..2].iter().map(World::scope));
    let informer = factory(cluster.kubeconfig())?.informer_with::<ConfigMap>(options)?;
    let follower = Follower::of_config_maps(informer)?.start().await?;
    let loads: Vec<_> = worlds.iter().zip(7..).map(|(world, seed)| Load::start(world, 10, seed)).collect();
    for load in &loads {
        load.goes_on(50 * length()).await?;
    }
    for load in loads {
        load.end().await?;
    }
    eventually("the view equals both namespaces", || async {
        let mut truth: BTreeMap<_, _> = worlds[0].truth().versions().await?;
        truth.extend(worlds[1].truth().versions().await?);
        let equal = follower.stored() == truth && follower.history.lock().told == truth;
        Ok((!equal).then(|| format!("{:?}", follower.informer.status())))
    })
    .await?;
    follower.check_index()?;
    ensure!(follower.history.lock().violations.is_empty(), "{:?}", follower.history.lock().violations);
    follower.stop().await;
    Ok(())
}
