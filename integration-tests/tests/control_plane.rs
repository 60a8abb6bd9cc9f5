//! Each kind of cluster does what tests of the main job rely on.
#![cfg(unix)]

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use integration_tests::admin::{AdminClient, Login};
use integration_tests::gate::Gate;
use integration_tests::harness::unique_name;
use integration_tests::provider::Cluster;
use serde_json::{Value, json};

integration_tests::cluster_tests! {
    objects_are_created_patched_and_deleted;
    many_tests_share_a_cluster;
    a_compacted_version_is_gone: own, needs [Compact];
    a_killed_server_comes_back_with_its_objects: own, needs [Stop];
    a_stalled_server_answers_when_it_goes_on: own, needs [Stop];
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "a": "1" } })
}

fn version(object: &Value) -> Result<&str> {
    object["metadata"]["resourceVersion"].as_str().context("no resource version")
}

async fn objects_are_created_patched_and_deleted(cluster: Arc<dyn Cluster>) -> Result<()> {
    let admin = cluster.admin();
    let name = unique_name("lifecycle");
    let path = format!("{CONFIG_MAPS}/{name}");
    let created = admin.create(CONFIG_MAPS, &config_map(&name)).await?.ok()?;
    let patched = admin.merge(&path, &json!({ "data": { "a": "2" } })).await?.ok()?;
    ensure!(patched["data"]["a"] == "2", "{patched}");
    ensure!(version(&patched)? != version(&created)?, "a change gives a new version");
    ensure!(patched["metadata"]["uid"] == created["metadata"]["uid"], "a change keeps the uid");
    ensure!(admin.create(CONFIG_MAPS, &config_map(&name)).await?.status == 409);
    admin.delete(&path).await?.ok()?;
    ensure!(admin.get(&path).await?.status == 404);
    Ok(())
}

async fn many_tests_share_a_cluster(cluster: Arc<dyn Cluster>) -> Result<()> {
    let answer = cluster.admin().get("/version").await?.ok()?;
    ensure!(answer["major"] == "1", "{answer}");
    Ok(())
}

async fn a_compacted_version_is_gone(cluster: Arc<dyn Cluster>) -> Result<()> {
    let admin = cluster.admin();
    let old = admin.create(CONFIG_MAPS, &config_map("old")).await?.ok()?;
    admin.create(CONFIG_MAPS, &config_map("new")).await?.ok()?;
    let page = admin.get(&format!("{CONFIG_MAPS}?limit=1")).await?.ok()?;
    let token = page["metadata"]["continue"].as_str().context("no continue token")?.to_owned();
    // The version that is current at the compaction stays readable: the token must be older.
    admin.create(CONFIG_MAPS, &config_map("newest")).await?.ok()?;
    cluster.compact().await?;

    let watch = format!("{CONFIG_MAPS}?watch=true&timeoutSeconds=5&resourceVersion={}", version(&old)?);
    let answer = admin.get(&watch).await?;
    // A server may say so by its status or in the stream's first event.
    let status = if answer.body["type"] == "ERROR" { &answer.body["object"] } else { &answer.body };
    ensure!(status["code"] == 410, "{}", answer.text);
    let answer = admin.get(&format!("{CONFIG_MAPS}?limit=1&continue={token}")).await?;
    ensure!(answer.status == 410, "{}", answer.text);
    admin.get(&format!("{CONFIG_MAPS}/old")).await?.ok()?;
    Ok(())
}

async fn a_killed_server_comes_back_with_its_objects(cluster: Arc<dyn Cluster>) -> Result<()> {
    let admin = cluster.admin();
    let before = admin.create(CONFIG_MAPS, &config_map("kept")).await?.ok()?;
    cluster.kill().await?;
    ensure!(admin.get("/version").await.is_err(), "a killed server answers");
    cluster.restart().await?;
    let after = admin.get(&format!("{CONFIG_MAPS}/kept")).await?.ok()?;
    ensure!(after["metadata"]["uid"] == before["metadata"]["uid"]);
    Ok(())
}

async fn a_stalled_server_answers_when_it_goes_on(cluster: Arc<dyn Cluster>) -> Result<()> {
    cluster.pause().await?;
    let admin = cluster.admin();
    // A server that goes on would answer within milliseconds; a stalled one never does.
    let early = tokio::time::timeout(Duration::from_millis(500), admin.get("/version")).await;
    ensure!(early.is_err(), "a stalled server answers: {early:?}");
    let admin = cluster.admin();
    let asked = tokio::spawn(async move { admin.get("/version").await });
    cluster.resume().await?;
    asked.await??.ok()?;
    Ok(())
}

mod credentials {
    use integration_tests::control_plane::ControlPlane;

    use super::*;

    /// A control plane, or none where none was asked for.
    async fn start() -> Result<Option<ControlPlane>> {
        let binaries = std::env::var_os("INFORMERS_CONTROL_PLANE_BIN");
        match (std::env::var("INFORMERS_TEST_CONTROL_PLANE").as_deref(), binaries) {
            (Ok("off"), _) | (Err(_), None) => Ok(None),
            (_, binaries) => {
                let binaries = binaries.context("INFORMERS_CONTROL_PLANE_BIN is not set")?;
                Ok(Some(ControlPlane::start(binaries.as_ref()).await?))
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn certificates_are_checked_and_rights_differ() -> Result<()> {
        let Some(control_plane) = start().await? else { return Ok(()) };
        let folder = control_plane.kubeconfig().parent().context("no folder")?.to_owned();
        let login = || Login::Token("nobody-knows-this-token".into());
        let unknown =
            AdminClient::secure(control_plane.address(), control_plane.authority_pem().as_bytes(), login())?;
        ensure!(unknown.get("/api/v1/pods").await?.status == 401);

        let other = std::fs::read(folder.join("client-authority.crt"))?;
        let deceived = AdminClient::secure(control_plane.address(), &other, login())?;
        let error = format!("{:#}", deceived.get("/version").await.unwrap_err());
        ensure!(error.contains("certificate"), "a wrong CA is noticed: {error}");

        let gate = Gate::before(control_plane.address()).await?;
        let through = AdminClient::secure(
            gate.address().to_string(),
            control_plane.authority_pem().as_bytes(),
            login(),
        )?;
        ensure!(through.get("/api/v1/pods").await?.status == 401, "TLS passes a gate");

        drop(control_plane);
        ensure!(unknown.get("/version").await.is_err(), "a dropped server answers");
        ensure!(!folder.exists(), "the folder is left behind");
        Ok(())
    }
}
