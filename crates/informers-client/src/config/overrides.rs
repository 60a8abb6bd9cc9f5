//! What a program, or the flags it was started with, says against a configuration.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::{Config, Credentials, Impersonation, Pem, Secret, Timeouts, without_user};
use crate::ClientError;

/// What is to hold whatever a kubeconfig says: the values of flags such as `--context`, `--namespace`, `--token`.
///
/// The rules are client-go's (`ConfigOverrides`), with two exceptions. Credentials and impersonation replace
/// the kubeconfig's as a whole, so that `--token` is not lost to a token file and `--as` brings no groups along. And
/// where a context names a cluster that is not there, defaults are not enough: the server must be overridden.
///
/// ```
/// use informers_client::{ClusterSettings, Config, Kubeconfig, Overrides};
///
/// let kubeconfig = Kubeconfig::from_text("
/// current-context: dev
/// contexts: [{name: dev, context: {cluster: here, namespace: shop}}]
/// clusters: [{name: here, cluster: {server: 'https://here:6443', tls-server-name: here}}]
/// ", "dev.yaml")?;
/// let overrides = Overrides::new()
///     .with_namespace("test")
///     .with_cluster_settings(ClusterSettings::new().with_server("https://127.0.0.1:6443"))
///     .with_timeout_text("30")?;
///
/// let config = Config::from_kubeconfig_with(&kubeconfig, &overrides)?;
/// assert_eq!((config.namespace(), config.server().host()), ("test", Some("127.0.0.1")));
/// # Ok::<(), informers_client::ClientError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub(crate) context: Option<String>,
    pub(crate) cluster: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) cluster_settings: ClusterSettings,
    pub(crate) cluster_defaults: ClusterSettings,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) client_certificate: Option<(Pem, Pem)>,
    pub(crate) impersonation: Option<Impersonation>,
    pub(crate) timeout: Option<Duration>,
}

impl Overrides {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// This context instead of the current one. It must be there.
    #[must_use]
    pub fn with_context(mut self, name: impl Into<String>) -> Self {
        self.context = given(name);
        self
    }

    /// The cluster of this name instead of the context's. It must be there.
    #[must_use]
    pub fn with_cluster(mut self, name: impl Into<String>) -> Self {
        self.cluster = given(name);
        self
    }

    /// The user of this name instead of the context's. It must be there.
    #[must_use]
    pub fn with_user(mut self, name: impl Into<String>) -> Self {
        self.user = given(name);
        self
    }

    /// This namespace instead of the context's or pod's.
    #[must_use]
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = given(namespace);
        self
    }

    /// What is to hold for the cluster.
    #[must_use]
    pub fn with_cluster_settings(mut self, settings: ClusterSettings) -> Self {
        self.cluster_settings = settings;
        self
    }

    /// What holds for the cluster where neither the kubeconfig nor
    /// [`with_cluster_settings`](Self::with_cluster_settings) says anything. With a server among them, a
    /// configuration is found even where there are neither kubeconfig nor pod.
    #[must_use]
    pub fn with_cluster_defaults(mut self, settings: ClusterSettings) -> Self {
        self.cluster_defaults = settings;
        self
    }

    /// These credentials instead of the user's. A client certificate stays, unless it is overridden too.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// The certificate chain of the first PEM file, whose key is in the second, instead of the user's.
    #[must_use]
    pub fn with_client_certificate_files(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        self.client_certificate = Some((Pem::File(certificate.into()), Pem::File(key.into())));
        self
    }

    /// In the name of this user, instead of whom the kubeconfig says.
    #[must_use]
    pub fn with_impersonation(mut self, user: Impersonation) -> Self {
        self.impersonation = Some(user);
        self
    }

    /// This time for each typed or raw request ([`Timeouts::request`]); zero for no limit.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// As [`with_timeout`](Self::with_timeout), from text as `kubectl --request-timeout` takes it: whole
    /// seconds, or a duration such as `1m30s` or `500ms`.
    ///
    /// # Errors
    /// If it is neither.
    pub fn with_timeout_text(self, text: &str) -> Result<Self, ClientError> {
        let timeout = parse_timeout(text).ok_or_else(|| {
            let problem = "must be whole seconds, or numbers with units such as `1m30s`; 0 is for no limit";
            ClientError::configuration(format!("timeout `{text}`"), problem)
        })?;
        Ok(self.with_timeout(timeout))
    }

    /// Whether something is meant that no pod's service account has.
    pub(super) fn select(&self) -> bool {
        self.context.is_some() || self.user.is_some() || self.name_a_server()
    }

    /// Whether it is said which server is meant, though there be no context.
    pub(super) fn name_a_server(&self) -> bool {
        self.cluster.is_some() || self.cluster_settings.server.is_some()
    }

    /// What holds for a pod's configuration as for a kubeconfig's.
    pub(super) fn finish(&self, config: &mut Config) {
        if let Some(namespace) = &self.namespace {
            config.namespace.clone_from(namespace);
        }
        if let Some(user) = &self.impersonation {
            config.impersonation = Some(user.clone());
        }
        if let Some(timeout) = self.timeout {
            config.timeouts = Timeouts {
                request: Some(timeout).filter(|timeout| !timeout.is_zero()),
                ..config.timeouts.clone()
            };
        }
    }
}

