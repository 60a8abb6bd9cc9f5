//! The classic controller of client-go's work queue example, over pods.
//!
//! A plain informer keeps an indexed store equal to the pods of a namespace, and its handler puts the keys of what
//! changed into a rate-limited work queue. Workers take keys, look the pods up, and print them.

mod churn;
mod controller;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use demo_cluster::{Cluster, ClusterArgs, Output, StopSignal, exit_code, warning};
use informers::core::Source;
use informers::prelude::*;
use informers::shared::PlainInformer;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio_util::sync::CancellationToken;

use crate::controller::Controller;

/// The pod on the embedded server whose work fails.
const BROKEN: &str = "broken";

/// Prints the pods of a namespace as they change: an informer feeds a rate-limited work queue, workers take from it.
///
/// Before it starts, a pod default/mypod that does not exist is put into the store, as if it had been remembered from
/// an earlier run; the first list removes it. It only reads, and ends on Ctrl-C or SIGTERM.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,

    /// Address of the API server; it overrides the one of --kubeconfig, and without --kubeconfig no credentials are
    /// used
    #[arg(long, value_name = "URL", conflicts_with = "embedded")]
    master: Option<String>,

    /// Namespace to watch, or `all`
    #[arg(long, value_name = "NS", default_value = "default")]
    namespace: String,

    /// How many keys are worked on at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: u16,

    /// Fail on purpose for pods of this name, to see the retries [default: `broken` on the embedded server, else none]
    #[arg(long, value_name = "NAME")]
    fail_on: Option<String>,

    /// End after this many seconds [default: never]
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u32>,
}

#[tokio::main]
async fn main() -> ExitCode {
    exit_code(run(&Args::parse()).await)
}

async fn run(args: &Args) -> Result<()> {
    let mut stop = StopSignal::new()?;
    let output = Output::default();
    let cluster = connect(args).await?;
    output.line(&cluster.to_string());
    let churn = cluster.server.clone().map(|server| tokio::spawn(churn::run(server)));
    let fail_on = args.fail_on.clone().or_else(|| churn.as_ref().map(|_| BROKEN.to_owned()));

    let queue = WorkQueue::builder().name("pods").build();
    let informer = pod_informer(&cluster, &args.namespace, &queue)?;
    let (store, synced) = (informer.store().clone(), informer.synced());
    let cancel = CancellationToken::new();
    let informing = tokio::spawn(informer.run(cancel.clone()));
    let controller = Controller::new(queue, store, fail_on, output.clone());

    output.line(&format!("starting the pod controller with {} workers", args.workers));
    let work = async {
        // Workers begin when the store is complete, so that no pod looks as if it were gone.
        synced.await.context("the informer ended before the first list was complete")?;
        controller.work(args.workers.into()).await;
        anyhow::Ok(())
    };
    let time_is_up = async {
        match args.seconds {
            Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds.into())).await,
            None => std::future::pending().await,
        }
    };
    let outcome = tokio::select! {
        () = stop.received() => Ok(()),
        () = time_is_up => Ok(()),
        () = output.closed() => Ok(()),
        outcome = work => outcome,
    };

    output.line("stopping the pod controller");
    cancel.cancel();
    informing.await?;
    if let Some(churn) = churn {
        churn.abort();
    }
    outcome.and(output.finish())
}

async fn connect(args: &Args) -> Result<Cluster> {
    match (&args.master, &args.cluster.kubeconfig) {
        (None, _) => args.cluster.connect().await,
        (Some(_), None) if args.cluster.context.is_some() => {
            bail!("--context: with --master it needs the --kubeconfig that it stands in")
        }
        (Some(master), None) => {
            Cluster::connect(Config::for_url(master).context("--master")?, "from --master").await
        }
        (Some(master), Some(path)) => {
            let config = Config::from_kubeconfig_file(path, args.cluster.context.as_deref())?;
            let config = config.with_server(master).context("--master")?;
            Cluster::connect(config, &format!("from --master and {}", path.display())).await
        }
    }
}

/// A list-watch on pods, an indexed store, and a handler that queues keys.
fn pod_informer(
    cluster: &Cluster,
    namespace: &str,
    queue: &WorkQueue<ObjectKey>,
) -> Result<PlainInformer<Pod>> {
    let scope = if namespace == "all" { Scope::all() } else { Scope::namespace(namespace) };
    let pods = cluster.client.list_watch(&informers::kube::resource::<Pod>(), &scope)?;
    let keys = queue.clone();
    let mut informer = PlainInformer::builder(pods)
        .on_event(move |event| {
            // The key is the same for deletions, however they became known. After a shutdown keys are refused, and
            // nobody would work on them anyway.
            let _ = keys.add(event.key().clone());
        })
        .watch_error_handler(|error| warning(&format!("{error}; it is tried again")))
        .build();
    informer.index(Some("node"), |pod| pod.spec.as_ref()?.node_name.clone())?;
    informer.writer().insert(remembered());
    Ok(informer)
}

/// A pod that is in the store before the first list.
fn remembered() -> Entry<Pod> {
    let metadata = ObjectMeta {
        name: Some("mypod".to_owned()),
        namespace: Some("default".to_owned()),
        labels: Some(BTreeMap::from([("app".to_owned(), "remembered".to_owned())])),
        ..ObjectMeta::default()
    };
    Entry::keyed(ObjectKey::new("default", "mypod"), Pod { metadata, ..Pod::default() })
}
