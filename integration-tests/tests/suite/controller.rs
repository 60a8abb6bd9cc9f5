//! A controller over Deployments and their pods, while these are scaled up and down.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use informers::client::{ClientError, Patch};
use informers::prelude::*;
use integration_tests::follower::Follower;
use integration_tests::harness::{PATIENCE, eventually, eventually_within, length};
use integration_tests::provider::Cluster;
use integration_tests::world::{World, factory};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::{Value, json};

integration_tests::cluster_tests! {
    deployments_scaled_up_and_down_settle: shared, needs [Schedules];
    a_namespace_takes_its_objects_with_it: shared, needs [NamespaceGc];
}

const APPS: u32 = 5;

fn app_of(pod: &Pod) -> Option<String> {
    pod.metadata.labels.as_ref()?.get("app").cloned()
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    pod.metadata.deletion_timestamp.is_none()
        && conditions.is_some_and(|all| all.iter().any(|each| each.type_ == "Ready" && each.status == "True"))
}

/// Keeps the datum `ready` of the ConfigMap named like the Deployment equal to the number of its ready pods.
struct Reconciler {
    deployments: Store<Deployment>,
    pods: Index<Pod, String>,
    reports: Store<ConfigMap>,
    client: Client,
}

impl Reconciler {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), ClientError> {
        if !self.deployments.contains(key.as_str()) {
            return Ok(());
        }
        let ready = self.pods.get(key.name()).iter().filter(|pod| is_ready(pod)).count().to_string();
        let reported = self.reports.get(key.as_str());
        let reported = reported.as_ref().and_then(|report| report.data.as_ref()?.get("ready"));
        if reported == Some(&ready) {
            return Ok(());
        }
        let api = self.client.api(&informers::kube::resource::<ConfigMap>(), key.namespace());
        let report = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": key.name()}, "data": {"ready": ready},
        });
        api.patch(key.name(), &Patch::apply("informers-suite", &report)?.forced()).await.map(drop)
    }
}

async fn deployments_scaled_up_and_down_settle(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "churn").await?;
    let pods_of_cluster = world.collection("/api/v1", "pods");
    let _made_by_controllers = world.collection("/apis/apps/v1", "replicasets");
    let deployments_of_cluster = world.collection("/apis/apps/v1", "deployments");
    let factory = factory(cluster.kubeconfig())?;
    let deployments = factory.informer_with::<Deployment>(world.options())?;
    let pods = Follower::new(factory.informer_with::<Pod>(world.options())?, |pod| app_of(pod))?;
    let reports = factory.informer_with::<ConfigMap>(world.options())?;

    let queue: WorkQueue<ObjectKey> = WorkQueue::new();
    let (of_deployments, of_pods, of_reports) = (queue.clone(), queue.clone(), queue.clone());
    let namespace = world.namespace.clone();
    let _guards = (
        deployments.on_event(move |event| drop(of_deployments.add(event.key().clone()))),
        pods.informer.on_event(move |event| {
            if let Some(app) = app_of(event.entry()) {
                drop(of_pods.add(ObjectKey::new(&namespace, &app)));
            }
        }),
        // What was written is read again before it counts as done.
        reports.on_event(move |event| drop(of_reports.add(event.key().clone()))),
    );
    let reconciler = Arc::new(Reconciler {
        deployments: deployments.store().clone(),
        pods: pods.informer.index(|pod| app_of(pod)),
        reports: reports.store().clone(),
        client: factory.source().clone(),
    });
    factory.start()?;
    factory.synced().within(PATIENCE).await?;
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let (queue, reconciler) = (queue.clone(), Arc::clone(&reconciler));
            tokio::spawn(async move {
                while let Some(key) = queue.get().await {
                    match reconciler.reconcile(&key).await {
                        Ok(()) => queue.forget(&key),
                        Err(_) => drop(queue.add_rate_limited(key.key().clone())),
                    }
                }
            })
        })
        .collect();

    let mut replicas = BTreeMap::new();
    for app in 0..APPS {
        let name = format!("app{app}");
        let labels = json!({"app": name});
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {
                "replicas": 2, "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "terminationGracePeriodSeconds": 0,
                        "containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}],
                    },
                },
            },
        });
        world.admin.create(&deployments_of_cluster.path, &deployment).await?.ok()?;
        replicas.insert(name, 2);
    }
    let mut rng = fastrand::Rng::with_seed(15);
    for round in 0..12 * length() {
        let name = format!("app{}", rng.u32(..APPS));
        let wanted = rng.u32(..12);
        let path = format!("{}/{name}", deployments_of_cluster.path);
        world.admin.merge(&path, &json!({"spec": {"replicas": wanted}})).await?.ok()?;
        replicas.insert(name.clone(), wanted);
        if round % 4 == 3 {
            // Some rounds are waited for, others are overtaken by the next.
            let pods = pods_of_cluster.with_query(&format!("labelSelector=app%3D{name}"));
            eventually("a round is done", || async {
                let there = pods.items().await?.len();
                Ok((there != wanted as usize).then(|| format!("{there} of {wanted} pods")))
            })
            .await?;
        }
    }
    eventually_within(2 * PATIENCE, "pods and reports are as the Deployments want", || async {
        let mut wrong = Vec::new();
        let cluster = pods_of_cluster.items().await?;
        for (app, wanted) in &replicas {
            let running =
                cluster.iter().filter(|pod| pod["metadata"]["labels"]["app"] == **app && is_running(pod));
            let running = running.count();
            let report = reports.get(&world.key(app));
            let ready = report.and_then(|report| report.data.as_ref()?.get("ready").cloned());
            if running != *wanted as usize || ready != Some(wanted.to_string()) {
                wrong.push(format!("{app}: {running} of {wanted} pods run, {ready:?} are reported"));
            }
        }
        Ok((!wrong.is_empty()).then(|| wrong.join("; ")))
    })
    .await?;
    pods.converges(&pods_of_cluster).await?;
    let total: u32 = replicas.values().sum();
    ensure!(pods.informer.store().len() == total as usize, "{} of {total} pods", pods.informer.store().len());
    for (app, wanted) in &replicas {
        let path = format!("{}/{app}", world.config_maps());
        let report = world.admin.get(&path).await?.ok()?;
        ensure!(report["data"]["ready"].as_str() == Some(&wanted.to_string()), "{report}");
    }

    queue.shut_down_with_drain().await?;
    for worker in workers {
        worker.await.context("a worker panicked")?;
    }
    // The Deployments first, or their pods come back.
    world.admin.delete(&deployments_of_cluster.path).await?.ok()?;
    eventually("the pods go with their Deployments", || async {
        let left = pods.informer.store().len();
        Ok((left > 0).then(|| format!("{left} are left")))
    })
    .await?;
    factory.shutdown().await;
    Ok(())
}

fn is_running(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null()
}

async fn a_namespace_takes_its_objects_with_it(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "gone").await?;
    for number in 0..10 {
        world.create(&format!("c{number}"), "web", number).await?;
    }
    let follower = world.follow(cluster.kubeconfig())?.start().await?;
    ensure!(follower.informer.store().len() >= 10, "{:?}", follower.stored());
    world.admin.delete(&format!("/api/v1/namespaces/{}", world.namespace)).await?.ok()?;
    eventually("every object is told to be deleted", || async {
        let left = follower.history.lock().told.len();
        Ok((left > 0 || !follower.informer.store().is_empty()).then(|| format!("{left} are left")))
    })
    .await?;
    ensure!(follower.history.lock().violations.is_empty(), "{:?}", follower.history.lock().violations);
    follower.stop().await;
    Ok(())
}
