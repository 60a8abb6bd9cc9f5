//! So many bytes of a body, gathered from its chunks.

use bytes::Bytes;

use crate::input::Input;

/// How much of a value that is too large is kept for telling what it is. Name and version stand first.
const MAX_HEAD: usize = 64 << 10;

/// How much is reserved at once on the word of a length alone.
const MAX_RESERVED: usize = 1 << 20;

/// A value whose length is known. Inside one chunk it is a slice of it; any other is gathered, and of one that is too
/// large no more than its beginning is kept.
#[derive(Debug, Default)]
pub(super) struct Payload {
    size: u64,
    left: u64,
    keep: usize,
    gathered: Vec<u8>,
}

impl Payload {
    /// A value of `size` bytes, of which the beginning is enough if it is over the limit.
    pub(super) fn begin(&mut self, size: u64, limit: usize) {
        let keep = if size > limit as u64 { limit.min(MAX_HEAD) } else { limit };
        *self = Self { size, left: size, keep, gathered: Vec::new() };
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// How much of it was read.
    pub(super) fn read_so_far(&self) -> u64 {
        self.size - self.left
    }

    /// Goes on with what is at the front of `input`. None: all chunks are read and the value goes on.
    pub(super) fn read(&mut self, input: &mut Input) -> Option<Bytes> {
        while self.left > 0 {
            let there = input.front()?.len();
            let count = usize::try_from(self.left).map_or(there, |left| left.min(there));
            let piece = input.take(count);
            self.left -= count as u64;
            if count as u64 == self.size && count <= self.keep {
                return Some(piece);
            }
            if self.gathered.is_empty() {
                let wanted = usize::try_from(self.size).map_or(self.keep, |size| size.min(self.keep));
                self.gathered.reserve_exact(wanted.min(MAX_RESERVED));
            }
            let room = self.keep.saturating_sub(self.gathered.len());
            self.gathered.extend_from_slice(piece.get(..room).unwrap_or(&piece));
        }
        Some(Bytes::from(std::mem::take(&mut self.gathered)))
    }
}
