//! A controller: handler, workqueue, workers, writes; in the end it equals the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use informers::client::Patch;
use informers::prelude::*;
use integration_tests::harness::eventually;
use integration_tests::provider::Cluster;
use integration_tests::world::{World, factory};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

integration_tests::cluster_tests! {
    a_controller_ends_equal_to_the_cluster;
}

/// Keeps the annotation `mirror` of each ConfigMap equal to its value.
async fn reconcile(
    key: &ObjectKey,
    store: &Store<ConfigMap>,
    client: &Client,
) -> Result<(), informers::client::ClientError> {
    let Some(object) = store.get(key.as_str()) else { return Ok(()) };
    let value = object.data.as_ref().and_then(|data| data.get("value")).cloned().unwrap_or_default();
    let mirror = object.metadata.annotations.as_ref().and_then(|annotations| annotations.get("mirror"));
    if mirror == Some(&value) {
        return Ok(());
    }
    let api = client.api(&informers::kube::resource::<ConfigMap>(), key.namespace());
    let patch = Patch::merge(&json!({
        "metadata": {"annotations": {"mirror": value}, "resourceVersion": object.version().to_string()},
    }))?;
    match api.patch(key.name(), &patch).await {
        Err(error) if error.is_not_found() => Ok(()),
        outcome => outcome.map(drop),
    }
}

async fn a_controller_ends_equal_to_the_cluster(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "controller").await?;
    let factory = factory(cluster.kubeconfig())?;
    let options = InformerOptions::new().scope(Scope::namespace(&world.namespace));
    let informer = factory.informer_with::<ConfigMap>(options)?;
    let queue: WorkQueue<ObjectKey> = WorkQueue::new();
    let adding = queue.clone();
    let handler = informer.on_event(move |event| drop(adding.add(event.key().clone())));
    factory.start()?;
    factory.synced().within(Duration::from_secs(60)).await?;

    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (queue, store, client) = (queue.clone(), informer.store().clone(), factory.source().clone());
            tokio::spawn(async move {
                while let Some(key) = queue.get().await {
                    // A conflict means that the store was behind; the event that brings it up to date comes anyway.
                    match reconcile(&key, &store, &client).await {
                        Ok(()) => queue.forget(&key),
                        Err(_) => drop(queue.add_rate_limited(key.key().clone())),
                    }
                }
            })
        })
        .collect();

    for round in 0..3 {
        for number in 0..20 {
            let name = format!("c{number}");
            match round {
                0 => world.create(&name, "web", number).await?,
                1 => world.update(&name, 100 + number).await?,
                _ if number % 4 == 0 => world.delete(&name).await?,
                _ => world.update(&name, 200 + number).await?,
            };
        }
    }
    eventually("every mirror equals its value", || async {
        let list = world.admin.get(&world.config_maps()).await?.ok()?;
        let wrong: BTreeMap<_, _> = list["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|item| item["data"]["value"].is_string())
            .filter(|item| item["metadata"]["annotations"]["mirror"] != item["data"]["value"])
            .map(|item| {
                (item["metadata"]["name"].to_string(), item["metadata"]["annotations"]["mirror"].to_string())
            })
            .collect();
        Ok((!wrong.is_empty()).then(|| format!("{wrong:?}")))
    })
    .await?;
    queue.shut_down_with_drain().await?;
    for worker in workers {
        worker.await?;
    }
    ensure!(queue.is_empty() && queue.processing_len() == 0, "{:?}", queue.snapshot());
    handler.close().await;
    factory.shutdown().await;
    Ok(())
}
