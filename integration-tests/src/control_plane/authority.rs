//! Certificate authorities of one control plane.

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

/// Signs certificates.
#[derive(Debug)]
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate with its key.
#[derive(Clone)]
pub struct Certificate {
    /// The certificate, a PEM text.
    pub certificate: String,
    /// The private key, a PEM text.
    pub key: String,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key stays out of failure messages.
        out.debug_struct("Certificate").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

impl Authority {
    /// A new one, which calls itself `name`.
    pub(super) fn create(name: &str) -> Result<Self> {
        let key = KeyPair::generate().with_context(|| format!("making the key of {name}"))?;
        let mut this = CertificateParams::default();
        this.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        this.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        this.distinguished_name.push(DnType::CommonName, name);
        let pem = this.self_signed(&key).with_context(|| format!("making {name}"))?.pem();
        Ok(Self { issuer: Issuer::new(this, key), pem })
    }

    /// Its own certificate, a PEM text.
    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    /// Makes a key, and signs its certificate.
    pub(super) fn sign(&self, certificate: &CertificateParams) -> Result<Certificate> {
        let key = KeyPair::generate().context("making a key")?;
        let signed = certificate.signed_by(&key, &self.issuer).context("signing a certificate")?;
        Ok(Certificate { certificate: signed.pem(), key: key.serialize_pem() })
    }
}
