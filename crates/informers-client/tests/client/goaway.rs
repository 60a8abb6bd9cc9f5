//! A17: HTTP/2 connections that a server ends, with watches and a list on them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use h2::Reason;
use h2::server::SendResponse;
use http::{Request, Response};
use informers_client::{Client, Config, Tls};
use informers_core::{
    Error, ErrorKind, ListParams, ListPart, ListWatch, Scope, Source as _, WatchParams, WatchStream,
};
use parking_lot::Mutex;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

use crate::server::{Widget, event, list_of, widget, widgets};
use crate::tls::{Authority, server_tls};

/// What the server does to the first connection, when it is told.
#[derive(Clone, Copy, Debug)]
enum Leave {
    /// Says that it takes no new requests, and later ends those that there are.
    Gracefully,
    /// Ends all at once, with this code.
    Abruptly(Reason),
    /// Says goodbye with this code and closes the connection, as if its process ended, with streams open.
    AndCloses(Reason),
    /// Closes the connection.
    Silently,
}

struct Server {
    url: String,
    authority: Authority,
    /// Path and query of each request, with the number of its connection.
    seen: Arc<Mutex<Vec<(usize, String)>>>,
    leave: mpsc::UnboundedSender<Leave>,
}

impl Server {
    async fn start() -> Self {
        let authority = Authority::new();
        let tls = server_tls(&authority.issue("127.0.0.1"), None, &["h2"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let requests = Arc::clone(&seen);
        let (leave, told) = mpsc::unbounded_channel();
        let mut told = Some(told);
        tokio::spawn(async move {
            for number in 1.. {
                let (stream, _) = listener.accept().await.unwrap();
                let stream = tokio_rustls::TlsAcceptor::from(tls.clone()).accept(stream).await.unwrap();
                // The first connection is the one that ends.
                let told = told.take().unwrap_or_else(|| mpsc::unbounded_channel().1);
                tokio::spawn(serve(stream, number, told, Arc::clone(&requests)));
            }
        });
        Self { url, authority, seen, leave }
    }

    fn collection(&self) -> Arc<dyn ListWatch<Widget>> {
        let tls = Tls::new().with_ca_pem(self.authority.pem.clone());
        let client = Client::new(Config::for_url(&self.url).unwrap().with_tls(tls)).unwrap();
        client.list_watch(&widgets(), &Scope::all()).unwrap()
    }
}

async fn serve(
    stream: tokio_rustls::server::TlsStream<tokio::net::TcpStream>,
    number: usize,
    mut told: mpsc::UnboundedReceiver<Leave>,
    seen: Arc<Mutex<Vec<(usize, String)>>>,
) {
    let (stream, pumped) = (tokio::io::duplex(64 << 10), stream);
    let (close, order) = oneshot::channel();
    tokio::spawn(pump(pumped, stream.1, order));
    let mut close = Some(close);
    let mut connection = h2::server::handshake(stream.0).await.unwrap();
    let mut open = Vec::new();
    let mut no_more_orders = false;
    loop {
        tokio::select! {
            accepted = connection.accept() => {
                let Some(Ok((request, respond))) = accepted else { return };
                seen.lock().push((number, request.uri().path_and_query().unwrap().to_string()));
                answer(&request, respond, &mut open);
            }
            order = told.recv(), if !no_more_orders => match order {
                Some(Leave::Gracefully) => {
                    connection.graceful_shutdown();
                    // Streams go on for a moment; then they are ended in good order.
                    for mut body in std::mem::take(&mut open) {
                        let _: Result<(), h2::Error> =
                            h2::SendStream::send_data(&mut body, event("MODIFIED", &widget("a", 2, "")).into(), true);
                    }
                }
                Some(Leave::Abruptly(reason)) => connection.abrupt_shutdown(reason),
                Some(Leave::AndCloses(reason)) => close.take().unwrap().send(Some(reason)).unwrap(),
                Some(Leave::Silently) => close.take().unwrap().send(None).unwrap(),
                None => no_more_orders = true,
            },
        }
    }
}

/// Carries bytes between h2 and the client until it is told to say goodbye, or nothing, and to close.
async fn pump(
    mut client: tokio_rustls::server::TlsStream<tokio::net::TcpStream>,
    mut h2: tokio::io::DuplexStream,
    order: oneshot::Receiver<Option<Reason>>,
) {
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut h2) => {}
        Ok(last_word) = order => {
            if let Some(reason) = last_word {
                let code = u32::from(reason).to_be_bytes();
                let frame = [&[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 255], &code[..]].concat();
                client.write_all(&frame).await.unwrap();
                client.flush().await.unwrap();
            }
        }
    }
}

