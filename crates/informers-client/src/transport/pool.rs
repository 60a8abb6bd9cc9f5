//! Connections to one server: shared ones over HTTP/2, exclusive ones over HTTP/1.1.
//!
//! A request gets a [`Lease`] of a connection. An HTTP/2 connection is leased as often as the server allows
//! streams on it; then another one is opened. While it is not known what the server speaks, or a further
//! HTTP/2 connection is needed, one connection is made and all who want it wait for it.

use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use futures_util::future::{BoxFuture, FutureExt as _, Shared, WeakShared};
use hyper::client::conn::http1;
use parking_lot::Mutex;

use super::RequestBody;
use super::connect::{Connector, PlainProxy};
use super::driver::{self, Http2Connection};
use super::failure::TransportError;
use crate::credentials::ClientCertificate;
use crate::{Http2, Limits, Timeouts};

/// The pool; all handles to it are in one client.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Inner>);

pub(super) struct Inner {
    pub(super) connector: Connector,
    pub(super) http2: Http2,
    pub(super) timeouts: Timeouts,
    streams_per_connection: usize,
    state: Mutex<State>,
    ids: AtomicU64,
}

#[derive(Default)]
struct State {
    shared: Vec<SharedConnection>,
    idle: Vec<ExclusiveConnection>,
    /// The connection that is being made for all who wait.
    dial: Option<WeakShared<BoxFuture<'static, Result<(), TransportError>>>>,
    /// The server was seen to speak HTTP/1.1 only.
    exclusive: bool,
}

type Dial = Shared<BoxFuture<'static, Result<(), TransportError>>>;

/// How much a connection is used.
#[derive(Debug, Default)]
pub(super) struct Load {
    active: AtomicUsize,
    /// How often it was leased; tells an unused time from a busy one.
    leases: AtomicU64,
    /// The server said, or we did, that the connection ends in good order.
    is_leaving: AtomicBool,
}

impl Load {
    pub(super) fn set_leaving(&self, is_leaving: bool) {
        self.is_leaving.store(is_leaving, Ordering::Relaxed);
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Relaxed)
    }

    pub(super) fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed) > 0
    }

    pub(super) fn leases(&self) -> u64 {
        self.leases.load(Ordering::Relaxed)
    }
}

struct SharedConnection {
    id: u64,
    generation: u64,
    connection: Http2Connection,
    load: Arc<Load>,
}

struct ExclusiveConnection {
    id: u64,
    generation: u64,
    sender: http1::SendRequest<RequestBody>,
    proxy: Option<PlainProxy>,
    load: Arc<Load>,
    /// Whether a request was sent on it.
    is_used: bool,
}

/// The right to send one request on a connection. Dropping it gives the right back.
pub(crate) struct Lease {
    pub(super) sender: Sender,
    /// Whether others used the connection before, so that it may have died unnoticed.
    pub(crate) is_reused: bool,
    /// Whether its request was sent.
    pub(super) is_used: bool,
    pool: Weak<Inner>,
    id: u64,
    generation: u64,
    load: Arc<Load>,
}

pub(super) enum Sender {
    Http1 {
        sender: http1::SendRequest<RequestBody>,
        proxy: Option<PlainProxy>,
    },
    Http2(Http2Connection),
    /// Given back already.
    Gone,
}

enum Next {
    Lease(Lease),
    Exclusive(ExclusiveConnection),
    Wait(Dial),
    Connect,
}

impl Pool {
    pub(crate) fn new(connector: Connector, http2: &Http2, timeouts: &Timeouts, limits: &Limits) -> Self {
        let exclusive = connector.tls.is_none() || !http2.enabled;
        Self(Arc::new(Inner {
            connector,
            http2: http2.clone(),
            timeouts: timeouts.clone(),
            streams_per_connection: limits.streams_per_connection.max(1),
            state: Mutex::new(State { exclusive, ..State::default() }),
            ids: AtomicU64::new(0),
        }))
    }

    pub(crate) fn connector(&self) -> &Connector {
        &self.0.connector
    }

    /// A connection to send one request on, made with TLS settings of this generation or a later one.
    pub(crate) async fn lease(
        &self,
        generation: u64,
        plugin: Option<&Arc<ClientCertificate>>,
    ) -> Result<Lease, TransportError> {
        loop {
            match self.next(generation, plugin) {
                Next::Lease(lease) => return Ok(lease),
                Next::Exclusive(mut found) => {
                    if found.sender.ready().await.is_ok() {
                        return Ok(self.0.exclusive_lease(found));
                    }
                }
                Next::Wait(dial) => dial.await?,
                Next::Connect => {
                    if let Some(lease) = self.0.connect(plugin).await? {
                        return Ok(lease);
                    }
                }
            }
        }
    }

