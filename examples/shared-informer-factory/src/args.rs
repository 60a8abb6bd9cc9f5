//! The command line.

use std::time::Duration;

use clap::Parser;
use demo_cluster::ClusterArgs;

/// Follows pods, deployments and widgets (a custom resource) of a live API server, with shared informers from one
/// factory.
///
/// On a terminal it shows a live table, elsewhere one line per event. Pods are indexed by node and by their `app`
/// label; a small controller, fed by a rate-limited work queue, keeps count of the pods of each app. Ctrl-C or SIGTERM
/// ends it with a summary.
///
/// Without a cluster at hand it starts an API server of its own, where objects come and go, and which after some
/// seconds goes away for a moment and forgets its history, so that a relist can be seen. On a real cluster it only
/// reads, unless --churn or --install-crd is given.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    /// Namespace to follow; may be given several times [default: all]
    #[arg(long, short, value_name = "NS")]
    pub(crate) namespace: Vec<String>,

    /// Make some objects come and go in the namespace `informers-demo` of a real cluster; they are deleted at the end
    /// (the embedded server always has some)
    #[arg(long)]
    pub(crate) churn: bool,

    /// Create the CustomResourceDefinition of widgets.example.com on a real cluster; it stays there
    #[arg(long)]
    pub(crate) install_crd: bool,

    /// Print lines on a terminal too
    #[arg(long)]
    pub(crate) plain: bool,

    /// End after this many seconds [default: never]
    #[arg(long = "for", value_name = "SECONDS")]
    seconds: Option<u32>,
}

impl Args {
    /// Resolves when the time is up, if there is a limit.
    pub(crate) async fn time_is_up(&self) {
        match self.seconds {
            Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds.into())).await,
            None => std::future::pending().await,
        }
    }
}
