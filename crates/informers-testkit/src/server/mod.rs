//! The embedded API server.

mod builder;
mod kubeconfig;
mod listen;
mod objects;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

pub use builder::{ApiServerBuilder, StartError};
pub(crate) use listen::Connection;

use self::listen::Listening;
use crate::Status;
use crate::fault::{Fault, Faults, RequestMatch};
use crate::request_log::{RequestLog, RequestRecord};
use crate::store::Store;

/// A Kubernetes API server inside the test's own process: real HTTP on a loopback port, objects in memory.
///
/// It answers lists, watches and writes as kube-apiserver does, as far as a client can tell: versions and
/// their rules, pages, selectors, bookmarks, streaming lists, expired versions, preconditions, finalizers,
/// `Status` objects. It knows the usual built-in resources, learns others from a CustomResourceDefinition
/// or from [`ApiServerBuilder::resource`], and speaks HTTP/1.1 and HTTP/2 without TLS.
///
/// What it does not do: it validates no specification against a schema and prunes nothing, fills in few
/// defaults, keeps no managed fields, has neither admission nor authorization, and runs no controllers. Two
/// jobs of controllers it does itself, at once: the contents of a deleted namespace go with it, and a new
/// CustomResourceDefinition is established. Owner references are kept and not acted upon.
///
/// Dropping it closes the port and all connections. It needs a tokio runtime with IO and time enabled; since
/// its sockets are real, a paused clock may run ahead of them.
///
/// ```
/// use informers_testkit::ApiServer;
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ApiServer::start().await?;
/// let created = server.create(json!({
///     "apiVersion": "v1",
///     "kind": "ConfigMap",
///     "metadata": {"namespace": "default", "name": "settings"},
///     "data": {"colour": "blue"},
/// }))?;
/// assert_eq!(created["metadata"]["resourceVersion"], server.revision().to_string());
/// // Point the client under test to this address, or to `server.kubeconfig()`.
/// assert!(server.url().starts_with("http://127.0.0.1:"));
/// server.stop().await;
/// # Ok(())
/// # }
/// ```
pub struct ApiServer {
    shared: Arc<Shared>,
    listening: Mutex<Option<Listening>>,
}

#[derive(Debug)]
pub(crate) struct ServerConfig {
    pub(crate) token: Option<String>,
    pub(crate) bookmark_interval: Duration,
}

/// What the server's tasks and its owner share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: ServerConfig,
    address: SocketAddr,
    store: Mutex<Store>,
    faults: Mutex<Faults>,
    requests: Mutex<RequestLog>,
    /// The store's revision, which wakes the watches.
    changes: watch::Sender<u64>,
    /// Counted up to end the watches that are open.
    closing: watch::Sender<u64>,
}

/// No user code runs under these locks, so a poisoned one guards whole data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reads the store.
    pub(crate) fn with_store<R>(&self, read: impl FnOnce(&Store) -> R) -> R {
        read(&lock(&self.store))
    }

    /// Changes the store and wakes the watches.
    pub(crate) fn write<R>(&self, change: impl FnOnce(&mut Store) -> Result<R, Status>) -> Result<R, Status> {
        let (result, revision) = {
            let mut store = lock(&self.store);
            (change(&mut store), store.revision())
        };
        self.changes.send_replace(revision);
        result
    }

    pub(crate) fn subscribe_changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn subscribe_closing(&self) -> watch::Receiver<u64> {
        self.closing.subscribe()
    }

    fn close_watches(&self) {
        self.closing.send_modify(|count| *count += 1);
    }

    /// Remembers a request and gives the faults that it meets.
    pub(crate) fn note_request(&self, request: RequestRecord) -> Vec<Fault> {
        let faults = lock(&self.faults).take(&request);
        lock(&self.requests).push(request);
        faults
    }
}

impl ApiServer {
    /// A server on a free port with the built-in resources.
    ///
    /// # Errors
    /// If no port can be opened.
    ///
    /// # Panics
    /// If called outside of a tokio runtime.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// A server that is set up before it starts.
    #[must_use]
    pub fn builder() -> ApiServerBuilder {
        ApiServerBuilder::default()
    }

