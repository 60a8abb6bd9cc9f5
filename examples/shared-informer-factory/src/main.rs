//! Shared informers over a live API server: pods, deployments and a custom resource from one factory.
//!
//! See `--help`, and the README of the folder of examples.

mod args;
mod churn;
mod controller;
mod event_row;
mod observer;
mod outage;
mod session;
mod tally;
mod view;
mod watched;
mod widget;

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use demo_cluster::StopSignal;
use futures_util::FutureExt;
use informers_testkit::ApiServer;

use crate::args::Args;
use crate::churn::Churn;
use crate::view::View;

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[allow(clippy::print_stderr, reason = "the one line that tells what is wrong")]
            {
                eprintln!("error: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<()> {
    let mut stop = StopSignal::new()?;
    let cluster = args.cluster.connect_or_embed(ApiServer::builder()).await?;
    let mut view = View::new(args.plain, &cluster.to_string())?;
    if args.install_crd || cluster.server.is_some() {
        widget::install(&cluster.client).await?;
    }
    let churn = Churn::of(&cluster, args.churn);
    let session = session::run(args, &cluster, churn.as_ref(), &mut view, &mut stop);
    let outcome = AssertUnwindSafe(session).catch_unwind().await;
    // Whatever happened: what was made on somebody's cluster is taken away again.
    let cleaned = match &churn {
        Some(churn) => churn.clean_up().await,
        None => Ok(()),
    };
    let outcome = outcome.unwrap_or_else(|panic| resume_unwind(panic));
    outcome.and_then(|tally| view.summary(&tally)).and(cleaned)
}