/// What can be said of a cluster: where its server is, and how it is reached.
///
/// What is not set is left to the kubeconfig. Paths are meant from the working folder.
///
/// ```
/// use informers_client::{ClusterSettings, Overrides};
///
/// let local = ClusterSettings::new().with_server("http://localhost:8080");
/// let overrides = Overrides::new().with_cluster_defaults(local);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClusterSettings {
    pub(crate) server: Option<String>,
    pub(crate) tls_server_name: Option<String>,
    pub(crate) ca: Option<Pem>,
    pub(crate) insecure: bool,
    pub(crate) proxy_url: Option<Secret>,
    pub(crate) disable_compression: bool,
}

impl ClusterSettings {
    /// Nothing is said.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The server's URL. It takes the name for the certificate
    /// ([`with_tls_server_name`](Self::with_tls_server_name)) with it: the kubeconfig's belongs to another server.
    #[must_use]
    pub fn with_server(mut self, url: impl Into<String>) -> Self {
        self.server = given(url);
        self
    }

    /// The name that the server's certificate must be for, instead of the host in its URL.
    #[must_use]
    pub fn with_tls_server_name(mut self, name: impl Into<String>) -> Self {
        self.tls_server_name = given(name);
        self
    }

    /// Trusts the certificates in this PEM file, and no other, whatever the kubeconfig trusts.
    #[must_use]
    pub fn with_ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca = Some(Pem::File(path.into()));
        self
    }

    /// Trusts the certificates in this PEM text, and no other, whatever the kubeconfig trusts.
    #[must_use]
    pub fn with_ca_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca = Some(Pem::Data(pem.into()));
        self
    }

    /// Accepts any certificate of the server, whatever the kubeconfig trusts.
    #[must_use]
    pub fn insecure(mut self) -> Self {
        self.insecure = true;
        self
    }

    /// The proxy to go through: `http`, `https` or `socks5`.
    #[must_use]
    pub fn with_proxy_url(mut self, url: impl Into<Secret>) -> Self {
        self.proxy_url = Some(url.into()).filter(|url| !url.expose().is_empty());
        self
    }

    /// Asks for no compressed answers.
    #[must_use]
    pub fn without_compression(mut self) -> Self {
        self.disable_compression = true;
        self
    }
}

/// Shows no password, in whatever URL it stands.
impl fmt::Debug for ClusterSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterSettings")
            .field("server", &self.server.as_deref().map(without_user))
            .field("tls_server_name", &self.tls_server_name)
            .field("ca", &self.ca)
            .field("insecure", &self.insecure)
            .field("proxy_url", &self.proxy_url)
            .field("disable_compression", &self.disable_compression)
            .finish()
    }
}

/// Flags that are not given are often empty.
fn given(text: impl Into<String>) -> Option<String> {
    Some(text.into()).filter(|text| !text.is_empty())
}

/// Whole seconds, or what Go's `time.ParseDuration` takes, unless it is negative.
fn parse_timeout(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut sum = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let number_ends = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit_on) = rest.split_at(number_ends);
        let unit_ends = unit_on.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(unit_on.len());
        let (unit, after) = unit_on.split_at(unit_ends);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
        sum = sum.checked_add(part)?;
        rest = after;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_read_as_kubectl_reads_them() {
        for (text, milliseconds) in [
            ("0", Some(0)),
            ("30", Some(30_000)),
            ("1m30s", Some(90_000)),
            ("500ms", Some(500)),
            ("1.5h", Some(5_400_000)),
            ("0s", Some(0)),
            ("2000us", Some(2)),
            ("", None),
            ("-1s", None),
            ("1d", None),
            ("1m30", None),
            ("s", None),
            (".s", None),
            ("9e9h", None),
            ("99999999999999999999999h", None),
        ] {
            assert_eq!(parse_timeout(text), milliseconds.map(Duration::from_millis), "{text}");
        }
        let error = Overrides::new().with_timeout_text("soon").unwrap_err().to_string();
        assert!(error.starts_with("timeout `soon`: must be whole seconds"), "{error}");
    }
}
