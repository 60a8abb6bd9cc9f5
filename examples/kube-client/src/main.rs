//! Shared informers on top of a `kube::Client` that a program has already: kube writes, the informer reads.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it shows its results")]

mod cluster;
mod writer;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use cluster::Cluster;
use demo_cluster::{ClusterArgs, StopSignal};
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
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<()> {
    let mut stop = StopSignal::new()?;
    let cluster = Cluster::connect(&args.cluster).await?;
    println!("{}", cluster.description);
    if cluster.server.is_some() {
        // Whatever the program does with its client, it goes on doing.
        tokio::spawn(writer::churn(cluster.client.clone()));
    }

    let settings = ReflectorSettings::new()
        .watch_error_handler(|error| eprintln!("warning: {error}; it is tried again"));
    let source = KubeSource::new(cluster.client.clone());
    let factory = Factory::from(Factory::builder(source).reflector(settings).build());
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
        println!("synced: {} pods", pods.store().len());
        while let Some(event) = events.next().await {
            let (sign, pod) = match &event {
                Event::Added { object, .. } => ("+", object),
                Event::Updated { new, .. } => ("~", new),
                Event::Deleted { last, .. } => ("-", last),
            };
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default();
            println!("{sign} {} {phase}, node {node:?} with {} pods", pod.key(), by_node.get(node).len());
        }
        anyhow::Ok(())
    };
    let outcome = tokio::select! {
        () = stop.received() => Ok(()),
        () = time_is_up => Ok(()),
        outcome = following => outcome,
    };
    factory.shutdown().await;
    println!("{} pods at the end", pods.store().len());
    outcome
}
