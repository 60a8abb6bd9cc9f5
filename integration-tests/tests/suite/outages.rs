//! Servers that die, stall and hang up while others write.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use informers::shared::ReflectorSettings;
use integration_tests::follower::Follower;
use integration_tests::gate::Gate;
use integration_tests::harness::{eventually, length};
use integration_tests::load::Load;
use integration_tests::provider::Cluster;
use integration_tests::world::{World, factory};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::sleep;

integration_tests::cluster_tests! {
    a_server_killed_several_times_under_load: own, needs [Stop];
    a_server_stalled_for_seconds_under_load: own, needs [Stop];
    watches_that_the_server_ends_every_second;
    connections_that_break_every_second;
}

async fn a_server_killed_several_times_under_load(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "killed").await?;
    let follower = world.follow(cluster.kubeconfig())?.start().await?;
    let load = Load::start(&world, 30, 1);
    for _ in 0..3 * length() {
        load.goes_on(30).await?;
        cluster.kill().await?;
        cluster.restart().await?;
    }
    follower.converges_under_load(&world, load).await
}

async fn a_server_stalled_for_seconds_under_load(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "stalled").await?;
    let follower = world.follow(cluster.kubeconfig())?.start().await?;
    let load = Load::start(&world, 30, 2);
    for _ in 0..2 * length() {
        load.goes_on(30).await?;
        cluster.pause().await?;
        sleep(Duration::from_secs(3)).await;
        ensure!(follower.informer.status().synced, "a stall takes nothing away from the store");
        cluster.resume().await?;
    }
    follower.converges_under_load(&world, load).await
}

async fn watches_that_the_server_ends_every_second(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "ended").await?;
    // The server is asked to end each watch after one to two seconds.
    let settings = ReflectorSettings::new().min_watch_timeout(Duration::from_secs(1));
    let informer =
        factory(cluster.kubeconfig())?.informer_with::<ConfigMap>(world.options().reflector(settings))?;
    let follower = Follower::of_config_maps(informer)?.start().await?;
    let lists = follower.informer.status().reflectors[0].1.lists;
    let load = Load::start(&world, 30, 3);
    let watches = || follower.informer.status().reflectors[0].1.watches;
    // Twenty seconds of it; minutes in nightly runs.
    for _ in 0..13 * length() {
        let before = watches();
        let stays = || async { Ok((watches() == before).then(|| format!("the {before}th"))) };
        eventually("a watch ends and another one begins", stays).await?;
    }
    let informer = follower.informer.clone();
    follower.converges_under_load(&world, load).await?;
    let status = informer.status().reflectors[0].1.clone();
    ensure!(status.lists == lists, "a watch that ends costs no list: {status:?}");
    Ok(())
}

async fn connections_that_break_every_second(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "broken").await?;
    let gate = Gate::before(cluster.address().context("no address")?).await?;
    let kubeconfig = gate.kubeconfig(cluster.kubeconfig())?;
    let follower = world.follow(&kubeconfig)?.start().await?;
    let load = Load::start(&world, 30, 4);
    for _ in 0..5 * length() {
        eventually("a connection", || async { Ok((gate.connections() == 0).then(String::new)) }).await?;
        sleep(Duration::from_secs(1)).await;
        gate.close().await?;
        gate.open().await?;
    }
    follower.converges_under_load(&world, load).await
}

trait UnderLoad {
    async fn converges_under_load(self, world: &World, load: Load) -> Result<()>;
}

impl UnderLoad for Follower<ConfigMap> {
    /// Ends the load, and compares everything with the cluster.
    async fn converges_under_load(self, world: &World, load: Load) -> Result<()> {
        load.end().await?;
        self.converges(&world.truth()).await?;
        self.informer.stop().await;
        Ok(())
    }
}
