//! Prints every notification of one shared informer as a line of JSON, and its final store.
//!
//! It is the client of the scenario tests for informers, and useful wherever one wants to see what an informer tells
//! its handlers. The library's defaults are in use, but for the unbounded backlog, which shows every event, and the
//! form of the first list, which is a flag.

mod args;
mod lines;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use demo_cluster::StopSignal;
use informers::kube::kube_core;
use informers::prelude::*;
use informers::shared::ReflectorSettings;
use k8s_openapi::api::core::v1::Pod;

use crate::args::{Args, Collection};
use crate::lines::Lines;

/// How long the last events may take to reach the handler.
const DELIVERY: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    // Without a word from $RUST_LOG, failures are told: otherwise a server that refuses looks like an empty one.
    let warnings = tracing_subscriber::filter::LevelFilter::WARN.into();
    let filter = tracing_subscriber::EnvFilter::builder().with_default_directive(warnings).from_env_lossy();
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter).init();
    match run(&args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[allow(clippy::print_stderr, reason = "standard error is for people")]
            {
                eprintln!("error: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<()> {
    let client = Client::new(Config::from_kubeconfig_file(&args.kubeconfig, args.context.as_deref())?)?;
    match args.resource {
        Collection::Pods => follow(args, client, &informers::kube::resource::<Pod>()).await,
        Collection::Widgets => {
            let widgets =
                ResourceType::new("example.com", "v1", "Widget", "widgets", ResourceScope::Namespaced);
            follow(args, client, &informers::kube::dynamic(widgets)).await
        }
    }
}

/// Prints what the informer of `resource` tells until a signal or the deadline, then its store.
async fn follow<K>(args: &Args, client: Client, resource: &Resource<K>) -> Result<()>
where
    K: kube_core::Resource + Send + Sync + 'static,
{
    let mut stop = StopSignal::new()?;
    let mut settings = ReflectorSettings::new().streaming_list(args.watch_list);
    if let Some(objects) = args.page_size {
        settings = settings.page_size(objects);
    }
    let factory = informers::Factory::builder(client).scope(args.scope()).reflector(settings).build();
    let informer = factory.informer_for(resource)?;
    let lines = Lines::new(std::io::stdout());
    let events = lines.clone();
    let handler = informer
        .handler()
        .name("log")
        .backlog(BacklogPolicy::InOrder)
        .on_event(move |event: Event<K>| events.event(&event));
    factory.start()?;

    let deadline = tokio::time::sleep(args.deadline);
    let synced = async {
        if handler.synced().await.is_ok() {
            lines.synced();
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = stop.received() => {}
        () = deadline => {}
        () = lines.closed() => {}
        () = synced => {}
    }

    // What has arrived is delivered first, so that the notifications add up to the store that is printed.
    let delivered = tokio::time::timeout(DELIVERY, informer.stop_after_delivery()).await;
    lines.last(informer.store())?;
    delivered.with_context(|| format!("the last events were not delivered within {DELIVERY:?}"))?;
    Ok(())
}
