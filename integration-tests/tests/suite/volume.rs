//! Many objects, and many changes of few.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use informers::core::{ListParams, Source};
use informers::pager::Pager;
use informers::prelude::*;
use integration_tests::follower::{Follower, listen};
use integration_tests::harness::{eventually, length};
use integration_tests::provider::Cluster;
use integration_tests::world::{World, client, factory, paged};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

integration_tests::cluster_tests! {
    five_thousand_objects_come_in_pages;
    an_update_storm_loses_nothing;
}

async fn five_thousand_objects_come_in_pages(cluster: Arc<dyn Cluster>) -> Result<()> {
    const WRITERS: u32 = 8;
    let world = World::new(&cluster, "thousands").await?;
    let before = world.truth().versions().await?.len();
    world
        .write_at_once(WRITERS, |number, mut writer| async move {
            for object in (0..5_000).filter(|object| object % WRITERS == number) {
                let app = if object % 3 == 0 { "web" } else { "api" };
                writer.create(&format!("c{object}"), app, object).await?;
            }
            Ok(())
        })
        .await?;

    let config_maps = informers::kube::resource::<ConfigMap>();
    let collection = client(cluster.kubeconfig())?.list_watch(&config_maps, &world.scope())?;
    let params = ListParams::first(String::new().as_str().into());
    let list = Pager::new().page_size(500).list(&collection, params, &CancellationToken::new()).await?;
    ensure!(list.items.len() == before + 5_000, "{} objects in pages", list.items.len());
    ensure!(list.pages == list.items.len().div_ceil(500) as u32, "{} pages", list.pages);

    let factory = factory(cluster.kubeconfig())?;
    let in_pages =
        factory.informer_with::<ConfigMap>(world.options().variant("pages").reflector(paged(500)))?;
    let streamed = factory.informer_with::<ConfigMap>(world.options())?;
    let (in_pages, streamed) = (Follower::of_config_maps(in_pages)?, Follower::of_config_maps(streamed)?);
    let (in_pages, streamed) = (in_pages.start().await?, streamed.start().await?);
    in_pages.converges(&world.truth()).await?;
    streamed.converges(&world.truth()).await?;
    let heard = in_pages.history.lock().log.iter().filter(|line| line.contains(", initial")).count();
    ensure!(heard == before + 5_000, "{heard} initial additions");

    let some = world.truth().with_query("labelSelector=app%3Dweb");
    world.admin.delete(&some.path).await?.ok()?;
    in_pages.converges(&world.truth()).await?;
    streamed.converges(&world.truth()).await?;
    ensure!(streamed.informer.store().len() == before + 3_333, "{}", streamed.informer.store().len());
    factory.shutdown().await;
    Ok(())
}

async fn an_update_storm_loses_nothing(cluster: Arc<dyn Cluster>) -> Result<()> {
    const OBJECTS: u32 = 100;
    const WRITERS: u32 = 4;
    let updates = 100 * length();
    let world = World::new(&cluster, "storm").await?;
    for object in 0..OBJECTS {
        world.create(&format!("c{object}"), "web", 0).await?;
    }
    let follower = world.follow(cluster.kubeconfig())?;
    let values: Arc<Mutex<BTreeMap<String, Vec<u32>>>> = Arc::default();
    let hearing = Arc::clone(&values);
    let every_event = follower.informer.handler().backlog(BacklogPolicy::InOrder).on_event(move |event| {
        if let Event::Added { object, .. } | Event::Updated { new: object, .. } = &event
            && let Some(value) = value_of(object)
        {
            hearing.lock().entry(event.key().name().to_owned()).or_default().push(value);
        }
    });
    let (_in_order, history) = listen(&follower.informer, BacklogPolicy::InOrder);
    let follower = follower.start().await?;
    every_event.synced().await?;

    world
        .write_at_once(WRITERS, move |number, mut writer| async move {
            for value in 1..=updates {
                for object in (0..OBJECTS).filter(|object| object % WRITERS == number) {
                    writer.update(&format!("c{object}"), value).await?;
                }
            }
            Ok(())
        })
        .await?;
    follower.converges(&world.truth()).await?;
    eventually("the handler that hears everything has heard it", || async {
        let waiting = every_event.status().waiting;
        Ok((waiting > 0).then(|| format!("{waiting} events wait")))
    })
    .await?;
    let told = history.lock().told.clone();
    ensure!(told == world.truth().versions().await?, "the handler's replayed events differ from a list");
    ensure!(history.lock().violations.is_empty(), "{:?}", history.lock().violations);
    // One watch that never broke tells every single change, and an object's changes in their order.
    let watches = follower.informer.status().reflectors[0].1.watches;
    let values = values.lock().clone();
    for object in 0..OBJECTS {
        let name = format!("c{object}");
        let heard = values.get(&name).with_context(|| format!("nothing was heard of {name}"))?;
        ensure!(heard.is_sorted(), "{name} went back in time: {heard:?}");
        ensure!(heard.iter().copied().eq(0..=updates), "{watches} watches; of {name} was heard {heard:?}");
    }
    follower.stop().await;
    Ok(())
}

fn value_of(object: &Entry<ConfigMap>) -> Option<u32> {
    object.data.as_ref()?.get("value")?.parse().ok()
}
