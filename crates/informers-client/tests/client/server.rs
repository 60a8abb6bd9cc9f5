//! A server whose answers a test makes up, over HTTP/1.1 or, with TLS, HTTP/2.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use informers_client::{Client, Config};
use informers_core::{Decode, JsonDecoder, Resource, ResourceScope, ResourceType};
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

pub(crate) struct Answer(Response<Pieces>);

/// A body that a test gives piece by piece.
pub(crate) struct Pieces(mpsc::UnboundedReceiver<io::Result<Bytes>>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

/// The other end of [`Pieces`]; dropping it ends the body in good order.
#[derive(Clone)]
pub(crate) struct Body(mpsc::UnboundedSender<io::Result<Bytes>>);

impl Body {
    pub(crate) fn send(&self, piece: impl Into<Bytes>) {
        let _ = self.0.send(Ok(piece.into()));
    }

    /// Cuts the connection or stream.
    pub(crate) fn cut(&self) {
        let _ = self.0.send(Err(io::Error::from(io::ErrorKind::ConnectionReset)));
    }

    /// Resolves when the client does not read any more.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}

impl Answer {
    pub(crate) fn stream() -> (Self, Body) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let response = Response::builder().header("content-type", "application/json").body(Pieces(receiver));
        (Self(response.unwrap()), Body(sender))
    }

    pub(crate) fn pieces(pieces: impl IntoIterator<Item = impl Into<Bytes>>) -> Self {
        let (answer, body) = Self::stream();
        pieces.into_iter().for_each(|piece| body.send(piece));
        answer
    }

    pub(crate) fn json(text: impl Into<String>) -> Self {
        Self::pieces([text.into()])
    }

    pub(crate) fn status(mut self, code: u16) -> Self {
        *self.0.status_mut() = code.try_into().unwrap();
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.0.headers_mut().insert(name, value.parse().unwrap());
        self
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) seen: Arc<Mutex<Vec<Seen>>>,
    pub(crate) connections: Arc<AtomicUsize>,
}

pub(crate) struct Options {
    pub(crate) tls: Option<Arc<tokio_rustls::rustls::ServerConfig>>,
    pub(crate) max_streams: u32,
}

impl Server {
    /// Answers every request with what `answer` says. HTTP/1.1 without TLS.
    pub(crate) async fn start(answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_with(Options { tls: None, max_streams: 100 }, answer).await
    }

    /// Answers the first request with the first answer and so on; then with 500.
    pub(crate) async fn script(answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers = Mutex::new(answers.into_iter().collect::<std::collections::VecDeque<_>>());
        Self::start(move |_| {
            answers.lock().pop_front().unwrap_or_else(|| Answer::json("script is over").status(500))
        })
        .await
    }

    pub(crate) async fn start_with(
        options: Options,
        answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let server = Self { url, seen: Arc::clone(&seen), connections: Arc::clone(&connections) };
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.fetch_add(1, Ordering::SeqCst);
                let (answer, seen, tls) = (Arc::clone(&answer), Arc::clone(&seen), options.tls.clone());
                tokio::spawn(serve(stream, tls, options.max_streams, answer, seen));
            }
        });
        server
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.config()).unwrap()
    }

    pub(crate) fn config(&self) -> Config {
        Config::for_url(&self.url).unwrap()
    }

    pub(crate) fn targets(&self) -> Vec<String> {
        self.seen.lock().iter().map(|seen| seen.target.clone()).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.seen.lock().len()
    }
}

async fn serve<F: Fn(&Seen) -> Answer + Send + Sync + 'static>(
    stream: TcpStream,
    tls: Option<Arc<tokio_rustls::rustls::ServerConfig>>,
    max_streams: u32,
    answer: Arc<F>,
    seen: Arc<Mutex<Vec<Seen>>>,
) {
    stream.set_nodelay(true).unwrap();
    let service = service_fn(move |request: Request<Incoming>| {
        let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
        async move {
            let (parts, body) = request.into_parts();
            let request = Seen {
                method: parts.method.to_string(),
                target: parts.uri.path_and_query().unwrap().to_string(),
                headers: parts.headers,
                body: body.collect().await.unwrap().to_bytes(),
            };
            seen.lock().push(request.clone());
            Ok::<_, Infallible>(answer(&request).0)
        }
    });
    match tls {
        None => {
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        }
        Some(config) => {
            let Ok(stream) = tokio_rustls::TlsAcceptor::from(config).accept(stream).await else { return };
            if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                builder.timer(TokioTimer::new()).max_concurrent_streams(max_streams);
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            } else {
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            }
        }
    }
}

#[derive(Debug, PartialEq, serde::Deserialize)]
pub(crate) struct Widget {
    #[serde(default)]
    pub(crate) size: u32,
    #[serde(default)]
    pub(crate) text: String,
}

pub(crate) fn widgets() -> Resource<Widget> {
    widgets_by(JsonDecoder::new())
}

pub(crate) fn widgets_by<T: 'static>(decoder: impl Decode<T>) -> Resource<T> {
    let kind = ResourceType::new("example.com", "v1", "Widget", "widgets", ResourceScope::Namespaced);
    Resource::new(kind, decoder)
}

pub(crate) fn widget(name: &str, version: u32, rest: &str) -> String {
    format!(
        r#"{{"metadata":{{"namespace":"shop","name":"{name}","uid":"u-{name}","resourceVersion":"{version}"}}{rest}}}"#
    )
}

pub(crate) fn list_of(version: u32, items: &[String]) -> String {
    format!(
        r#"{{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{{"resourceVersion":"{version}"}},"items":[{}]}}"#,
        items.join(",")
    )
}

pub(crate) fn event(kind: &str, object: &str) -> String {
    format!(r#"{{"type":"{kind}","object":{object}}}{}"#, "\n")
}

pub(crate) fn status(code: u16, reason: &str, message: &str) -> String {
    format!(
        r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{message}","reason":"{reason}","code":{code}}}"#
    )
}
