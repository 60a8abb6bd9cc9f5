//! The client: one server, one identity, pooled connections.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Uri, header};
use informers_core::{Error, ListWatch, Resource, Scope, Source};

use crate::answer;
use crate::api::Api;
use crate::credentials::{CredentialSource, Identity};
use crate::list_watch::Collection;
use crate::rate_limit::Throttle;
use crate::redirect;
use crate::transport::{Outgoing, ResponseBody, Transport, is_loopback};
use crate::warnings::Warnings;
use crate::{ClientError, Config, ConnectionFailure, Gzip, HttpService};

/// Talks to one API server. A clone shares everything, connections too.
///
/// It is a [`Source`] for informers, makes typed requests ([`api`](Self::api)) and any other
/// ([`raw`](Self::raw)). No request is made before it is asked for, and no task runs but one for each open
/// connection. Its futures need a Tokio runtime with IO and time.
///
/// ```no_run
/// # async fn example() -> Result<(), informers_client::ClientError> {
/// use informers_client::Client;
///
/// let client = Client::from_env().await?;
/// println!("{}", client.server_version().await?.git_version);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    config: Arc<Config>,
    credentials: CredentialSource,
    transport: Transport,
    /// What every request carries.
    headers: HeaderMap,
    path_prefix: String,
    gzip: bool,
    throttle: Option<Throttle>,
    warnings: Warnings,
}

/// One request as its caller sees it.
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Path and query below the server's URL.
    pub(crate) path: String,
    /// Those of this request alone, such as `Accept`.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) gzip: bool,
    /// Such as `list pods in namespace shop`.
    pub(crate) action: String,
}

/// Who makes a request.
struct Asker {
    identity: Identity,
    /// Whether other credentials may be fetched if the server rejects these.
    may_change: bool,
}

/// What came of sending a request.
enum Exchange<T> {
    Answer(T),
    /// The server does not accept the credentials (401).
    Rejected(ClientError),
}

impl Client {
    /// A client for this configuration. Certificate files are read at once; nothing is sent.
    ///
    /// # Errors
    /// If the configuration cannot be used: a certificate that is none, a token that HTTP cannot carry.
    ///
    /// ```
    /// use informers_client::{Client, Config};
    ///
    /// let client = Client::new(Config::for_url("http://127.0.0.1:8001")?)?;
    /// assert_eq!(client.default_namespace(), "default");
    /// # Ok::<(), informers_client::ClientError>(())
    /// ```
    pub fn new(config: Config) -> Result<Self, ClientError> {
        let config = Arc::new(config);
        let transport = Transport::pools(&config)?;
        Self::with_transport(config, transport)
    }

    /// A client whose requests go through `service` instead of connections of its own.
    ///
    /// Of the configuration, what is said in requests and done with answers holds: the server's URL, credentials
    /// (but no client certificates), impersonation, user agent, namespace, time limits, limits of size,
    /// compression. TLS, proxy, HTTP/2 and the limit of streams are the service's business, and so are
    /// redirects: one that comes through is an error.
    ///
    /// # Errors
    /// If the configuration cannot be used: a token that HTTP cannot carry.
    ///
    /// For an example see [`HttpService`].
    pub fn over(service: impl HttpService, config: Config) -> Result<Self, ClientError> {
        let config = Arc::new(config);
        let transport = Transport::Service(Arc::new(service), Arc::clone(&config));
        Self::with_transport(config, transport)
    }

    fn with_transport(config: Arc<Config>, transport: Transport) -> Result<Self, ClientError> {
        let gzip = match config.gzip {
            Gzip::Always => true,
            Gzip::Never => false,
            Gzip::Auto => !is_loopback(&config.server),
        };
        Ok(Self(Arc::new(Inner {
            credentials: CredentialSource::new(&config.credentials, &config.exec_policy)?,
            transport,
            headers: common_headers(&config)?,
            path_prefix: config.server.path().trim_end_matches('/').to_owned(),
            gzip,
            throttle: config.rate_limit.map(Throttle::new),
            warnings: Warnings::default(),
            config,
        })))
    }

