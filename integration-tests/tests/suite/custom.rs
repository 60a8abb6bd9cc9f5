//! Custom resources: several in one factory, and one whose definition goes and comes back.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use informers::prelude::*;
use informers::shared::ReflectorPhase;
use integration_tests::follower::{Follower, listen};
use integration_tests::harness::{eventually, eventually_within, unique_name};
use integration_tests::leftovers::delete_afterwards;
use integration_tests::provider::Cluster;
use integration_tests::world::{Collection, World, factory};
use serde_json::json;

integration_tests::cluster_tests! {
    several_custom_types_in_one_factory;
    a_definition_deleted_and_made_again;
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[derive(Debug, serde::Deserialize)]
struct Custom {
    spec: Spec,
}

#[derive(Debug, serde::Deserialize)]
struct Spec {
    size: u32,
}

/// A custom resource type of the test's own.
struct Definition {
    group: String,
    kind: &'static str,
    plural: String,
}

impl Definition {
    fn new(kind: &'static str) -> Self {
        let group = format!("{}.informers.example.com", unique_name("g"));
        Self { group, kind, plural: format!("{}s", kind.to_lowercase()) }
    }

    /// Makes it, and waits until the server serves it.
    async fn make(&self, world: &World) -> Result<Collection> {
        let path = format!("{DEFINITIONS}/{}.{}", self.plural, self.group);
        delete_afterwards(path);
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
        }});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", self.plural, self.group)},
            "spec": {
                "group": self.group, "scope": "Namespaced",
                "names": {"kind": self.kind, "plural": self.plural, "singular": self.kind.to_lowercase()},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            },
        });
        world.admin.create(DEFINITIONS, &definition).await?.ok()?;
        let api = format!("/apis/{}/v1", self.group);
        // Deleted with its definition, so it is nothing that could be left.
        let path = format!("{api}/namespaces/{}/{}", world.namespace, self.plural);
        let collection = Collection { admin: world.admin.clone(), path };
        eventually("the custom resource is served", || async {
            let status = world.admin.get(&collection.path).await?.status;
            Ok((!status.is_success()).then(|| status.to_string()))
        })
        .await?;
        Ok(collection)
    }

    async fn put(&self, collection: &Collection, name: &str, size: u32) -> Result<()> {
        let object = json!({
            "apiVersion": format!("{}/v1", self.group), "kind": self.kind,
            "metadata": {"name": name}, "spec": {"size": size},
        });
        let answer = collection.admin.create(&collection.path, &object).await?;
        if answer.status == 409 {
            let patch = json!({"spec": {"size": size}});
            collection.admin.merge(&format!("{}/{name}", collection.path), &patch).await?.ok()?;
            return Ok(());
        }
        answer.ok().map(drop)
    }

    fn resource(&self) -> Resource<Custom> {
        let of = ResourceType::new(
            self.group.clone(),
            "v1",
            self.kind,
            self.plural.clone(),
            ResourceScope::Namespaced,
        );
        Resource::new(of, JsonDecoder::new())
    }

    fn follow(&self, world: &World, factory: &Factory) -> Result<Follower<Custom>> {
        let informer = factory.informer_for_with(&self.resource(), world.options())?;
        Follower::new(informer, |object| Some(object.spec.size.to_string()))
    }
}

/// A custom type beside whatever else a factory follows.
pub(crate) async fn follow_a_custom_type(world: &World, factory: &Factory) -> Result<()> {
    let definition = Definition::new("Gate");
    let collection = definition.make(world).await?;
    definition.put(&collection, "a", 1).await?;
    let follower = definition.follow(world, factory)?.start().await?;
    definition.put(&collection, "a", 2).await?;
    definition.put(&collection, "b", 3).await?;
    follower.converges(&collection).await
}

async fn several_custom_types_in_one_factory(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "custom").await?;
    let factory = factory(cluster.kubeconfig())?;
    let definitions = ["Lamp", "Door", "Window"].map(Definition::new);
    let mut followed = Vec::new();
    for definition in &definitions {
        let collection = definition.make(&world).await?;
        for number in 0..5 {
            definition.put(&collection, &format!("o{number}"), number).await?;
        }
        let follower = definition.follow(&world, &factory)?;
        // Where events wait for a slow handler, only those of one that hears them in order are known one by one.
        let in_order = listen(&follower.informer, BacklogPolicy::InOrder);
        followed.push((follower.start().await?, in_order, collection));
    }
    for (definition, (.., collection)) in definitions.iter().zip(&followed) {
        for number in 0..10 {
            definition.put(collection, &format!("o{number}"), 100 + number).await?;
        }
        collection.admin.delete(&format!("{}/o0", collection.path)).await?.ok()?;
    }
    for (follower, (_guard, history), collection) in &followed {
        follower.converges(collection).await?;
        // Nobody else writes these, so each event is known: 5 initial, 5 updates, 5 more, 1 deletion.
        eventually("each event is told once", || async {
            let log = history.lock().log.clone();
            let count = |start: &str| log.iter().filter(|line| line.starts_with(start)).count();
            let counts = [count("Added("), count("Updated("), count("Deleted(")];
            Ok((counts != [10, 5, 1]).then(|| format!("{counts:?}: {log:?}")))
        })
        .await?;
    }
    factory.shutdown().await;
    Ok(())
}

async fn a_definition_deleted_and_made_again(cluster: Arc<dyn Cluster>) -> Result<()> {
    // After a resource was there and went, its reader asks again after 30 to 45 seconds.
    const COMES_BACK: Duration = Duration::from_secs(120);
    let world = World::new(&cluster, "again").await?;
    let factory = factory(cluster.kubeconfig())?;
    let definition = Definition::new("Lamp");
    let collection = definition.make(&world).await?;
    for number in 0..5 {
        definition.put(&collection, &format!("o{number}"), number).await?;
    }
    let follower = definition.follow(&world, &factory)?.start().await?;
    let neighbour = world.follow(cluster.kubeconfig())?.start().await?;

    let path = format!("{DEFINITIONS}/{}.{}", definition.plural, definition.group);
    world.admin.delete(&path).await?.ok()?;
    eventually("every object is told to be deleted", || async {
        let left = follower.history.lock().told.len();
        Ok((left > 0 || !follower.informer.store().is_empty()).then(|| format!("{left} are left")))
    })
    .await?;
    world.create("meanwhile", "web", 1).await?;
    neighbour.converges(&world.truth()).await?;
    eventually("the reader knows that the resource is gone", || async {
        let phase = follower.informer.status().reflectors[0].1.phase.clone();
        Ok((!matches!(phase, ReflectorPhase::Gone { .. })).then(|| format!("{phase:?}")))
    })
    .await?;
    eventually("the definition is gone", || async {
        let status = world.admin.get(&path).await?.status;
        Ok((status != 404).then(|| status.to_string()))
    })
    .await?;

    let collection = definition.make(&world).await?;
    definition.put(&collection, "o1", 10).await?;
    definition.put(&collection, "new", 11).await?;
    eventually_within(COMES_BACK, "the objects of the new definition are there", || async {
        let stored = follower.stored().len();
        Ok((stored < 2).then(|| format!("{stored} are there; {:?}", follower.informer.status())))
    })
    .await?;
    follower.converges(&collection).await?;
    definition.put(&collection, "new", 12).await?;
    follower.converges(&collection).await?;
    let new = follower.informer.get(&world.key("new")).context("it was there")?;
    ensure!(new.spec.size == 12, "{new:?}");
    factory.shutdown().await;
    neighbour.stop().await;
    Ok(())
}
