//! Where the server is and how to talk to it.

mod environment;
mod exec_plugin;
mod exec_policy;
mod in_cluster;
mod kubeconfig;
mod limits;
mod no_proxy;
mod overrides;
mod proxy;
mod secret;
mod tls;

use std::path::{Path, PathBuf};

use http::Uri;

pub(crate) use environment::Environment;
pub use exec_plugin::{ExecApiVersion, ExecPlugin, InteractiveMode};
pub use exec_policy::ExecPolicy;
pub(crate) use exec_policy::clean;
pub use kubeconfig::Kubeconfig;
pub use limits::{Gzip, Http2, Limits, Timeouts};
pub use overrides::{ClusterSettings, Overrides};
pub use proxy::Proxy;
pub(crate) use proxy::{from_environment as proxy_from_environment, parse as parse_proxy};
pub use secret::Secret;
pub(crate) use tls::Pem;
pub use tls::Tls;

use crate::{ClientError, RateLimit};

/// Everything a [`Client`](crate::Client) needs to know: server, TLS, credentials, namespace, limits.
///
/// `Debug` shows no secret.
///
/// ```
/// use informers_client::{Config, Credentials};
///
/// let config = Config::for_url("https://cluster.example:6443/prefix")?
///     .with_credentials(Credentials::Token("s3cret".into()))
///     .with_namespace("shop");
/// assert_eq!(config.server().path(), "/prefix");
/// assert_eq!(config.namespace(), "shop");
/// assert!(!format!("{config:?}").contains("s3cret"));
/// # Ok::<(), informers_client::ClientError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) server: Uri,
    pub(crate) namespace: String,
    pub(crate) tls: Tls,
    pub(crate) credentials: Credentials,
    pub(crate) exec_policy: ExecPolicy,
    pub(crate) impersonation: Option<Impersonation>,
    pub(crate) user_agent: String,
    pub(crate) gzip: Gzip,
    pub(crate) timeouts: Timeouts,
    pub(crate) limits: Limits,
    pub(crate) rate_limit: Option<RateLimit>,
    pub(crate) http2: Http2,
    pub(crate) proxy: Proxy,
}

/// How the client says who it is. A client certificate belongs to [`Tls`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credentials {
    /// Not at all.
    #[default]
    None,
    /// By a bearer token.
    Token(Secret),
    /// By a bearer token in a file, which is read again after a minute, and at once when the server no
    /// longer accepts the last one.
    TokenFile(PathBuf),
    /// As [`TokenFile`](Self::TokenFile), with a token to show until the file can be read.
    TokenAndFile {
        /// The token to begin with.
        token: Secret,
        /// The file.
        file: PathBuf,
    },
    /// By name and password.
    Basic {
        /// The user's name.
        username: String,
        /// The user's password.
        password: Secret,
    },
    /// By what a program prints, as cloud providers do it.
    Exec(Box<ExecPlugin>),
}

/// Another user in whose name requests are made (`Impersonate-User` and its companions).
///
/// ```
/// use informers_client::Impersonation;
///
/// let bob = Impersonation::user("bob").with_group("developers");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impersonation {
    pub(crate) user: String,
    pub(crate) uid: Option<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: Vec<(String, String)>,
}

impl Impersonation {
    /// As this user.
    pub fn user(name: impl Into<String>) -> Self {
        Self { user: name.into(), uid: None, groups: Vec::new(), extra: Vec::new() }
    }

    /// With this uid.
    #[must_use]
    pub fn with_uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = Some(uid.into());
        self
    }

    /// As a member of this group too.
    #[must_use]
    pub fn with_group(mut self, group: impl Into<String>) -> Self {
        self.groups.push(group.into());
        self
    }

    /// With one more value under this key.
    #[must_use]
    pub fn with_extra(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra.push((key.into(), value.into()));
        self
    }
}

