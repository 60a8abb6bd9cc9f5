//! Resyncs and transforms on a live server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use informers::prelude::*;
use integration_tests::follower::Follower;
use integration_tests::harness::{PATIENCE, eventually, length};
use integration_tests::load::Load;
use integration_tests::provider::Cluster;
use integration_tests::world::{World, factory};
use k8s_openapi::api::core::v1::ConfigMap;

integration_tests::cluster_tests! {
    a_resync_shows_everything_again_and_asks_nothing;
    a_transform_runs_once_for_each_change;
}

async fn a_resync_shows_everything_again_and_asks_nothing(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "resync").await?;
    for number in 0..10 {
        world.create(&format!("l{number}"), "web", number).await?;
    }
    let follower = world.follow(cluster.kubeconfig())?;
    let shown: Arc<[AtomicUsize; 10]> = Arc::default();
    let counting = Arc::clone(&shown);
    let resyncing = follower.informer.handler().resync(Duration::from_millis(300)).on_event(move |event| {
        let number = event.key().name().strip_prefix('l').and_then(|number| number.parse::<usize>().ok());
        if event.is_resync()
            && let Some(count) = number.and_then(|number| counting.get(number))
        {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let follower = follower.start().await?;
    resyncing.synced().within(PATIENCE).await?;
    let before = follower.informer.status().reflectors[0].1.clone();
    let heard = follower.history.lock().log.len();
    eventually("each object is shown three times more", || async {
        let least = shown.iter().map(|count| count.load(Ordering::SeqCst)).min();
        Ok((least < Some(3)).then(|| format!("{least:?}")))
    })
    .await?;
    let after = follower.informer.status().reflectors[0].1.clone();
    ensure!((before.lists, before.watches) == (after.lists, after.watches), "{before:?}, then {after:?}");
    let later = follower.history.lock().log.len();
    ensure!(later == heard, "another handler heard {} events of it", later - heard);

    let load = Load::start(&world, 10, 11);
    load.goes_on(100 * length()).await?;
    load.end().await?;
    follower.converges(&world.truth()).await?;
    follower.stop().await;
    Ok(())
}

async fn a_transform_runs_once_for_each_change(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "transform").await?;
    for number in 0..10 {
        world.create(&format!("c{number}"), "web", number).await?;
    }
    // Only what the test made: a cluster may put a ConfigMap of its own into each namespace.
    let scope = world.scope().with_labels("app=web".parse()?);
    let options = InformerOptions::new().scope(scope);
    let informer = factory(cluster.kubeconfig())?.informer_with::<ConfigMap>(options)?;
    let runs = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&runs);
    informer.set_transform(Transform::new(move |object: &mut ConfigMap| {
        counting.fetch_add(1, Ordering::SeqCst);
        object.data = None;
        object.metadata.managed_fields = None;
        Ok::<_, std::convert::Infallible>(())
    }))?;
    let follower = Follower::of_config_maps(informer)?.start().await?;
    for round in 1..=5 {
        for number in 0..10 {
            world.update(&format!("c{number}"), 100 * round + number).await?;
        }
    }
    follower.converges(&world.truth().with_query("labelSelector=app%3Dweb")).await?;
    let runs = runs.load(Ordering::SeqCst);
    ensure!(runs == 60, "10 objects and 50 changes, but {runs} runs");
    for number in 0..10 {
        let object = follower.informer.get(&world.key(&format!("c{number}"))).context("it is there")?;
        ensure!(object.data.is_none() && object.metadata.managed_fields.is_none(), "{:?}", object.object());
    }
    follower.stop().await;
    Ok(())
}
