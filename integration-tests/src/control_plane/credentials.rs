//! Keys, certificates and tokens of one control plane, and the kubeconfig that uses them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

pub(super) const CERTIFICATES: &str = "certificates";
pub(super) const SERVICE_ACCOUNT_PRIVATE: &str = "service-account.key";
pub(super) const SERVICE_ACCOUNT_PUBLIC: &str = "service-account.pub";
pub(super) const TOKENS: &str = "tokens.csv";
pub(super) const CLIENT_AUTHORITY: &str = "client-authority.crt";

/// The group that Kubernetes binds to all rights.
const MASTERS: &str = "system:masters";

#[derive(Debug)]
pub(super) struct Credentials {
    folder: PathBuf,
    admin_token: String,
    stranger_token: String,
    client_certificate: String,
    client_key: String,
}

impl Credentials {
    /// Makes everything anew and writes what the API server reads into `folder`.
    pub(super) fn create(folder: &Path) -> Result<Self> {
        let write = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).with_context(|| format!("writing {name}"))
        };
        let (admin_token, stranger_token) = (token(), token());
        write(
            TOKENS,
            &format!(
                "{admin_token},admin,admin,\"{MASTERS}\"\n{stranger_token},stranger,stranger,\"visitors\"\n"
            ),
        )?;
        let service_account = KeyPair::generate().context("making the service account key")?;
        write(SERVICE_ACCOUNT_PRIVATE, &service_account.serialize_pem())?;
        write(SERVICE_ACCOUNT_PUBLIC, &service_account.public_key_pem())?;

        let authority_key = KeyPair::generate().context("making the client CA's key")?;
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        authority.distinguished_name.push(DnType::CommonName, "informers-test-clients");
        write(
            CLIENT_AUTHORITY,
            &authority.self_signed(&authority_key).context("making the client CA")?.pem(),
        )?;

        let client_key = KeyPair::generate().context("making the client key")?;
        let mut client = CertificateParams::default();
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        // Kubernetes takes the user from the common name and the group from the organization.
        client.distinguished_name.push(DnType::CommonName, "certificate-admin");
        client.distinguished_name.push(DnType::OrganizationName, MASTERS);
        let issuer = Issuer::new(authority, authority_key);
        let client_certificate =
            client.signed_by(&client_key, &issuer).context("signing the client certificate")?.pem();
        Ok(Self {
            folder: folder.to_owned(),
            admin_token,
            stranger_token,
            client_certificate,
            client_key: client_key.serialize_pem(),
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// The API server's certificate and the CA that signed it, once both are written.
    pub(super) fn read_server_certificate(&self) -> Result<Vec<u8>> {
        let file = self.folder.join(CERTIFICATES).join("apiserver.crt");
        let pem = std::fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
        // The file is there a moment before its text is.
        ensure!(pem.ends_with(b"-----END CERTIFICATE-----\n"), "{} is not whole", file.display());
        Ok(pem)
    }

    pub(super) fn write_kubeconfig(&self, file: &Path, address: &str, authority_pem: &[u8]) -> Result<()> {
        let authority = STANDARD.encode(authority_pem);
        let certificate = STANDARD.encode(&self.client_certificate);
        let key = STANDARD.encode(&self.client_key);
        let (admin, stranger) = (&self.admin_token, &self.stranger_token);
        let contexts: String = ["admin", "certificate", "stranger", "unknown"]
            .iter()
            .map(|user| format!("- name: {user}\n  context:\n    cluster: built\n    user: {user}\n"))
            .collect();
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: admin\n\
             clusters:\n- name: built\n  cluster:\n    server: https://{address}\n    certificate-authority-data: {authority}\n\
             users:\n- name: admin\n  user:\n    token: {admin}\n\
             - name: certificate\n  user:\n    client-certificate-data: {certificate}\n    client-key-data: {key}\n\
             - name: stranger\n  user:\n    token: {stranger}\n\
             - name: unknown\n  user:\n    token: nobody-knows-this-token\n\
             contexts:\n{contexts}"
        );
        std::fs::write(file, text).with_context(|| format!("writing {}", file.display()))
    }
}

/// Guards a server on loopback for the length of a test, no more.
fn token() -> String {
    format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..))
}
