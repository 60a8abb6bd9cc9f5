//! A byte stream that can be ended from outside.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use hyper::rt::{Read, ReadBufCursor, Write};

use super::connect::Stream;

/// Ends its stream.
#[derive(Clone, Default)]
pub(super) struct Cutter(Arc<State>);

#[derive(Default)]
struct State {
    is_cut: AtomicBool,
    reader: AtomicWaker,
}

impl Cutter {
    pub(super) fn cut(&self) {
        self.0.is_cut.store(true, Ordering::Release);
        self.0.reader.wake();
    }
}

/// The stream, whose reader is told when it is cut.
pub(super) struct Cuttable {
    stream: Stream,
    cutter: Cutter,
}

impl Cuttable {
    pub(super) fn new(stream: Stream) -> (Self, Cutter) {
        let cutter = Cutter::default();
        (Self { stream, cutter: cutter.clone() }, cutter)
    }
}

impl Read for Cuttable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.cutter.0.reader.register(cx.waker());
        if self.cutter.0.is_cut.load(Ordering::Acquire) {
            let why = "closed here, since the certificates have changed";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, why)));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl Write for Cuttable {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }
}
