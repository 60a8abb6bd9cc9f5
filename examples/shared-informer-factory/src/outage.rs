//! A moment in which the embedded server is away, and after which it has forgotten its history.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use informers::kube::resource_type;
use informers_testkit::{ApiServer, Status};
use k8s_openapi::api::core::v1::Pod;

use crate::churn::{NAMESPACE, pod};
use crate::observer::Observer;
use crate::view::Row;

const AWAY: Duration = Duration::from_millis(300);

/// Changes objects while nobody can hear of it, then compacts the history: every version that informers have seen has
/// expired when they come back, and they have to list again. Of the deletion they learn by what the list lacks.
pub(crate) async fn run(server: &Arc<ApiServer>, round: u64, observer: &Observer) -> Result<()> {
    server.stop_listening().await;
    observer.row(Row::new("server", "outage", "", "the embedded server goes away for a moment".to_owned()));
    let deleted = miss_changes(server, round).context("the embedded server refuses a change")?;
    server.compact();
    tokio::time::sleep(AWAY).await;
    server.start_listening().await?;
    let told = format!("it is back; {deleted} was deleted meanwhile, and older versions have expired");
    observer.row(Row::new("server", "back", "", told));
    Ok(())
}

fn miss_changes(server: &ApiServer, round: u64) -> Result<String, Status> {
    let pods = resource_type::<Pod>();
    let names = server.list(&pods, Some(NAMESPACE)).into_iter().filter_map(|pod| {
        let name = pod["metadata"]["name"].as_str()?.to_owned();
        name.starts_with("api-").then_some(name)
    });
    let oldest = names.min().unwrap_or_default();
    server.create(pod("api", round + 1000, Some("demo-node-1")))?;
    if !oldest.is_empty() {
        server.delete(&pods, Some(NAMESPACE), &oldest)?;
    }
    Ok(oldest)
}
