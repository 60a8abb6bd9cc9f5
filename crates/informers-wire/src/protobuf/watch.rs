//! Cuts the body of a watch into frames while it arrives.

use bytes::Bytes;

use super::event::{parse, peek_frame};
use super::payload::Payload;
use crate::input::Input;
use crate::object::excerpt;
use crate::{DEFAULT_MAX_SIZE, Error, StreamEnd, TooLarge, WatchFrame};

/// The smallest first byte of a text. No frame is so long that its length, four bytes with the largest first, begins
/// with it: that would be 144 MiB.
const FIRST_OF_TEXT: u8 = b'\t';

/// Cuts the body of a watch in protobuf into its events.
///
/// Each has its length before it, so no byte of an object is looked at; a frame that lies within one chunk is a slice
/// of it. A frame over the limit, or one that is no event, is passed, reported once and left behind. A body in another
/// form, whose bytes make no sensible length, ends it.
///
/// ```
/// use bytes::Bytes;
/// use informers_wire::protobuf::{WatchFramer, peek_identity};
/// use informers_wire::{StreamEnd, WatchFrame};
///
/// let mut framer = WatchFramer::new();
/// framer.push(Bytes::from_static(b"\0\0\0\x16\x0a\x05ADDED\x12\x0d\x0a\x0bk8s\0\x12\x05"));
/// assert_eq!(framer.next_event()?, None); // it is not whole yet
/// framer.push(Bytes::from_static(b"\x0a\x03\x0a\x01a"));
/// let Some(WatchFrame::Added(object)) = framer.next_event()? else { panic!() };
/// assert_eq!(peek_identity(&object).name.as_deref(), Some("a"));
/// assert_eq!(framer.finish(), StreamEnd::Clean);
/// # Ok::<(), informers_wire::Error>(())
/// ```
#[derive(Debug)]
pub struct WatchFramer {
    input: Input,
    phase: Phase,
    payload: Payload,
    max_frame_size: usize,
}

#[derive(Debug)]
enum Phase {
    /// Within the length: what was read of it, and of how many bytes.
    Length(u32, u8),
    Frame,
    GivenUp,
}

impl Phase {
    /// Before the first byte of a length.
    const BETWEEN: Self = Self::Length(0, 0);
}

impl Default for WatchFramer {
    fn default() -> Self {
        Self::new()
    }
}

impl WatchFramer {
    /// A framer at the start of a body, with a limit of [`DEFAULT_MAX_SIZE`] for each frame.
    pub fn new() -> Self {
        Self {
            input: Input::default(),
            phase: Phase::BETWEEN,
            payload: Payload::default(),
            max_frame_size: DEFAULT_MAX_SIZE,
        }
    }

    /// Sets the largest size of a frame in bytes; larger ones are skipped and come as [`Error::TooLarge`].
    #[must_use]
    pub fn with_max_frame_size(mut self, bytes: usize) -> Self {
        self.max_frame_size = bytes;
        self
    }

    /// Hands in the next piece of the body. Take the events with [`WatchFramer::next_event`] before the next push, or
    /// the pieces pile up.
    pub fn push(&mut self, chunk: Bytes) {
        self.input.push(chunk);
    }

    /// The next event, its object the bare message; none when more of the body is needed.
    ///
    /// # Errors
    /// [`Error::TooLarge`] and [`Error::MalformedFrame`]; go on as before after either. [`Error::NotProtobuf`] ends the
    /// body, and later calls give [`Error::GivenUp`].
    pub fn next_event(&mut self) -> Result<Option<WatchFrame>, Error> {
        loop {
            match self.phase {
                Phase::Length(length, 4) => {
                    self.payload.begin(length.into(), self.max_frame_size);
                    self.phase = Phase::Frame;
                }
                Phase::Length(length, read) => {
                    let Some(front) = self.input.front() else { return Ok(None) };
                    let byte = front.first().copied().unwrap_or_default();
                    if read == 0 && byte >= FIRST_OF_TEXT {
                        let error = Error::NotProtobuf { excerpt: excerpt(front) };
                        self.phase = Phase::GivenUp;
                        return Err(error);
                    }
                    self.input.advance(1);
                    self.phase = Phase::Length(length << 8 | u32::from(byte), read + 1);
                }
                Phase::Frame => {
                    let Some(frame) = self.payload.read(&mut self.input) else { return Ok(None) };
                    self.phase = Phase::BETWEEN;
                    if self.payload.size() <= self.max_frame_size as u64 {
                        return parse(&frame).map(Some);
                    }
                    let (event_type, identity) = peek_frame(&frame);
                    return Err(Error::TooLarge(Box::new(TooLarge {
                        size: self.payload.size(),
                        limit: self.max_frame_size,
                        event_type,
                        identity,
                    })));
                }
                Phase::GivenUp => return Err(Error::GivenUp),
            }
        }
    }

    /// Tells whether the body ended behind a whole frame. Take the events that are left first.
    pub fn finish(self) -> StreamEnd {
        match self.phase {
            Phase::Length(_, 0) | Phase::GivenUp => StreamEnd::Clean,
            Phase::Length(_, read) => StreamEnd::MidFrame { bytes: read.into() },
            Phase::Frame => StreamEnd::MidFrame { bytes: 4 + self.payload.read_so_far() },
        }
    }
}
