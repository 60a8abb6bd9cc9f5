//! Proxies between client and server.

use std::sync::Arc;

use informers_client::{Client, ClientError, Config, ConnectionFailure, Proxy, Tls};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::server::{Answer, Options, Server};
use crate::tls::{Authority, server_tls};

const VERSION: &str = r#"{"gitVersion":"v1.37.2"}"#;

/// How a proxy is spoken to.
enum Speaks {
    Http,
    /// HTTP within TLS.
    Https(TlsAcceptor),
    Socks,
}

/// A proxy that connects everything to one place; what it was asked for is kept.
async fn proxy(target: String, speaks: Speaks) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let speaks = Arc::new(speaks);
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let (target, seen, speaks) = (target.clone(), Arc::clone(&seen), Arc::clone(&speaks));
            tokio::spawn(async move {
                match &*speaks {
                    Speaks::Http => forward(client, target, seen).await,
                    Speaks::Https(tls) => {
                        // A client that does not trust the proxy goes away.
                        if let Ok(client) = tls.accept(client).await {
                            forward(client, target, seen).await;
                        }
                    }
                    Speaks::Socks => socks(client, target, seen).await,
                }
            });
        }
    });
    (address, asked)
}

async fn socks(mut client: TcpStream, target: String, seen: Arc<Mutex<Vec<String>>>) {
    let mut greeting = [0; 3];
    client.read_exact(&mut greeting).await.unwrap();
    client.write_all(&[5, 0]).await.unwrap();
    let mut head = [0; 4];
    client.read_exact(&mut head).await.unwrap();
    let length = match head[3] {
        1 => 4,
        4 => 16,
        _ => usize::from(client.read_u8().await.unwrap()),
    };
    let mut host = vec![0; length];
    client.read_exact(&mut host).await.unwrap();
    let port = client.read_u16().await.unwrap();
    seen.lock().push(match head[3] {
        4 => format!("[{}]:{port}", std::net::Ipv6Addr::from(<[u8; 16]>::try_from(host).unwrap())),
        _ => format!("{}:{port}", String::from_utf8_lossy(&host)),
    });
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    let mut server = TcpStream::connect(&target).await.unwrap();
    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
}

async fn forward<S: AsyncRead + AsyncWrite + Unpin>(
    mut client: S,
    target: String,
    seen: Arc<Mutex<Vec<String>>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    seen.lock().push(head.clone());
    if head.contains("login.test") {
        let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n";
        client.write_all(refusal.as_bytes()).await.unwrap();
    } else if head.contains("forbidden") {
        client.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").await.unwrap();
    } else if head.starts_with("CONNECT") {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
        let mut server = TcpStream::connect(&target).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    } else {
        let body = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{VERSION}", VERSION.len());
        client.write_all(body.as_bytes()).await.unwrap();
        client.flush().await.unwrap();
    }
}

async fn secure() -> (Server, String, Tls) {
    secure_by(&Authority::new()).await
}

async fn secure_by(authority: &Authority) -> (Server, String, Tls) {
    let tls = Some(server_tls(&authority.issue("cluster.test"), None, &["h2"]));
    let server = Server::start_with(Options { tls, max_streams: 100 }, |_| Answer::json(VERSION)).await;
    let address = server.url.trim_start_matches("https://").to_owned();
    (server, address, Tls::new().with_ca_pem(authority.pem.clone()))
}

fn client(url: &str, tls: Tls, proxy: &str) -> Client {
    let config = Config::for_url(url).unwrap().with_tls(tls).with_proxy(Proxy::Url(proxy.parse().unwrap()));
    Client::new(config).unwrap()
}

#[tokio::test]
async fn a_server_with_tls_is_reached_through_a_tunnel() {
    let (_server, address, tls) = secure().await;
    let (proxy, asked) = proxy(address, Speaks::Http).await;
    let client = client("https://cluster.test:6443", tls, &format!("http://bob:s3cret@{proxy}"));
    assert_eq!(client.server_version().await.unwrap().git_version, "v1.37.2");
    let head = asked.lock()[0].to_lowercase();
    assert!(head.starts_with("connect cluster.test:6443 http/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: basic ym9ionmzy3jlda=="), "{head}");
}

#[tokio::test]
async fn a_server_is_reached_through_socks_which_resolves_its_name() {
    let (_server, address, tls) = secure().await;
    let (proxy, asked) = proxy(address, Speaks::Socks).await;
    let client = client("https://cluster.test:6443", tls, &format!("socks5://{proxy}"));
    assert_eq!(client.server_version().await.unwrap().git_version, "v1.37.2");
    assert_eq!(*asked.lock(), ["cluster.test:6443"]);
}

