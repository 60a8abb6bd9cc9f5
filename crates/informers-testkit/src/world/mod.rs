//! The state of a simulated cluster, whether it is served over HTTP or not.

mod config;
mod objects;
mod watching;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

pub(crate) use self::config::WorldConfig;
pub(crate) use self::watching::Watching;
use crate::Status;
use crate::fault::{Fault, Faults, RequestMatch};
use crate::request_log::{RequestLog, RequestRecord};
use crate::store::Store;

/// The objects of an [`ApiServer`](crate::ApiServer) or a [`SimulatedServer`](crate::SimulatedServer): what a
/// test does to them, what it lets go wrong, and what was asked.
///
/// Both servers deref to it. A clone is another handle to the same world, which stays whole when the server
/// is gone.
///
/// ```
/// use informers_core::{ResourceScope, ResourceType};
/// use informers_testkit::SimulatedServer;
/// use serde_json::json;
///
/// let nodes = ResourceType::new("", "v1", "Node", "nodes", ResourceScope::Cluster);
/// let world = SimulatedServer::new().world().clone();
/// world.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})).unwrap();
/// world.patch(&nodes, None, "node-1", json!({"spec": {"unschedulable": true}})).unwrap();
/// assert_eq!(world.get(&nodes, None, "node-1").unwrap()["spec"]["unschedulable"], true);
/// ```
#[derive(Clone)]
pub struct World(Arc<Inner>);

struct Inner {
    bookmark_interval: Duration,
    store: Mutex<Store>,
    faults: Mutex<Faults>,
    requests: Mutex<RequestLog>,
    /// The store's revision, which wakes the watches.
    changes: watch::Sender<u64>,
    /// Counted up to end the watches that are open.
    closing: watch::Sender<u64>,
}

/// No user code runs under these locks, so a poisoned one guards whole data.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(store: Store, bookmark_interval: Duration) -> Self {
        Self(Arc::new(Inner {
            bookmark_interval,
            changes: watch::Sender::new(store.revision()),
            closing: watch::Sender::new(0),
            store: Mutex::new(store),
            faults: Mutex::new(Faults::default()),
            requests: Mutex::new(RequestLog::default()),
        }))
    }

    /// Reads the store.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&Store) -> R) -> R {
        read(&lock(&self.0.store))
    }

    /// Changes the store and wakes the watches.
    pub(crate) fn write<R>(&self, change: impl FnOnce(&mut Store) -> Result<R, Status>) -> Result<R, Status> {
        let (result, revision) = {
            let mut store = lock(&self.0.store);
            (change(&mut store), store.revision())
        };
        self.0.changes.send_replace(revision);
        result
    }

    /// Remembers a request and gives the faults that it meets.
    pub(crate) fn note_request(&self, request: RequestRecord) -> Vec<Fault> {
        let faults = lock(&self.0.faults).take(&request);
        lock(&self.0.requests).push(request);
        faults
    }

    /// The newest version: that of the last change of any object.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.read(Store::revision)
    }

    /// Forgets the past, as the compaction of etcd does: every version before [`revision`](Self::revision) is
    /// answered with 410 `Expired` from now on, in new watches, exact lists and continue tokens. Watches that
    /// are open go on, as on a real server, whose cache feeds them; [`close_watches`](Self::close_watches)
    /// ends these.
    pub fn compact(&self) {
        lock(&self.0.store).compact();
    }

    /// Ends all open watches in good order, as a server does whose timeout has come, but without a bookmark.
    pub fn close_watches(&self) {
        self.0.closing.send_modify(|count| *count += 1);
    }

    /// Lets the next `times` requests that match meet this fault. Faults are tried in the order in which they
    /// were given; a request meets one of them, and all delays before that.
    ///
    /// ```
    /// # use informers_testkit::{ApiServer, Fault, RequestMatch, Status};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = ApiServer::start().await?;
    /// server.inject(RequestMatch::list("pods"), Status::new(429, "slow down").with_retry_after(1), 2);
    /// server.inject(RequestMatch::watch("pods"), Fault::CutAfter(10), usize::MAX);
    /// # Ok(())
    /// # }
    /// ```
    pub fn inject(&self, requests: RequestMatch, fault: impl Into<Fault>, times: usize) {
        lock(&self.0.faults).add(requests, fault.into(), times);
    }

    /// Lets the next request that matches fail with this HTTP status code.
    pub fn fail_next(&self, requests: RequestMatch, code: u16) {
        let status = Status::new(code, "the server was told to fail this request");
        self.inject(requests, status, 1);
    }

    /// Takes back all faults that have not happened yet.
    pub fn clear_faults(&self) {
        lock(&self.0.faults).clear();
    }

    /// The requests so far, oldest first; of more than 100 000 the last ones.
    #[must_use]
    pub fn requests(&self) -> Vec<RequestRecord> {
        lock(&self.0.requests).all()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        lock(&self.0.requests).clear();
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("revision", &self.revision()).finish_non_exhaustive()
    }
}
