//! Handlers that come late, go early, are slow, or panic.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use informers::core::Event;
use integration_tests::follower::History;
use integration_tests::harness::eventually;
use integration_tests::provider::Cluster;
use integration_tests::world::World;
use parking_lot::Mutex;

integration_tests::cluster_tests! {
    a_late_handler_is_shown_what_is_there;
    a_removed_handler_hears_nothing_more;
    a_panicking_and_a_slow_handler_harm_nobody;
}

async fn a_late_handler_is_shown_what_is_there(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "late").await?;
    for number in 0..5 {
        world.create(&format!("c{number}"), "web", number).await?;
    }
    let follower = world.follow(cluster.kubeconfig())?.start().await?;
    world.update("c0", 10).await?;
    follower.converges(&world.truth()).await?;

    let late = Arc::new(Mutex::new(History::default()));
    let hearing = Arc::clone(&late);
    let guard = follower.informer.on_event(move |event| {
        if let Event::Added { initial, .. } = &event {
            assert!(initial, "what was there before is initial: {event:?}");
        }
        hearing.lock().hear(&event);
    });
    guard.synced().within(Duration::from_secs(60)).await?;
    let truth = world.truth().versions().await?;
    ensure!(late.lock().told == truth, "{:?}", late.lock());
    world.delete("c1").await?;
    follower.converges(&world.truth()).await?;
    eventually("the late handler hears of the deletion", || async {
        let truth = world.truth().versions().await?;
        let history = late.lock();
        Ok((history.told != truth).then(|| format!("{:?}", history.told)))
    })
    .await?;
    ensure!(late.lock().violations.is_empty() && guard.status().panics == 0, "{:?}", late.lock().violations);
    follower.stop().await;
    Ok(())
}

async fn a_removed_handler_hears_nothing_more(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "removed").await?;
    let follower = world.follow(cluster.kubeconfig())?.start().await?;
    let calls = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&calls);
    let guard = follower.informer.on_event(move |_| {
        counting.fetch_add(1, Ordering::SeqCst);
    });
    world.create("a", "web", 1).await?;
    eventually("a call", || async { Ok((calls.load(Ordering::SeqCst) == 0).then(String::new)) }).await?;
    guard.close().await;
    let before = calls.load(Ordering::SeqCst);
    world.create("b", "web", 1).await?;
    follower.converges(&world.truth()).await?;
    ensure!(calls.load(Ordering::SeqCst) == before, "a call after the removal");
    follower.stop().await;
    Ok(())
}

async fn a_panicking_and_a_slow_handler_harm_nobody(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "harm").await?;
    for number in 0..5 {
        world.create(&format!("c{number}"), "web", number).await?;
    }
    let follower = world.follow(cluster.kubeconfig())?;
    let panicking =
        follower.informer.on_event(|event| assert!(event.key().name() != "c2", "as told by the test"));
    let (release, released) = tokio::sync::watch::channel(false);
    let slow = follower.informer.for_each(move |_| {
        let mut released = released.clone();
        async move {
            let _ = released.wait_for(|released| *released).await;
        }
    });
    let follower = follower.start().await?;
    follower.converges(&world.truth()).await?;
    panicking.synced().within(Duration::from_secs(60)).await?;
    ensure!(panicking.status().panics == 1, "{:?}", panicking.status());
    ensure!(!slow.status().synced, "it has not returned from its first event");

    for value in 0..50 {
        world.update("c0", value).await?;
    }
    follower.converges(&world.truth()).await?;
    ensure!(slow.status().waiting <= 5, "what waits is merged per object: {:?}", slow.status());
    release.send_replace(true);
    slow.synced().within(Duration::from_secs(60)).await?;
    follower.stop().await;
    Ok(())
}
