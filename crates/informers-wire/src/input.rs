//! Chunks that wait to be read, and the reader that takes one raw value out of them.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};

use crate::scan::{ValueScanner, is_space};

const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Unread chunks and the offset of the next byte in the whole body.
#[derive(Debug, Default)]
pub(crate) struct Input {
    chunks: VecDeque<Bytes>,
    offset: u64,
}

impl Input {
    pub(crate) fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            self.chunks.push_back(chunk);
        }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The rest of the chunk being read; never empty.
    pub(crate) fn front(&self) -> Option<&Bytes> {
        self.chunks.front()
    }

    pub(crate) fn advance(&mut self, count: usize) {
        self.offset += count as u64;
        if let Some(front) = self.chunks.front_mut() {
            front.advance(count.min(front.len()));
            if front.is_empty() {
                self.chunks.pop_front();
            }
        }
    }

    /// Takes `count` bytes of the front chunk without copying them.
    pub(crate) fn take(&mut self, count: usize) -> Bytes {
        let taken = self.front().map(|front| front.slice(..count.min(front.len()))).unwrap_or_default();
        self.advance(taken.len());
        taken
    }

    /// Gives back what was taken last.
    pub(crate) fn put_back(&mut self, bytes: Bytes) {
        self.offset -= bytes.len() as u64;
        self.chunks.push_front(bytes);
    }

    /// The next byte that is neither white space nor a byte order mark at the very start of the body; it is not
    /// taken.
    pub(crate) fn peek_token(&mut self) -> Option<u8> {
        loop {
            let front = self.chunks.front()?;
            let mark = usize::try_from(self.offset).ok().and_then(|offset| BYTE_ORDER_MARK.get(offset));
            if mark.is_some() && front.first() == mark {
                self.advance(1);
                continue;
            }
            match front.iter().position(|&byte| !is_space(byte)) {
                Some(0) => return front.first().copied(),
                Some(count) => self.advance(count),
                None => self.advance(front.len()),
            }
        }
    }
}

/// How much of a value is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keep {
    /// Its bytes, if they are no more than this.
    UpTo(usize),
    Nothing,
}

/// One value, read to its end.
#[derive(Debug)]
pub(crate) enum RawValue<P> {
    Whole(Bytes),
    /// Larger than the limit: its size, and what was read off its first bytes.
    TooLarge {
        size: u64,
        peeked: P,
    },
    Skipped,
}

/// What there was of a value that was left unfinished: the next one begins where it cannot go on.
pub(crate) struct Unfinished(pub(crate) Bytes);

/// How far to look for the end of a line at a time: frames may come without any.
const LINE_WINDOW: usize = 4096;

/// Where a value stands among the lines.
#[derive(Debug, Default)]
struct Lines {
    /// The last byte of the value that is no white space.
    last: u8,
    /// Only white space came since the last line break.
    at_start: bool,
}

/// Reads one value that may span chunks. A value inside one chunk is a slice of it; any other is gathered, and no
/// more bytes than the limit are ever held.
#[derive(Debug)]
pub(crate) struct ValueReader<P> {
    scanner: ValueScanner,
    gathered: Vec<u8>,
    size: u64,
    lines: Lines,
    peeked: Option<P>,
    /// Reads what can be known from the beginning of a value that is too large.
    peek: fn(&[u8]) -> P,
}

impl<P> ValueReader<P> {
    pub(crate) fn new(peek: fn(&[u8]) -> P) -> Self {
        Self {
            scanner: ValueScanner::default(),
            gathered: Vec::new(),
            size: 0,
            lines: Lines::default(),
            peeked: None,
            peek,
        }
    }

    /// How much of an unfinished value was read.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Where the first container inside the value read last ended, counted from the start of the value.
    pub(crate) fn inner_end(&self) -> Option<usize> {
        self.scanner.inner_end().and_then(|end| usize::try_from(end).ok())
    }

    #[cfg(test)]
    pub(crate) fn scanned(&self) -> u64 {
        self.scanner.scanned()
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.gathered.capacity()
    }