impl Config {
    /// A server by its URL, without credentials, trusting the system's certificate authorities. A path in
    /// the URL is put before every request's path. Without a scheme, `http` is meant, as in client-go.
    ///
    /// Proxies and HTTP/2 settings come from the environment (see [`Proxy`] and [`Http2`]).
    ///
    /// # Errors
    /// If the URL cannot be read.
    pub fn for_url(url: &str) -> Result<Self, ClientError> {
        Self::new(url, &Environment::Process)
    }

    pub(crate) fn new(url: &str, environment: &Environment) -> Result<Self, ClientError> {
        Ok(Self {
            server: parse_server(url)?,
            namespace: "default".to_owned(),
            tls: Tls::default(),
            credentials: Credentials::None,
            exec_policy: ExecPolicy::default(),
            impersonation: None,
            user_agent: default_user_agent(),
            gzip: Gzip::default(),
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            rate_limit: None,
            http2: Http2::from_environment(environment),
            proxy: Proxy::Environment,
        })
    }

    /// A context of one kubeconfig file; its current one if none is named.
    ///
    /// The file is read at once; files that it names (CA, certificates, tokens) are read when they are used.
    ///
    /// # Errors
    /// If the file is missing or damaged, or the context is incomplete. The error names file and field; for
    /// an unknown context it lists those that there are.
    pub fn from_kubeconfig_file(path: impl AsRef<Path>, context: Option<&str>) -> Result<Self, ClientError> {
        Self::from_kubeconfig(&Kubeconfig::read(path.as_ref())?, context)
    }

    /// A context of a kubeconfig, which may be several files merged; its current one if none is named.
    ///
    /// # Errors
    /// As [`from_kubeconfig_file`](Self::from_kubeconfig_file).
    pub fn from_kubeconfig(kubeconfig: &Kubeconfig, context: Option<&str>) -> Result<Self, ClientError> {
        Self::from_kubeconfig_with(kubeconfig, &Overrides::new().with_context(context.unwrap_or_default()))
    }

    /// What a kubeconfig says, where the overrides say nothing else.
    ///
    /// # Errors
    /// As [`from_kubeconfig_file`](Self::from_kubeconfig_file); also if the overrides name what is not there.
    ///
    /// For an example see [`Overrides`].
    pub fn from_kubeconfig_with(kubeconfig: &Kubeconfig, overrides: &Overrides) -> Result<Self, ClientError> {
        kubeconfig.config(overrides, &Environment::Process)
    }

    /// What the surroundings say: the files in `$KUBECONFIG`, merged; else `~/.kube/config`; else, or if these
    /// have no current context, in a pod its service account.
    ///
    /// In a pod a `~/.kube/config` that cannot be read is passed over with a warning: the home folder may belong to
    /// another user than the container runs as. A file in `$KUBECONFIG` that cannot be read is an error everywhere.
    ///
    /// # Errors
    /// If there is nothing of the kind (the error tells where it looked), or what there is cannot be used.
    pub fn from_env() -> Result<Self, ClientError> {
        Self::from_env_with(&Overrides::new())
    }

    /// As [`from_env`](Self::from_env), where the overrides say nothing else. If they name a context, cluster, user or
    /// server, a pod's service account is not considered, and `~/.kube/config` must be readable.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env); also if the overrides name what is not there.
    ///
    /// ```no_run
    /// use informers_client::{Config, Overrides};
    ///
    /// let context = std::env::args().nth(1).unwrap_or_default(); // empty: the current one
    /// let config = Config::from_env_with(&Overrides::new().with_context(context))?;
    /// # Ok::<(), informers_client::ClientError>(())
    /// ```
    pub fn from_env_with(overrides: &Overrides) -> Result<Self, ClientError> {
        in_cluster::from_environment(overrides, &Environment::Process)
    }

    /// The service account of the pod that this program runs in. The token is read again as it rotates.
    ///
    /// # Errors
    /// If this is no pod: `KUBERNETES_SERVICE_HOST` and `_PORT` are not set, or the token cannot be read.
    pub fn in_cluster() -> Result<Self, ClientError> {
        in_cluster::in_cluster(&Overrides::new(), &Environment::Process)
    }

