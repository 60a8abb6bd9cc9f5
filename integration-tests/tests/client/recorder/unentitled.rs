//! A recorder that may not write Events, or only new ones.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use informers::client::{Client, Config};
use integration_tests::control_plane::ControlPlane;
use integration_tests::harness::eventually;
use integration_tests::provider::Cluster;
use integration_tests::world::World;
use serde_json::json;

use super::{event, listed, recorder, settled, subject};

integration_tests::control_plane_tests! {
    events_without_the_right_are_refused_and_counted;
}

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Gives the user `stranger` one right to the Events of a world.
async fn allow(world: &World, verb: &str) -> Result<()> {
    let name = format!("events-{verb}");
    let role = json!({
        "metadata": {"name": name}, "rules": [{"apiGroups": [""], "resources": ["events"], "verbs": [verb]}],
    });
    world.admin.create(&world.collection(RBAC, "roles").path, &role).await?.ok()?;
    let binding = json!({
        "metadata": {"name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "stranger"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
    });
    world.admin.create(&world.collection(RBAC, "rolebindings").path, &binding).await?.ok()?;
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": "stranger", "resourceAttributes": {
            "namespace": world.namespace, "verb": verb, "resource": "events",
        }},
    });
    eventually("the server knows who may do what", || async {
        let reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let review = world.admin.create(reviews, &review).await?.ok()?;
        Ok((review["status"]["allowed"] != true).then(|| review["status"].to_string()))
    })
    .await
}

async fn events_without_the_right_are_refused_and_counted(control_plane: Arc<ControlPlane>) -> Result<()> {
    let cluster: Arc<dyn Cluster> = Arc::clone(&control_plane) as _;
    let world = World::new(&cluster, "unentitled").await?;
    let web = subject(&world, "web").await?;
    let stranger = Client::new(Config::from_kubeconfig_file(control_plane.kubeconfig(), Some("stranger"))?)?;
    let recorder = recorder(stranger)?;
    let mut recorded = 0;
    let mut record = async || {
        recorder.warning(&web, "Unhealthy", "no answer");
        recorded += 1;
        settled(&recorder, recorded).await
    };

    let counts = record().await?;
    ensure!((counts.written, counts.rejected) == (0, 1), "it may do nothing: {counts:?}");
    ensure!(listed(&world).await?.is_empty(), "{:?}", listed(&world).await?);

    // What happens again is told by a patch, which is another right. The Event that was refused is not there, and the one
    // that is made in its place has all that was counted.
    allow(&world, "create").await?;
    let counts = record().await?;
    ensure!((counts.written, counts.rejected) == (0, 2), "a patch is another right: {counts:?}");
    allow(&world, "patch").await?;
    let counts = record().await?;
    ensure!((counts.written, counts.rejected) == (1, 2), "{counts:?}");
    let there = listed(&world).await?;
    ensure!(there == [event("web", "Warning", "Unhealthy", 3, "no answer")], "{there:?}");
    tokio::time::timeout(Duration::from_secs(60), recorder.close()).await.context("it closes")?;
    Ok(())
}
