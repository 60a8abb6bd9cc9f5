//! A page of a list, item by item as its bytes arrive.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use informers_core::{Decode, Error, Item, ListPart, ListTrailer, Resource, ResourceType};
use informers_wire::TooLarge;

use super::batches::{Batches, Cut, Part};
use super::decode;
use super::form::Splitter;
use super::pipeline::Interrupted;
use crate::answer::status_error;
use crate::chunks::Chunks;
use crate::{ClientError, ConnectionFailure, Limits};

/// The stream behind [`ListWatch::list`](informers_core::ListWatch::list).
pub(crate) struct List<T: Send + Sync + 'static> {
    batches: Batches<Items<T>>,
    action: Arc<str>,
}

impl<T: Send + Sync + 'static> List<T> {
    pub(super) fn new(chunks: Chunks, resource: &Resource<T>, limits: &Limits, action: String) -> Self {
        let action: Arc<str> = action.into();
        let items = Items {
            splitter: Splitter::new(resource.decoder().representation(), limits.object_size),
            request: Request { resource_type: resource.resource_type().clone(), action: Arc::clone(&action) },
            decoder: Arc::clone(resource.decoder()),
        };
        Self { batches: Batches::new(chunks, items, limits.decoders), action }
    }

    /// The next part, with the client's own error.
    pub(crate) async fn next_part(&mut self) -> Option<Result<ListPart<T>, ClientError>> {
        std::future::poll_fn(|cx| self.poll_part(cx)).await
    }

    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<ListPart<T>, ClientError>>> {
        Poll::Ready(match ready!(self.batches.poll_part(cx)) {
            None => None,
            Some(Ok(Part::Batch(items))) => Some(Ok(ListPart::Items(items))),
            Some(Ok(Part::End(end))) => Some(end.map(ListPart::Trailer)),
            Some(Err(error)) => Some(Err(stopped(&self.action, error))),
        })
    }
}

impl<T: Send + Sync + 'static> Stream for List<T> {
    type Item = Result<ListPart<T>, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        this.poll_part(cx).map_err(|error| error.into_core(&this.action))
    }
}

/// A list's body, cut into its items.
struct Items<T> {
    splitter: Splitter,
    decoder: Arc<dyn Decode<T>>,
    request: Request,
}

/// What was asked for.
struct Request {
    resource_type: ResourceType,
    action: Arc<str>,
}

impl Request {
    fn ended(
        &self,
        trailer: Result<informers_wire::ListTrailer, informers_wire::Error>,
    ) -> Result<ListTrailer, ClientError> {
        let trailer = trailer.map_err(|error| unreadable(error, &self.action))?;
        check_kind(&trailer, &self.resource_type, &self.action)?;
        let mut end = ListTrailer::new(trailer.resource_version.into());
        end = end.with_continue(trailer.continue_token.unwrap_or_default());
        end.remaining = trailer.remaining_item_count;
        Ok(end)
    }
}

impl<T: Send + Sync + 'static> Cut for Items<T> {
    type Raw = Result<Bytes, TooLarge>;
    type Batch = Vec<Item<T>>;
    type End = Result<ListTrailer, ClientError>;

    const BYTES: usize = 128 << 10;
    const OBJECTS: usize = 256;
    const IS_EAGER: bool = false;

    fn push(&mut self, chunk: Bytes) {
        self.splitter.push(chunk);
    }

    fn next(&mut self) -> Result<Option<(Self::Raw, usize)>, Self::End> {
        match self.splitter.next_item() {
            Ok(None) => Ok(None),
            Ok(Some(raw)) => {
                let bytes = raw.len();
                Ok(Some((Ok(raw), bytes)))
            }
            Err(informers_wire::Error::TooLarge(too_large)) => Ok(Some((Err(*too_large), 0))),
            Err(error) => Err(self.request.ended(Err(error))),
        }
    }

    fn decoder(&self) -> impl FnOnce(Vec<Self::Raw>) -> Self::Batch + Send + 'static {
        let decoder = Arc::clone(&self.decoder);
        move |batch| {
            let decode = |raw| match raw {
                Ok(raw) => decode::item(&*decoder, &raw),
                Err(too_large) => decode::too_large(too_large),
            };
            batch.into_iter().map(decode).collect()
        }
    }

    fn finish(self) -> Self::End {
        self.request.ended(self.splitter.finish())
    }

    /// A list that is cut is no list, however it was cut.
    fn broke(self, error: ClientError, _gracefully: bool) -> Self::End {
        Err(error)
    }
}

/// The runtime is shutting down; a decoder's panic does not come here.
pub(super) fn stopped(action: &str, error: Interrupted) -> ClientError {
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
/// custom resource may have another; group and version must fit, if the server names them.
fn check_kind(
    trailer: &informers_wire::ListTrailer,
    resource_type: &ResourceType,
    action: &str,
) -> Result<(), ClientError> {
    let is_general = matches!(trailer.kind.as_str(), "PartialObjectMetadataList" | "List");
    let is_of_version = trailer.api_version == resource_type.api_version();
    let is_named_so = trailer.kind.strip_suffix("List").is_some_and(|kind| kind == resource_type.kind());
    let is_built_in = !resource_type.group().contains('.') || resource_type.group().ends_with(".k8s.io");
    let fits = if is_named_so {
        is_of_version || trailer.api_version.is_empty()
    } else {
        is_of_version && !is_built_in
    };
    if is_general || fits {
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
