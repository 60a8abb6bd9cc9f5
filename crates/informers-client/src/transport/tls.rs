//! The rustls configuration, made anew when its files change.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time::Instant;

use super::insecure::AnyServer;
use crate::config::Pem;
use crate::credentials::ClientCertificate;
use crate::{ClientError, Tls};

/// How often files are looked at while connections are reused.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// The contents of what [`Tls`] names.
#[derive(Clone, Default, PartialEq, Eq)]
struct Material {
    ca: Option<Vec<u8>>,
    client: Option<(Vec<u8>, Vec<u8>)>,
}

/// A configuration and its number; connections made under an older number serve no new requests.
#[derive(Clone)]
pub(crate) struct TlsState {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) generation: u64,
}

/// Whose certificates are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// The configured authority; without one, the system's.
    Configured,
    /// Both.
    ConfiguredAndSystem,
}

pub(crate) struct TlsSource {
    tls: Tls,
    http2: bool,
    trust: Trust,
    loaded: Mutex<Loaded>,
}

struct Loaded {
    material: Material,
    plugin: Option<Arc<ClientCertificate>>,
    state: TlsState,
    checked: Option<Instant>,
}

impl TlsSource {
    /// Reads the files at once, so that what is wrong with them is known early.
    pub(crate) fn new(tls: Tls, http2: bool) -> Result<Self, ClientError> {
        Self::load(tls, http2, Trust::Configured)
    }

    /// For a proxy that is spoken to with TLS: it may be of the cluster's authority, as client-go demands, or
    /// of one that the system knows. It learns nothing of the client's certificate.
    pub(crate) fn for_proxy(tls: &Tls) -> Result<Self, ClientError> {
        let tls = Tls { client: None, server_name: None, ..tls.clone() };
        Self::load(tls, false, Trust::ConfiguredAndSystem)
    }

    fn load(tls: Tls, http2: bool, trust: Trust) -> Result<Self, ClientError> {
        let read = |pem: &Pem, what| match pem {
            Pem::Data(bytes) => Ok(bytes.clone()),
            Pem::File(path) => std::fs::read(path).map_err(|error| unreadable(&tls, path, what, error)),
        };
        let ca = tls.ca.as_ref().map(|pem| read(pem, "certificate authority")).transpose()?;
        let client = match &tls.client {
            None => None,
            Some((certificate, key)) => {
                Some((read(certificate, "client certificate")?, read(key, "client key")?))
            }
        };
        let material = Material { ca, client };
        let config = build(&tls, &material, None, http2, trust)?;
        let state = TlsState { config, generation: 0 };
        let loaded = Mutex::new(Loaded { material, plugin: None, state, checked: None });
        Ok(Self { tls, http2, trust, loaded })
    }

    /// The same trust without a client certificate, for a host that a redirect names.
    pub(crate) fn without_identity(&self) -> Result<Self, ClientError> {
        Self::new(Tls { client: None, ..self.tls.clone() }, self.http2)
    }

    pub(crate) fn server_name(&self) -> Option<&str> {
        self.tls.server_name.as_deref()
    }

    /// What connections of now are to use. `fresh` looks at the files even if that was done a moment ago.
    ///
    /// Files that cannot be read or used at the moment (they may be half written) leave things as they are.
    pub(crate) async fn current(&self, plugin: Option<&Arc<ClientCertificate>>, fresh: bool) -> TlsState {
        let (same_plugin, due) = {
            let loaded = self.loaded.lock();
            let due = self.has_files()
                && (fresh || loaded.checked.is_none_or(|checked| checked.elapsed() >= CHECK_INTERVAL));
            (loaded.plugin.as_ref() == plugin, due)
        };
        if same_plugin && !due {
            return self.loaded.lock().state.clone();
        }
        let known = self.loaded.lock().material.clone();
        let material = if due { self.read(&known).await } else { known };
        let mut loaded = self.loaded.lock();
        if due {
            loaded.checked = Some(Instant::now());
        }
        if loaded.material == material && loaded.plugin.as_ref() == plugin {
            return loaded.state.clone();
        }
        match build(&self.tls, &material, plugin.map(Arc::as_ref), self.http2, self.trust) {
            Ok(config) => {
                tracing::debug!("TLS material has changed; new connections use it");
                let generation = loaded.state.generation + 1;
                loaded.state = TlsState { config, generation };
                loaded.material = material;
                loaded.plugin = plugin.cloned();
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "changed TLS material cannot be used"
                );
            }
        }
        loaded.state.clone()
    }

    /// Looks at the files, and says what number connections of now have.
    pub(crate) async fn generation(&self) -> u64 {
        let plugin = self.loaded.lock().plugin.clone();
        self.current(plugin.as_ref(), true).await.generation
    }

    fn has_files(&self) -> bool {
        let is_file = |pem: &Pem| matches!(pem, Pem::File(_));
        self.tls.ca.as_ref().is_some_and(is_file)
            || self.tls.client.as_ref().is_some_and(|(certificate, key)| is_file(certificate) || is_file(key))
    }

    async fn read(&self, known: &Material) -> Material {
        async fn again(pem: &Pem, known: &[u8]) -> Vec<u8> {
            match pem {
                Pem::Data(bytes) => bytes.clone(),
                Pem::File(path) => match tokio::fs::read(path).await {
                    Ok(bytes) if !bytes.trim_ascii().is_empty() => bytes,
                    Ok(_) => known.to_vec(),
                    Err(error) => {
                        tracing::warn!(file = %path.display(), %error, "cannot be read; its last contents are used");
                        known.to_vec()
                    }
                },
            }
        }
        let ca = match (&self.tls.ca, &known.ca) {
            (Some(pem), Some(known)) => Some(again(pem, known).await),
            _ => None,
        };
        let client = match (&self.tls.client, &known.client) {
            (Some((certificate, key)), Some(known)) => {
                Some((again(certificate, &known.0).await, again(key, &known.1).await))
            }
            _ => None,
        };
        Material { ca, client }
    }
}

