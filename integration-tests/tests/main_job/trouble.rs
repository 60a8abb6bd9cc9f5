//! Servers that forget, break off and restart.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use integration_tests::gate::Gate;
use integration_tests::provider::Cluster;
use integration_tests::world::World;

integration_tests::cluster_tests! {
    an_expired_version_leads_to_one_relist: own, needs [Compact];
    a_killed_server_is_followed_again: own, needs [Stop];
    a_broken_connection_costs_no_list;
}

async fn an_expired_version_leads_to_one_relist(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "expired").await?;
    for number in 0..5 {
        world.create(&format!("c{number}"), "web", number).await?;
    }
    let gate = Gate::before(cluster.address().context("no address")?).await?;
    let kubeconfig = gate.kubeconfig(cluster.kubeconfig())?;
    let follower = world.follow(&kubeconfig)?.start().await?;
    follower.converges(&world.truth()).await?;
    let lists = follower.informer.status().reflectors[0].1.lists;

    // While the informer is away: one object goes, one changes, one is recreated, one is new.
    gate.close().await?;
    world.delete("c0").await?;
    world.update("c1", 100).await?;
    world.delete("c2").await?;
    world.create("c2", "api", 2).await?;
    world.create("new", "web", 1).await?;
    let heard = follower.history.lock().log.len();
    cluster.compact().await?;
    // The compacted version itself is still served; only after another change is the informer's too old.
    world.update("c1", 101).await?;
    gate.open().await?;

    follower.converges(&world.truth()).await?;
    let status = follower.informer.status();
    ensure!(status.reflectors[0].1.lists > lists, "the list was read again: {status:?}");
    let log = follower.history.lock().log[heard..].to_vec();
    let about =
        |name: &str| log.iter().filter(|line| line.contains(&world.key(name))).cloned().collect::<Vec<_>>();
    ensure!(about("c0").len() == 1 && about("c0")[0].contains("Inferred"), "{log:?}");
    ensure!(about("c2").len() == 2 && about("c2")[0].starts_with("Deleted("), "deleted, then added: {log:?}");
    ensure!(
        about("c3").is_empty() && about("c4").is_empty(),
        "nothing is told of what did not change: {log:?}"
    );
    follower.stop().await;
    Ok(())
}

async fn a_killed_server_is_followed_again(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "killed").await?;
    for number in 0..5 {
        world.create(&format!("c{number}"), "web", number).await?;
    }
    let follower = world.follow(cluster.kubeconfig())?.start().await?;
    for round in 0..2 {
        cluster.kill().await?;
        cluster.restart().await?;
        world.update("c0", 100 + round).await?;
        world.create(&format!("after{round}"), "web", round).await?;
        world.delete(&format!("c{}", 1 + round)).await?;
        follower.converges(&world.truth()).await?;
    }
    follower.stop().await;
    Ok(())
}

async fn a_broken_connection_costs_no_list(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "broken").await?;
    world.create("a", "web", 1).await?;
    let Some(address) = cluster.address() else { return Ok(()) };
    let gate = Gate::before(address).await?;
    let kubeconfig = gate.kubeconfig(cluster.kubeconfig())?;
    let follower = world.follow(&kubeconfig)?.start().await?;
    follower.converges(&world.truth()).await?;
    let before = follower.informer.status().reflectors[0].1.clone();
    gate.close().await?;
    world.update("a", 2).await?;
    world.create("b", "web", 1).await?;
    gate.open().await?;
    follower.converges(&world.truth()).await?;
    let after = follower.informer.status().reflectors[0].1.clone();
    ensure!(
        after.lists == before.lists && after.watches > before.watches,
        "before {before:?}, after {after:?}"
    );
    follower.stop().await;
    Ok(())
}