#[tokio::test]
async fn an_ipv6_server_is_named_as_such_to_every_proxy() {
    let authority = Authority::new();
    let tls = Some(server_tls(&authority.issue("fd00::1"), None, &["h2"]));
    let server = Server::start_with(Options { tls, max_streams: 100 }, |_| Answer::json(VERSION)).await;
    let address = server.url.trim_start_matches("https://").to_owned();
    let trusted = Tls::new().with_ca_pem(authority.pem);
    let (through_socks, asked) = proxy(address.clone(), Speaks::Socks).await;
    let socks = client("https://[fd00::1]:6443", trusted.clone(), &format!("socks5://{through_socks}"));
    socks.server_version().await.unwrap();
    assert_eq!(*asked.lock(), ["[fd00::1]:6443"]);
    let (through_http, asked) = proxy(address, Speaks::Http).await;
    let http = client("https://[fd00::1]:6443", trusted, &format!("http://{through_http}"));
    http.server_version().await.unwrap();
    assert!(asked.lock()[0].starts_with("CONNECT [fd00::1]:6443 HTTP/1.1\r\n"), "{:?}", asked.lock());
}

#[tokio::test]
async fn a_server_without_tls_is_asked_for_by_its_whole_url() {
    let (proxy, asked) = proxy(String::new(), Speaks::Http).await;
    let client = client("http://cluster.test", Tls::new(), &format!("http://{proxy}"));
    assert_eq!(client.server_version().await.unwrap().git_version, "v1.37.2");
    let head = asked.lock()[0].clone();
    assert!(head.starts_with("GET http://cluster.test/version HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    let (proxy, _) = proxy(String::new(), Speaks::Http).await;
    let client =
        client("https://forbidden.test", Tls::new().insecure(), &format!("http://bob:s3cret@{proxy}"));
    let error = client.server_version().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot ask for the server's version: the proxy http://{proxy} does not let https://forbidden.test through"
        )
    );
    assert!(!format!("{error:?}").contains("s3cret"));
}

#[tokio::test]
async fn a_proxy_that_wants_to_know_who_asks_is_named_and_says_what_to_do() {
    for server in ["http://login.test", "https://login.test"] {
        let (proxy, asked) = proxy(String::new(), Speaks::Http).await;
        let ask = async |url: &str| {
            let client = client(server, Tls::new().insecure(), url);
            client.server_version().await.unwrap_err()
        };
        let nobody = ask(&format!("http://{proxy}")).await;
        assert_eq!(
            nobody.to_string(),
            format!(
                "cannot ask for the server's version: the proxy http://{proxy} wants a user name and password; put them \
                 into its URL before the host: user:password@"
            )
        );
        let wrong = ask(&format!("http://bob:s3cret@{proxy}")).await;
        assert_eq!(
            wrong.to_string(),
            format!(
                "cannot ask for the server's version: the proxy http://{proxy} does not accept the user name and \
                 password in its URL"
            )
        );
        assert!(!format!("{wrong:?}").contains("s3cret"));
        for error in [nobody, wrong] {
            let ClientError::Connection { failure, .. } = error else { panic!("{error:?}") };
            assert_eq!(failure, ConnectionFailure::Proxy);
        }
        assert_eq!(asked.lock().len(), 2);
    }
}

#[tokio::test]
async fn a_407_of_the_server_itself_is_the_servers() {
    let server = Server::start(|_| Answer::json("").status(407)).await;
    let error =
        Client::new(Config::for_url(&server.url).unwrap()).unwrap().server_version().await.unwrap_err();
    assert_eq!(error.status().map(|status| status.code), Some(407));
}

#[tokio::test]
async fn a_proxy_with_tls_is_spoken_to_with_tls() {
    let authority = Authority::new();
    let speaks = || Speaks::Https(server_tls(&authority.issue("127.0.0.1"), None, &[]).into());
    let (_server, address, tls) = secure_by(&authority).await;
    let (address, asked) = proxy(address, speaks()).await;
    let through_tunnel =
        client("https://cluster.test:6443", tls.clone(), &format!("https://bob:s3cret@{address}"));
    through_tunnel.server_version().await.unwrap();
    let head = asked.lock()[0].to_lowercase();
    assert!(head.starts_with("connect cluster.test:6443 http/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: basic ym9ionmzy3jlda=="), "{head}");

    // A server without TLS behind it: what is said to the proxy is encrypted all the same.
    let (address, asked) = proxy(String::new(), speaks()).await;
    let plain = client("http://cluster.test", tls, &format!("https://{address}"));
    assert_eq!(plain.server_version().await.unwrap().git_version, "v1.37.2");
    assert!(asked.lock()[0].starts_with("GET http://cluster.test/version HTTP/1.1\r\n"));
}

#[tokio::test]
async fn a_proxy_with_tls_must_have_a_certificate_that_is_trusted() {
    let (_server, address, tls) = secure().await;
    let stranger = server_tls(&Authority::new().issue("127.0.0.1"), None, &[]);
    let (proxy, asked) = proxy(address, Speaks::Https(stranger.into())).await;
    let url = format!("https://bob:s3cret@{proxy}");
    let error = client("https://cluster.test:6443", tls, &url).server_version().await.unwrap_err();
    assert!(
        error.to_string().contains(&format!("the certificate of the proxy https://{proxy} is not signed by")),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("s3cret"));
    assert!(asked.lock().is_empty(), "it was told who asks");
    client("https://cluster.test:6443", Tls::new().insecure(), &url).server_version().await.unwrap();
}
