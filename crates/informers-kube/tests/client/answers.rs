//! A `kube::Client` whose answers a test makes up, without a socket.

use std::collections::VecDeque;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::StreamExt as _;
use http::{Request, Response};
use informers_core::{Error, Item, ListParams, ListPart, ListStream, ListTrailer, ListWatch};
use informers_kube::KubeSource;
use informers_kube::kube_client::client::Body;
use tower_service::Service;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of an answer: pieces, and an error in the middle if the test wants one.
pub(crate) struct Pieces(VecDeque<Result<&'static str, BoxError>>);

impl http_body::Body for Pieces {
    type Data = bytes::Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<bytes::Bytes>, BoxError>>> {
        let next = self.0.pop_front();
        Poll::Ready(next.map(|piece| piece.map(|text| http_body::Frame::data(text.as_bytes().into()))))
    }
}

pub(crate) type Answer = Result<Response<Pieces>, BoxError>;

pub(crate) fn answer(code: u16, pieces: impl IntoIterator<Item = &'static str>) -> Answer {
    let pieces = Pieces(pieces.into_iter().map(Ok).collect());
    Ok(Response::builder().status(code).header("content-type", "application/json").body(pieces).unwrap())
}

/// As [`answer`], and then the connection breaks.
pub(crate) fn cut(pieces: impl IntoIterator<Item = &'static str>, error: impl Into<BoxError>) -> Answer {
    let mut response = answer(200, pieces)?;
    response.body_mut().0.push_back(Err(error.into()));
    Ok(response)
}

/// Gives its answers in order and keeps the requests.
#[derive(Clone)]
pub(crate) struct Script {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    seen: Arc<Mutex<Vec<Request<()>>>>,
}

impl Script {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), seen: Arc::default() }
    }

    pub(crate) fn source(&self) -> KubeSource {
        KubeSource::new(informers_kube::kube_client::Client::new(self.clone(), "shop"))
    }

    pub(crate) fn targets(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(|request| request.uri().to_string()).collect()
    }

    pub(crate) fn header(&self, at: usize, name: &str) -> Option<String> {
        Some(self.seen.lock().unwrap()[at].headers().get(name)?.to_str().unwrap().to_owned())
    }
}

impl Service<Request<Body>> for Script {
    type Response = Response<Pieces>;
    type Error = BoxError;
    type Future = Ready<Answer>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.seen.lock().unwrap().push(request.map(drop));
        ready(self.answers.lock().unwrap().pop_front().unwrap_or_else(|| Err("the script is over".into())))
    }
}

/// Reads one page whole.
pub(crate) async fn read<T: 'static>(
    collection: &dyn ListWatch<T>,
    params: ListParams,
) -> Result<(Vec<Item<T>>, ListTrailer), Error> {
    let mut stream: ListStream<T> = collection.list(params).await?;
    let mut items = Vec::new();
    let mut trailer = None;
    while let Some(part) = stream.next().await {
        match part? {
            ListPart::Items(batch) => items.extend(batch),
            ListPart::Trailer(end) => trailer = Some(end),
        }
    }
    Ok((items, trailer.unwrap()))
}
