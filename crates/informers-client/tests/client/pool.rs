//! Connections: how many, and what becomes of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt as _;
use informers_client::{Client, Http2, Limits, Timeouts, Tls};
use informers_core::{ErrorKind, ListParams, ListPart, Scope, Source as _, WatchParams};
use parking_lot::Mutex;

use crate::server::{Answer, Body, Options, Server, event, list_of, widget, widgets};
use crate::tls::{Authority, server_tls};

/// A server over HTTP/2 whose watches stay open, their other ends, and a client.
async fn watches(max_streams: u32, limits: Limits) -> (Server, Arc<Mutex<Vec<Body>>>, Client) {
    let authority = Authority::new();
    let tls = Some(server_tls(&authority.issue("127.0.0.1"), None, &["h2"]));
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let open = Arc::clone(&bodies);
    let server = Server::start_with(Options { tls, max_streams }, move |seen| {
        if !seen.target.contains("watch=true") {
            return Answer::json(list_of(7, &[widget("a", 1, "")]));
        }
        let (answer, body) = Answer::stream();
        body.send(event("ADDED", &widget("a", 1, "")));
        open.lock().push(body);
        answer
    })
    .await;
    let config = server.config().with_tls(Tls::new().with_ca_pem(authority.pem)).with_limits(limits);
    let client = Client::new(config).unwrap();
    (server, bodies, client)
}

fn params() -> WatchParams {
    WatchParams::from_version("0".into(), Duration::from_secs(300))
}

#[tokio::test]
async fn more_watches_than_streams_open_more_connections() {
    for (max_streams, limits, expected) in
        [(20, Limits::default(), 10), (1000, Limits { streams_per_connection: 50, ..Limits::default() }, 4)]
    {
        let (server, _bodies, client) = watches(max_streams, limits).await;
        let opened = (0..200).map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                let collection = client.list_watch(&widgets(), &Scope::all()).unwrap();
                let mut stream = collection.watch(params()).await.unwrap();
                stream.next().await.unwrap().unwrap();
                stream
            })
        });
        let mut streams = Vec::new();
        for opened in opened.collect::<Vec<_>>() {
            streams.push(opened.await.unwrap());
        }
        assert_eq!(server.connections.load(Ordering::SeqCst), expected, "{max_streams} streams");
        streams.truncate(100);
        let collection = client.list_watch(&widgets(), &Scope::all()).unwrap();
        let mut list = collection.list(ListParams::first("".into())).await.unwrap();
        assert!(matches!(list.next().await, Some(Ok(ListPart::Items(_)))));
        assert_eq!(
            server.connections.load(Ordering::SeqCst),
            expected,
            "places that came free are used again"
        );
    }
}

