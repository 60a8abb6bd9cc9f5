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

/// Reads one value that may span chunks. A value inside one chunk is a slice of it; any other is gathered, and no
/// more bytes than the limit are ever held.
#[derive(Debug)]
pub(crate) struct ValueReader<P> {
    scanner: ValueScanner,
    gathered: Vec<u8>,
    size: u64,
    peeked: Option<P>,
    /// Reads what can be known from the beginning of a value that is too large.
    peek: fn(&[u8]) -> P,
}

impl<P> ValueReader<P> {
    pub(crate) fn new(peek: fn(&[u8]) -> P) -> Self {
        Self { scanner: ValueScanner::default(), gathered: Vec::new(), size: 0, peeked: None, peek }
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
            let piece = input.take(end.unwrap_or(front.len()));
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
                Keep::UpTo(_) if end.is_some() && self.gathered.is_empty() => {
                    self.size = 0;
                    return Some(RawValue::Whole(piece));
                }
                Keep::UpTo(_) => self.gathered.extend_from_slice(&piece),
            }
            if end.is_some() {
                let size = std::mem::take(&mut self.size);
                let gathered = std::mem::take(&mut self.gathered);
                return Some(match (keep, self.peeked.take()) {
                    (Keep::Nothing, _) => RawValue::Skipped,
                    (_, Some(peeked)) => RawValue::TooLarge { size, peeked },
                    (_, None) => RawValue::Whole(Bytes::from(gathered)),
                });
            }
        }
    }
}
