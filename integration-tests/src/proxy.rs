//! Small proxies, as companies put them between their people and their clusters.

use std::io::{Error, ErrorKind, Result};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// Who may pass.
const USER: &str = "somebody";
const PASSWORD: &str = "let:me/in";

/// The password in a URL.
const PASSWORD_IN_URLS: &str = "let%3Ame%2Fin";

/// Longer heads are no request that a test makes.
const MAX_HEAD: usize = 16 * 1024;

/// What a proxy speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// HTTP: `CONNECT` for TLS, whole URLs for plain requests.
    Http,
    /// SOCKS 5 with name and password.
    Socks5,
}

/// A proxy on a loopback port, which lets through who knows its password; drop stops it.
#[derive(Debug)]
pub struct Proxy {
    language: Language,
    address: SocketAddr,
    passed: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts one.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(language: Language) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let passed = Arc::default();
        let task = tokio::spawn(serve(listener, language, Arc::clone(&passed)));
        Ok(Self { language, address, passed, task })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The `host:port` of each connection that it made.
    #[must_use]
    pub fn passed(&self) -> Vec<String> {
        self.passed.lock().clone()
    }

    /// How a kubeconfig names it, with its password, when it is reached at `address`.
    #[must_use]
    pub fn url(&self, address: SocketAddr) -> String {
        let scheme = match self.language {
            Language::Http => "http",
            Language::Socks5 => "socks5",
        };
        format!("{scheme}://{USER}:{PASSWORD_IN_URLS}@{address}")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The accept loop owns the connections' tasks, so they end with it.
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, language: Language, passed: Arc<Mutex<Vec<String>>>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { continue };
                let passed = Arc::clone(&passed);
                connections.spawn(async move {
                    // A broken connection is its two ends' affair.
                    let _ended = match language {
                        Language::Http => http(client, &passed).await,
                        Language::Socks5 => socks(client, &passed).await,
                    };
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

async fn connect(target: String, passed: &Mutex<Vec<String>>) -> Result<TcpStream> {
    let server = TcpStream::connect(&target).await?;
    passed.lock().push(target);
    Ok(server)
}

async fn http(mut client: TcpStream, passed: &Mutex<Vec<String>>) -> Result<()> {
    let head = read_head(&mut client).await?;
    let text = String::from_utf8(head).map_err(|_| damaged("a head that is no text"))?;
    let allowed = STANDARD.encode(format!("{USER}:{PASSWORD}"));
    let (secret, rest): (Vec<&str>, Vec<&str>) = text
        .split_inclusive("\r\n")
        .partition(|line| line.to_lowercase().starts_with("proxy-authorization:"));
    if !secret.iter().any(|line| line.ends_with(&format!(" Basic {allowed}\r\n"))) {
        let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n";
        return client.write_all(refusal.as_bytes()).await;
    }
    let mut words = text.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method == "CONNECT" {
        let mut server = connect(target.to_owned(), passed).await?;
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
        return copy_bidirectional(&mut client, &mut server).await.map(drop);
    }
    // Further requests on the connection are for the same server, which understands whole URLs too.
    let host = target.strip_prefix("http://").and_then(|rest| rest.split('/').next());
    let mut server = connect(host.ok_or_else(|| damaged("no whole URL"))?.to_owned(), passed).await?;
    server.write_all(rest.concat().as_bytes()).await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

/// Reads up to the empty line, and not a byte further.
async fn read_head(client: &mut TcpStream) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MAX_HEAD {
            return Err(damaged("a head without an end"));
        }
        head.push(client.read_u8().await?);
    }
    Ok(head)
}

/// RFC 1928, with the names and passwords of RFC 1929.
async fn socks(mut client: TcpStream, passed: &Mutex<Vec<String>>) -> Result<()> {
    const NAME_AND_PASSWORD: u8 = 2;
    let version = client.read_u8().await?;
    let methods = read_short(&mut client).await?;
    if version != 5 || !methods.contains(&NAME_AND_PASSWORD) {
        return client.write_all(&[5, 0xff]).await;
    }
    client.write_all(&[5, NAME_AND_PASSWORD]).await?;
    client.read_u8().await?;
    let (name, password) = (read_short(&mut client).await?, read_short(&mut client).await?);
    let allowed = name == USER.as_bytes() && password == PASSWORD.as_bytes();
    client.write_all(&[1, u8::from(!allowed)]).await?;
    if !allowed {
        return Ok(());
    }
    let mut request = [0; 4];
    client.read_exact(&mut request).await?;
    let [5, 1, _, kind] = request else { return Err(damaged("no request to connect")) };
    let host = match kind {
        1 => Ipv4Addr::from(client.read_u32().await?).to_string(),
        3 => String::from_utf8(read_short(&mut client).await?)
            .map_err(|_| damaged("a name that is no text"))?,
        4 => format!("[{}]", Ipv6Addr::from(client.read_u128().await?)),
        _ => return Err(damaged("an address of an unknown kind")),
    };
    let port = client.read_u16().await?;
    let connected = connect(format!("{host}:{port}"), passed).await;
    // The address that it is connected from is of no interest to anybody.
    client.write_all(&[5, if connected.is_ok() { 0 } else { 1 }, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    copy_bidirectional(&mut client, &mut connected?).await.map(drop)
}

/// Up to 255 bytes after a byte that says how many.
async fn read_short(client: &mut TcpStream) -> Result<Vec<u8>> {
    let mut bytes = vec![0; client.read_u8().await?.into()];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn answer(proxy: &Proxy, request: &[u8], length: usize) -> Vec<u8> {
        let mut client = TcpStream::connect(proxy.address()).await.unwrap();
        client.write_all(request).await.unwrap();
        let mut answer = vec![0; length];
        client.read_exact(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn nobody_passes_without_the_password() {
        let http = Proxy::start(Language::Http).await.unwrap();
        let refused = answer(&http, b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n", 12).await;
        assert_eq!(refused, b"HTTP/1.1 407");
        let socks = Proxy::start(Language::Socks5).await.unwrap();
        assert_eq!(answer(&socks, &[5, 1, 0], 2).await, [5, 0xff]);
        assert_eq!(answer(&socks, &[5, 1, 2, 1, 1, b'a', 1, b'b'], 4).await, [5, 2, 1, 1]);
        assert!(http.passed().is_empty() && socks.passed().is_empty());
    }
}
