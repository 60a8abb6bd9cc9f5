//! The body of an answer, which keeps its connection until it was read.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as _, Frame};
use hyper::body::Incoming;

use super::failure::{TransportError, has_reason, is_graceful};
use super::pool::Lease;
use crate::HttpBody;

/// Reads the body piece by piece. Dropping it before its end abandons the request.
pub(crate) struct ResponseBody {
    origin: Origin,
    server: String,
    graceful: bool,
}

/// Where the pieces come from.
enum Origin {
    // The body is dropped before the lease: hyper must know that nobody reads before the connection is offered
    // again.
    Pooled(Incoming, Lease),
    Service(HttpBody),
    Ended,
}

impl ResponseBody {
    pub(super) fn pooled(incoming: Incoming, lease: Lease, server: String) -> Self {
        Self { origin: Origin::Pooled(incoming, lease), server, graceful: false }
    }

    pub(super) fn of_service(body: HttpBody, server: String) -> Self {
        Self { origin: Origin::Service(body), server, graceful: false }
    }

    /// The next piece; none at the end of the body.
    pub(crate) fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, TransportError>>> {
        loop {
            match ready!(self.poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if data.is_empty() => {}
                    Ok(data) => return Poll::Ready(Some(Ok(data))),
                    Err(_trailers) => {}
                },
                Some(Err(error)) => {
                    if let Origin::Pooled(_, lease) = &self.origin {
                        lease.retire();
                    }
                    self.origin = Origin::Ended;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    self.origin = Origin::Ended;
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, TransportError>>> {
        match &mut self.origin {
            Origin::Ended => Poll::Ready(None),
            Origin::Pooled(incoming, lease) => Pin::new(incoming).poll_frame(cx).map_err(|error| {
                self.graceful = is_graceful(&error) || lease.is_leaving() && !has_reason(&error);
                TransportError::exchanging(&self.server, error)
            }),
            Origin::Service(body) => body.poll_frame(cx).map_err(|error| {
                self.graceful = is_graceful(&*error);
                TransportError::of_service(&self.server, error)
            }),
        }
    }

    /// Was the body cut by a server, or a change of certificates, that ends connections in good order?
    pub(crate) fn was_cut_gracefully(&self) -> bool {
        self.graceful
    }
}