fn place(tls: &Tls, what: &str) -> String {
    match &tls.origin {
        Some(origin) => format!("{origin}: {what}"),
        None => format!("TLS: {what}"),
    }
}

fn unreadable(tls: &Tls, path: &Path, what: &str, error: std::io::Error) -> ClientError {
    ClientError::configuration(place(tls, what), format!("{} cannot be read", path.display())).because(error)
}

#[cfg(feature = "aws-lc-rs")]
fn provider() -> Option<rustls::crypto::CryptoProvider> {
    Some(rustls::crypto::aws_lc_rs::default_provider())
}

#[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
fn provider() -> Option<rustls::crypto::CryptoProvider> {
    Some(rustls::crypto::ring::default_provider())
}

#[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
fn provider() -> Option<rustls::crypto::CryptoProvider> {
    None
}

fn certificates(pem: &[u8], tls: &Tls, what: &str) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates =
        read.map_err(|error| ClientError::configuration(place(tls, what), "is no valid PEM").because(error))?;
    if certificates.is_empty() {
        return Err(ClientError::configuration(place(tls, what), "has no certificate in PEM form"));
    }
    Ok(certificates)
}

fn build(
    tls: &Tls,
    material: &Material,
    plugin: Option<&ClientCertificate>,
    http2: bool,
    trust: Trust,
) -> Result<Arc<ClientConfig>, ClientError> {
    let wrong = |what: &str, problem: &str, error: rustls::Error| {
        ClientError::configuration(place(tls, what), problem).because(error)
    };
    let provider = Arc::new(provider().ok_or_else(|| {
        let problem = "this program was built without TLS; turn on the feature `ring` or `aws-lc-rs` of informers-client";
        ClientError::configuration("TLS", problem)
    })?);
    if tls.insecure && tls.ca.is_some() {
        let problem = "skipping verification excludes a certificate authority; remove one of the two";
        return Err(ClientError::configuration(place(tls, "certificate authority"), problem));
    }
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong("protocol versions", "the cryptography has none", error))?;
    let builder = if tls.insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyServer::new(provider)))
    } else {
        builder.with_root_certificates(roots(tls, material, trust)?)
    };
    let client = match (plugin, &material.client) {
        (Some(plugin), _) => Some((plugin.certificate.as_bytes(), plugin.key.expose().as_bytes())),
        (None, Some((certificate, key))) => Some((certificate.as_slice(), key.as_slice())),
        (None, None) => None,
    };
    let mut config = match client {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let chain = certificates(chain, tls, "client certificate")?;
            let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| {
                ClientError::configuration(place(tls, "client key"), "has no private key in PEM form")
                    .because(error)
            })?;
            builder.with_client_auth_cert(chain, key).map_err(|error| {
                wrong("client certificate", "certificate and key cannot be used together", error)
            })?
        }
    };
    config.alpn_protocols =
        if http2 { vec![b"h2".to_vec(), b"http/1.1".to_vec()] } else { vec![b"http/1.1".to_vec()] };
    Ok(Arc::new(config))
}

fn roots(tls: &Tls, material: &Material, trust: Trust) -> Result<rustls::RootCertStore, ClientError> {
    let mut roots = rustls::RootCertStore::empty();
    if let Some(pem) = &material.ca {
        for certificate in certificates(pem, tls, "certificate authority")? {
            roots.add(certificate).map_err(|error| {
                let problem = "has a certificate that cannot be used";
                ClientError::configuration(place(tls, "certificate authority"), problem).because(error)
            })?;
        }
    }
    if material.ca.is_none() || trust == Trust::ConfiguredAndSystem {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            tracing::warn!("no certificate authority is configured, and the system has none");
        }
    }
    Ok(roots)
}
