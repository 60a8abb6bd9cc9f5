//! What informers report besides events: complete lists and failures.

use std::time::Duration;

use informers::core::{Error, Metrics};
use tokio::sync::mpsc;

use crate::view::Row;

/// How many reports may wait to be shown.
const WAITING: usize = 256;

/// One report.
#[derive(Debug)]
pub(crate) enum Report {
    /// A list was read whole, paged or streamed.
    Listed { informer: String, objects: u64, took: Duration },
    /// A list or watch failed; it is tried again.
    Failed(Error),
    /// Something to be shown as it is.
    Row(Row),
}

/// Takes reports from wherever they arise. It never blocks: if the screen is far behind, reports are dropped.
#[derive(Clone, Debug)]
pub(crate) struct Observer(mpsc::Sender<Report>);

impl Observer {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Report>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), receiver)
    }

    pub(crate) fn failed(&self, error: &Error) {
        self.report(Report::Failed(error.clone()));
    }

    pub(crate) fn row(&self, row: Row) {
        self.report(Report::Row(row));
    }

    fn report(&self, report: Report) {
        // Full, or nobody looks any more: in both cases there is nothing better to do.
        let _ = self.0.try_send(report);
    }
}

impl Metrics for Observer {
    fn list_completed(&self, informer: &str, objects: u64, took: Duration) {
        self.report(Report::Listed { informer: informer.to_owned(), objects, took });
    }
}