#[tokio::test]
async fn stalled_watches_do_not_hold_up_the_others() {
    let (server, bodies, client) = watches(100, Limits::default()).await;
    let collection = client.list_watch(&widgets(), &Scope::all()).unwrap();
    let mut stalled = Vec::new();
    for _ in 0..8 {
        stalled.push(collection.watch(params()).await.unwrap());
    }
    let large = event("ADDED", &widget("large", 1, &format!(r#","text":"{}""#, "x".repeat(256 << 10))));
    for body in bodies.lock().iter() {
        for _ in 0..16 {
            body.send(large.clone());
        }
    }
    let mut ninth = collection.watch(params()).await.unwrap();
    let body = bodies.lock()[8].clone();
    for _ in 0..16 {
        body.send(large.clone());
    }
    let mut seen = 0;
    while seen < 17 {
        seen += ninth.next().await.unwrap().unwrap().len();
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    // Those that stalled have lost nothing.
    for stream in &mut stalled {
        let mut seen = 0;
        while seen < 17 {
            seen += stream.next().await.unwrap().unwrap().len();
        }
    }
}

#[tokio::test]
async fn connections_of_http_1_are_used_again_when_they_are_free() {
    let server = Server::start(|_| Answer::json(list_of(7, &[]))).await;
    let client = server.client();
    let collection = client.list_watch(&widgets(), &Scope::all()).unwrap();
    for _ in 0..5 {
        let mut stream = collection.list(ListParams::first("".into())).await.unwrap();
        while let Some(part) = stream.next().await {
            part.unwrap();
        }
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_connection_that_died_while_unused_costs_no_error() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = Arc::new(Mutex::new(0));
    let count = Arc::clone(&served);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await.unwrap();
            let body = r#"{"gitVersion":"v1.37.2"}"#;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all((head + body).as_bytes()).await.unwrap();
            *count.lock() += 1;
            // Keep-alive was promised, yet the next request on this connection gets no answer.
            let _ = stream.read(&mut buffer).await;
        }
    });
    let client = Client::new(informers_client::Config::for_url(&url).unwrap()).unwrap();
    for _ in 0..3 {
        assert_eq!(client.server_version().await.unwrap().git_version, "v1.37.2");
    }
    assert_eq!(*served.lock(), 3);
}

#[tokio::test]
async fn a17_a_connection_that_is_closed_in_good_order_loses_nothing() {
    // hyper's server says GOAWAY when it is asked to end: streams go on, new requests go elsewhere.
    use http_body_util::Full;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let authority = Authority::new();
    let tls = server_tls(&authority.issue("127.0.0.1"), None, &["h2"]);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let connections = Arc::new(Mutex::new(0));
    let count = Arc::clone(&connections);
    let leave = Arc::new(tokio::sync::Notify::new());
    let asked = Arc::clone(&leave);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            *count.lock() += 1;
            let first = *count.lock() == 1;
            let (tls, asked) = (tls.clone(), Arc::clone(&asked));
            tokio::spawn(async move {
                let stream = tokio_rustls::TlsAcceptor::from(tls).accept(stream).await.unwrap();
                let service = hyper::service::service_fn(|_| async {
                    let body = Full::new(bytes::Bytes::from_static(br#"{"gitVersion":"v1.37.2"}"#));
                    Ok::<_, std::convert::Infallible>(hyper::Response::new(body))
                });
                let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
                if first {
                    tokio::select! {
                        _ = connection.as_mut() => return,
                        () = asked.notified() => connection.as_mut().graceful_shutdown(),
                    }
                }
                let _ = connection.await;
            });
        }
    });
    let config =
        informers_client::Config::for_url(&url).unwrap().with_tls(Tls::new().with_ca_pem(authority.pem));
    let client = Client::new(config).unwrap();
    client.server_version().await.unwrap();
    leave.notify_one();
    for _ in 0..10 {
        client.server_version().await.unwrap();
    }
    assert_eq!(*connections.lock(), 2);
}

/// Forwards to `target` until it is told to swallow everything on the connections that there are.
async fn hole(target: String) -> (String, tokio::sync::watch::Sender<u32>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (closed, until) = tokio::sync::watch::channel(0);
    tokio::spawn(async move {
        let mut number = 0;
        loop {
            let (client, _) = listener.accept().await.unwrap();
            number += 1;
            let server = tokio::net::TcpStream::connect(&target).await.unwrap();
            let (client, server) = (client.into_split(), server.into_split());
            for (mut from, mut to) in [(client.0, server.1), (server.0, client.1)] {
                let mut until = until.clone();
                tokio::spawn(async move {
                    let mut buffer = vec![0; 65536];
                    loop {
                        tokio::select! {
                            // Neither end hears that nothing passes any more.
                            () = async { drop(until.wait_for(|closed| *closed >= number).await) } => break,
                            read = from.read(&mut buffer) => match read {
                                Ok(count) if count > 0 => to.write_all(&buffer[..count]).await.unwrap(),
                                _ => return,
                            },
                        }
                    }
                    std::future::pending::<()>().await;
                });
            }
        }
    });
    (address, closed)
}

#[tokio::test]
async fn a07_a_half_open_connection_is_found_by_pings() {
    let (server, _bodies, client) = watches(100, Limits::default()).await;
    let (address, closed) = hole(server.url.trim_start_matches("https://").to_owned()).await;
    let http2 = Http2 {
        ping_interval: Some(Duration::from_millis(30)),
        ping_timeout: Duration::from_millis(500),
        ..Http2::default()
    };
    let config =
        client.config().clone().with_server(&format!("https://{address}")).unwrap().with_http2(http2);
    let client = Client::new(config).unwrap();
    let collection = client.list_watch(&widgets(), &Scope::all()).unwrap();
    let mut watch = collection.watch(params()).await.unwrap();
    watch.next().await.unwrap().unwrap();
    closed.send_replace(1);
    let error = watch.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error:?}");
    let mut again = collection.watch(params()).await.unwrap();
    again.next().await.unwrap().unwrap();
}

#[tokio::test]
async fn nothing_is_left_of_a_client_that_was_dropped() {
    let (server, bodies, client) = watches(100, Limits::default()).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let watch = client.list_watch(&widgets(), &Scope::all()).unwrap().watch(params()).await.unwrap();
    assert!(tasks() > before);
    drop((watch, client));
    let body = bodies.lock()[0].clone();
    body.closed().await;
    // The client's tasks, and the server's for its connection, end by themselves.
    while tasks() > before {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_unused_connection_is_closed_after_a_while() {
    let (server, _bodies, client) = watches(100, Limits::default()).await;
    let timeouts = Timeouts { idle_connection: Duration::from_millis(20), ..Timeouts::default() };
    let client = Client::new(client.config().clone().with_timeouts(timeouts)).unwrap();
    let collection = client.list_watch(&widgets(), &Scope::all()).unwrap();
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    drop(collection.list(ListParams::first("".into())).await.unwrap());
    while tasks() > before {
        tokio::task::yield_now().await;
    }
    drop(collection.list(ListParams::first("".into())).await.unwrap());
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
}
