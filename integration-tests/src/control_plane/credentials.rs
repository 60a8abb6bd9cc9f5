//! Keys, certificates and tokens of one control plane, and the kubeconfig that uses them.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};

use super::authority::{Authority, Certificate};

pub(super) const SERVING_CERTIFICATE: &str = "apiserver.crt";
pub(super) const SERVING_KEY: &str = "apiserver.key";
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
    clients: Authority,
    /// The certificate of who signed the API server's.
    serving_authority: Mutex<String>,
}

impl Credentials {
    /// Makes everything anew and writes what the API server reads into `folder`.
    pub(super) fn create(folder: &Path) -> Result<Self> {
        let this = Self {
            folder: folder.to_owned(),
            admin_token: token(),
            stranger_token: token(),
            clients: Authority::create("informers-test-clients")?,
            serving_authority: Mutex::default(),
        };
        let (admin, stranger) = (&this.admin_token, &this.stranger_token);
        this.write(
            TOKENS,
            &format!("{admin},admin,admin,\"{MASTERS}\"\n{stranger},stranger,stranger,\"visitors\"\n"),
        )?;
        let service_account = KeyPair::generate().context("making the service account key")?;
        this.write(SERVICE_ACCOUNT_PRIVATE, &service_account.serialize_pem())?;
        this.write(SERVICE_ACCOUNT_PUBLIC, &service_account.public_key_pem())?;
        this.write(CLIENT_AUTHORITY, this.clients.pem())?;
        this.change_serving_certificate()?;
        Ok(this)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        std::fs::write(self.folder.join(name), text).with_context(|| format!("writing {name}"))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// The CA of the API server's certificate.
    pub(super) fn serving_authority(&self) -> String {
        self.serving_authority.lock().expect("nothing panics while it holds the text").clone()
    }

    /// Gives the API server, when it starts next, another certificate by another CA.
    pub(super) fn change_serving_certificate(&self) -> Result<()> {
        let authority = Authority::create(&format!("informers-test-servers-{:08x}", fastrand::u32(..)))?;
        let mut server = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])
            .context("naming the server")?;
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        let Certificate { certificate, key } = authority.sign(&server)?;
        self.write(SERVING_CERTIFICATE, &certificate)?;
        self.write(SERVING_KEY, &key)?;
        let mut known = self.serving_authority.lock().expect("nothing panics while it holds the text");
        authority.pem().clone_into(&mut known);
        Ok(())
    }

    /// A client certificate: Kubernetes takes the user from the common name and groups from organizations.
    pub(super) fn client_certificate(&self, user: &str, groups: &[&str]) -> Result<Certificate> {
        let mut client = CertificateParams::default();
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        client.distinguished_name.push(DnType::CommonName, user);
        for group in groups {
            client.distinguished_name.push(DnType::OrganizationName, *group);
        }
        self.clients.sign(&client)
    }

    pub(super) fn write_kubeconfig(&self, file: &Path, address: &str) -> Result<()> {
        let authority = STANDARD.encode(self.serving_authority());
        let client = self.client_certificate("certificate-admin", &[MASTERS])?;
        let (certificate, key) = (STANDARD.encode(client.certificate), STANDARD.encode(client.key));
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
