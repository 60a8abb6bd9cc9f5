//! Handlers that come, go and panic while objects change.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use informers::prelude::*;
use integration_tests::follower::{difference, listen};
use integration_tests::harness::{PATIENCE, eventually, length};
use integration_tests::load::Load;
use integration_tests::provider::Cluster;
use integration_tests::world::World;

integration_tests::cluster_tests! {
    handlers_come_go_and_panic_under_load;
}

async fn handlers_come_go_and_panic_under_load(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "traffic").await?;
    let follower = world.follow(cluster.kubeconfig())?.start().await?;
    let load = Load::start(&world, 40, 5);
    let calls = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&calls);
    let panicking = follower.informer.on_event(move |_| {
        let call = counting.fetch_add(1, Ordering::SeqCst);
        assert!(!call.is_multiple_of(3), "as told by the test");
    });
    let slow = follower.informer.for_each(|_| tokio::time::sleep(Duration::from_millis(50)));
    let mut kept = Vec::new();
    for round in 0..10 * length() {
        load.goes_on(20).await?;
        let policy = if round % 2 == 0 { BacklogPolicy::Coalesced } else { BacklogPolicy::InOrder };
        let (guard, history) = listen(&follower.informer, policy);
        if round % 3 == 0 {
            // Removed in the middle of what it hears, perhaps before it is shown what is there.
            guard.close().await;
            let heard = history.lock().log.len();
            load.goes_on(5).await?;
            let after = history.lock().log.len();
            ensure!(after == heard, "a removed handler heard {} events more", after - heard);
            ensure!(history.lock().violations.is_empty(), "{:?}", history.lock().violations);
        } else {
            guard.synced().within(PATIENCE).await?;
            kept.push((guard, history));
        }
    }
    load.end().await?;
    follower.converges(&world.truth()).await?;
    for (guard, history) in &kept {
        eventually("a late handler has heard everything", || async {
            let truth = world.truth().versions().await?;
            let history = history.lock();
            ensure!(history.violations.is_empty(), "{}: {:?}", guard.name(), history.violations);
            Ok((history.told != truth).then(|| difference(&history.told, &truth)))
        })
        .await?;
    }
    slow.synced().within(PATIENCE).await?;
    panicking.synced().within(PATIENCE).await.context("a handler that panics")?;
    let status = panicking.status();
    let expected = calls.load(Ordering::SeqCst).div_ceil(3);
    ensure!(status.panics == expected, "{expected} calls panicked: {status:?}");
    ensure!(slow.status().waiting <= 80, "what waits is bounded by the objects: {:?}", slow.status());
    follower.stop().await;
    Ok(())
}