    /// A client for what the surroundings say; see [`Config::from_env`].
    ///
    /// # Errors
    /// As [`Config::from_env`] and [`Client::new`].
    ///
    /// # Panics
    /// If called outside of a Tokio runtime.
    pub async fn from_env() -> Result<Self, ClientError> {
        let made = tokio::task::spawn_blocking(|| Config::from_env().and_then(Self::new)).await;
        made.unwrap_or_else(|error| {
            Err(ClientError::configuration("configuration", "reading it was interrupted").because(error))
        })
    }

    /// The configuration it was made from.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// The namespace of the context or pod, `default` where there is none.
    #[must_use]
    pub fn default_namespace(&self) -> &str {
        &self.0.config.namespace
    }

    /// Typed requests for `resource`, in one namespace or, for cluster-scoped resources and lists, in none.
    #[must_use]
    pub fn api<T: Send + Sync + 'static>(&self, resource: &Resource<T>, namespace: Option<&str>) -> Api<T> {
        Api::new(self.clone(), resource.clone(), namespace)
    }

    /// Any request, with the client's credentials. `request` has a path and query below the server's URL, and
    /// the headers that it needs; `Accept` and `Content-Type` are JSON unless they are set.
    ///
    /// # Errors
    /// If the server is not reached or does not answer with a success.
    ///
    /// # Cancel safety
    /// Dropping the future abandons the request; whether the server acts on it is open.
    ///
    /// ```no_run
    /// # async fn example(client: informers_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let answer = client.raw(http::Request::get("/readyz?verbose").body(Default::default())?).await?;
    /// println!("{}", String::from_utf8_lossy(answer.body()));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn raw(&self, request: http::Request<Bytes>) -> Result<Response<Bytes>, ClientError> {
        let (parts, body) = request.into_parts();
        let mut headers = parts.headers;
        let json = || HeaderValue::from_static("application/json");
        headers.entry(header::ACCEPT).or_insert_with(json);
        if !body.is_empty() {
            headers.entry(header::CONTENT_TYPE).or_insert_with(json);
        }
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let action = format!("{} {}", parts.method.as_str().to_ascii_lowercase(), parts.uri.path());
        self.call(&Call { method: parts.method, path, headers, body, gzip: true, action }).await
    }

    /// Sends a request and waits for the head of a good answer. A refused credential is fetched again, once;
    /// redirects of reads are followed.
    pub(crate) async fn send(&self, call: &Call) -> Result<Response<ResponseBody>, ClientError> {
        let mut asker = self.asker(call).await?;
        loop {
            match self.exchange(call, &asker.identity).await? {
                Exchange::Answer(response) => return Ok(response),
                Exchange::Rejected(error) => self.renew(&mut asker, error).await?,
            }
        }
    }

    /// Waits until a request may be sent, and for what it shows. No time limit for the request counts this: the
    /// server has no part in it, and a plugin that asks the user is not to be ended by it.
    async fn asker(&self, call: &Call) -> Result<Asker, ClientError> {
        let inner = &*self.0;
        if let Some(throttle) = &inner.throttle {
            throttle.pass().await;
        }
        // A request that says itself who asks must not start a plugin.
        let says_who = call.headers.contains_key(header::AUTHORIZATION);
        let identity = match says_who {
            true => inner.credentials.silent().await,
            false => inner.credentials.current().await?,
        };
        Ok(Asker { identity, may_change: !says_who })
    }

    /// Other credentials for those that the server rejected, once; else its error.
    async fn renew(&self, asker: &mut Asker, error: ClientError) -> Result<(), ClientError> {
        if std::mem::take(&mut asker.may_change)
            && let Some(other) = self.0.credentials.after_rejection(&asker.identity).await?
        {
            tracing::debug!("the server refused the credentials; trying with newer ones");
            asker.identity = other;
            return Ok(());
        }
        Err(error)
    }

    /// Sends a request as this identity and waits for the head of the answer.
    async fn exchange(
        &self,
        call: &Call,
        identity: &Identity,
    ) -> Result<Exchange<Response<ResponseBody>>, ClientError> {
        let inner = &*self.0;
        let mut other_host: Option<Uri> = None;
        let mut target = format!("{}{}", inner.path_prefix, call.path);
        let mut redirects = 0;
        loop {
            let outgoing = Outgoing {
                method: call.method.clone(),
                target: target.clone(),
                headers: inner.headers_of(call, identity, other_host.as_ref()),
                body: call.body.clone(),
            };
            let sent = inner.transport.send(other_host.as_ref(), &outgoing, identity, &call.action);
            let idle = inner.config.timeouts.idle;
            let response = match tokio::time::timeout(idle, sent).await {
                Ok(sent) => sent?,
                Err(_) => {
                    return Err(ClientError::Connection {
                        action: call.action.clone(),
                        failure: ConnectionFailure::Timeout,
                        problem: format!(
                            "{} gives no answer within {} s",
                            inner.transport.shown(),
                            idle.as_secs_f32()
                        ),
                        source: None,
                    });
                }
            };
            inner.warnings.log(response.headers());
            let status = response.status();
            if status.is_success() {
                return Ok(Exchange::Answer(response));
            }
            if call.method == Method::GET
                && inner.transport.follows_redirects()
                && let Some(place) =
                    redirect::location(&response, &inner.config.server, other_host.as_ref(), &target)
            {
                redirects += 1;
                if redirects > redirect::MAX {
                    return Err(ClientError::UnexpectedAnswer {
                        action: call.action.clone(),
                        problem: format!("more than {} redirects, the last one to {place}", redirect::MAX),
                        source: None,
                    });
                }
                target = place.path_and_query().map_or("/", |path| path.as_str()).to_owned();
                other_host = (!redirect::same_host(&place, &inner.config.server)).then_some(place);
                continue;
            }
            let error = answer::refusal(response, &call.action).await;
            return match status {
                StatusCode::UNAUTHORIZED if other_host.is_none() => Ok(Exchange::Rejected(error)),
                _ => Err(error),
            };
        }
    }

    /// Sends a request whose answer is one object, and reads it whole. A server that asks to wait is asked
    /// again, as often as [`Limits::retries`](crate::Limits::retries) says.
    pub(crate) async fn call(&self, call: &Call) -> Result<Response<Bytes>, ClientError> {
        let mut retries = self.limits().retries;
        loop {
            match self.call_once(call).await {
                Ok(response) => return Ok(response),
                Err(error) => wait_as_told(error, &mut retries).await?,
            }
        }
    }

    /// As [`call`](Self::call), where nothing of the answer is wanted but that it is a good one: it may be a list of any
    /// length, and is not read.
    pub(crate) async fn call_for_head(&self, call: &Call) -> Result<(), ClientError> {
        let mut retries = self.limits().retries;
        loop {
            match self.head_once(call).await {
                Ok(()) => return Ok(()),
                Err(error) => wait_as_told(error, &mut retries).await?,
            }
        }
    }

    async fn head_once(&self, call: &Call) -> Result<(), ClientError> {
        let mut asker = self.asker(call).await?;
        loop {
            match self.within_limit(call, self.exchange(call, &asker.identity)).await? {
                Exchange::Answer(_) => return Ok(()),
                Exchange::Rejected(error) => self.renew(&mut asker, error).await?,
            }
        }
    }

    /// As [`call`](Self::call), but a server that asks to wait is not asked again.
    pub(crate) async fn call_once(&self, call: &Call) -> Result<Response<Bytes>, ClientError> {
        let mut asker = self.asker(call).await?;
        loop {
            match self.within_limit(call, self.exchange_whole(call, &asker.identity)).await? {
                Exchange::Answer(response) => return Ok(response),
                Exchange::Rejected(error) => self.renew(&mut asker, error).await?,
            }
        }
    }

    /// An exchange that takes no longer than [`Timeouts::request`](crate::Timeouts::request) allows.
    async fn within_limit<T>(
        &self,
        call: &Call,
        exchange: impl Future<Output = Result<Exchange<T>, ClientError>>,
    ) -> Result<Exchange<T>, ClientError> {
        let Some(limit) = self.timeouts().request else { return exchange.await };
        let too_late = |_| {
            Err(ClientError::Connection {
                action: call.action.clone(),
                failure: ConnectionFailure::Timeout,
                problem: format!(
                    "{} gives no whole answer within {} s",
                    self.0.transport.shown(),
                    limit.as_secs_f32()
                ),
                source: None,
            })
        };
        tokio::time::timeout(limit, exchange).await.unwrap_or_else(too_late)
    }

    async fn exchange_whole(
        &self,
        call: &Call,
        identity: &Identity,
    ) -> Result<Exchange<Response<Bytes>>, ClientError> {
        let response = match self.exchange(call, identity).await? {
            Exchange::Answer(response) => response,
            Exchange::Rejected(error) => return Ok(Exchange::Rejected(error)),
        };
        let (parts, body) = response.into_parts();
        let response = Response::from_parts(parts.clone(), body);
        let limit = self.limits().body_size;
        let body = answer::whole(response, self.timeouts().idle, limit, &call.action).await?;
        Ok(Exchange::Answer(Response::from_parts(parts, body)))
    }

    pub(crate) fn limits(&self) -> &crate::Limits {
        &self.0.config.limits
    }

    pub(crate) fn timeouts(&self) -> &crate::Timeouts {
        &self.0.config.timeouts
    }
}

