//! A minimal client of the Kubernetes API that shares no code with the crates under test, so that
//! what it reads can judge them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// Talks to one server as one user, over a new connection for each request unless it is asked for one
/// [to keep](Self::connect).
#[derive(Clone)]
pub struct AdminClient {
    /// `host:port`.
    authority: String,
    token: Option<String>,
    /// None means plain HTTP.
    tls: Option<Arc<rustls::ClientConfig>>,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Secrets stay out of failure messages.
        out.write_str(match self {
            Self::Token(_) => "Token",
            Self::Certificate { .. } => "Certificate",
        })
    }
}

impl std::fmt::Debug for AdminClient {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        out.debug_struct("AdminClient")
            .field("server", &format_args!("{scheme}://{}", self.authority))
            .finish_non_exhaustive()
    }
}

/// Who asks.
#[derive(Clone)]
pub enum Login {
    /// A bearer token.
    Token(String),
    /// A client certificate with its key, both PEM texts.
    Certificate {
        /// The certificate, with its chain if it has one.
        certificate: Vec<u8>,
        /// The private key.
        key: Vec<u8>,
    },
}

/// How often a request is sent again to a server that is too busy for it, and after which time.
const TRIES: u32 = 60;
const PAUSE: Duration = Duration::from_millis(500);

/// An answer with its body, which is null when the server sent no JSON.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// The JSON of the body.
    pub body: Value,
    /// The body as it came.
    pub text: String,
}

impl Answer {
    /// The body, or an error that shows it when the status is not a success.
    ///
    /// # Errors
    /// Any status but 2xx.
    pub fn ok(self) -> Result<Value> {
        if !self.status.is_success() {
            bail!("the server answered {}: {}", self.status, self.text);
        }
        Ok(self.body)
    }
}

impl AdminClient {
    /// For a plain HTTP server at `host:port`.
    #[must_use]
    pub fn plain(authority: impl Into<String>) -> Self {
        Self { authority: authority.into(), token: None, tls: None }
    }

    /// For an HTTPS server at `host:port` whose certificate must lead to one of those in
    /// `authorities`, a PEM text.
    ///
    /// # Errors
    /// When a PEM text holds nothing that can be used.
    pub fn secure(authority: impl Into<String>, authorities: &[u8], login: Login) -> Result<Self> {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authorities) {
            roots.add(certificate.context("reading a CA certificate")?).context("adding a CA certificate")?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .context("choosing TLS versions")?
            .with_root_certificates(roots);
        let (config, token) = match login {
            Login::Token(token) => (config.with_no_client_auth(), Some(token)),
            Login::Certificate { certificate, key } => {
                let chain = CertificateDer::pem_slice_iter(&certificate).collect::<Result<Vec<_>, _>>();
                let chain = chain.context("reading the client certificate")?;
                let key = PrivateKeyDer::from_pem_slice(&key).context("reading the client key")?;
                (config.with_client_auth_cert(chain, key).context("using the client certificate")?, None)
            }
        };
        Ok(Self { authority: authority.into(), token, tls: Some(Arc::new(config)) })
    }

    /// Reads `path`, which may have a query.
    ///
    /// # Errors
    /// When no answer came; an answer of any status is none.
    pub async fn get(&self, path: &str) -> Result<Answer> {
        self.send(Method::GET, path, "application/json", None).await
    }

    /// Creates an object in the collection `path`.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn create(&self, path: &str, object: &Value) -> Result<Answer> {
        self.send(Method::POST, path, "application/json", Some(object)).await
    }

    /// Applies a JSON merge patch to the object at `path`.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn merge(&self, path: &str, patch: &Value) -> Result<Answer> {
        self.send(Method::PATCH, path, "application/merge-patch+json", Some(patch)).await
    }

    /// Deletes the object at `path`.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn delete(&self, path: &str) -> Result<Answer> {
        self.send(Method::DELETE, path, "application/json", None).await
    }

    /// Sends one request, and again while the server is too busy for it.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> Result<Answer> {
        let connected = self.connect().await;
        let mut connection =
            connected.with_context(|| format!("sending {method} {path} at {}", self.authority))?;
        connection.send(method, path, content_type, body).await
    }

    /// A connection for many requests, one after the other.
    ///
    /// # Errors
    /// When none can be made.
    pub async fn connect(&self) -> Result<Connection> {
        let tcp = TcpStream::connect(&self.authority).await.context("connecting")?;
        tcp.set_nodelay(true).context("setting TCP_NODELAY")?;
        match &self.tls {
            None => Connection::over(tcp, self.clone()).await,
            Some(config) => {
                let host = self.authority.rsplit_once(':').map_or(self.authority.as_str(), |(host, _)| host);
                let name = ServerName::try_from(host.to_owned()).context("the server's name")?;
                let connector = tokio_rustls::TlsConnector::from(Arc::clone(config));
                let tls = connector.connect(name, tcp).await.context("TLS handshake")?;
                Connection::over(tls, self.clone()).await
            }
        }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> Result<Request<Full<Bytes>>> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.authority)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, content_type);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let body = body.map_or_else(Bytes::new, |value| Bytes::from(value.to_string()));
        Ok(request.body(Full::new(body))?)
    }
}

