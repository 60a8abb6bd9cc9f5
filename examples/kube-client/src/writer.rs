//! Pods that come and go on the embedded server, by requests of kube.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, PostParams};

pub(crate) async fn churn(client: kube::Client) {
    let pods: Api<Pod> = Api::default_namespaced(client);
    for number in 0_u64.. {
        if turn(&pods, number).await.is_err() {
            // The server has ended.
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
}

/// Makes a pod, and deletes the fourth before it.
async fn turn(pods: &Api<Pod>, number: u64) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pod = serde_json::from_value(serde_json::json!({
        "metadata": {"name": format!("web-{number}")},
        "spec": {"nodeName": format!("node-{}", number % 2 + 1), "containers": [{"name": "web", "image": "web"}]},
    }))?;
    pods.create(&PostParams::default(), &pod).await?;
    if number >= 4 {
        pods.delete(&format!("web-{}", number - 4), &DeleteParams::default().grace_period(0)).await?;
    }
    Ok(())
}
