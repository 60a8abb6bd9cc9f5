//! The reflector used alone: it keeps a data structure of this example's own equal to the pods of a cluster.
//!
//! There is no store, no queue and no handler; of each pod only the name of its node is kept in memory.

mod census;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use census::Census;
use clap::Parser;
use demo_cluster::{ClusterArgs, Output, StopSignal, exit_code, warning};
use informers_core::{JsonDecoder, Resource, ResourceScope, ResourceType, Scope, Source};
use informers_reflector::Reflector;
use informers_testkit::ApiServer;
use tokio_util::sync::CancellationToken;

/// Prints how many pods are on each node, at every change, until Ctrl-C or SIGTERM.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,

    /// End after this many seconds [default: never]
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u32>,
}

/// A pod as far as this example reads it.
#[derive(serde::Deserialize)]
struct Pod {
    #[serde(default)]
    spec: PodSpec,
}

#[derive(Default, serde::Deserialize)]
struct PodSpec {
    #[serde(default, rename = "nodeName")]
    node_name: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    exit_code(run(&Args::parse()).await)
}

async fn run(args: &Args) -> Result<()> {
    let mut stop = StopSignal::new()?;
    let output = Output::default();
    let cluster = args.cluster.connect().await?;
    output.line(&cluster.to_string());
    if let Some(server) = &cluster.server {
        tokio::spawn(churn(Arc::clone(server)));
    }

    let kind = ResourceType::new("", "v1", "Pod", "pods", ResourceScope::Namespaced);
    let pods = cluster.client.list_watch(&Resource::new(kind, JsonDecoder::<Pod>::new()), &Scope::all())?;
    let (census, mut reader) = Census::new();
    let reflector = Reflector::builder(pods, census)
        .watch_error_handler(|error| warning(&format!("{error}; it is tried again")))
        .build();
    let status = reflector.status();
    let cancel = CancellationToken::new();
    let running = tokio::spawn(reflector.run(cancel.clone()));

    let time_is_up = async {
        match args.seconds {
            Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds.into())).await,
            None => std::future::pending().await,
        }
    };
    let counting = async {
        while reader.changed().await.is_ok() {
            output.line(&reader.count().to_string());
        }
    };
    tokio::select! {
        () = stop.received() => {}
        () = time_is_up => {}
        () = output.closed() => {}
        () = counting => {}
    }

    cancel.cancel();
    running.await?;
    output.line(&format!("{} at the end, at version {}", reader.count(), status.current().version));
    output.finish()
}

/// Pods that come and go on the embedded server.
async fn churn(server: Arc<ApiServer>) {
    let pods = ResourceType::new("", "v1", "Pod", "pods", ResourceScope::Namespaced);
    for number in 0_u64.. {
        let pod = serde_json::json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("web-{number}")},
            "spec": {"nodeName": format!("node-{}", number % 2 + 1), "containers": [{"name": "web", "image": "web"}]},
        });
        if server.create(pod).is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        if number >= 4 && server.delete(&pods, Some("default"), &format!("web-{}", number - 4)).is_err() {
            return;
        }
    }
}
