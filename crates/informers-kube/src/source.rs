//! Lists and watches over a client of kube-rs.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, Uri};
use informers_client::{
    BoxError, Client, ClientError, Config, Gzip, HttpBody, HttpService, Limits, Timeouts,
};
use informers_core::{Error, ListWatch, Resource, Scope, Source};
use kube_client::client::AuthError;

/// A [`Source`] for informers over an existing [`kube_client::Client`], with its connections, TLS, credentials
/// and middleware.
///
/// Lists and watches are asked for, cut and decoded as [`informers_client::Client`] does it; only the exchange of
/// HTTP requests is kube's. For a new program without a `kube::Client`, that client is the better source: it
/// speaks HTTP/2, pings its connections, and reads rotated files again.
///
/// Two settings of [`kube_client::Config`] matter to informers:
/// - `default_retry`: turn it off. Informers wait between tries themselves, and as long as the server says.
/// - `read_timeout`: leave it at none, the default. A quiet watch is silent for minutes; how long it may be is
///   bounded by [`Timeouts`].
///
/// ```
/// use informers_core::Scope;
/// use informers_kube::{KubeSource, resource};
/// use informers_shared::Factory;
/// use informers_testkit::ApiServer;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
///
/// let server = ApiServer::start().await?;
/// server.create(serde_json::json!({
///     "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "default"},
///     "data": {"color": "blue"},
/// }))?;
///
/// let mut config = kube_client::Config::new(server.url().parse()?); // yours: Config::infer().await?
/// config.default_retry = false;
/// let client = kube_client::Client::try_from(config)?;
///
/// let factory = Factory::new(KubeSource::new(client));
/// let maps = factory.informer_for(&resource::<ConfigMap>())?;
/// factory.start()?;
/// maps.synced().await?;
/// let settings = maps.store().get("default/settings").unwrap();
/// assert_eq!(settings.data.as_ref().unwrap()["color"], "blue");
/// # factory.shutdown().await;
/// # Ok::<(), Box<dyn std::error::Error>>(()) })
/// # }
/// ```
#[derive(Clone)]
pub struct KubeSource {
    kube: kube_client::Client,
    client: Client,
}

impl KubeSource {
    /// Over this client. Nothing is sent.
    #[must_use]
    pub fn new(client: kube_client::Client) -> Self {
        let config = config(client.default_namespace());
        Self { client: over(client.clone(), config), kube: client }
    }

    /// With these time limits for answers; those for connections are kube's.
    #[must_use]
    pub fn with_timeouts(self, timeouts: Timeouts) -> Self {
        self.changed(|config| config.with_timeouts(timeouts))
    }

    /// With these limits of size and number; that of streams for each connection is kube's.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        self.changed(|config| config.with_limits(limits))
    }

    /// Whether compressed lists are asked for. By default they are, as it is not known whether the server is on
    /// this machine, where [`Gzip::Never`] saves time.
    #[must_use]
    pub fn with_gzip(self, gzip: Gzip) -> Self {
        self.changed(|config| config.with_gzip(gzip))
    }

    fn changed(self, change: impl FnOnce(Config) -> Config) -> Self {
        let config = change(self.client.config().clone());
        Self { client: over(self.kube.clone(), config), kube: self.kube }
    }

    /// The client of informers over the same connections, for its typed requests and discovery.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The client that it was made of.
    #[must_use]
    pub fn kube(&self) -> &kube_client::Client {
        &self.kube
    }
}

#[allow(clippy::expect_used, reason = "the URL is a constant, and there are no credentials to go wrong")]
fn config(namespace: &str) -> Config {
    // kube puts the true one in its place.
    let config = Config::for_url("http://kube-client").expect("a constant URL is valid");
    config.with_namespace(namespace)
}

#[allow(
    clippy::expect_used,
    reason = "what Client::over refuses is credentials and names, and there are none"
)]
fn over(client: kube_client::Client, config: Config) -> Client {
    Client::over(Exchange(client), config).expect("a configuration without credentials is valid")
}

impl Source for KubeSource {
    fn list_watch<T: Send + Sync + 'static>(
        &self,
        resource: &Resource<T>,
        scope: &Scope,
    ) -> Result<Arc<dyn ListWatch<T>>, Error> {
        self.client.list_watch(resource, scope)
    }
}

impl From<kube_client::Client> for KubeSource {
    fn from(client: kube_client::Client) -> Self {
        Self::new(client)
    }
}

impl fmt::Debug for KubeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubeSource")
            .field("default_namespace", &self.kube.default_namespace())
            .finish_non_exhaustive()
    }
}

/// One exchange by kube's means.
struct Exchange(kube_client::Client);

#[async_trait]
impl HttpService for Exchange {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<HttpBody>, BoxError> {
        let (mut parts, body) = request.into_parts();
        // As kube's own requests: its middleware adds the server.
        parts.uri = parts.uri.path_and_query().cloned().map_or_else(Uri::default, Uri::from);
        let request = Request::from_parts(parts, kube_client::client::Body::from(body));
        match self.0.send(request).await {
            Ok(response) => Ok(response.map(HttpBody::new)),
            Err(error) => Err(unwrapped(error)),
        }
    }

    fn server(&self) -> Option<&str> {
        Some("the server of the kube::Client")
    }
}

/// The error itself: kube's wrappers repeat what they wrap.
fn unwrapped(error: kube_client::Error) -> BoxError {
    match error {
        kube_client::Error::Auth(error) => unauthorized(error),
        kube_client::Error::HyperError(error) => error.into(),
        kube_client::Error::Service(error) => match error.downcast::<AuthError>() {
            Ok(error) => unauthorized(*error),
            Err(error) => error,
        },
        other => other.into(),
    }
}

fn unauthorized(error: AuthError) -> BoxError {
    let problem = "the kube::Client does not get them from their source".to_owned();
    ClientError::Credentials { problem, source: Some(Arc::new(error)) }.into()
}
