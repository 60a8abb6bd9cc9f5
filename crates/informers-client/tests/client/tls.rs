//! TLS: who is trusted, who is shown, and what is said when it does not fit.

use std::sync::Arc;

use informers_client::{Client, Config, Tls};
use informers_core::{Error, ErrorKind, ListParams, Scope, Source as _};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::server::{Answer, Options, Server, list_of, widgets};

pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
    der: CertificateDer<'static>,
}

pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
    chain: Vec<CertificateDer<'static>>,
    key_der: Vec<u8>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let (pem, der) = (certificate.pem(), certificate.der().clone());
        Self { issuer: Issuer::new(params, key), pem, der }
    }

    pub(crate) fn issue(&self, name: &str) -> Issued {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            chain: vec![certificate.der().clone()],
            key_der: key.serialize_der(),
        }
    }
}

/// A server's TLS; with `clients`, it wants a certificate signed by them.
pub(crate) fn server_tls(
    issued: &Issued,
    clients: Option<&Authority>,
    protocols: &[&str],
) -> Arc<ServerConfig> {
    let provider = Arc::new(default_provider());
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = match clients {
        None => builder.unwrap().with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(authority.der.clone()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.unwrap().with_client_cert_verifier(verifier)
        }
    };
    let key = PrivateKeyDer::try_from(issued.key_der.clone()).unwrap();
    let mut config = builder.with_single_cert(issued.chain.clone(), key).unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Arc::new(config)
}

async fn start(tls: Arc<ServerConfig>) -> Server {
    Server::start_with(Options { tls: Some(tls), max_streams: 100 }, |_| Answer::json(list_of(7, &[]))).await
}

async fn list(config: Config) -> Result<(), Error> {
    let client = Client::new(config).unwrap();
    let collection = client.list_watch(&widgets(), &Scope::all()).unwrap();
    collection.list(ListParams::first("".into())).await.map(drop)
}

#[tokio::test]
async fn the_right_authority_is_trusted_over_http_1_and_2() {
    let authority = Authority::new();
    for protocols in [&["h2", "http/1.1"][..], &["http/1.1"], &[]] {
        let server = start(server_tls(&authority.issue("127.0.0.1"), None, protocols)).await;
        list(server.config().with_tls(Tls::new().with_ca_pem(authority.pem.clone()))).await.unwrap();
    }
}

#[tokio::test]
async fn a_wrong_authority_and_a_wrong_name_are_told_apart() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = start(server_tls(&authority.issue("127.0.0.1"), None, &["h2"])).await;
    let error = list(server.config().with_tls(Tls::new().with_ca_pem(other.pem))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
    assert_eq!(
        error.message(),
        format!(
            "the certificate of {} is not signed by the configured certificate authority; \
             check certificate-authority in the kubeconfig",
            server.url
        )
    );
    let server = start(server_tls(&authority.issue("kubernetes.default"), None, &["h2"])).await;
    let tls = Tls::new().with_ca_pem(authority.pem);
    let error = list(server.config().with_tls(tls.clone())).await.unwrap_err();
    assert!(error.message().contains("is for another name"), "{error}");
    list(server.config().with_tls(tls.with_server_name("kubernetes.default"))).await.unwrap();
    list(server.config().with_tls(Tls::new().insecure())).await.unwrap();
}

#[tokio::test]
async fn a_client_certificate_is_shown_where_it_is_wanted() {
    let (authority, clients, strangers) = (Authority::new(), Authority::new(), Authority::new());
    let server = start(server_tls(&authority.issue("127.0.0.1"), Some(&clients), &["h2"])).await;
    let tls = || Tls::new().with_ca_pem(authority.pem.clone());
    let good = clients.issue("client");
    list(server.config().with_tls(tls().with_client_certificate_pem(good.certificate, good.key)))
        .await
        .unwrap();
    let error = list(server.config().with_tls(tls())).await.unwrap_err();
    assert!(error.message().contains("does not accept the client certificate"), "{error:?}");
    let bad = strangers.issue("client");
    let error = list(server.config().with_tls(tls().with_client_certificate_pem(bad.certificate, bad.key)));
    let error = error.await.unwrap_err();
    assert!(error.message().contains("does not accept the client certificate"), "{error:?}");
}

#[tokio::test]
async fn rotated_certificate_files_are_used_for_new_connections() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (old, new) = (Authority::new(), Authority::new());
    std::fs::write(path("ca.crt"), &old.pem).unwrap();
    let tls = Tls::new().with_ca_file(path("ca.crt"));
    let server = start(server_tls(&new.issue("127.0.0.1"), None, &["http/1.1"])).await;
    let client = Client::new(server.config().with_tls(tls)).unwrap();
    assert!(client.server_version().await.is_err());
    // A file that is half written for a moment changes nothing.
    std::fs::write(path("ca.crt"), &new.pem[..100]).unwrap();
    assert!(client.server_version().await.is_err());
    std::fs::write(path("ca.crt"), &new.pem).unwrap();
    let collection = client.list_watch(&widgets(), &Scope::all()).unwrap();
    collection.list(ListParams::first("".into())).await.map(drop).unwrap();
}

#[tokio::test]
async fn tls_to_a_server_without_it_is_told_so() {
    let server = Server::start(|_| Answer::json("{}")).await;
    let config = Config::for_url(&server.url.replace("http:", "https:")).unwrap();
    let error = list(config.with_tls(Tls::new().insecure())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
    assert!(error.message().contains("does not speak TLS; is its URL http instead of https?"), "{error}");
}

#[test]
fn what_is_wrong_with_a_certificate_is_said_at_once() {
    let issued = Authority::new().issue("client");
    let cases = [
        (Tls::new().with_ca_pem("no pem"), "TLS: certificate authority: has no certificate in PEM form"),
        (
            Tls::new().with_ca_pem(issued.certificate.clone()).insecure(),
            "TLS: certificate authority: skipping verification excludes a certificate authority; remove one of the two",
        ),
        (Tls::new().with_ca_file("/no/ca.crt"), "TLS: certificate authority: /no/ca.crt cannot be read"),
        (
            Tls::new().with_client_certificate_pem(issued.certificate.clone(), issued.certificate.clone()),
            "TLS: client key: has no private key in PEM form",
        ),
        (
            Tls::new().with_client_certificate_pem(issued.certificate, Authority::new().issue("x").key),
            "TLS: client certificate: certificate and key cannot be used together",
        ),
    ];
    for (tls, expected) in cases {
        let error = Client::new(Config::for_url("https://127.0.0.1:1").unwrap().with_tls(tls)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn a_request_that_was_sent_on_a_new_connection_is_not_sent_twice() {
    let authority = Authority::new();
    let tls = tokio_rustls::TlsAcceptor::from(server_tls(&authority.issue("127.0.0.1"), None, &["http/1.1"]));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let requests = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = tls.accept(stream).await.unwrap();
            let mut request = [0; 4096];
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut request).await;
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    });
    let config = Config::for_url(&url).unwrap().with_tls(Tls::new().with_ca_pem(authority.pem));
    let error = list(config).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error:?}");
    assert_eq!(requests.load(std::sync::atomic::Ordering::SeqCst), 1);
}
