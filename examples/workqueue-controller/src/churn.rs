//! Pods that come and go on the embedded server.

use std::sync::Arc;
use std::time::Duration;

use informers::kube::resource_type;
use informers_testkit::{ApiServer, Status};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::BROKEN;

const STEP: Duration = Duration::from_millis(400);
const NAMESPACE: &str = "default";

/// Makes, changes and deletes pods until it is dropped, or the server refuses something.
pub(crate) async fn run(server: Arc<ApiServer>) -> Result<(), Status> {
    let pods = resource_type::<Pod>();
    server.create(pod("web-0"))?;
    server.create(pod(BROKEN))?;
    for number in 1_u64.. {
        tokio::time::sleep(STEP).await;
        let name = format!("web-{number}");
        server.create(pod(&name))?;
        tokio::time::sleep(STEP).await;
        server.patch_status(&pods, Some(NAMESPACE), &name, json!({"status": {"phase": "Running"}}))?;
        tokio::time::sleep(STEP).await;
        server.delete(&pods, Some(NAMESPACE), &format!("web-{}", number - 1))?;
    }
    Ok(())
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": "web"}},
        "spec": {"nodeName": "node-1", "containers": [{"name": "web", "image": "web:1"}]},
        "status": {"phase": "Pending"},
    })
}