fn answer(
    request: &Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
    open: &mut Vec<h2::SendStream<Bytes>>,
) {
    let head = Response::builder().header("content-type", "application/json").body(()).unwrap();
    let Ok(mut body) = respond.send_response(head, false) else { return };
    if request.uri().query().unwrap_or_default().contains("watch=true") {
        let _ = body.send_data(event("ADDED", &widget("a", 1, "")).into(), false);
        open.push(body);
    } else {
        let _ = body.send_data(list_of(7, &[widget("a", 1, "")]).into(), true);
    }
}

async fn watch(collection: &dyn ListWatch<Widget>, version: &str) -> WatchStream<Widget> {
    let params = WatchParams::from_version(version.into(), Duration::from_secs(300));
    let mut stream = collection.watch(params).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().len(), 1);
    stream
}

async fn rest(mut stream: WatchStream<Widget>) -> (usize, Option<Error>) {
    let mut events = 0;
    while let Some(batch) = stream.next().await {
        match batch {
            Ok(batch) => events += batch.len(),
            Err(error) => return (events, Some(error)),
        }
    }
    (events, None)
}

async fn list(collection: &dyn ListWatch<Widget>) -> usize {
    let parts = collection.list(ListParams::first("0".into())).await.unwrap();
    let sizes = parts.map(|part| match part.unwrap() {
        ListPart::Items(items) => items.len(),
        ListPart::Trailer(_) => 0,
    });
    sizes.fold(0, |sum, size| async move { sum + size }).await
}

#[tokio::test]
async fn a17_watches_go_on_after_a_polite_goaway_and_end_without_an_error() {
    let server = Server::start().await;
    let collection = server.collection();
    let mut watches = Vec::new();
    for _ in 0..10 {
        watches.push(watch(&*collection, "1").await);
    }
    server.leave.send(Leave::Gracefully).unwrap();
    let ended: Vec<_> = futures_util::future::join_all(watches.into_iter().map(rest)).await;
    for (events, error) in ended {
        assert_eq!(events, 1, "what came after the GOAWAY is not lost");
        assert!(error.is_none(), "{error:?}");
    }
    assert_eq!(list(&*collection).await, 1);
    let _again = watch(&*collection, "2").await;
    let connections: Vec<_> = server.seen.lock().iter().map(|(connection, _)| *connection).collect();
    assert_eq!(connections, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2]);
}

#[tokio::test]
async fn a17_a_goaway_that_cuts_watches_is_no_more_than_an_end() {
    for leave in [Leave::Abruptly(Reason::NO_ERROR), Leave::AndCloses(Reason::NO_ERROR)] {
        let server = Server::start().await;
        let collection = server.collection();
        let watches = [watch(&*collection, "1").await, watch(&*collection, "1").await];
        server.leave.send(leave).unwrap();
        for stream in watches {
            let (events, error) = rest(stream).await;
            assert!(events == 0 && error.is_none(), "{leave:?}: {error:?}");
        }
        assert_eq!(list(&*collection).await, 1);
        assert_eq!(server.seen.lock().last().unwrap().0, 2);
    }
}

#[tokio::test]
async fn a17_a_connection_that_closes_without_a_goodbye_or_with_an_angry_one_is_lost() {
    for leave in [Leave::Silently, Leave::AndCloses(Reason::INTERNAL_ERROR)] {
        let server = Server::start().await;
        let collection = server.collection();
        let stream = watch(&*collection, "1").await;
        server.leave.send(leave).unwrap();
        let (_, error) = rest(stream).await;
        assert_eq!(error.unwrap().kind(), ErrorKind::ConnectionLost, "{leave:?}");
    }
}

#[tokio::test]
async fn a17_a_goaway_with_an_error_code_ends_watches_with_an_error_that_is_tried_again() {
    for reason in [Reason::ENHANCE_YOUR_CALM, Reason::INTERNAL_ERROR, Reason::PROTOCOL_ERROR] {
        let server = Server::start().await;
        let collection = server.collection();
        let watches = [watch(&*collection, "1").await, watch(&*collection, "1").await];
        server.leave.send(Leave::Abruptly(reason)).unwrap();
        for stream in watches {
            let (_, error) = rest(stream).await;
            assert_eq!(error.unwrap().kind(), ErrorKind::ConnectionLost, "{reason:?}");
        }
        // The next request goes to a connection of its own at once.
        let list = std::panic::AssertUnwindSafe(list(&*collection)).catch_unwind().await;
        assert_eq!(list.ok(), Some(1), "{reason:?}");
        let _again = watch(&*collection, "1").await;
        assert!(server.seen.lock().iter().rev().take(2).all(|(connection, _)| *connection == 2));
    }
}
