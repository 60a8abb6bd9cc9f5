//! A TCP gate before a server: closing it cuts a client off while the cluster lives on.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};
use tempfile::TempPath;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

/// Forwards connections to a server while it is open; drop stops it.
///
/// TLS passes through unread, so certificates that name `127.0.0.1` stay valid.
#[derive(Debug)]
pub struct Gate {
    address: SocketAddr,
    upstream: String,
    orders: mpsc::UnboundedSender<Order>,
    passing: Arc<AtomicUsize>,
    accepted: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

/// What a gate does with bytes and connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Stalled,
    Closed,
}

/// A new state, and whom to tell when it holds.
type Order = (State, oneshot::Sender<Result<()>>);

impl Gate {
    /// Opens a gate on a free loopback port before `upstream` (`host:port`).
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn before(upstream: impl Into<String>) -> Result<Self> {
        let upstream = upstream.into();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("binding the gate")?;
        let address = listener.local_addr().context("asking for the gate's port")?;
        let (orders, taken) = mpsc::unbounded_channel();
        let (passing, accepted) = (Arc::default(), Arc::default());
        let counts = (Arc::clone(&passing), Arc::clone(&accepted));
        let task = tokio::spawn(serve(listener, address, upstream.clone(), taken, counts));
        Ok(Self { address, upstream, orders, passing, accepted, task })
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections of clients pass through at the moment.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.passing.load(Ordering::SeqCst)
    }

    /// How many connections clients have made since the beginning.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Cuts all connections and refuses new ones.
    ///
    /// # Errors
    /// When the runtime that the gate was made in is gone.
    pub async fn close(&self) -> Result<()> {
        self.order(State::Closed).await
    }

    /// Keeps connections, takes new ones, and lets no byte through in either direction.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn stall(&self) -> Result<()> {
        self.order(State::Stalled).await
    }

    /// Lets clients through again.
    ///
    /// # Errors
    /// As [`close`](Self::close); also when somebody else has taken the port since then.
    pub async fn open(&self) -> Result<()> {
        self.order(State::Open).await
    }

    async fn order(&self, state: State) -> Result<()> {
        let (done, wait) = oneshot::channel();
        self.orders.send((state, done)).ok().context("the gate's task is gone")?;
        wait.await.context("the gate's task is gone")?
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
}

impl Drop for Gate {
    fn drop(&mut self) {
        // The accept loop owns the connections' tasks, so they end with it.
        self.task.abort();
    }
}

async fn serve(
    listener: TcpListener,
    address: SocketAddr,
    upstream: String,
    mut orders: mpsc::UnboundedReceiver<Order>,
    (passing, accepted): (Arc<AtomicUsize>, Arc<AtomicUsize>),
) {
    let state = watch::Sender::new(State::Open);
    let mut listener = Some(listener);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            connection = accept(listener.as_ref()) => {
                let Ok((client, _)) = connection else { continue };
                accepted.fetch_add(1, Ordering::SeqCst);
                let counted = Counted::one_more(&passing);
                let forwarding = forward(client, upstream.clone(), state.subscribe());
                connections.spawn(async move {
                    let _counted = counted;
                    forwarding.await;
                });
            }
            order = orders.recv() => {
                let Some((wanted, done)) = order else { return };
                let outcome = if wanted == State::Closed {
                    listener = None;
                    connections.shutdown().await;
                    Ok(())
                } else {
                    reopen(&mut listener, address).await
                };
                state.send_replace(wanted);
                // Whoever gave the order may have stopped waiting.
                let _told = done.send(outcome);
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// One in a count, as long as it lives.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn one_more(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn accept(listener: Option<&TcpListener>) -> std::io::Result<(TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

async fn reopen(listener: &mut Option<TcpListener>, address: SocketAddr) -> Result<()> {
    if listener.is_none() {
        *listener = Some(TcpListener::bind(address).await.context("opening the gate again")?);
    }
    Ok(())
}

async fn forward(client: TcpStream, upstream: String, state: watch::Receiver<State>) {
    // A server that is down looks to the client like a connection that ends at once.
    let Ok(server) = TcpStream::connect(upstream).await else { return };
    if client.set_nodelay(true).and_then(|()| server.set_nodelay(true)).is_err() {
        return;
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // Either side's break is the other's: there is no one to report it to.
    let _ended =
        tokio::try_join!(pump(from_client, to_server, state.clone()), pump(from_server, to_client, state),);
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut state: watch::Receiver<State>,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        if state.wait_for(|state| *state != State::Stalled).await.is_err() {
            return Ok(());
        }
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
    }
}

#[cfg(test)]
mod tests {
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

    /// Whether nobody listens at the gate's address. The port is free meanwhile, so for a moment another test, or a
    /// process that another test starts, may hold it.
    async fn refuses(gate: &Gate) -> bool {
        for _ in 0..50 {
            if TcpStream::connect(gate.address()).await.is_err() {
                return true;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        false
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
        assert_eq!((gate.connections(), gate.accepted()), (1, 1));

        gate.close().await.unwrap();
        assert_eq!(gate.connections(), 0);
        let mut byte = [0];
        assert!(matches!(stream.read(&mut byte).await, Ok(0) | Err(_)), "the old connection is cut");
        assert!(refuses(&gate).await, "new connections are refused");

        gate.open().await.unwrap();
        let mut stream = TcpStream::connect(gate.address()).await.unwrap();
        assert!(echoes(&mut stream).await);
    }

    #[tokio::test]
    async fn a_stalled_gate_keeps_bytes_back_until_it_opens() {
        let gate = Gate::before(echo_server().await).await.unwrap();
        let mut stream = TcpStream::connect(gate.address()).await.unwrap();
        assert!(echoes(&mut stream).await);
        gate.stall().await.unwrap();
        let (mut read, mut write) = stream.split();
        write.write_all(b"x").await.unwrap();
        let mut byte = [0];
        let early = tokio::time::timeout(std::time::Duration::from_millis(100), read.read(&mut byte)).await;
        assert!(early.is_err(), "a byte came through: {early:?}");
        gate.open().await.unwrap();
        assert_eq!(read.read(&mut byte).await.unwrap(), 1);
    }
}