    /// With another server, for example a port that is forwarded.
    ///
    /// # Errors
    /// If the URL cannot be read.
    pub fn with_server(mut self, url: &str) -> Result<Self, ClientError> {
        self.server = parse_server(url)?;
        Ok(self)
    }

    /// With these TLS settings.
    #[must_use]
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// With these credentials.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// With this rule about the programs that [`Credentials::Exec`] may run.
    #[must_use]
    pub fn with_exec_policy(mut self, policy: ExecPolicy) -> Self {
        self.exec_policy = policy;
        self
    }

    /// In the name of another user.
    #[must_use]
    pub fn with_impersonation(mut self, user: Impersonation) -> Self {
        self.impersonation = Some(user);
        self
    }

    /// With this namespace for those who name none.
    #[must_use]
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// With this `User-Agent`. By default it is made of the program's name and this crate's version.
    #[must_use]
    pub fn with_user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = user_agent.into();
        self
    }

    /// With this choice about compressed answers.
    #[must_use]
    pub fn with_gzip(mut self, gzip: Gzip) -> Self {
        self.gzip = gzip;
        self
    }

    /// With these time limits.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// With these limits of size and number.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// With a limit for the number of requests; without, there is none.
    #[must_use]
    pub fn with_rate_limit(mut self, limit: RateLimit) -> Self {
        self.rate_limit = Some(limit);
        self
    }

    /// With these HTTP/2 settings.
    #[must_use]
    pub fn with_http2(mut self, http2: Http2) -> Self {
        self.http2 = http2;
        self
    }

    /// Through this proxy.
    #[must_use]
    pub fn with_proxy(mut self, proxy: Proxy) -> Self {
        self.proxy = proxy;
        self
    }

    /// The server's URL, with the path that is put before every request's.
    #[must_use]
    pub fn server(&self) -> &Uri {
        &self.server
    }

    /// The namespace for those who name none; `default` if the configuration has none either.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The credentials.
    #[must_use]
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The TLS settings.
    #[must_use]
    pub fn tls(&self) -> &Tls {
        &self.tls
    }
}

fn parse_server(url: &str) -> Result<Uri, ClientError> {
    let wrong =
        |problem: &str| ClientError::configuration(format!("server URL `{}`", without_user(url)), problem);
    let trimmed = url.trim();
    if trimmed.is_empty() {
        return Err(wrong("it is empty"));
    }
    let with_scheme = if trimmed.contains("://") { trimmed.to_owned() } else { format!("http://{trimmed}") };
    let bare = with_scheme.split(['?', '#']).next().unwrap_or_default();
    let uri: Uri =
        bare.parse().map_err(|error: http::uri::InvalidUri| wrong("it is not a URL").because(error))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(wrong("the scheme must be http or https"));
    }
    match uri.authority() {
        Some(authority) if authority.as_str().contains('@') => {
            Err(wrong("it must not have a user name or password"))
        }
        // A password with a slash in it would be taken for a port.
        Some(authority)
            if authority.port().is_none() && authority.as_str().trim_end_matches(':') != authority.host() =>
        {
            Err(wrong("the port must be a number up to 65535"))
        }
        Some(authority) if !authority.host().is_empty() => Ok(uri),
        _ => Err(wrong("it has no host")),
    }
}

/// A URL as errors may show it. Everything before the last `@` may belong to a password, whatever is wrong with the
/// rest.
fn without_user(url: &str) -> String {
    let Some((before, rest)) = url.rsplit_once('@') else { return url.to_owned() };
    let scheme = before.find("://").map_or("", |at| &before[..at + 3]);
    format!("{scheme}***@{rest}")
}

fn default_user_agent() -> String {
    let program = std::env::args_os().next().map(PathBuf::from);
    let name = program.as_deref().and_then(Path::file_name).and_then(std::ffi::OsStr::to_str);
    let name: String = name.unwrap_or("unknown").chars().filter(char::is_ascii_graphic).collect();
    let (version, os, arch) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    format!("{name} ({os}/{arch}) informers-client/{version}")
}

#[cfg(test)]
mod tests;
