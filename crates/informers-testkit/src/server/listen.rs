//! The port and its connections.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::StartError;
use crate::http::Service;
use crate::world::lock;

/// How long running requests may take when the server stops in good order.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait after the system could not take a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::PortInUse { port: address.port(), source },
        _ => StartError::Listen { address, source },
    })
}

/// An open port. Dropping it closes the port and all connections.
#[derive(Debug)]
pub(super) struct Listening {
    /// `None` after the task was waited for.
    task: Option<JoinHandle<()>>,
    stopping: watch::Sender<bool>,
    /// Counted up to drop the connections that are open.
    dropping: watch::Sender<u64>,
}

impl Listening {
    pub(super) fn start(listener: TcpListener, service: Service) -> Self {
        let stopping = watch::Sender::new(false);
        let dropping = watch::Sender::new(0);
        let task = tokio::spawn(accept(listener, service, stopping.subscribe(), dropping.subscribe()));
        Self { task: Some(task), stopping, dropping }
    }

    pub(super) fn drop_connections(&self) {
        self.dropping.send_modify(|count| *count += 1);
    }

    /// Closes everything and waits until it is.
    pub(super) async fn kill(mut self) {
        if let Some(task) = &mut self.task {
            task.abort();
            // An abort is all that can have happened to it.
            let _ = task.await;
        }
        self.task = None;
    }

    /// Lets running requests end.
    pub(super) async fn stop(mut self) {
        self.stopping.send_replace(true);
        if let Some(task) = &mut self.task {
            let _ = task.await;
        }
        self.task = None;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

async fn accept(
    listener: TcpListener,
    service: Service,
    mut stopping: watch::Receiver<bool>,
    dropping: watch::Receiver<u64>,
) {
    let mut connections = JoinSet::new();
    let for_connections = stopping.clone();
    loop {
        tokio::select! {
            () = told_to(&mut stopping) => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let connection = connect(stream, service.clone(), for_connections.clone(), dropping.clone());
                    connections.spawn(connection);
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(PATIENCE, async { while connections.join_next().await.is_some() {} }).await;
    connections.shutdown().await;
}

/// Resolves when the server is to stop, or its owner is gone.
async fn told_to(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// What a request may do to its connection.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    dropped: Notify,
}

impl Connection {
    /// Closes the connection without answering anything.
    pub(crate) fn drop_now(&self) {
        self.dropped.notify_one();
    }
}

async fn connect(
    stream: TcpStream,
    service: Service,
    mut stopping: watch::Receiver<bool>,
    mut dropping: watch::Receiver<u64>,
) {
    // Small frames are to arrive at once; if the system refuses, they arrive a little later.
    let _ = stream.set_nodelay(true);
    let connection = Arc::new(Connection::default());
    let tasks = Streams::default();
    let mut builder = Builder::new(tasks.clone());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None);
    builder.http2().timer(TokioTimer::new());
    let service = service_fn(|request| service.clone().serve(Arc::clone(&connection), request));
    let mut serving = pin!(builder.serve_connection(TokioIo::new(stream), service));
    dropping.borrow_and_update();
    let mut draining = false;
    loop {
        tokio::select! {
            // How a client leaves is its own affair.
            _ = serving.as_mut() => break,
            () = connection.dropped.notified() => break,
            _ = dropping.changed() => break,
            () = told_to(&mut stopping), if !draining => {
                draining = true;
                serving.as_mut().graceful_shutdown();
            }
        }
    }
    // Streams of HTTP/2 have tasks of their own, which must not outlive their connection.
    tasks.shutdown().await;
}

/// The tasks of one connection's streams, which end with it.
#[derive(Clone, Debug, Default)]
struct Streams(Arc<Mutex<JoinSet<()>>>);

impl Streams {
    async fn shutdown(&self) {
        let mut tasks = std::mem::take(&mut *lock(&self.0));
        tasks.shutdown().await;
    }
}

impl<F: Future + Send + 'static> Executor<F> for Streams {
    fn execute(&self, future: F) {
        let mut tasks = lock(&self.0);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            future.await;
        });
    }
}
