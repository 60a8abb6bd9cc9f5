//! A byte stream that can be ended from outside, and that tells how the server took its leave.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connect::Stream;
use super::go_away::GoAway;
use super::pool::Load;

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
    stream: TokioIo<Stream>,
    cutter: Cutter,
    /// Looked for on HTTP/2, and told to those who use the connection.
    go_away: Option<(GoAway, Arc<Load>)>,
}

impl Cuttable {
    pub(super) fn new(stream: Stream) -> (TokioIo<Self>, Cutter) {
        let cutter = Cutter::default();
        let cuttable = Self { stream: TokioIo::new(stream), cutter: cutter.clone(), go_away: None };
        (TokioIo::new(cuttable), cutter)
    }

    /// For HTTP/2: a goodbye of the server is noted in `load`.
    pub(super) fn with_go_away(stream: Stream, load: &Arc<Load>) -> (TokioIo<Self>, Cutter) {
        let (mut cuttable, cutter) = Self::new(stream);
        cuttable.inner_mut().go_away = Some((GoAway::default(), Arc::clone(load)));
        (cuttable, cutter)
    }
}

impl AsyncRead for Cuttable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.cutter.0.reader.register(cx.waker());
        if this.cutter.0.is_cut.load(Ordering::Acquire) {
            let why = "closed here, since the certificates have changed";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, why)));
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(cx, buf);
        if let Some((go_away, load)) = &mut this.go_away {
            let arrived = &buf.filled()[before..];
            if !arrived.is_empty() {
                go_away.see(arrived);
                load.set_leaving(go_away.is_polite());
            }
        }
        polled
    }
}

impl AsyncWrite for Cuttable {
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