    /// The server's address, such as `http://127.0.0.1:43021`. It stays the same while the server lives.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.shared.address)
    }

    /// The port that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.shared.address.port()
    }

    /// A kubeconfig, as YAML, whose only context leads to this server. Its namespace is `default`.
    ///
    /// Note that client-go sends tokens over TLS alone, and so never to this server.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        kubeconfig::render(&self.url(), self.shared.config.token.as_deref())
    }

    /// Writes [`kubeconfig`](Self::kubeconfig) into a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_kubeconfig(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        std::fs::write(path, self.kubeconfig())
    }

    /// The newest version: that of the last change of any object.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.shared.with_store(Store::revision)
    }

    /// Forgets the past, as the compaction of etcd does: every version before [`revision`](Self::revision) is
    /// answered with 410 `Expired` from now on, in new watches, exact lists and continue tokens. Watches that
    /// are open go on, as on a real server, whose cache feeds them; [`close_watches`](Self::close_watches)
    /// ends these.
    pub fn compact(&self) {
        lock(&self.shared.store).compact();
    }

    /// Ends all open watches in good order, as a server does whose timeout has come, but without a bookmark.
    pub fn close_watches(&self) {
        self.shared.close_watches();
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
        lock(&self.shared.faults).add(requests, fault.into(), times);
    }

    /// Lets the next request that matches fail with this HTTP status code.
    pub fn fail_next(&self, requests: RequestMatch, code: u16) {
        let status = Status::new(code, "the server was told to fail this request");
        self.inject(requests, status, 1);
    }

    /// Takes back all faults that have not happened yet.
    pub fn clear_faults(&self) {
        lock(&self.shared.faults).clear();
    }

    /// The requests so far, oldest first; of more than 100 000 the last ones.
    #[must_use]
    pub fn requests(&self) -> Vec<RequestRecord> {
        lock(&self.shared.requests).all()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        lock(&self.shared.requests).clear();
    }

    /// Closes all connections at once without an answer, as a network that fails. New ones are taken.
    pub fn drop_connections(&self) {
        if let Some(listening) = &*lock(&self.listening) {
            listening.drop_connections();
        }
    }

    /// Closes the port and all connections at once, as a server that was killed. The objects stay, and
    /// [`start_listening`](Self::start_listening) brings it back. When it returns, connections are refused.
    ///
    /// # Cancel safety
    /// If the future is dropped, the port is closed a moment later.
    pub async fn stop_listening(&self) {
        let listening = lock(&self.listening).take();
        if let Some(listening) = listening {
            listening.kill().await;
        }
    }

    /// Opens the same port again after [`stop_listening`](Self::stop_listening); does nothing if it is open.
    ///
    /// # Errors
    /// If somebody else has taken the port meanwhile.
    ///
    /// # Cancel safety
    /// If the future is dropped, the port is as it was.
    pub async fn start_listening(&self) -> Result<(), StartError> {
        if lock(&self.listening).is_some() {
            return Ok(());
        }
        let listener = listen::bind(self.shared.address).await?;
        let listening = Listening::start(listener, Arc::clone(&self.shared));
        let late = lock(&self.listening).replace(listening);
        drop(late);
        Ok(())
    }

    /// Stops in good order: the port is closed, watches end, other running requests are answered. Returns when
    /// all of the server's tasks are gone; what lasts longer than five seconds is broken off.
    ///
    /// # Cancel safety
    /// If the future is dropped, the rest is broken off at once.
    pub async fn stop(self) {
        let listening = lock(&self.listening).take();
        if let Some(listening) = listening {
            self.shared.close_watches();
            listening.stop().await;
        }
    }

    /// Stops at once: the port and all connections are closed without an answer. The same as dropping it.
    pub fn abort(self) {
        drop(self);
    }
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer")
            .field("url", &self.url())
            .field("revision", &self.revision())
            .field("listening", &lock(&self.listening).is_some())
            .finish()
    }
}
