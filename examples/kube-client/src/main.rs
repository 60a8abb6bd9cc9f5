//! Shared informers on top of a `kube::Client` that a program has already: kube writes, the informer reads.

mod cluster;
mod writer;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use cluster::Cluster;
use demo_cluster::{ClusterArgs, Output, StopSignal, exit_code, warning};
use informers::kube::KubeSource;
use informers::prelude::*;
use informers::shared::ReflectorSettings;
use k8s_openapi::api::core::v1::Pod;

/// Prints each change of the pods of a cluster, until Ctrl-C or SIGTERM.
#[derive(Parser)]
#[command(name = "kube-client", version)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,

    /// End after this many seconds [default: never]
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u32>,
}

/// How long the first list may take.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> ExitCode {
    exit_code(run(&Args::parse()).await)
}

async fn run(args: &Args) -> Result<()> {
    let mut stop = StopSignal::new()?;
    let output = Output::default();
    let cluster = Cluster::connect(&args.cluster).await?;
    output.line(&cluster.description);
    if cluster.server.is_some() {
        // Whatever the program does with its client, it goes on doing.
        tokio::spawn(writer::churn(cluster.client.clone()));
    }

    let settings =
        ReflectorSettings::new().watch_error_handler(|error| warning(&format!("{error}; it is tried again")));
    let source = KubeSource::new(cluster.client.clone());
    let factory = Factory::builder(source).reflector(settings).build();
    let pods = factory.informer::<Pod>()?;
    let by_node = pods.index(|pod| pod.spec.as_ref()?.node_name.clone());
    let mut events = pods.subscribe();
    factory.start()?;

    let time_is_up = async {
        match args.seconds {
            Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds.into())).await,
            None => std::future::pending().await,
        }
    };
    let following = async {
        pods.synced().within(PATIENCE).await.context("the pods cannot be read")?;
        output.line(&format!("synced: {} pods", pods.store().len()));
        while let Some(event) = events.next().await {
            let (sign, pod) = match &event {
                Event::Added { object, .. } => ("+", object),
                Event::Updated { new, .. } => ("~", new),
                Event::Deleted { last, .. } => ("-", last),
            };
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default();
            let neighbours = by_node.get(node).len();
            output.line(&format!("{sign} {} {phase}, node {node:?} with {neighbours} pods", pod.key()));
        }
        anyhow::Ok(())
    };
    let outcome = tokio::select! {
        () = stop.received() => Ok(()),
        () = time_is_up => Ok(()),
        () = output.closed() => Ok(()),
        outcome = following => outcome,
    };
    factory.shutdown().await;
    output.line(&format!("{} pods at the end", pods.store().len()));
    outcome.and(output.finish())
}
