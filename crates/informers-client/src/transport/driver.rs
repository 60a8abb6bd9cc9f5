//! The task behind each connection.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::Poll;

use futures_util::future::BoxFuture;
use hyper::client::conn::{http1, http2};
use hyper::rt::Executor;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::RequestBody;
use super::connect::Stream;
use super::cut::{Cuttable, Cutter};
use super::failure::TransportError;
use super::pool::{Inner, Load};
use crate::ConnectionFailure;

/// What one stream may have in flight. A reader that stalls holds back no more than this.
const STREAM_WINDOW: u32 = 2 << 20;
/// What a connection may have in flight: the most that HTTP/2 allows, so that no number of stalled streams
/// uses it up and starves the others.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;
/// Go's server writes frames as large as it may; fewer frames cost less.
const MAX_FRAME_SIZE: u32 = 256 << 10;

type RawConnection = http2::Connection<TokioIo<Cuttable>, RequestBody, Watched>;

/// An HTTP/2 connection, shared by its streams.
#[derive(Clone)]
pub(crate) struct Http2Connection {
    pub(super) sender: http2::SendRequest<RequestBody>,
    connection: Arc<Slot<RawConnection>>,
}

impl Http2Connection {
    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// How many streams the server allows at present.
    pub(super) fn max_streams(&self) -> usize {
        match &*self.connection.0.lock() {
            Running::Yes(connection) => connection.current_max_send_streams(),
            Running::No(_) => 0,
        }
    }
}

/// A connection while it runs, then why it ended.
struct Slot<C>(Mutex<Running<C>>);

enum Running<C> {
    Yes(C),
    No(Option<hyper::Error>),
}

/// Spawns hyper's tasks and tells after each of their steps, by which the arrival of the server's settings is
/// noticed.
#[derive(Clone)]
struct Watched(Arc<Notify>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Watched {
    fn execute(&self, task: F) {
        let stepped = Arc::clone(&self.0);
        let mut task = Box::pin(task);
        tokio::spawn(poll_fn(move |cx| {
            let polled = task.as_mut().poll(cx);
            stepped.notify_waiters();
            polled
        }));
    }
}

/// Begins HTTP/2 and waits for the server's settings: without them it is not known how many streams it
/// allows, and those above would hang.
pub(super) async fn http2(
    pool: &Arc<Inner>,
    stream: Stream,
    number: Number,
    load: Arc<Load>,
) -> Result<Http2Connection, TransportError> {
    let server = pool.connector.shown();
    let (stream, cutter) = Cuttable::with_go_away(stream, &load);
    let stepped = Arc::new(Notify::new());
    let mut builder = http2::Builder::new(Watched(Arc::clone(&stepped)));
    builder
        .timer(TokioTimer::new())
        .initial_max_send_streams(0)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(MAX_FRAME_SIZE)
        .keep_alive_interval(pool.http2.ping_interval)
        .keep_alive_timeout(pool.http2.ping_timeout)
        .keep_alive_while_idle(true);
    let settled = async {
        let (sender, connection) = builder.handshake(stream).await?;
        let slot = Arc::new(Slot(Mutex::new(Running::Yes(connection))));
        let connection = Http2Connection { sender, connection: Arc::clone(&slot) };
        let driver = drive(Arc::downgrade(pool), number, load, Arc::clone(&slot), cutter);
        let ended = Arc::clone(&stepped);
        tokio::spawn(async move {
            driver.await;
            ended.notify_waiters();
        });
        loop {
            let mut step = std::pin::pin!(stepped.notified());
            step.as_mut().enable();
            if connection.max_streams() > 0 {
                return Ok(Some(connection));
            }
            if let Running::No(error) = &mut *slot.0.lock() {
                return error.take().map_or(Ok(None), Err);
            }
            step.await;
        }
    };
    match tokio::time::timeout(pool.timeouts.tls_handshake, settled).await {
        Ok(Ok(Some(connection))) => Ok(connection),
        Ok(Ok(None)) => {
            let problem = format!("{server} closed the connection while it was being made");
            Err(TransportError::new(ConnectionFailure::Lost, problem))
        }
        Ok(Err(error)) => Err(TransportError::exchanging(&server, error)),
        Err(_) => {
            let problem = format!("{server} does not begin HTTP/2; DISABLE_HTTP2=1 makes it HTTP/1.1");
            Err(TransportError::new(ConnectionFailure::Timeout, problem))
        }
    }
}

pub(super) async fn http1(
    pool: &Arc<Inner>,
    stream: Stream,
    number: Number,
    load: Arc<Load>,
) -> Result<http1::SendRequest<RequestBody>, TransportError> {
    let server = pool.connector.shown();
    let (stream, cutter) = Cuttable::new(stream);
    let handshake = http1::Builder::new().handshake(stream).await;
    let (sender, connection) = handshake.map_err(|error| TransportError::exchanging(&server, error))?;
    tokio::spawn(drive(
        Arc::downgrade(pool),
        number,
        load,
        Arc::new(Slot(Mutex::new(Running::Yes(connection)))),
        cutter,
    ));
    Ok(sender)
}

/// A connection's number, and that of the TLS settings it was made with.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub(super) id: u64,
    pub(super) generation: u64,
}

/// Runs a connection until it ends, and retires it when it was not used for some time.
///
/// At the same intervals it looks whether certificates have changed. If so, no new request uses the connection,
/// and an interval later it is closed: a watch goes on over a new one, whose server knows the new certificate.
async fn drive<C: Future<Output = hyper::Result<()>> + Unpin>(
    pool: Weak<Inner>,
    Number { id, generation }: Number,
    load: Arc<Load>,
    slot: Arc<Slot<C>>,
    cutter: Cutter,
) {
    let Some(idle) = pool.upgrade().map(|pool| pool.timeouts.idle_connection) else { return };
    let mut tick = Box::pin(tokio::time::sleep(idle));
    let mut leases = load.leases();
    let mut check: Option<BoxFuture<'static, u64>> = None;
    let mut is_outdated = false;
    poll_fn(|cx| {
        let mut running = slot.0.lock();
        let Running::Yes(connection) = &mut *running else { return Poll::Ready(()) };
        if let Poll::Ready(ended) = Pin::new(connection).poll(cx) {
            let error = ended.err();
            if let Some(error) = &error {
                tracing::debug!(error = error as &dyn std::error::Error, "connection ended");
            }
            // Dropping hyper's half closes the senders, so that nobody waits for it.
            *running = Running::No(error);
            return Poll::Ready(());
        }
        drop(running);
        while tick.as_mut().poll(cx).is_ready() {
            if is_outdated {
                tracing::debug!("certificates have changed; an old connection is closed");
                load.set_leaving(true);
                cutter.cut();
            }
            let pool = pool.upgrade();
            if !load.is_active() && leases == load.leases() {
                // Without a sender the connection ends by itself.
                if let Some(pool) = &pool {
                    pool.retire(id);
                }
            }
            if let Some(tls) = pool.and_then(|pool| pool.connector.tls.clone()) {
                check = Some(Box::pin(async move { tls.generation().await }));
            }
            leases = load.leases();
            tick.as_mut().reset(tokio::time::Instant::now() + idle);
        }
        if let Some(Poll::Ready(now)) = check.as_mut().map(|check| check.as_mut().poll(cx)) {
            check = None;
            is_outdated = now > generation;
            if is_outdated && let Some(pool) = pool.upgrade() {
                pool.retire(id);
            }
        }
        Poll::Pending
    })
    .await;
    if let Some(pool) = pool.upgrade() {
        pool.retire(id);
    }
}
