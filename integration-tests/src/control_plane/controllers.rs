//! What makes pods run: controllers, a scheduler, and nodes that exist in the API alone.

use std::path::Path;

use anyhow::{Context, Result};
use http::Method;
use serde_json::json;

use super::credentials;
use super::guard::Guard;
use super::process::Server;
use crate::admin::AdminClient;

pub(super) const PROGRAMS: &[&str] = &["kube-controller-manager", "kube-scheduler", "kwok"];

/// What the simulated kubelets do with pods.
const STAGES: &str = include_str!("../../control-plane/kwok/stages.yaml");

/// Those that tests rely on: all of them would compete with the tests for two cores, and write objects into
/// every namespace.
const CONTROLLERS: &[&str] = &[
    "deployment-controller",
    "replicaset-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "pod-garbage-collector-controller",
];

const NODES: u32 = 3;

/// Starts the programs; they connect by themselves, whenever the API server is ready.
pub(super) fn start(
    binaries: &Path,
    kubeconfig: &Path,
    folder: &Path,
    guard: &mut Guard,
) -> Result<Vec<Server>> {
    let stages = folder.join("stages.yaml");
    std::fs::write(&stages, STAGES).context("writing the stages of simulated pods")?;
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    // One of each, which nobody has to find and which listens nowhere.
    let alone = ["--leader-elect=false".to_owned(), "--secure-port=0".to_owned()];
    let key = folder.join(credentials::SERVICE_ACCOUNT_PRIVATE);
    let arguments = [
        vec![
            format!("--controllers={}", CONTROLLERS.join(",")),
            format!("--service-account-private-key-file={}", key.display()),
        ],
        Vec::new(),
        vec!["--manage-all-nodes=true".into(), format!("--config={}", stages.display())],
    ];
    PROGRAMS
        .iter()
        .zip(arguments)
        .map(|(program, mut arguments)| {
            arguments.push(kubeconfig.clone());
            if *program != "kwok" {
                arguments.extend(alone.clone());
            }
            let log = folder.join(format!("{program}.log"));
            Server::start(&binaries.join(program), &arguments, &log, guard)
        })
        .collect()
}

/// Makes nodes with room for every test's pods.
pub(super) async fn make_nodes(admin: &AdminClient) -> Result<()> {
    for number in 0..NODES {
        let path = format!("/api/v1/nodes/simulated-{number}");
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("simulated-{number}"), "labels": {"kubernetes.io/hostname": format!("simulated-{number}")}},
        });
        admin.create("/api/v1/nodes", &node).await?.ok().context("making a node")?;
        // New nodes are tainted until a controller, which does not run here, has seen them ready.
        admin.merge(&path, &json!({"spec": {"taints": null}})).await?.ok().context("untainting a node")?;
        let room = json!({"cpu": "64", "memory": "256Gi", "pods": "1000"});
        let status = json!({"status": {
            "capacity": room, "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Simulated", "message": "always ready"}],
        }});
        let kind = "application/merge-patch+json";
        let answer = admin.send(Method::PATCH, &format!("{path}/status"), kind, Some(&status)).await?;
        answer.ok().context("making a node ready")?;
    }
    Ok(())
}