/// Waits where the server asks to be asked again later, and there are tries left; else gives the error.
async fn wait_as_told(error: ClientError, retries: &mut u32) -> Result<(), ClientError> {
    let told = error.retry_after().filter(|_| error.is_retryable() && *retries > 0);
    let Some(wait) = told else { return Err(error) };
    *retries -= 1;
    tracing::debug!(error = &error as &dyn std::error::Error, ?wait, "trying again");
    tokio::time::sleep(wait).await;
    Ok(())
}

impl Inner {
    fn headers_of(&self, call: &Call, identity: &Identity, other_host: Option<&Uri>) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.extend(call.headers.clone());
        let encoding = if call.gzip && self.gzip { "gzip" } else { "identity" };
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(encoding));
        if other_host.is_some() {
            // Another host must learn neither who we are nor in whose name we ask.
            remove_private(&mut headers);
        } else if let Some(authorization) = &identity.authorization
            && !headers.contains_key(header::AUTHORIZATION)
        {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        headers
    }
}

fn remove_private(headers: &mut HeaderMap) {
    let private: Vec<HeaderName> = headers
        .keys()
        .filter(|name| {
            [header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE].contains(name)
                || name.as_str().starts_with("impersonate-")
        })
        .cloned()
        .collect();
    for name in private {
        headers.remove(name);
    }
}

