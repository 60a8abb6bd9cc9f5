//! Another way to the server than this crate's own connections.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;

/// Any error of somebody else's.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Carries requests to the API server and answers back, in place of this crate's own connections: an existing
/// HTTP client with its own TLS and middleware, a `kube::Client`, or a server inside the same process.
///
/// It is what [`Client::over`](crate::Client::over) takes. Everything above one exchange stays the client's:
/// what is asked for, how answers are cut and decoded, time limits, errors.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use informers_client::{BoxError, Client, Config, HttpBody, HttpService};
///
/// /// A server inside this process.
/// struct InMemory;
///
/// #[async_trait::async_trait]
/// impl HttpService for InMemory {
///     async fn send(&self, request: Request<Bytes>) -> Result<Response<HttpBody>, BoxError> {
///         assert_eq!(request.uri().path(), "/version");
///         Ok(Response::new(HttpBody::full(r#"{"major":"1","minor":"37","gitVersion":"v1.37.2"}"#)))
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let client = Client::over(InMemory, Config::for_url("http://in-memory")?)?;
/// assert_eq!(client.server_version().await?.git_version, "v1.37.2");
/// # Ok::<(), informers_client::ClientError>(())
/// # }).unwrap();
/// ```
#[async_trait]
pub trait HttpService: Send + Sync + 'static {
    /// Sends a request and waits for the head of its answer. The URI is whole: the configuration's server, its
    /// path, and the query.
    ///
    /// # Errors
    /// If there is no answer. An error that is a [`ClientError`](crate::ClientError) is passed on as it is;
    /// any other becomes a [`ClientError::Connection`](crate::ClientError::Connection), whose kind is found
    /// out from the errors of hyper, rustls and the operating system in its chain of sources.
    ///
    /// # Cancel safety
    /// Dropping the future, or the body of the answer, must abandon the exchange.
    async fn send(&self, request: Request<Bytes>) -> Result<Response<HttpBody>, BoxError>;

    /// What the server is called in messages; by default, by the URL in the configuration.
    fn server(&self) -> Option<&str> {
        None
    }
}

/// The body of an answer that an [`HttpService`] gives.
pub struct HttpBody(Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>);

impl HttpBody {
    /// Any body.
    pub fn new(body: impl Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static) -> Self {
        Self(Box::pin(body.map_err(Into::into)))
    }

    /// A body that is all there.
    pub fn full(content: impl Into<Bytes>) -> Self {
        Self::new(http_body_util::Full::new(content.into()))
    }

    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.0.as_mut().poll_frame(cx)
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBody").finish_non_exhaustive()
    }
}
