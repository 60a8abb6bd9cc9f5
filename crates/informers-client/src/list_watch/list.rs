//! A page of a list, item by item as its bytes arrive.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use informers_core::{Decode, Error, Item, ListPart, ListTrailer, Resource, ResourceType};
use informers_wire::{ListSplitter, TooLarge};

use super::decode;
use super::pipeline::Pipeline;
use crate::answer::status_error;
use crate::chunks::Chunks;
use crate::{ClientError, ConnectionFailure, Limits};

/// A batch is handed on when it has so many bytes or items.
const BATCH_BYTES: usize = 256 << 10;
const BATCH_ITEMS: usize = 256;

/// The stream behind [`ListWatch::list`](informers_core::ListWatch::list).
pub(crate) struct List<T> {
    chunks: Chunks,
    /// Taken when the body has ended.
    splitter: Option<ListSplitter>,
    batch: Vec<Result<Bytes, TooLarge>>,
    batch_bytes: usize,
    pipeline: Pipeline<Vec<Item<T>>>,
    decoder: Arc<dyn Decode<T>>,
    resource_type: ResourceType,
    action: String,
    /// What comes after the last batch.
    end: Option<Result<ListTrailer, ClientError>>,
}

impl<T: Send + Sync + 'static> List<T> {
    pub(super) fn new(chunks: Chunks, resource: &Resource<T>, limits: &Limits, action: String) -> Self {
        Self {
            chunks,
            splitter: Some(ListSplitter::new().with_max_item_size(limits.object_size)),
            batch: Vec::new(),
            batch_bytes: 0,
            pipeline: Pipeline::new(limits.decoders),
            decoder: Arc::clone(resource.decoder()),
            resource_type: resource.resource_type().clone(),
            action,
            end: None,
        }
    }

    /// The next part, with the client's own error.
    pub(crate) async fn next_part(&mut self) -> Option<Result<ListPart<T>, ClientError>> {
        std::future::poll_fn(|cx| self.poll_part(cx)).await
    }

    /// Takes the items that are whole. Stops early when the pipeline is full.
    fn split(&mut self) {
        while !self.pipeline.is_full() {
            let Some(splitter) = &mut self.splitter else { return };
            let next = match splitter.next_item() {
                Ok(None) => return,
                Ok(Some(raw)) => Ok(raw),
                Err(informers_wire::Error::TooLarge(too_large)) => Err(*too_large),
                Err(error) => return self.finish(Err(error)),
            };
            self.batch_bytes += next.as_ref().map_or(0, Bytes::len);
            self.batch.push(next);
            if self.batch_bytes >= BATCH_BYTES || self.batch.len() >= BATCH_ITEMS {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        let decoder = Arc::clone(&self.decoder);
        self.pipeline.push(std::mem::take(&mut self.batch_bytes), move || {
            let decode = |raw| match raw {
                Ok(raw) => decode::item(&*decoder, &raw),
                Err(too_large) => decode::too_large(too_large),
            };
            batch.into_iter().map(decode).collect()
        });
    }

    fn finish(&mut self, ended: Result<informers_wire::ListTrailer, informers_wire::Error>) {
        self.flush();
        self.splitter = None;
        let ended = ended.map_err(|error| unreadable(error, &self.action)).and_then(|trailer| {
            check_kind(&trailer, &self.resource_type, &self.action)?;
            let mut end = ListTrailer::new(trailer.resource_version.into());
            end = end.with_continue(trailer.continue_token.unwrap_or_default());
            end.remaining = trailer.remaining_item_count;
            Ok(end)
        });
        self.end = Some(ended);
    }

    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<ListPart<T>, ClientError>>> {
        let this = self;
        loop {
            match this.pipeline.poll_next(cx) {
                Poll::Ready(Some(Ok(items))) => return Poll::Ready(Some(Ok(ListPart::Items(items)))),
                Poll::Ready(Some(Err(error))) => {
                    this.splitter = None;
                    this.end = None;
                    return Poll::Ready(Some(Err(stopped(&this.action, error))));
                }
                Poll::Ready(None) if this.splitter.is_none() => {
                    return Poll::Ready(this.end.take().map(|end| end.map(ListPart::Trailer)));
                }
                Poll::Ready(None) => {}
                Poll::Pending if this.splitter.is_none() || this.pipeline.is_full() => return Poll::Pending,
                Poll::Pending => {}
            }
            this.split();
            if this.pipeline.is_full() || this.pipeline.is_unpolled() || this.splitter.is_none() {
                continue;
            }
            match this.chunks.poll_chunk(cx) {
                Poll::Ready(Some(Ok(chunk))) => {
                    if let Some(splitter) = &mut this.splitter {
                        splitter.push(chunk);
                    }
                    this.split();
                }
                Poll::Ready(Some(Err(error))) => {
                    this.flush();
                    this.splitter = None;
                    this.end = Some(Err(error));
                }
                Poll::Ready(None) => {
                    if let Some(splitter) = this.splitter.take() {
                        this.finish(splitter.finish());
                    }
                }
                // Nothing to read and nothing to decode: what there is goes on.
                Poll::Pending if this.pipeline.is_empty() && !this.batch.is_empty() => this.flush(),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl<T: Send + Sync + 'static> Stream for List<T> {
    type Item = Result<ListPart<T>, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        this.poll_part(cx).map_err(|error| error.into_core(&this.action))
    }
}

/// The runtime is shutting down; a decoder's panic does not come here.
pub(super) fn stopped(action: &str, error: tokio::task::JoinError) -> ClientError {
    ClientError::Connection {
        action: action.to_owned(),
        failure: ConnectionFailure::Other,
        problem: "decoding was interrupted, since the runtime shuts down".to_owned(),
        source: crate::error::cause(error),
    }
}

fn unreadable(error: informers_wire::Error, action: &str) -> ClientError {
    let action = action.to_owned();
    match error {
        informers_wire::Error::Status(status) => status_error(*status, None, &action),
        // HTTP says that all is there, yet it is not: a proxy was cut off from the server.
        error @ informers_wire::Error::Truncated { .. } => ClientError::Connection {
            action,
            failure: ConnectionFailure::Lost,
            problem: "the list was cut".to_owned(),
            source: crate::error::cause(error),
        },
        error => ClientError::UnexpectedAnswer {
            action,
            problem: "the answer is not the list that was asked for".to_owned(),
            source: crate::error::cause(error),
        },
    }
}

/// An answer of another kind is never taken for an empty list. Names of lists follow the kind, except that a
/// custom resource may have another; there the version must fit.
fn check_kind(
    trailer: &informers_wire::ListTrailer,
    resource_type: &ResourceType,
    action: &str,
) -> Result<(), ClientError> {
    let is_named_so = trailer.kind.strip_suffix("List").is_some_and(|kind| kind == resource_type.kind());
    let is_general = matches!(trailer.kind.as_str(), "PartialObjectMetadataList" | "List");
    let is_built_in = !resource_type.group().contains('.') || resource_type.group().ends_with(".k8s.io");
    let fits = !is_built_in && trailer.api_version == resource_type.api_version();
    if is_named_so || is_general || fits {
        return Ok(());
    }
    Err(ClientError::UnexpectedAnswer {
        action: action.to_owned(),
        problem: format!(
            "the answer is a {} of {}, not a {}List of {}",
            trailer.kind,
            trailer.api_version,
            resource_type.kind(),
            resource_type.api_version()
        ),
        source: None,
    })
}
