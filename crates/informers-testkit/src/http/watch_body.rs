//! The body of a watch: frames as they come about.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame as BodyFrame;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until};

use super::Body;
use super::encode::Encoder;
use crate::World;
use crate::store::{Frame, Watch};

/// How many frames go into one chunk, at most.
const CHUNK: usize = 256;

pub(crate) struct WatchBody {
    pub(crate) world: World,
    pub(crate) watch: Watch,
    pub(crate) encoder: Encoder,
    /// The store's revision.
    pub(crate) changed: Receiver<u64>,
    /// Changes when all watches are told to end.
    pub(crate) closing: Receiver<u64>,
    pub(crate) deadline: Instant,
    pub(crate) bookmark_interval: Duration,
    pub(crate) next_bookmark: Instant,
    /// After how many frames the answer breaks off, if a fault says so.
    pub(crate) frames_left: Option<usize>,
    pub(crate) ended: bool,
}

impl WatchBody {
    pub(crate) fn into_body(self) -> Body {
        let frames = stream::unfold(self, |mut body| async move {
            let chunk = body.next_chunk().await?;
            Some((Ok::<_, Infallible>(BodyFrame::data(chunk)), body))
        });
        StreamBody::new(frames).boxed_unsync()
    }

    async fn next_chunk(&mut self) -> Option<Bytes> {
        loop {
            if self.ended {
                return None;
            }
            // Seen before the store is read, so that what happens in between wakes again.
            self.changed.borrow_and_update();
            let mut batch = self.world.read(|store| store.poll_watch(&mut self.watch, CHUNK));
            self.ended = batch.ended;
            if let Some(left) = &mut self.frames_left {
                batch.frames.truncate(*left);
                *left -= batch.frames.len();
                self.ended |= *left == 0;
            }
            if !batch.frames.is_empty() {
                return Some(self.encode(&batch.frames));
            }
            if self.ended {
                return None;
            }
            tokio::select! {
                biased;
                _ = self.closing.changed() => return None,
                changed = self.changed.changed() => {
                    if changed.is_err() {
                        return None;
                    }
                }
                () = sleep_until(self.deadline) => {
                    self.ended = true;
                    return self.watch.bookmark().map(|frame| self.encode(&[frame]));
                }
                () = sleep_until(self.next_bookmark) => {
                    self.next_bookmark = Instant::now() + self.bookmark_interval;
                    if let Some(frame) = self.watch.bookmark() {
                        return Some(self.encode(&[frame]));
                    }
                }
            }
        }
    }

    fn encode(&self, frames: &[Frame]) -> Bytes {
        let mut out = Vec::new();
        for frame in frames {
            self.encoder.frame(frame, &mut out);
        }
        out.into()
    }
}
