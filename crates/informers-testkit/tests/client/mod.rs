//! A small HTTP client for the tests.
#![allow(dead_code, reason = "not every test program uses all of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failure here fails the test")]

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use informers_testkit::ApiServer;
use serde_json::Value;
use tokio::net::TcpStream;

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How the client speaks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// Sends one request on a connection of its own.
pub(crate) async fn send(
    server: &ApiServer,
    protocol: Protocol,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, Failure> {
    let io = TokioIo::new(TcpStream::connect(("127.0.0.1", server.port())).await?);
    match protocol {
        Protocol::Http1 => {
            let (mut sender, connection) = http1::handshake(io).await?;
            tokio::spawn(connection);
            Ok(sender.send_request(request).await?)
        }
        Protocol::Http2 => {
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            Ok(sender.send_request(request).await?)
        }
    }
}

pub(crate) fn request(server: &ApiServer, method: Method, path: &str, body: &str) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri(format!("{}{path}", server.url()))
        .header("host", "localhost")
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
        .unwrap()
}

/// The code and the body of an answer.
pub(crate) async fn call(server: &ApiServer, method: Method, path: &str, body: &str) -> (u16, Value) {
    let response = send(server, Protocol::Http1, request(server, method, path, body)).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into()))
}

pub(crate) async fn get(server: &ApiServer, path: &str) -> (u16, Value) {
    call(server, Method::GET, path, "").await
}

pub(crate) async fn patch(server: &ApiServer, content_type: &str, path: &str, body: &str) -> (u16, Value) {
    let mut request = request(server, Method::PATCH, path, body);
    request.headers_mut().insert("content-type", content_type.parse().unwrap());
    let response = send(server, Protocol::Http1, request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap())
}

/// The lines of a watch.
pub(crate) struct Lines {
    body: Incoming,
    buffer: Vec<u8>,
}

impl Lines {
    pub(crate) async fn open(server: &ApiServer, protocol: Protocol, path: &str) -> Self {
        Self::open_as(server, protocol, path, "*/*").await
    }

    /// A watch in a form of the client's choice.
    pub(crate) async fn open_as(server: &ApiServer, protocol: Protocol, path: &str, accept: &str) -> Self {
        let mut request = request(server, Method::GET, path, "");
        request.headers_mut().insert("accept", accept.parse().unwrap());
        let response = send(server, protocol, request).await.unwrap();
        assert_eq!(response.status(), 200);
        Self { body: response.into_body(), buffer: Vec::new() }
    }

    /// The next line, or none at the end; an error if the connection breaks.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, hyper::Error> {
        loop {
            if let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line).unwrap()));
            }
            match self.body.frame().await {
                Some(frame) => self.buffer.extend_from_slice(&frame?.into_data().unwrap()),
                None => return Ok(None),
            }
        }
    }

    /// The next line as `ADDED name`.
    pub(crate) async fn event(&mut self) -> String {
        let line = self.next().await.unwrap().expect("the watch goes on");
        let name = line["object"]["metadata"]["name"].as_str().unwrap_or_default();
        format!("{} {name}", line["type"].as_str().unwrap()).trim_end().to_owned()
    }
}