/// Whether the server could not do it now, such as while its etcd is slow on a loaded machine.
fn is_too_busy(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
    )
}

/// A connection of an [`AdminClient`]; drop closes it.
#[derive(Debug)]
pub struct Connection {
    client: AdminClient,
    sender: SendRequest<Full<Bytes>>,
    #[expect(dead_code, reason = "held for its drop")]
    driver: AbortOnDrop,
}

#[derive(Debug)]
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    async fn over<S>(stream: S, client: AdminClient) -> Result<Self>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.context("HTTP handshake")?;
        // Why it ends is told to whoever waits for an answer.
        let driver = AbortOnDrop(tokio::spawn(async move { drop(connection.await) }));
        Ok(Self { client, sender, driver })
    }

    /// Sends one request, and again while the server is too busy for it.
    ///
    /// # Errors
    /// When no answer came; an answer of any status is none. The connection may then be broken.
    ///
    /// # Cancel safety
    /// After a request that was given up, the connection cannot be used any more.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> Result<Answer> {
        let mut tries = 0;
        loop {
            let answer = self.send_once(&method, path, content_type, body).await?;
            if tries < TRIES && is_too_busy(answer.status) {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            // It may have been done although the server gave up waiting for it.
            return match (&method, answer.status, body) {
                (&Method::POST, StatusCode::CONFLICT, Some(object)) if tries > 0 => {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    self.send_once(&Method::GET, &format!("{path}/{name}"), content_type, None).await
                }
                (&Method::DELETE, StatusCode::NOT_FOUND, _) if tries > 0 => {
                    Ok(Answer { status: StatusCode::OK, ..answer })
                }
                _ => Ok(answer),
            };
        }
    }

    async fn send_once(
        &mut self,
        method: &Method,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> Result<Answer> {
        let what = format!("{method} {path} at {}", self.client.authority);
        let request = self.client.request(method.clone(), path, content_type, body);
        let request = request.with_context(|| format!("building {what}"))?;
        self.exchange(request).await.with_context(|| format!("sending {what}"))
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<Answer> {
        self.sender.ready().await.context("the connection broke")?;
        let answer = self.sender.send_request(request).await.context("waiting for an answer")?;
        let status = answer.status();
        let bytes = answer.into_body().collect().await.context("reading the answer")?.to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Answer { status, body: serde_json::from_slice(&bytes).unwrap_or_default(), text })
    }
}

#[cfg(test)]
mod tests {
    use informers_testkit::{ApiServer, RequestMatch};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_server_that_is_too_busy_is_asked_again() {
        let server = ApiServer::start().await.unwrap();
        let admin = AdminClient::plain(format!("127.0.0.1:{}", server.port()));
        let path = "/api/v1/namespaces/default/configmaps";
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        server.fail_next(RequestMatch::list("configmaps"), 504);
        assert_eq!(admin.get(path).await.unwrap().status, StatusCode::OK);

        // Done, though the first answer did not say so.
        admin.create(path, &object).await.unwrap().ok().unwrap();
        server.fail_next(RequestMatch::any(), 504);
        let made = admin.create(path, &object).await.unwrap();
        assert_eq!((made.status, &made.body["metadata"]["name"]), (StatusCode::OK, &json!("a")));
        assert_eq!(admin.create(path, &object).await.unwrap().status, StatusCode::CONFLICT);
        admin.delete(&format!("{path}/a")).await.unwrap().ok().unwrap();
        server.fail_next(RequestMatch::any(), 504);
        assert_eq!(admin.delete(&format!("{path}/a")).await.unwrap().status, StatusCode::OK);
        assert_eq!(admin.delete(&format!("{path}/a")).await.unwrap().status, StatusCode::NOT_FOUND);
    }
}
