//! A decoder that reads protobuf, and a resource that the server has not as protobuf.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use informers::core::{ErrorKind, ProtobufDecoder};
use informers::prelude::*;
use integration_tests::harness::{eventually, unique_name};
use integration_tests::leftovers::delete_afterwards;
use integration_tests::provider::Cluster;
use integration_tests::world::{World, factory};
use serde_json::json;

integration_tests::cluster_tests! {
    a_resource_without_protobuf_is_refused_in_one_sentence;
}

#[derive(Clone, PartialEq, prost::Message)]
struct Nothing {}

async fn a_resource_without_protobuf_is_refused_in_one_sentence(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "no-protobuf").await?;
    let group = format!("{}.informers.example.com", unique_name("g"));
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    delete_afterwards(format!("{definitions}/lamps.{group}"));
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("lamps.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": "Lamp", "plural": "lamps", "singular": "lamp"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    world.admin.create(definitions, &definition).await?.ok()?;
    let path = format!("/apis/{group}/v1/namespaces/{}/lamps", world.namespace);
    eventually("the custom resource is served", || async {
        let status = world.admin.get(&path).await?.status;
        Ok((!status.is_success()).then(|| status.to_string()))
    })
    .await?;
    let of = ResourceType::new(group.clone(), "v1", "Lamp", "lamps", ResourceScope::Namespaced);
    let lamps: Resource<Nothing> = Resource::new(of, ProtobufDecoder::<Nothing>::new());
    let factory = factory(cluster.kubeconfig())?;
    let informer = factory.informer_for_with(&lamps, world.options())?;
    informer.start()?;
    eventually("the informer says what is wrong", || async {
        let phase = informer.status().reflectors[0].1.phase.clone();
        Ok(phase.reason().is_none().then(|| format!("{phase:?}")))
    })
    .await?;
    let phase = informer.status().reflectors[0].1.phase.clone();
    let reason = phase.reason().context("a reason")?;
    ensure!(reason.kind() == ErrorKind::Configuration, "{reason:?}");
    for words in [&format!("lamps.v1.{group}"), "does not serve this resource as protobuf", "JsonDecoder"] {
        ensure!(reason.to_string().contains(words), "{reason}");
    }
    // It is tried again, since an API server may be replaced; but not in a storm.
    let tries = informer.status().reflectors[0].1.lists + informer.status().reflectors[0].1.watches;
    ensure!(tries <= 4, "{:?}", informer.status());
    factory.shutdown().await;
    Ok(())
}
