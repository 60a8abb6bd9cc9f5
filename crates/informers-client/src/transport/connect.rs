//! New connections: TCP, a proxy where there is one, TLS.

use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, StatusCode, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use rustls::pki_types::ServerName;
use tower_service::Service;

use super::failure::TransportError;
use super::tls::{TlsSource, TlsState};
use crate::config::{Environment, Proxy, proxy_from_environment};
use crate::{ClientError, ConnectionFailure, Timeouts, Tls};

const TCP_KEEP_ALIVE: Duration = Duration::from_secs(30);

trait Io: Read + Write + Unpin + Send {}
impl<T: Read + Write + Unpin + Send> Io for T {}

/// Any byte stream.
pub(crate) struct Stream(Box<dyn Io>);

#[cfg(test)]
impl Stream {
    pub(super) fn over(io: impl Read + Write + Unpin + Send + 'static) -> Self {
        Self(Box::new(io))
    }
}

/// A new connection and what was agreed on.
pub(crate) struct Opening {
    pub(crate) stream: Stream,
    pub(crate) http2: bool,
    pub(crate) through_proxy: Option<PlainProxy>,
}

/// A proxy that forwards requests without TLS: it is told whole URLs, and who asks.
#[derive(Clone)]
pub(crate) struct PlainProxy {
    pub(crate) authorization: Option<HeaderValue>,
}

/// Makes connections to one server.
pub(crate) struct Connector {
    /// `scheme://host:port`
    pub(crate) server: Uri,
    pub(crate) tls: Option<Arc<TlsSource>>,
    via: Option<Via>,
    tcp: HttpConnector,
    timeouts: Timeouts,
}

struct Via {
    url: Uri,
    /// For a proxy that is itself spoken to with TLS.
    tls: Option<TlsSource>,
    basic: Option<HeaderValue>,
    login: Option<(String, String)>,
}

impl Via {
    fn new(found: &Intercept, trusted: &Tls) -> Result<Self, ClientError> {
        let url = with_port(found.uri());
        Ok(Self {
            tls: match url.scheme_str() {
                Some("https") => Some(TlsSource::for_proxy(trusted)?),
                _ => None,
            },
            url,
            basic: found.basic_auth().cloned(),
            login: found.raw_auth().map(|(user, password)| (user.to_owned(), password.to_owned())),
        })
    }

    fn shown(&self) -> String {
        let scheme = self.url.scheme_str().unwrap_or_default();
        let host = self.url.host().unwrap_or_default();
        match self.url.port() {
            Some(port) => format!("the proxy {scheme}://{host}:{port}"),
            None => format!("the proxy {scheme}://{host}"),
        }
    }

    /// What is wrong where the proxy does not know who asks.
    fn unauthorized(&self) -> String {
        let shown = self.shown();
        if self.basic.is_some() || self.login.is_some() {
            format!("{shown} does not accept the user name and password in its URL")
        } else {
            format!(
                "{shown} wants a user name and password; put them into its URL before the host: user:password@"
            )
        }
    }
}

