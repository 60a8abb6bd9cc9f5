//! How the server proves who it is, and the client by a certificate.

use std::fmt;
use std::path::PathBuf;

/// PEM text, at hand or in a file.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Pem {
    Data(Vec<u8>),
    File(PathBuf),
}

/// Prints the file's path, or how many bytes there are: a key must not be seen.
impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(bytes) => write!(f, "[{} bytes, redacted]", bytes.len()),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Certificate authority, client certificate, server name.
///
/// Files are read again when they change, so that rotated certificates are used for new connections. Without
/// a certificate authority the system's are trusted. The default is just that.
///
/// ```
/// use informers_client::{Config, Tls};
///
/// let tls = Tls::new().with_ca_file("/etc/cluster/ca.crt").with_server_name("kubernetes.default");
/// let config = Config::for_url("https://10.0.0.1:6443")?.with_tls(tls);
/// # Ok::<(), informers_client::ClientError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    pub(crate) ca: Option<Pem>,
    pub(crate) client: Option<(Pem, Pem)>,
    pub(crate) insecure: bool,
    pub(crate) server_name: Option<String>,
    /// Where the settings come from, for errors.
    pub(crate) origin: Option<String>,
}

impl Tls {
    /// The system's certificate authorities, no client certificate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts the certificates in this PEM text, and no other.
    #[must_use]
    pub fn with_ca_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca = Some(Pem::Data(pem.into()));
        self
    }

    /// Trusts the certificates in this PEM file, and no other. Read again when it changes.
    #[must_use]
    pub fn with_ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca = Some(Pem::File(path.into()));
        self
    }

    /// Shows this certificate chain, whose key is the second PEM text.
    #[must_use]
    pub fn with_client_certificate_pem(
        mut self,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        self.client = Some((Pem::Data(certificate.into()), Pem::Data(key.into())));
        self
    }

    /// Shows the certificate chain of the first PEM file, whose key is in the second. Read again when they
    /// change.
    #[must_use]
    pub fn with_client_certificate_files(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        self.client = Some((Pem::File(certificate.into()), Pem::File(key.into())));
        self
    }

    /// Accepts any certificate of the server: anybody in between can read and change everything. It excludes
    /// a certificate authority.
    #[must_use]
    pub fn insecure(mut self) -> Self {
        self.insecure = true;
        self
    }

    /// The name that the server's certificate must be for, instead of the host in its URL.
    #[must_use]
    pub fn with_server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }
}
