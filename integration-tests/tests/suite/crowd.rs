//! Many informers over one client, and what is left of them.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use informers::prelude::*;
use integration_tests::follower::Follower;
use integration_tests::gate::Gate;
use integration_tests::harness::{PATIENCE, eventually, length};
use integration_tests::load::Load;
use integration_tests::provider::{Cluster, Provider};
use integration_tests::world::{World, client, factory};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};

integration_tests::cluster_tests! {
    fifty_informers_share_a_client;
    a_shutdown_leaves_no_task_and_no_connection;
}

async fn fifty_informers_share_a_client(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "fifty").await?;
    let gate = Gate::before(cluster.address().context("no address")?).await?;
    let kubeconfig = gate.kubeconfig(cluster.kubeconfig())?;
    let factory = factory(&kubeconfig)?;
    let load = Load::start(&world, 20, 12);
    let mut followers = Vec::new();
    for number in 0..50 {
        let informer = factory.informer_with::<ConfigMap>(world.options().variant(&format!("v{number}")))?;
        followers.push(Follower::of_config_maps(informer)?);
    }
    factory.start()?;
    factory.synced().within(PATIENCE).await?;
    if cluster.provider() != Provider::Embedded {
        // A plain server speaks HTTP/1.1, which has one connection for each watch.
        ensure!(gate.connections() <= 3, "{} connections for 50 watches over HTTP/2", gate.connections());
    }
    load.goes_on(60 * length()).await?;
    load.end().await?;
    for follower in &followers {
        follower.converges(&world.truth()).await?;
    }
    factory.shutdown().await;
    drop((followers, factory));
    no_connection(&gate).await
}

async fn a_shutdown_leaves_no_task_and_no_connection(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "shutdown").await?;
    let gate = Gate::before(cluster.address().context("no address")?).await?;
    let kubeconfig = gate.kubeconfig(cluster.kubeconfig())?;
    let load = Load::start(&world, 20, 13);
    for _ in 0..3 {
        let (options, kubeconfig) = (world.options(), kubeconfig.to_path_buf());
        // A runtime of their own, so that every task in it is theirs.
        let tasks = tokio::task::spawn_blocking(move || informers_in_a_runtime(&kubeconfig, &options));
        let tasks = tasks.await.context("the informers panicked")??;
        ensure!(tasks == 0, "{tasks} tasks are left");
        no_connection(&gate).await?;
    }
    load.end().await?;
    Ok(())
}

/// Runs informers, shuts them down, and gives how many tasks are left.
fn informers_in_a_runtime(kubeconfig: &std::path::Path, options: &InformerOptions) -> Result<usize> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let client = client(kubeconfig)?;
        let factory = Factory::new(client);
        let config_maps = factory.informer_with::<ConfigMap>(options.clone())?;
        let secrets = factory.informer_with::<Secret>(options.clone())?;
        let services = factory.informer_with::<Service>(options.clone())?;
        let _handler = config_maps.on_event(|_| {});
        let _events = secrets.subscribe();
        let _resyncing =
            services.handler().resync(std::time::Duration::from_millis(100)).for_each(|_| async {});
        factory.start()?;
        factory.synced().within(PATIENCE).await?;
        ensure!(runtime.metrics().num_alive_tasks() > 0, "nothing runs");
        factory.shutdown().await;
        ensure!(config_maps.is_stopped() && secrets.is_stopped() && services.is_stopped());
        Ok::<_, anyhow::Error>(())
    })?;
    // Tasks that were told to end need their turn.
    runtime.block_on(async {
        eventually("no task is left", || async {
            let tasks = runtime.metrics().num_alive_tasks();
            Ok((tasks > 0).then(|| format!("{tasks} tasks are left")))
        })
        .await
    })?;
    Ok(runtime.metrics().num_alive_tasks())
}

async fn no_connection(gate: &Gate) -> Result<()> {
    eventually("no connection is left", || async {
        let left = gate.connections();
        Ok((left > 0).then(|| format!("{left} are left")))
    })
    .await
}
