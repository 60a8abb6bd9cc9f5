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
            // Only a goodbye says something new: that this side ends the connection is noted in the same place.
            if go_away.see(arrived) {
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    struct World {
        server: DuplexStream,
        client: TokioIo<Cuttable>,
        cutter: Cutter,
        load: Arc<Load>,
    }

    impl World {
        fn new() -> Self {
            let (server, client) = duplex(1 << 10);
            let load = Arc::new(Load::default());
            let (client, cutter) = Cuttable::with_go_away(Stream::over(TokioIo::new(client)), &load);
            Self { server, client, cutter, load }
        }

        /// A frame of this kind without flags and stream, whose payload ends with `code`.
        async fn arrives(&mut self, kind: u8, code: u8) -> io::Result<usize> {
            let frame = [0, 0, 8, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, code];
            self.server.write_all(&frame).await.unwrap();
            self.client.inner_mut().read(&mut [0; 64]).await
        }
    }

    #[tokio::test]
    async fn what_is_still_read_takes_back_no_goodbye() {
        // The driver says that the connection ends, while the reader is past the question whether it is cut.
        let mut world = World::new();
        world.load.set_leaving(true);
        assert_eq!(world.arrives(6, 0).await.unwrap(), 17);
        assert!(world.load.is_leaving(), "a ping says nothing of it");
        world.cutter.cut();
        assert_eq!(world.arrives(6, 0).await.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
        assert!(world.load.is_leaving());
    }

    #[tokio::test]
    async fn a_servers_goodbye_is_noted_with_its_tone() {
        let mut world = World::new();
        for (kind, code, leaving) in [(6, 0, false), (7, 0, true), (6, 0, true), (7, 2, false), (6, 0, false)]
        {
            world.arrives(kind, code).await.unwrap();
            assert_eq!(world.load.is_leaving(), leaving, "kind {kind}, code {code}");
        }
    }
}
