//! One factory, several types, a custom resource among them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use informers::prelude::*;
use integration_tests::harness::eventually;
use integration_tests::leftovers::delete_afterwards;
use integration_tests::provider::Cluster;
use integration_tests::world::{World, factory};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{CustomResource, CustomResourceExt};
use serde_json::json;

integration_tests::cluster_tests! {
    one_factory_follows_three_types_and_a_custom_one;
}

#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema, CustomResource)]
#[kube(group = "informers.example.com", version = "v1", kind = "Gadget", namespaced)]
pub(crate) struct GadgetSpec {
    size: u32,
}

async fn one_factory_follows_three_types_and_a_custom_one(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "factory").await?;
    let crd = serde_json::to_value(Gadget::crd())?;
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let answer = world.admin.create(crds, &crd).await?;
    ensure!(answer.status == 201 || answer.status == 409, "creating the CRD: {answer:?}");
    delete_afterwards(format!("{crds}/{}", Gadget::crd_name()));
    let gadgets = world.collection("/apis/informers.example.com/v1", "gadgets").path;
    eventually("the custom resource is served", || async {
        let answer = world.admin.get(&gadgets).await?;
        Ok((answer.status != 200).then(|| format!("{}", answer.status)))
    })
    .await?;

    let factory = factory(cluster.kubeconfig())?;
    let options = || InformerOptions::new().scope(Scope::namespace(&world.namespace));
    let config_maps = factory.informer_with::<ConfigMap>(options())?;
    let secrets = factory.informer_with::<Secret>(options())?;
    let deployments = factory.informer_with::<Deployment>(options())?;
    let sizes = factory.informer_with::<Gadget>(options())?;
    let same = factory.informer_with::<Gadget>(options())?;
    ensure!(factory.informers().len() == 4, "one informer per type: {:?}", factory.informers());
    let by_size = sizes.index(|gadget| Some(gadget.spec.size));
    factory.start()?;
    factory.synced().within(Duration::from_secs(60)).await?;

    let meta = json!({"name": "x"});
    let gadget = json!({"apiVersion": "informers.example.com/v1", "kind": "Gadget", "metadata": meta, "spec": {"size": 3}});
    world.admin.create(&gadgets, &gadget).await?.ok()?;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"a": "b"}});
    let secret_objects = world.collection("/api/v1", "secrets").path;
    world.admin.create(&secret_objects, &secret).await?.ok()?;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta,
        "spec": {
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    });
    let collection = world.collection("/apis/apps/v1", "deployments").path;
    world.admin.create(&collection, &deployment).await?.ok()?;
    world.create("x", "web", 1).await?;

    let key = world.key("x");
    eventually("each informer has its object", || async {
        let there = [
            config_maps.get(&key).is_some(),
            secrets.get(&key).is_some(),
            deployments.get(&key).is_some(),
            sizes.get(&key).is_some(),
        ];
        Ok(there.contains(&false).then(|| format!("{there:?}")))
    })
    .await?;
    ensure!(by_size.keys(&3) == [ObjectKey::new(&world.namespace, "x")]);
    ensure!(same.get(&key).is_some(), "a second handle is the same informer");
    for path in [format!("{gadgets}/x"), format!("{collection}/x"), format!("{secret_objects}/x")] {
        world.admin.delete(&path).await?.ok()?;
    }
    eventually("the objects are gone", || async {
        let left = deployments.store().len() + secrets.store().len() + sizes.store().len();
        Ok((left > 0).then(|| format!("{left} are left")))
    })
    .await?;
    factory.shutdown().await;
    Ok(())
}
