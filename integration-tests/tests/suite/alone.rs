//! One crate taken by itself: a reflector that feeds a user's own sink.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use informers::core::Source;
use informers::kube::resource;
use informers::reflector::Reflector;
use integration_tests::follower::difference;
use integration_tests::gate::Gate;
use integration_tests::harness::{eventually, length};
use integration_tests::load::Load;
use integration_tests::provider::Cluster;
use integration_tests::versions::Versions;
use integration_tests::world::{World, client};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio_util::sync::CancellationToken;

integration_tests::cluster_tests! {
    a_reflector_fills_a_sink_of_the_users;
}

async fn a_reflector_fills_a_sink_of_the_users(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "sink").await?;
    for number in 0..5 {
        world.create(&format!("l{number}"), "web", number).await?;
    }
    let gate = Gate::before(cluster.address().context("no address")?).await?;
    let kubeconfig = gate.kubeconfig(cluster.kubeconfig())?;
    let collection = client(&kubeconfig)?.list_watch(&resource::<ConfigMap>(), &world.scope())?;
    let sink = Versions::default();
    let reflector = Reflector::builder(collection, sink.sink()).scope(world.scope()).build();
    let mut status = reflector.status();
    let cancel = CancellationToken::new();
    let running = tokio::spawn(reflector.run(cancel.clone()));
    status.wait_for(|status| status.synced).await;
    let load = Load::start(&world, 20, 14);
    for _ in 0..3 {
        load.goes_on(40 * length()).await?;
        gate.close().await?;
        gate.open().await?;
    }
    load.end().await?;
    eventually("the sink equals a fresh list", || async {
        let truth = world.truth().versions().await?;
        let kept = sink.kept();
        Ok((kept.versions != truth).then(|| difference(&kept.versions, &truth)))
    })
    .await?;
    let kept = sink.kept();
    ensure!(kept.replacements == 1, "{} lists, though no version expired", kept.replacements);
    ensure!(kept.changes > 0, "nothing was watched");
    cancel.cancel();
    running.await.context("the reflector panicked")?;
    no_more_connections(&gate).await
}

async fn no_more_connections(gate: &Gate) -> Result<()> {
    eventually("the connection is closed", || async {
        let left = gate.connections();
        Ok((left > 0).then(|| format!("{left} are left")))
    })
    .await
}