    /// Goes on with the value at the front of `input`. `None`: all chunks are read and the value goes on.
    pub(crate) fn read(&mut self, input: &mut Input, keep: Keep) -> Option<RawValue<P>> {
        loop {
            let front = input.front()?;
            let end = self.scanner.scan(front);
            let length = end.unwrap_or(front.len());
            if let Some(value) = self.put(input, length, end.is_some(), keep) {
                return Some(value);
            }
        }
    }

    /// As [`ValueReader::read`], for a value that should be followed by a line break if by anything: one that was
    /// left unfinished does not swallow those on the lines behind it.
    pub(crate) fn read_among_lines(
        &mut self,
        input: &mut Input,
        keep: Keep,
    ) -> Option<Result<RawValue<P>, Unfinished>> {
        loop {
            let front = input.front()?;
            let (length, found) = self.look(front);
            if let Found::Break = found {
                self.scanner.leave();
            }
            if let Some(value) = self.put(input, length, !matches!(found, Found::Nothing), keep) {
                self.lines = Lines::default();
                return Some(match (found, value) {
                    (Found::Break, RawValue::Whole(rest)) => Err(Unfinished(rest)),
                    (_, value) => Ok(value),
                });
            }
        }
    }

    /// Looks at `front` up to the end of the value, a line on which it breaks off, or all of it.
    fn look(&mut self, front: &[u8]) -> (usize, Found) {
        let mut at = 0;
        while let Some(rest) = front.get(at..).filter(|rest| !rest.is_empty()) {
            if self.lines.at_start {
                let spaces = rest.iter().position(|&byte| !is_space(byte));
                self.scanner.scan(&rest[..spaces.unwrap_or(rest.len())]);
                let Some(spaces) = spaces else { break };
                at += spaces;
                // An object stands behind one of these, or it begins a value of its own.
                if rest.get(spaces) == Some(&b'{') && !matches!(self.lines.last, b':' | b',' | b'[') {
                    return (at, Found::Break);
                }
                self.lines.at_start = false;
                continue;
            }
            let window = &rest[..rest.len().min(LINE_WINDOW)];
            let line_break = memchr::memchr(b'\n', window);
            let line = &window[..line_break.map_or(window.len(), |index| index + 1)];
            if let Some(end) = self.scanner.scan(line) {
                return (at + end, Found::End);
            }
            at += line.len();
            if let Some(last) = line.iter().rev().find(|&&byte| !is_space(byte)) {
                self.lines.last = *last;
            }
            if line_break.is_some() {
                // No string holds a raw line break.
                if self.scanner.is_in_string() {
                    return (at, Found::Break);
                }
                self.lines.at_start = true;
            }
        }
        (front.len(), Found::Nothing)
    }

    /// Takes the next `length` bytes of the value.
    fn put(&mut self, input: &mut Input, length: usize, is_end: bool, keep: Keep) -> Option<RawValue<P>> {
        let piece = input.take(length);
        self.size += piece.len() as u64;
        match keep {
            Keep::Nothing => {}
            Keep::UpTo(_) if self.peeked.is_some() => {}
            Keep::UpTo(limit) if self.size > limit as u64 => {
                self.peeked = Some(if self.gathered.is_empty() {
                    (self.peek)(&piece)
                } else {
                    // What is over the limit is not needed, so that the buffer need not grow beyond it.
                    let room = limit.saturating_sub(self.gathered.len()).min(piece.len());
                    self.gathered.extend_from_slice(&piece[..room]);
                    (self.peek)(&self.gathered)
                });
                self.gathered = Vec::new();
            }
            Keep::UpTo(_) if is_end && self.gathered.is_empty() => {
                self.size = 0;
                return Some(RawValue::Whole(piece));
            }
            Keep::UpTo(_) => self.gathered.extend_from_slice(&piece),
        }
        if !is_end {
            return None;
        }
        let size = std::mem::take(&mut self.size);
        let gathered = std::mem::take(&mut self.gathered);
        Some(match (keep, self.peeked.take()) {
            (Keep::Nothing, _) => RawValue::Skipped,
            (_, Some(peeked)) => RawValue::TooLarge { size, peeked },
            (_, None) => RawValue::Whole(Bytes::from(gathered)),
        })
    }
}

/// What was found in a piece of a value among lines.
enum Found {
    /// The value ends there.
    End,
    /// Another one begins there or behind.
    Break,
    Nothing,
}