    fn next(&self, generation: u64, plugin: Option<&Arc<ClientCertificate>>) -> Next {
        let mut state = self.0.state.lock();
        state.shared.retain(|shared| shared.generation >= generation && !shared.connection.is_closed());
        state.idle.retain(|idle| idle.generation >= generation && !idle.sender.is_closed());
        let limit = self.0.streams_per_connection;
        for shared in &state.shared {
            let allowed = limit.min(shared.connection.max_streams());
            if shared.load.active.load(Ordering::Relaxed) < allowed {
                return Next::Lease(self.0.shared_lease(shared));
            }
        }
        if let Some(idle) = state.idle.pop() {
            return Next::Exclusive(idle);
        }
        if state.exclusive {
            return Next::Connect;
        }
        if let Some(dial) = state.dial.as_ref().and_then(WeakShared::upgrade) {
            return Next::Wait(dial);
        }
        let inner = Arc::clone(&self.0);
        let plugin = plugin.cloned();
        let dial = async move {
            let made = inner.connect(plugin.as_ref()).await;
            inner.state.lock().dial = None;
            // An exclusive connection goes to the idle ones when its lease is dropped, for whoever comes first.
            made.map(drop)
        };
        let dial = dial.boxed().shared();
        state.dial = dial.downgrade();
        Next::Wait(dial)
    }
}

impl Inner {
    /// Makes a connection. One over HTTP/2 is put where all find it; one over HTTP/1.1 is the caller's.
    async fn connect(
        self: &Arc<Self>,
        plugin: Option<&Arc<ClientCertificate>>,
    ) -> Result<Option<Lease>, TransportError> {
        let tls = match &self.connector.tls {
            Some(source) => Some(source.current(plugin, true).await),
            None => None,
        };
        let opened = self.connector.connect(tls.as_ref()).await?;
        let generation = tls.map_or(0, |tls| tls.generation);
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let number = driver::Number { id, generation };
        let load = Arc::new(Load::default());
        if opened.http2 {
            let connection = driver::http2(self, opened.stream, number, Arc::clone(&load)).await?;
            let mut state = self.state.lock();
            state.exclusive = false;
            state.shared.push(SharedConnection { id, generation, connection, load });
            return Ok(None);
        }
        let sender = driver::http1(self, opened.stream, number, Arc::clone(&load)).await?;
        self.state.lock().exclusive = true;
        let proxy = opened.through_proxy;
        let made = ExclusiveConnection { id, generation, sender, proxy, load, is_used: false };
        Ok(Some(self.exclusive_lease(made)))
    }

    fn shared_lease(self: &Arc<Self>, shared: &SharedConnection) -> Lease {
        shared.load.active.fetch_add(1, Ordering::Relaxed);
        let is_reused = shared.load.leases.fetch_add(1, Ordering::Relaxed) > 0;
        Lease {
            sender: Sender::Http2(shared.connection.clone()),
            is_reused,
            is_used: is_reused,
            pool: Arc::downgrade(self),
            id: shared.id,
            generation: shared.generation,
            load: Arc::clone(&shared.load),
        }
    }

    fn exclusive_lease(self: &Arc<Self>, connection: ExclusiveConnection) -> Lease {
        connection.load.active.fetch_add(1, Ordering::Relaxed);
        connection.load.leases.fetch_add(1, Ordering::Relaxed);
        Lease {
            sender: Sender::Http1 { sender: connection.sender, proxy: connection.proxy },
            is_reused: connection.is_used,
            is_used: connection.is_used,
            pool: Arc::downgrade(self),
            id: connection.id,
            generation: connection.generation,
            load: connection.load,
        }
    }

    /// Forgets a connection, which ends when nobody uses it any more.
    pub(super) fn retire(&self, id: u64) {
        let mut state = self.state.lock();
        state.shared.retain(|shared| shared.id != id);
        state.idle.retain(|idle| idle.id != id);
    }
}

impl Lease {
    /// Was it said beforehand that the connection would end?
    pub(super) fn is_leaving(&self) -> bool {
        self.load.is_leaving()
    }

    /// No new request is to use this connection.
    pub(crate) fn retire(&self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.retire(self.id);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.load.active.fetch_sub(1, Ordering::Relaxed);
        if let Sender::Http1 { sender, proxy } = std::mem::replace(&mut self.sender, Sender::Gone)
            && !sender.is_closed()
            && let Some(pool) = self.pool.upgrade()
        {
            // Where an answer was left unread, hyper closes the connection, and `is_closed` sorts it out later.
            let (id, generation, load) = (self.id, self.generation, Arc::clone(&self.load));
            let is_used = self.is_used;
            let idle = ExclusiveConnection { id, generation, sender, proxy, load, is_used };
            pool.state.lock().idle.push(idle);
        }
    }
}