fn common_headers(config: &Config) -> Result<HeaderMap, ClientError> {
    let value = |what: &str, text: &str| {
        HeaderValue::from_str(text).map_err(|error| {
            ClientError::configuration(what, "has characters that HTTP cannot carry").because(error)
        })
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::USER_AGENT, value("user agent", &config.user_agent)?);
    if let Some(user) = &config.impersonation {
        headers.insert("impersonate-user", value("impersonated user", &user.user)?);
        if let Some(uid) = &user.uid {
            headers.insert("impersonate-uid", value("impersonated uid", uid)?);
        }
        for group in &user.groups {
            headers.append("impersonate-group", value("impersonated group", group)?);
        }
        for (key, extra) in &user.extra {
            let name = format!("impersonate-extra-{}", crate::encode::header_key(key));
            let name = HeaderName::try_from(name).map_err(|error| {
                ClientError::configuration("impersonated extra", "has a key that HTTP cannot carry")
                    .because(error)
            })?;
            headers.append(name, value("impersonated extra", extra)?);
        }
    }
    Ok(headers)
}

impl Source for Client {
    fn list_watch<T: Send + Sync + 'static>(
        &self,
        resource: &Resource<T>,
        scope: &Scope,
    ) -> Result<Arc<dyn ListWatch<T>>, Error> {
        Ok(Arc::new(Collection::new(self.clone(), resource.clone(), scope)?))
    }
}

/// Shows the configuration, without secrets.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("config", &self.0.config).finish_non_exhaustive()
    }
}
