//! The embedded API server.

mod builder;
mod kubeconfig;
mod listen;

use std::fmt;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex};

pub use builder::{ApiServerBuilder, StartError};
pub(crate) use listen::Connection;

use self::listen::Listening;
use crate::World;
use crate::http::Service;
use crate::world::lock;

/// A Kubernetes API server inside the test's own process: real HTTP on a loopback port, objects in memory.
///
/// It answers lists, watches and writes as kube-apiserver does, as far as a client can tell: versions and
/// their rules, pages, selectors, bookmarks, streaming lists, expired versions, preconditions, finalizers,
/// `Status` objects. It knows the usual built-in resources, learns others from a CustomResourceDefinition
/// or from [`ApiServerBuilder::resource`], and speaks HTTP/1.1 and HTTP/2 without TLS.
///
/// Two answers come sooner than from a real server: a version that is too large is refused at once, not after
/// three seconds, and [`World::compact`] takes effect at once, where a real server serves old versions from
/// its cache for a while. Pods are deleted at once, whatever their grace period.
///
/// A stock kubectl works with it: tables, strategic merge patches, server-side apply, scaling.
///
/// What it does not do: it validates no specification against a schema and prunes nothing, fills in few
/// defaults, manages the fields of appliers alone, has neither admission nor authorization, and runs no
/// controllers. Two jobs of controllers it does itself, at once: the contents of a deleted namespace go with it, and a new
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
    world: World,
    address: SocketAddr,
    token: Option<Arc<str>>,
    listening: Mutex<Option<Listening>>,
}

/// Everything that can be done to the server's objects and requests.
impl Deref for ApiServer {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
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
    pub fn builder() -> ApiServerBuilder {
        ApiServerBuilder::default()
    }

    /// The server's address, such as `http://127.0.0.1:43021`. It stays the same while the server lives.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port that it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// A kubeconfig, as YAML, whose only context leads to this server. Its namespace is `default`.
    ///
    /// Note that client-go sends tokens over TLS alone, and so never to this server.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        kubeconfig::render(&self.url(), self.token.as_deref())
    }

    /// Writes [`kubeconfig`](Self::kubeconfig) into a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_kubeconfig(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        std::fs::write(path, self.kubeconfig())
    }

    fn service(&self) -> Service {
        Service { world: self.world.clone(), address: self.address, token: self.token.clone() }
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
        let listener = listen::bind(self.address).await?;
        let listening = Listening::start(listener, self.service());
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
            self.world.close_watches();
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
