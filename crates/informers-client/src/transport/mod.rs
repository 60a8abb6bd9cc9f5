//! Requests over pooled connections.

mod body;
mod connect;
mod cut;
mod driver;
mod failure;
mod go_away;
mod insecure;
mod pool;
mod tls;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::Full;
use hyper::client::conn::TrySendError;
use parking_lot::Mutex;

pub(crate) use body::ResponseBody;
use connect::Connector;
pub(crate) use connect::is_loopback;
pub(crate) use failure::TransportError;
use pool::{Lease, Pool, Sender};
use tls::TlsSource;

use crate::credentials::Identity;
use crate::{ClientError, Config, HttpService};

type RequestBody = Full<Bytes>;

/// How often a request that the server has not begun with is sent again.
const MAX_REPLAYS: u32 = 5;

/// A request without its server.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    /// Path and query, with the path prefix of the server's URL.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// How requests come to the server.
pub(crate) enum Transport {
    Pools(Pools),
    Service(Arc<dyn HttpService>, Arc<Config>),
}

impl Transport {
    /// Connections of our own.
    pub(crate) fn pools(config: &Arc<Config>) -> Result<Self, ClientError> {
        Pools::new(Arc::clone(config)).map(Self::Pools)
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn send(
        &self,
        other_host: Option<&Uri>,
        outgoing: &Outgoing,
        identity: &Identity,
        action: &str,
    ) -> Result<Response<ResponseBody>, ClientError> {
        let (service, config) = match self {
            Self::Pools(pools) => {
                let sent = pools.send(other_host, outgoing, identity).await;
                return sent.map_err(|error| error.during(action));
            }
            Self::Service(service, config) => (service, config),
        };
        let uri = whole_uri(&config.server, &outgoing.target).map_err(|error| error.during(action))?;
        let mut request = Request::new(outgoing.body.clone());
        *request.method_mut() = outgoing.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = outgoing.headers.clone();
        match service.send(request).await {
            Ok(response) => Ok(response.map(|body| ResponseBody::of_service(body, self.shown()))),
            Err(error) => Err(match error.downcast::<ClientError>() {
                Ok(error) => *error,
                Err(error) => TransportError::of_service(&self.shown(), error).during(action),
            }),
        }
    }

    /// Whether redirects are followed here: a service has its own ways, and knows no other host.
    pub(crate) fn follows_redirects(&self) -> bool {
        matches!(self, Self::Pools(_))
    }

    /// What the server is called in messages.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Pools(pools) => pools.config.server.to_string(),
            Self::Service(service, config) => {
                service.server().map_or_else(|| config.server.to_string(), str::to_owned)
            }
        }
    }
}

/// The connections of one client: to its server, and to hosts that redirects named.
pub(crate) struct Pools {
    config: Arc<Config>,
    main: Pool,
    others: Mutex<HashMap<String, Pool>>,
}

impl Pools {
    fn new(config: Arc<Config>) -> Result<Self, ClientError> {
        let server = origin(&config.server)?;
        let tls = if server.scheme_str() == Some("https") {
            Some(Arc::new(TlsSource::new(config.tls.clone(), config.http2.enabled)?))
        } else {
            None
        };
        let main = pool(&config, server, tls)?;
        Ok(Self { config, main, others: Mutex::default() })
    }

    /// Sends a request and waits for the head of its answer.
    ///
    /// It is sent again where that is safe: if the server has not begun with it, or if a read met a connection
    /// that had died while it was not used.
    async fn send(
        &self,
        other_host: Option<&Uri>,
        outgoing: &Outgoing,
        identity: &Identity,
    ) -> Result<Response<ResponseBody>, TransportError> {
        let pool = match other_host {
            None => self.main.clone(),
            Some(host) => self.other(host)?,
        };
        let connector = pool.connector();
        let mut replays = 0;
        loop {
            let plugin = identity.certificate.as_ref().filter(|_| other_host.is_none());
            let generation = match &connector.tls {
                None => 0,
                Some(source) => source.current(plugin, false).await.generation,
            };
            let mut lease = pool.lease(generation, plugin).await?;
            let request = request(&lease, &connector.server, outgoing)?;
            let Some(sent) = send_on(&mut lease, request).await else { continue };
            let mut failed = match sent {
                Ok(response) => {
                    if let Some(refusal) = connector.refusal_of_proxy(response.status()) {
                        lease.retire();
                        return Err(refusal);
                    }
                    return Ok(response.map(|body| ResponseBody::pooled(body, lease, connector.shown())));
                }
                Err(failed) => failed,
            };
            // hyper gives the request back if not a byte of it was sent.
            let unsent = failed.take_message().is_some();
            let error = failed.into_error();
            let died_unused = lease.is_reused
                && outgoing.method == Method::GET
                && (error.is_closed() || error.is_incomplete_message() || broke(&error));
            lease.retire();
            if replays < MAX_REPLAYS && (unsent || failure::was_not_processed(&error) || died_unused) {
                replays += 1;
                tracing::debug!(error = &error as &dyn std::error::Error, "sending the request once more");
                continue;
            }
            return Err(TransportError::exchanging(&connector.shown(), error));
        }
    }