impl Connector {
    /// `trusted` says whose certificate a proxy may have.
    pub(crate) fn new(
        server: Uri,
        tls: Option<Arc<TlsSource>>,
        proxy: &Proxy,
        trusted: &Tls,
        timeouts: &Timeouts,
    ) -> Result<Self, ClientError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(TCP_KEEP_ALIVE));
        tcp.set_keepalive_interval(Some(Duration::from_secs(15)));
        tcp.set_keepalive_retries(Some(3));
        let found = match proxy {
            Proxy::None => None,
            Proxy::Environment if is_loopback(&server) => None,
            Proxy::Environment => proxy_from_environment(&Environment::Process, &server),
            Proxy::Url(url) => Matcher::builder().all(url.to_string()).build().intercept(&server),
        };
        let via = found.map(|found| Via::new(&found, trusted)).transpose()?;
        Ok(Self { server, tls, via, tcp, timeouts: timeouts.clone() })
    }

    /// Connects; `state` is the TLS configuration to use.
    pub(crate) async fn connect(&self, state: Option<&TlsState>) -> Result<Opening, TransportError> {
        let timeouts = &self.timeouts;
        let plain =
            tokio::time::timeout(timeouts.connect, self.open(state.is_some())).await.map_err(|_| {
                let target = self.via.as_ref().map_or_else(|| self.server.to_string(), Via::shown);
                let seconds = timeouts.connect.as_secs_f32();
                TransportError::new(
                    ConnectionFailure::Timeout,
                    format!("{target} does not answer within {seconds} s"),
                )
            })??;
        let Some(state) = state else {
            let through_proxy = self.via.as_ref().filter(|via| !is_socks(&via.url));
            let through_proxy = through_proxy.map(|via| PlainProxy { authorization: via.basic.clone() });
            return Ok(Opening { stream: plain, http2: false, through_proxy });
        };
        let handshake = self.handshake(plain, state);
        let (stream, http2) =
            tokio::time::timeout(timeouts.tls_handshake, handshake).await.map_err(|_| {
                let seconds = timeouts.tls_handshake.as_secs_f32();
                let problem = format!("{} does not finish the TLS handshake within {seconds} s", self.server);
                TransportError::new(ConnectionFailure::Timeout, problem)
            })??;
        Ok(Opening { stream, http2, through_proxy: None })
    }

    /// A stream on which the server itself is at the other end; for plain HTTP it may be a proxy.
    async fn open(&self, tls: bool) -> Result<Stream, TransportError> {
        let mut tcp = self.tcp.clone();
        let Some(via) = &self.via else {
            let connected = tcp.call(self.server.clone()).await;
            let stream =
                connected.map_err(|error| TransportError::connecting(&self.shown(), Box::new(error)))?;
            return Ok(Stream(Box::new(stream)));
        };
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            let mut error = TransportError::connecting(&via.shown(), error);
            if matches!(error.failure, ConnectionFailure::Other | ConnectionFailure::Lost) {
                error.failure = ConnectionFailure::Proxy;
                error.problem = match error.source.as_deref().is_some_and(|error| wants_login(error)) {
                    true => via.unauthorized(),
                    false => format!("{} does not let {} through", via.shown(), self.shown()),
                };
            }
            error
        };
        if is_socks(&via.url) {
            let mut socks = SocksV5::new(via.url.clone(), tcp);
            socks = socks.local_dns(false);
            if let Some((user, password)) = &via.login {
                socks = socks.with_auth(user.clone(), password.clone());
            }
            let stream = socks.call(self.server.clone()).await.map_err(|error| failed(Box::new(error)))?;
            return Ok(Stream(Box::new(stream)));
        }
        let unreachable = |error| TransportError::connecting(&via.shown(), error);
        let to_proxy = match &via.tls {
            Some(source) => {
                let config = source.current(None, true).await.config;
                let names = Arc::new(hyper_rustls::DefaultServerNameResolver::default());
                let connected = HttpsConnector::new(tcp, config, true, names).call(via.url.clone()).await;
                Stream(Box::new(connected.map_err(unreachable)?))
            }
            None => {
                let connected = tcp.call(via.url.clone()).await;
                Stream(Box::new(connected.map_err(|error| unreachable(Box::new(error)))?))
            }
        };
        if !tls {
            return Ok(to_proxy);
        }
        let mut tunnel = Tunnel::new(via.url.clone(), Opened(Some(to_proxy)));
        if let Some(authorization) = &via.basic {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        tunnel.call(self.server.clone()).await.map_err(|error| failed(Box::new(error)))
    }

    async fn handshake(&self, plain: Stream, state: &TlsState) -> Result<(Stream, bool), TransportError> {
        let host = self.server.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let name = self.tls.as_ref().and_then(|tls| tls.server_name()).unwrap_or(host);
        let name = ServerName::try_from(name.to_owned()).map_err(|_| {
            let problem = format!("`{name}` is no name that a certificate can be for; check tls-server-name");
            TransportError::new(ConnectionFailure::Certificate, problem)
        })?;
        let resolver = Arc::new(FixedServerNameResolver::new(name));
        let mut connector =
            HttpsConnector::new(Opened(Some(plain)), Arc::clone(&state.config), true, resolver);
        let stream = connector
            .call(self.server.clone())
            .await
            .map_err(|error| TransportError::connecting(&self.shown(), error))?;
        let http2 = match &stream {
            MaybeHttpsStream::Https(stream) => stream.inner().get_ref().1.alpn_protocol() == Some(b"h2"),
            MaybeHttpsStream::Http(_) => false,
        };
        Ok((Stream(Box::new(stream)), http2))
    }

    /// The error that an answer is where it is not the server's: that a proxy which forwards requests does not know who
    /// asks.
    pub(crate) fn refusal_of_proxy(&self, answer: StatusCode) -> Option<TransportError> {
        let forwards = self.tls.is_none() && answer == StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        let via = self.via.as_ref().filter(|via| forwards && !is_socks(&via.url))?;
        Some(TransportError::new(ConnectionFailure::Proxy, via.unauthorized()))
    }

    /// `scheme://host:port`, for messages.
    pub(crate) fn shown(&self) -> String {
        let text = self.server.to_string();
        text.strip_suffix('/').map_or(text.clone(), str::to_owned)
    }
}

/// Does the proxy not know who asks? hyper-util's errors are private, so their text must tell.
fn wants_login(error: &dyn std::error::Error) -> bool {
    let text = error.to_string();
    text.contains("proxy authorization required") || text.contains("credentials not accepted")
}

/// A SOCKS proxy's URL with its port, which is 1080 where none is named.
fn with_port(url: &Uri) -> Uri {
    match url.host() {
        Some(host) if is_socks(url) && url.port().is_none() => {
            let named = Uri::builder().scheme("socks5").authority(format!("{host}:1080")).path_and_query("/");
            named.build().unwrap_or_else(|_| url.clone())
        }
        _ => url.clone(),
    }
}

fn is_socks(url: &Uri) -> bool {
    url.scheme_str().is_some_and(|scheme| scheme.starts_with("socks"))
}

/// Is the server on this machine?
pub(crate) fn is_loopback(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Hands out a stream that is open already, so that TCP and TLS have time limits of their own.
struct Opened(Option<Stream>);

impl Service<Uri> for Opened {
    type Response = Stream;
    type Error = io::Error;
    type Future = Ready<io::Result<Stream>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _server: Uri) -> Self::Future {
        ready(self.0.take().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)))
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(cx, buf)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write_vectored(cx, bufs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socks_proxy_has_a_port_of_its_own() {
        for (url, expected) in [
            ("socks5://proxy", "socks5://proxy:1080/"),
            ("socks5h://[::1]", "socks5://[::1]:1080/"),
            ("socks5://proxy:9050", "socks5://proxy:9050/"),
            ("https://proxy", "https://proxy/"),
        ] {
            assert_eq!(with_port(&url.parse().unwrap()).to_string(), expected);
        }
    }
}
