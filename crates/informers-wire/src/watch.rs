//! Cuts the body of a watch into frames while it arrives.

use bytes::Bytes;

use crate::frame::{malformed, of_usual_form, peek_frame};
use crate::input::{Input, Keep, RawValue, Unfinished, ValueReader};
use crate::object::excerpt;
use crate::{DEFAULT_MAX_SIZE, Error, FrameProblem, Identity, MalformedFrame, TooLarge, WatchFrame};

/// Cuts the body of a watch into its JSON objects, one frame each.
///
/// Frames are found by their brackets, not by lines: line breaks between them may be missing, doubled, CRLF, or
/// stand inside a pretty-printed frame. Bytes are looked at once, however small the pieces they come in, and a
/// piece may end inside a multi-byte character. A frame that lies within one chunk is a slice of it.
///
/// No error ends the stream here: a frame over the limit, one that was left unfinished, or lines that begin with no
/// object, are passed, reported once and left behind. A frame counts as unfinished where a line ends inside a string,
/// or where the next line begins an object that nothing in the frame announces.
///
/// ```
/// use bytes::Bytes;
/// use informers_wire::{StreamEnd, WatchFrame, WatchFramer};
///
/// let mut framer = WatchFramer::new();
/// framer.push(Bytes::from_static(b"{\"type\":\"ADDED\",\"object\":{}}\n{\"type\":\"DEL"));
/// assert_eq!(framer.next_frame()?.unwrap(), r#"{"type":"ADDED","object":{}}"#);
/// assert_eq!(framer.next_frame()?, None);
/// framer.push(Bytes::from_static(b"ETED\",\"object\":{}}"));
/// let frame = framer.next_frame()?.unwrap();
/// assert!(matches!(WatchFrame::parse(&frame)?, WatchFrame::Deleted(_)));
/// assert_eq!(framer.finish(), StreamEnd::Clean);
/// # Ok::<(), informers_wire::Error>(())
/// ```
#[derive(Debug)]
pub struct WatchFramer {
    input: Input,
    phase: Phase,
    reader: ValueReader<(Option<String>, Identity<'static>)>,
    max_frame_size: usize,
    /// Stray text was reported and no frame came since: a page of HTML is one error, not one per line.
    stray_text_reported: bool,
}

#[derive(Debug)]
enum Phase {
    Between,
    InFrame,
    /// Text that is no object; its beginning is kept for the report.
    InStrayText(Vec<u8>),
}

/// How much of stray text is kept.
const STRAY_TEXT_KEPT: usize = 256;

/// How the body of a watch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// Behind a whole frame, or before the first.
    Clean,
    /// Inside a frame: the connection was cut. What is lost comes again when the watch resumes.
    MidFrame {
        /// Bytes of the cut frame.
        bytes: u64,
    },
    /// Inside text that is no frame at all, and that was not reported before.
    StrayText {
        /// Its first bytes, at most 200.
        excerpt: String,
    },
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
            phase: Phase::Between,
            reader: ValueReader::new(peek_frame),
            max_frame_size: DEFAULT_MAX_SIZE,
            stray_text_reported: false,
        }
    }

    /// Sets the largest size of a frame in bytes; larger ones are skipped and come as [`Error::TooLarge`].
    #[must_use]
    pub fn with_max_frame_size(mut self, bytes: usize) -> Self {
        self.max_frame_size = bytes;
        self
    }

    /// Hands in the next piece of the body. Take the frames with [`WatchFramer::next_frame`] before the next push,
    /// or the pieces pile up.
    pub fn push(&mut self, chunk: Bytes) {
        self.input.push(chunk);
    }

    /// The next whole frame, or none when more of the body is needed.
    ///
    /// # Errors
    /// [`Error::TooLarge`] and [`Error::MalformedFrame`]; go on as before after either.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            match &mut self.phase {
                Phase::Between => match self.input.peek_token() {
                    None => return Ok(None),
                    Some(b'{') => self.phase = Phase::InFrame,
                    Some(_) => self.phase = Phase::InStrayText(Vec::new()),
                },
                Phase::InFrame => {
                    let keep = Keep::UpTo(self.max_frame_size);
                    let Some(frame) = self.reader.read_among_lines(&mut self.input, keep) else {
                        return Ok(None);
                    };
                    self.phase = Phase::Between;
                    self.stray_text_reported = false;
                    match frame {
                        Ok(RawValue::Whole(frame)) => return Ok(Some(frame)),
                        Ok(RawValue::TooLarge { size, peeked: (event_type, identity) }) => {
                            let limit = self.max_frame_size;
                            return Err(Error::TooLarge(Box::new(TooLarge {
                                size,
                                limit,
                                event_type,
                                identity,
                            })));
                        }
                        Err(Unfinished(mut rest)) => {
                            // Cut behind a comma, a colon or a bracket, it took the line behind it for its own. Only the last
                            // line is given back, so that no byte is looked at more than twice.
                            if let Some(at) = memchr::memmem::rfind(&rest, b"\n{") {
                                self.input.put_back(rest.split_off(at + 1));
                            }
                            return Err(malformed(&rest, FrameProblem::Syntax));
                        }
                        Ok(RawValue::Skipped) => {}
                    }
                }
                Phase::InStrayText(kept) => {
                    let Some(front) = self.input.front() else { return Ok(None) };
                    let line_break = memchr::memchr(b'\n', front);
                    let length = line_break.unwrap_or(front.len());
                    let room = (STRAY_TEXT_KEPT - kept.len()).min(length);
                    kept.extend_from_slice(&front[..room]);
                    let begin = excerpt(kept);
                    self.input.advance(length);
                    if line_break.is_some() {
                        self.phase = Phase::Between;
                        if std::mem::replace(&mut self.stray_text_reported, true) {
                            continue;
                        }
                        return Err(Error::MalformedFrame(Box::new(MalformedFrame {
                            problem: FrameProblem::NotAnObject,
                            event_type: None,
                            identity: Identity::default(),
                            excerpt: begin,
                        })));
                    }
                }
            }
        }
    }

    /// The next event: [`WatchFramer::next_frame`] and [`WatchFrame::parse`] in one, for less than both, since the
    /// object of a frame as API servers write them is found while the frame is cut. None when more of the body is
    /// needed.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use informers_wire::{WatchFrame, WatchFramer};
    ///
    /// let mut framer = WatchFramer::new();
    /// framer.push(Bytes::from_static(b"{\"type\":\"ADDED\",\"object\":{\"a\":[]}}\n"));
    /// let Some(WatchFrame::Added(object)) = framer.next_event()? else { panic!() };
    /// assert_eq!(object, r#"{"a":[]}"#);
    /// assert_eq!(framer.next_event()?, None);
    /// # Ok::<(), informers_wire::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLarge`] and [`Error::MalformedFrame`]; go on as before after either.
    pub fn next_event(&mut self) -> Result<Option<WatchFrame>, Error> {
        let Some(raw) = self.next_frame()? else { return Ok(None) };
        let quick = self.reader.inner_end().and_then(|end| of_usual_form(&raw, end));
        quick.map_or_else(|| WatchFrame::parse(&raw), Ok).map(Some)
    }

    /// Tells whether the body ended behind a whole frame. Take the frames that are left first.
    pub fn finish(self) -> StreamEnd {
        match self.phase {
            Phase::Between => StreamEnd::Clean,
            Phase::InFrame => StreamEnd::MidFrame { bytes: self.reader.size() },
            Phase::InStrayText(_) if self.stray_text_reported => StreamEnd::Clean,
            Phase::InStrayText(kept) => StreamEnd::StrayText { excerpt: excerpt(&kept) },
        }
    }

    #[cfg(test)]
    fn scanned(&self) -> u64 {
        self.reader.scanned()
    }
}

#[cfg(test)]
mod tests;
