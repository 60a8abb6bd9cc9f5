//! The body of an answer, which keeps its connection until it was read.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Body as _;
use hyper::body::Incoming;

use super::failure::TransportError;
use super::pool::Lease;

/// Reads the body piece by piece. Dropping it before its end abandons the request.
pub(crate) struct ResponseBody {
    // Dropped before the lease: hyper must know that nobody reads before the connection is offered again.
    incoming: Option<Incoming>,
    lease: Option<Lease>,
    server: String,
    graceful: bool,
}

impl ResponseBody {
    pub(super) fn new(incoming: Incoming, lease: Lease, server: String) -> Self {
        Self { incoming: Some(incoming), lease: Some(lease), server, graceful: false }
    }

    /// The next piece; none at the end of the body.
    pub(crate) fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, TransportError>>> {
        loop {
            let Some(incoming) = &mut self.incoming else { return Poll::Ready(None) };
            match ready!(Pin::new(incoming).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if data.is_empty() => {}
                    Ok(data) => return Poll::Ready(Some(Ok(data))),
                    Err(_trailers) => {}
                },
                Some(Err(error)) => {
                    self.graceful = super::is_graceful(&error);
                    let error = TransportError::exchanging(&self.server, error);
                    self.incoming = None;
                    if let Some(lease) = self.lease.take() {
                        lease.retire();
                    }
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    self.incoming = None;
                    self.lease = None;
                    return Poll::Ready(None);
                }
            }
        }
    }

    /// Was the body cut by a server that ends its connections in good order?
    pub(crate) fn was_cut_gracefully(&self) -> bool {
        self.graceful
    }
}
