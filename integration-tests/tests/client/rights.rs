//! Rights that are given to a running informer, and taken from it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use informers::core::Error;
use informers::prelude::*;
use informers::shared::ReflectorPhase;
use integration_tests::control_plane::ControlPlane;
use integration_tests::follower::Follower;
use integration_tests::gate::Gate;
use integration_tests::harness::{eventually, eventually_within};
use integration_tests::provider::Cluster;
use integration_tests::world::{Collection, World};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

integration_tests::control_plane_tests! {
    a_right_that_is_given_taken_and_given_again;
}

/// Who was refused twice in a row asks again after 30 to 45 seconds.
const ASKS_AGAIN: Duration = Duration::from_secs(150);

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// The right of one user to read the ConfigMaps of a world.
pub(crate) struct Right {
    world: World,
    user: String,
    bindings: Collection,
    binding: Value,
}

impl Right {
    /// Not given yet. `user` is its name in reviews, `subject` in bindings.
    pub(crate) async fn of(world: &World, name: &str, user: &str, subject: Value) -> Result<Self> {
        let roles = world.collection(RBAC, "roles");
        let bindings = world.collection(RBAC, "rolebindings");
        let rules =
            json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]);
        let role = json!({"metadata": {"name": name}, "rules": rules});
        world.admin.create(&roles.path, &role).await?.ok()?;
        let binding = json!({
            "metadata": {"name": name}, "subjects": [subject],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        });
        Ok(Self { world: world.clone(), user: user.to_owned(), bindings, binding })
    }

    pub(crate) async fn of_user(world: &World, user: &str) -> Result<Self> {
        let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user});
        Self::of(world, user, user, subject).await
    }

    pub(crate) async fn give(&self) -> Result<()> {
        self.world.admin.create(&self.bindings.path, &self.binding).await?.ok()?;
        self.holds(true).await
    }

    pub(crate) async fn take(&self) -> Result<()> {
        let name = self.binding["metadata"]["name"].as_str().context("it has a name")?;
        self.world.admin.delete(&format!("{}/{name}", self.bindings.path)).await?.ok()?;
        self.holds(false).await
    }

    /// The server learns of its own bindings by a watch.
    async fn holds(&self, wanted: bool) -> Result<()> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": self.user, "resourceAttributes": {
                "namespace": self.world.namespace, "verb": "watch", "resource": "configmaps",
            }},
        });
        let reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        eventually("the server knows who may do what", || async {
            let review = self.world.admin.create(reviews, &review).await?.ok()?;
            Ok((review["status"]["allowed"].as_bool() != Some(wanted)).then(|| review["status"].to_string()))
        })
        .await
    }
}

/// Waits until the informer says that it is denied what it needs, and gives the reason.
async fn denied(follower: &Follower<ConfigMap>) -> Result<Error> {
    let phase = || follower.informer.status().reflectors[0].1.phase.clone();
    eventually("the informer says that it is denied", || async {
        let phase = phase();
        Ok((!matches!(phase, ReflectorPhase::Forbidden { .. })).then(|| format!("{phase:?}")))
    })
    .await?;
    phase().reason().cloned().context("a reason")
}

async fn watching(follower: &Follower<ConfigMap>) -> Result<()> {
    eventually_within(ASKS_AGAIN, "the informer watches", || async {
        let phase = follower.informer.status().reflectors[0].1.phase.clone();
        Ok((!phase.is_watching()).then(|| format!("{phase:?}")))
    })
    .await
}

async fn a_right_that_is_given_taken_and_given_again(control_plane: Arc<ControlPlane>) -> Result<()> {
    let cluster: Arc<dyn Cluster> = Arc::clone(&control_plane) as _;
    let world = World::new(&cluster, "rights").await?;
    for number in 0..5 {
        world.create(&format!("c{number}"), "web", number).await?;
    }
    let right = Right::of_user(&world, "stranger").await?;
    let gate = Gate::before(control_plane.address()).await?;
    let kubeconfig = gate.kubeconfig(control_plane.kubeconfig())?;
    let client = Client::new(Config::from_kubeconfig_file(&kubeconfig, Some("stranger"))?)?;
    let informer = Factory::new(client).informer_with::<ConfigMap>(world.options())?;
    let follower = Follower::of_config_maps(informer)?;
    follower.informer.start()?;

    let reason = denied(&follower).await?;
    ensure!(reason.is_forbidden(), "{reason:?}");
    let told = follower.informer.synced().within(Duration::from_millis(1)).await;
    let told = format!("{:#}", anyhow::Error::from(told.err().context("synced without any right")?));
    for word in ["configmaps is forbidden", "stranger", &world.namespace] {
        ensure!(told.contains(word), "who waits is told `{word}`: {told}");
    }
    right.give().await?;
    watching(&follower).await?;
    follower.handler.synced().within(ASKS_AGAIN).await?;
    follower.converges(&world.truth()).await?;

    // A watch that was allowed goes on until it ends; the next one is denied.
    right.take().await?;
    world.update("c0", 100).await?;
    follower.converges(&world.truth()).await?;
    let before = follower.informer.status().reflectors[0].1.clone();
    let (stored, heard) = (follower.stored(), follower.history.lock().log.len());
    gate.close().await?;
    world.update("c1", 101).await?;
    world.delete("c2").await?;
    gate.open().await?;
    let reason = denied(&follower).await?;
    ensure!(reason.is_forbidden() && reason.to_string().contains("watch"), "{reason:?}");
    let status = follower.informer.status().reflectors[0].1.clone();
    ensure!(status.lists == before.lists && status.watches > before.watches, "{before:?}, then {status:?}");
    ensure!(status.synced && follower.stored() == stored, "what was read stays: {status:?}");
    ensure!(follower.history.lock().log.len() == heard, "{:?}", &follower.history.lock().log[heard..]);

    right.give().await?;
    watching(&follower).await?;
    follower.converges(&world.truth()).await?;
    let status = follower.informer.status().reflectors[0].1.clone();
    ensure!(status.lists == before.lists, "it went on where it was: {before:?}, then {status:?}");
    ensure!(follower.history.lock().log.len() > heard, "what happened meanwhile is told");
    follower.stop().await;
    Ok(())
}
