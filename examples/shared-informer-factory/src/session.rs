//! From the start of the informers to their end.

use std::future::Future;
use std::time::Duration;

use anyhow::{Context, Result};
use demo_cluster::{Cluster, StopSignal};
use informers::core::Error;
use informers::prelude::*;

use crate::args::Args;
use crate::churn::Churn;
use crate::controller::Controller;
use crate::event_row::{Describe, row};
use crate::observer::{Observer, Report};
use crate::tally::Tally;
use crate::view::{Row, Screen, View};
use crate::watched::Watched;

/// How often the table is drawn.
const REDRAW: Duration = Duration::from_millis(250);
/// How often an index is asked where there is no table to show it.
const LOOK_UP: Duration = Duration::from_millis(1500);

/// Follows the cluster until a signal, the end of the time, or the end of whoever reads the output.
pub(crate) async fn run(
    args: &Args,
    cluster: &Cluster,
    churn: Option<&Churn>,
    view: &mut View,
    stop: &mut StopSignal,
) -> Result<Tally> {
    if let Some(churn) = churn {
        churn.set_up().await.context("the objects of this demonstration were not made")?;
    }
    let (observer, mut reports) = Observer::new();
    let watched = Watched::new(cluster.client.clone(), &args.namespace, &observer)?;
    let (mut pods, mut deployments, mut widgets) =
        (watched.pods.subscribe(), watched.deployments.subscribe(), watched.widgets.subscribe());
    let controller = Controller::start(&watched, &observer);
    watched.factory.start()?;

    let mut teller = Teller { tally: Tally::new(args.namespace.len()), missing_told: false };
    let mut look = tokio::time::interval(if view.is_table() { REDRAW } else { LOOK_UP });
    let mut nodes_shown = 0;
    let churning = async {
        if let Some(churn) = churn {
            churn.run(&observer).await;
        }
        std::future::pending::<()>().await;
    };
    let syncs = async {
        tokio::join!(
            tell_sync(&watched.pods, &observer),
            tell_sync(&watched.deployments, &observer),
            tell_sync(&watched.widgets, &observer),
        );
        std::future::pending::<()>().await;
    };
    let time_is_up = args.time_is_up();
    tokio::pin!(churning, syncs, time_is_up);
    while !view.is_closed() {
        // In this order, so that a list is told before what follows from it.
        tokio::select! {
            biased;
            () = stop.received() => break,
            () = &mut time_is_up => break,
            () = &mut churning => {}
            () = &mut syncs => {}
            Some(report) = reports.recv() => {
                if let Some(row) = teller.report(report, &watched) {
                    view.show(row)?;
                }
            }
            _ = look.tick() => if view.is_table() {
                teller.tally.look_at(&watched);
                view.draw(&Screen {
                    tally: &teller.tally,
                    nodes: watched.nodes(),
                    apps: controller.findings(),
                })?;
            } else if let Some((node, pods)) = next_of(watched.nodes(), &mut nodes_shown) {
                view.show_if_news(Row::new("index", "look-up", &node, pods.join(" ")))?;
            },
            Some(event) = pods.next() => view.show(teller.event(&event))?,
            Some(event) = deployments.next() => view.show(teller.event(&event))?,
            Some(event) = widgets.next() => view.show(teller.event(&event))?,
        }
    }
    drop(controller);
    watched.factory.shutdown().await;
    // The stores show what is still on its way to this program: with it, the numbers agree.
    teller.tell_the_rest(pods, view).await?;
    teller.tell_the_rest(deployments, view).await?;
    teller.tell_the_rest(widgets, view).await?;
    teller.tally.look_at(&watched);
    Ok(teller.tally)
}

/// Says when the first contents are there.
fn tell_sync<K: Describe + Send + Sync + 'static>(
    informer: &SharedInformer<K>,
    observer: &Observer,
) -> impl Future<Output = ()> {
    let synced = informer.synced();
    async move {
        // It fails when the informer is stopped, which is told by the summary.
        if synced.await.is_ok() {
            observer.row(Row::new(K::RESOURCE, "synced", "", format!("{} objects", informer.store().len())));
        }
    }
}

/// The next one in turn.
fn next_of<K, V>(
    map: impl IntoIterator<Item = (K, V), IntoIter: ExactSizeIterator>,
    turn: &mut usize,
) -> Option<(K, V)> {
    let mut items = map.into_iter();
    let place = turn.checked_rem(items.len())?;
    *turn += 1;
    items.nth(place)
}

/// Puts what happens into words and numbers.
struct Teller {
    tally: Tally,
    missing_told: bool,
}

impl Teller {
    fn event<K: Describe>(&mut self, event: &Event<K>) -> Row {
        self.tally.count(event);
        row(event)
    }

    /// Tells what a stopped informer still had to deliver.
    async fn tell_the_rest<K: Describe + Send + Sync + 'static>(
        &mut self,
        mut events: Subscription<K>,
        view: &mut View,
    ) -> Result<()> {
        while let Some(event) = events.next().await {
            view.show(self.event(&event))?;
        }
        Ok(())
    }

    fn report(&mut self, report: Report, watched: &Watched) -> Option<Row> {
        match report {
            Report::Row(row) => Some(row),
            Report::Failed(error) => self.failure(&error),
            Report::Listed { informer, objects, took } => {
                let line = self.tally.listed(&informer)?;
                let (what, why) = match line.relists() {
                    0 => ("list", String::new()),
                    _ => ("relist", format!(" again, since {}", cause(&last_error(line.resource, watched)))),
                };
                Some(Row::new(line.resource, what, "", format!("{objects} objects read in {took:.1?}{why}")))
            }
        }
    }

    fn failure(&mut self, error: &Error) -> Option<Row> {
        if error.is_not_found() && error.action().contains("widgets") {
            let first = !std::mem::replace(&mut self.missing_told, true);
            let hint = "the cluster does not know widgets.example.com (--install-crd creates it); its informer keeps \
                        asking, the others go on";
            return first.then(|| Row::new("widgets", "missing", "", hint.to_owned()));
        }
        Some(Row::new("client", "retry", "", error.to_string()))
    }
}

/// The last failure of a resource's readers, also if it was overcome.
fn last_error(resource: &str, watched: &Watched) -> Option<Error> {
    let status = match resource {
        "pods" => watched.pods.status(),
        "deployments" => watched.deployments.status(),
        _ => watched.widgets.status(),
    };
    status.reflectors.into_iter().find_map(|(_, reflector)| reflector.last_error)
}

fn cause(error: &Option<Error>) -> String {
    match error {
        Some(error) if error.is_expired() => "its version has expired (410)".to_owned(),
        Some(error) => error.to_string(),
        None => "the watch could not go on".to_owned(),
    }
}
