//! Proxies between client and server.

use std::sync::Arc;

use informers_client::{Client, Config, Proxy, Tls};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{Answer, Options, Server};
use crate::tls::{Authority, server_tls};

const VERSION: &str = r#"{"gitVersion":"v1.37.2"}"#;

/// A proxy that connects everything to one place; what it was asked for is kept.
async fn proxy(target: String, socks: bool) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let (target, seen) = (target.clone(), Arc::clone(&seen));
            tokio::spawn(async move {
                if socks {
                    let mut greeting = [0; 3];
                    client.read_exact(&mut greeting).await.unwrap();
                    client.write_all(&[5, 0]).await.unwrap();
                    let mut head = [0; 5];
                    client.read_exact(&mut head).await.unwrap();
                    let mut name = vec![0; usize::from(head[4]) + 2];
                    client.read_exact(&mut name).await.unwrap();
                    seen.lock().push(String::from_utf8_lossy(&name[..name.len() - 2]).into_owned());
                    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
                } else {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(client.read_u8().await.unwrap());
                    }
                    let head = String::from_utf8(head).unwrap();
                    let refused = head.contains("forbidden");
                    let connect = head.starts_with("CONNECT");
                    seen.lock().push(head.clone());
                    if refused {
                        client.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").await.unwrap();
                        return;
                    }
                    if connect {
                        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
                    } else {
                        let body =
                            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{VERSION}", VERSION.len());
                        client.write_all(body.as_bytes()).await.unwrap();
                        return;
                    }
                }
                let mut server = TcpStream::connect(&target).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (address, asked)
}

async fn secure() -> (Server, String, Tls) {
    let authority = Authority::new();
    let tls = Some(server_tls(&authority.issue("cluster.test"), None, &["h2"]));
    let server = Server::start_with(Options { tls, max_streams: 100 }, |_| Answer::json(VERSION)).await;
    let address = server.url.trim_start_matches("https://").to_owned();
    (server, address, Tls::new().with_ca_pem(authority.pem))
}

fn client(url: &str, tls: Tls, proxy: &str) -> Client {
    let config = Config::for_url(url).unwrap().with_tls(tls).with_proxy(Proxy::Url(proxy.parse().unwrap()));
    Client::new(config).unwrap()
}

#[tokio::test]
async fn a_server_with_tls_is_reached_through_a_tunnel() {
    let (_server, address, tls) = secure().await;
    let (proxy, asked) = proxy(address, false).await;
    let client = client("https://cluster.test:6443", tls, &format!("http://bob:s3cret@{proxy}"));
    assert_eq!(client.server_version().await.unwrap().git_version, "v1.37.2");
    let head = asked.lock()[0].to_lowercase();
    assert!(head.starts_with("connect cluster.test:6443 http/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: basic ym9ionmzy3jlda=="), "{head}");
}

#[tokio::test]
async fn a_server_is_reached_through_socks_which_resolves_its_name() {
    let (_server, address, tls) = secure().await;
    let (proxy, asked) = proxy(address, true).await;
    let client = client("https://cluster.test:6443", tls, &format!("socks5://{proxy}"));
    assert_eq!(client.server_version().await.unwrap().git_version, "v1.37.2");
    assert_eq!(*asked.lock(), ["cluster.test"]);
}

#[tokio::test]
async fn a_server_without_tls_is_asked_for_by_its_whole_url() {
    let (proxy, asked) = proxy(String::new(), false).await;
    let client = client("http://cluster.test", Tls::new(), &format!("http://{proxy}"));
    assert_eq!(client.server_version().await.unwrap().git_version, "v1.37.2");
    let head = asked.lock()[0].clone();
    assert!(head.starts_with("GET http://cluster.test/version HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    let (proxy, _) = proxy(String::new(), false).await;
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
