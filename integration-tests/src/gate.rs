//! A TCP gate before a server: closing it cuts a client off while the cluster lives on.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use tempfile::TempPath;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Forwards connections to a server while it is open; drop stops it.
///
/// TLS passes through unread, so certificates that name `127.0.0.1` stay valid.
#[derive(Debug)]
pub struct Gate {
    address: SocketAddr,
    upstream: String,
    open: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Gate {
    /// Opens a gate on a free loopback port before `upstream` (`host:port`).
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn before(upstream: impl Into<String>) -> Result<Self> {
        let upstream = upstream.into();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("binding the gate")?;
        let address = listener.local_addr().context("asking for the gate's port")?;
        let (open, state) = watch::channel(true);
        let task = tokio::spawn(serve(listener, upstream.clone(), state));
        Ok(Self { address, upstream, open, task })
    }

    /// A copy of the server's kubeconfig that leads through this gate; drop removes it.
    ///
    /// # Errors
    /// When the file cannot be read or names another server.
    pub fn kubeconfig(&self, original: &Path) -> Result<TempPath> {
        let text =
            std::fs::read_to_string(original).with_context(|| format!("reading {}", original.display()))?;
        ensure!(text.contains(&self.upstream), "{} does not name {}", original.display(), self.upstream);
        let mut copy =
            tempfile::Builder::new().prefix("kubeconfig-").tempfile().context("making a kubeconfig")?;
        let text = text.replace(&self.upstream, &self.address.to_string());
        copy.write_all(text.as_bytes()).context("writing a kubeconfig")?;
        Ok(copy.into_temp_path())
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts all connections and refuses new ones by closing them at once.
    pub fn close(&self) {
        self.open.send_replace(false);
    }

    /// Lets clients through again.
    pub fn open(&self) {
        self.open.send_replace(true);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // The accept loop owns the connections' tasks, so they end with it.
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, upstream: String, mut state: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { continue };
                if *state.borrow() {
                    connections.spawn(forward(client, upstream.clone()));
                }
            }
            changed = state.changed() => {
                if changed.is_err() {
                    return;
                }
                if !*state.borrow_and_update() {
                    connections.abort_all();
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn forward(mut client: TcpStream, upstream: String) {
    // A server that is down looks to the client like a connection that ends at once.
    let Ok(mut server) = TcpStream::connect(upstream).await else { return };
    let nodelay = client.set_nodelay(true).and_then(|()| server.set_nodelay(true));
    if nodelay.is_ok() {
        // Either side's end is the other's: there is no one to report an error to.
        let _ended = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn echo_server() -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    tokio::io::copy(&mut read, &mut write).await
                });
            }
        });
        address
    }

    async fn echoes(stream: &mut TcpStream) -> bool {
        let mut byte = [0];
        stream.write_all(b"x").await.is_ok() && matches!(stream.read(&mut byte).await, Ok(1))
    }

    #[tokio::test]
    async fn a_kubeconfig_leads_through_the_gate() {
        let gate = Gate::before("127.0.0.1:6443").await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let original = folder.path().join("kubeconfig");
        std::fs::write(&original, "server: https://127.0.0.1:6443\n").unwrap();
        let copy = gate.kubeconfig(&original).unwrap();
        let text = std::fs::read_to_string(&copy).unwrap();
        assert_eq!(text, format!("server: https://{}\n", gate.address()));
        std::fs::write(&original, "server: https://10.1.1.1\n").unwrap();
        assert!(gate.kubeconfig(&original).is_err());
    }

    #[tokio::test]
    async fn a_closed_gate_cuts_connections_and_an_opened_one_lets_through() {
        let gate = Gate::before(echo_server().await).await.unwrap();
        let mut stream = TcpStream::connect(gate.address()).await.unwrap();
        assert!(echoes(&mut stream).await);

        gate.close();
        let mut byte = [0];
        assert!(matches!(stream.read(&mut byte).await, Ok(0) | Err(_)), "the old connection is cut");
        let mut refused = TcpStream::connect(gate.address()).await.unwrap();
        assert!(!echoes(&mut refused).await);

        gate.open();
        let mut stream = TcpStream::connect(gate.address()).await.unwrap();
        assert!(echoes(&mut stream).await);
    }
}