    fn other(&self, host: &Uri) -> Result<Pool, TransportError> {
        let failed = |error: ClientError| {
            let problem = format!("{host} is a redirect's target and cannot be used");
            TransportError {
                source: crate::error::cause(error),
                ..TransportError::new(crate::ConnectionFailure::Other, problem)
            }
        };
        let server = origin(host).map_err(failed)?;
        let key = server.to_string();
        if let Some(pool) = self.others.lock().get(&key) {
            return Ok(pool.clone());
        }
        let tls = match (server.scheme_str(), &self.main.connector().tls) {
            (Some("https"), Some(main)) => Some(main.without_identity().map_err(failed)?),
            (Some("https"), None) => {
                Some(TlsSource::new(crate::Tls::default(), self.config.http2.enabled).map_err(failed)?)
            }
            _ => None,
        };
        let made = pool(&self.config, server, tls.map(Arc::new)).map_err(failed)?;
        Ok(self.others.lock().entry(key).or_insert(made).clone())
    }
}

/// Did the other end close the connection?
fn broke(error: &hyper::Error) -> bool {
    use std::io::ErrorKind;
    let kind = failure::find::<std::io::Error>(error).map(std::io::Error::kind);
    let broken = [
        ErrorKind::ConnectionReset,
        ErrorKind::BrokenPipe,
        ErrorKind::UnexpectedEof,
        ErrorKind::ConnectionAborted,
    ];
    kind.is_some_and(|kind| broken.contains(&kind))
}

fn pool(config: &Config, server: Uri, tls: Option<Arc<TlsSource>>) -> Result<Pool, ClientError> {
    let connector = Connector::new(server, tls, &config.proxy, &config.tls, &config.timeouts)?;
    Ok(Pool::new(connector, &config.http2, &config.timeouts, &config.limits))
}

/// `scheme://host:port/` of a URL.
fn origin(url: &Uri) -> Result<Uri, ClientError> {
    let (scheme, authority) =
        (url.scheme_str().unwrap_or("http"), url.authority().map_or("", |it| it.as_str()));
    let built = Uri::builder().scheme(scheme).authority(authority).path_and_query("/").build();
    built.map_err(|error| {
        ClientError::configuration(format!("server URL `{url}`"), "it has no host").because(error)
    })
}

fn request(lease: &Lease, server: &Uri, outgoing: &Outgoing) -> Result<Request<RequestBody>, TransportError> {
    let authority = server.authority().map_or("", |authority| authority.as_str());
    let mut headers = outgoing.headers.clone();
    let whole = match &lease.sender {
        Sender::Http1 { proxy, .. } => {
            let host = HeaderValue::from_str(authority);
            headers.insert(header::HOST, host.map_err(|_| unsendable("the host"))?);
            if let Some(authorization) = proxy.as_ref().and_then(|proxy| proxy.authorization.clone()) {
                headers.insert(header::PROXY_AUTHORIZATION, authorization);
            }
            proxy.is_some()
        }
        Sender::Http2(_) | Sender::Gone => true,
    };
    let uri = if whole {
        whole_uri(server, &outgoing.target)?
    } else {
        outgoing.target.parse().map_err(|_| unsendable("the path"))?
    };
    let mut request = Request::new(Full::new(outgoing.body.clone()));
    *request.method_mut() = outgoing.method.clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

/// The URI of a target on a server; a path in the server's own is in the target already.
fn whole_uri(server: &Uri, target: &str) -> Result<Uri, TransportError> {
    let scheme = server.scheme_str().unwrap_or("http");
    let authority = server.authority().map_or("", |authority| authority.as_str());
    format!("{scheme}://{authority}{target}").parse().map_err(|_| unsendable("the path"))
}

fn unsendable(what: &str) -> TransportError {
    TransportError::new(
        crate::ConnectionFailure::Other,
        format!("{what} has characters that HTTP cannot carry"),
    )
}

/// Sends a request; none if the lease was given back already, which a new one mends.
async fn send_on(
    lease: &mut Lease,
    request: Request<RequestBody>,
) -> Option<Result<Response<hyper::body::Incoming>, TrySendError<Request<RequestBody>>>> {
    lease.is_used = true;
    match &mut lease.sender {
        Sender::Http1 { sender, .. } => Some(sender.try_send_request(request).await),
        Sender::Http2(connection) => Some(connection.sender.try_send_request(request).await),
        Sender::Gone => None,
    }
}
