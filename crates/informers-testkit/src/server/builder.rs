//! How a server is set up.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::time::Duration;

use informers_core::ResourceType;

use super::ApiServer;
use super::listen::{self, Listening};
use crate::world::{WorldConfig, lock};

/// Sets up an [`ApiServer`].
///
/// ```
/// use std::time::Duration;
/// use informers_core::{ResourceScope, ResourceType};
/// use informers_testkit::ApiServer;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let widgets = ResourceType::new("example.com", "v1", "Widget", "widgets", ResourceScope::Namespaced);
/// let server = ApiServer::builder()
///     .resource(widgets)
///     .bookmark_interval(Duration::from_millis(100))
///     .token("secret")
///     .start()
///     .await?;
/// # server.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "it does nothing until it is started"]
pub struct ApiServerBuilder {
    port: u16,
    token: Option<String>,
    seed: Option<u64>,
    world: WorldConfig,
}

impl Default for ApiServerBuilder {
    fn default() -> Self {
        Self { port: 0, token: None, seed: None, world: WorldConfig::new(true) }
    }
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Another program listens there.
    #[error("cannot start the API server: port {port} is in use; choose another, or 0 for any that is free")]
    PortInUse {
        /// The port that was asked for.
        port: u16,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The port could not be opened for another reason.
    #[error("cannot start the API server: cannot listen on {address}")]
    Listen {
        /// Where it was to listen.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl ApiServerBuilder {
    /// Listens on this port of the loopback interface. Default: 0, any that is free.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Serves this resource too, as if a CustomResourceDefinition with a status subresource had made it. For
    /// one that is built in, nothing changes.
    pub fn resource(mut self, resource: ResourceType) -> Self {
        self.world.resources.push(resource);
        self
    }

    /// How often a watch that asks for bookmarks gets one. Default: a minute, as kube-apiserver.
    pub fn bookmark_interval(mut self, interval: Duration) -> Self {
        self.world.bookmark_interval = interval;
        self
    }

    /// Answers requests without this bearer token with 401. Default: everybody is let in.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// How many past events of one resource are kept; older versions are expired, also for open watches that
    /// are so far behind. Default: 32 768.
    pub fn history_limit(mut self, events: usize) -> Self {
        self.world.store.history_limit = events;
        self
    }

    /// Lets objects be created in namespaces that do not exist. Default: this is answered with 404, as
    /// kube-apiserver does.
    pub fn without_namespace_check(mut self) -> Self {
        self.world.store.check_namespaces = false;
        self
    }

    /// Where uids and generated names come from; the same seed and the same requests give the same. Default:
    /// another one each time.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Opens the port and starts to serve.
    ///
    /// # Errors
    /// If the port is in use or cannot be opened.
    ///
    /// # Panics
    /// If called outside of a tokio runtime.
    ///
    /// # Cancel safety
    /// If the future is dropped, no server is started.
    pub async fn start(self) -> Result<ApiServer, StartError> {
        let listener = listen::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))).await?;
        let address = listener.local_addr().map_err(|source| StartError::Listen {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)),
            source,
        })?;
        let mut world = self.world;
        world.store.seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        let server = ApiServer {
            world: world.build(),
            address,
            token: self.token.map(Into::into),
            listening: Mutex::new(None),
        };
        let listening = Listening::start(listener, server.service());
        *lock(&server.listening) = Some(listening);
        Ok(server)
    }
}
