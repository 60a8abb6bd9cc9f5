//! The gzip format (RFC 1952) around deflate: headers, checksums, and any number of members.

use bytes::Bytes;
use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::input::Input;
use crate::{ContentDecoder, Error};

const MAGIC_AND_DEFLATE: [u8; 3] = [0x1F, 0x8B, 8];

const HAS_CHECKSUM: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

#[derive(Debug)]
pub(crate) struct Gzip {
    phase: Phase,
    inflate: Decompress,
    /// Checksum and length of the member's content so far.
    crc: Crc,
    scratch: Box<[u8]>,
    /// The scratch buffer was filled, so that more may come out without more going in.
    output_was_full: bool,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Before the first member, or behind one; the body may end here.
    Between {
        members: bool,
    },
    Header(Header),
    Body,
    Trailer {
        read: [u8; 8],
        length: usize,
    },
    Damaged,
}

/// Where in a member's header the next byte stands.
#[derive(Clone, Copy, Debug)]
enum Header {
    /// The ten bytes that every header has.
    Fixed {
        at: usize,
        flags: u8,
    },
    ExtraLength {
        low: Option<u8>,
        flags: u8,
    },
    Extra {
        left: u16,
        flags: u8,
    },
    Name {
        flags: u8,
    },
    Comment {
        flags: u8,
    },
    /// Of the header alone; not checked, since its content is not used.
    Checksum {
        left: u8,
    },
}

impl Gzip {
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::Between { members: false },
            inflate: Decompress::new(false),
            crc: Crc::new(),
            scratch: vec![0; ContentDecoder::MAX_PIECE].into_boxed_slice(),
            output_was_full: false,
        }
    }

    pub(crate) fn next_chunk(&mut self, input: &mut Input) -> Result<Option<Bytes>, Error> {
        loop {
            if let Phase::Body = self.phase {
                match self.inflate_some(input)? {
                    Inflated::Content(content) => return Ok(Some(content)),
                    Inflated::Progress => continue,
                    Inflated::NeedsMore => return Ok(None),
                }
            }
            if let Phase::Damaged = self.phase {
                return Err(self.damaged(input, "it was damaged before"));
            }
            let Some(&byte) = input.front().and_then(|front| front.first()) else { return Ok(None) };
            match self.phase_after(byte) {
                Ok(phase) => {
                    if let Phase::Body = phase {
                        self.inflate.reset(false);
                        self.crc.reset();
                    }
                    self.phase = phase;
                    input.advance(1);
                }
                Err(problem) => return Err(self.damaged(input, problem)),
            }
        }
    }

    pub(crate) fn finish(self, input: &Input) -> Result<(), Error> {
        match self.phase {
            Phase::Between { .. } => Ok(()),
            _ => {
                Err(Error::Gzip { offset: input.offset(), problem: "it ends inside a member", source: None })
            }
        }
    }

    fn inflate_some(&mut self, input: &mut Input) -> Result<Inflated, Error> {
        let front = input.front().map_or(&[][..], |front| front);
        if front.is_empty() && !self.output_was_full {
            return Ok(Inflated::NeedsMore);
        }
        let (in_before, out_before) = (self.inflate.total_in(), self.inflate.total_out());
        let result = self.inflate.decompress(front, &mut self.scratch, FlushDecompress::None);
        let read = usize::try_from(self.inflate.total_in() - in_before).unwrap_or(usize::MAX);
        let written = usize::try_from(self.inflate.total_out() - out_before).unwrap_or(usize::MAX);
        input.advance(read);
        let status = match result {
            Ok(status) => status,
            Err(error) => {
                self.phase = Phase::Damaged;
                return Err(Error::Gzip {
                    offset: input.offset(),
                    problem: "its compressed data is invalid",
                    source: Some(Box::new(error)),
                });
            }
        };
        let content = self.scratch.get(..written).unwrap_or_default();
        self.output_was_full = written == self.scratch.len();
        self.crc.update(content);
        if let Status::StreamEnd = status {
            self.output_was_full = false;
            self.phase = Phase::Trailer { read: [0; 8], length: 0 };
        }
        if written > 0 {
            return Ok(Inflated::Content(Bytes::copy_from_slice(content)));
        }
        if read == 0 && matches!(status, Status::Ok | Status::BufError) && input.front().is_some() {
            return Err(self.damaged(input, "its compressed data leads nowhere"));
        }
        Ok(Inflated::Progress)
    }

    fn phase_after(&self, byte: u8) -> Result<Phase, &'static str> {
        match self.phase {
            // Some writers pad the end with zeros, which gzip itself passes over as well.
            Phase::Between { members: true } if byte == 0 => Ok(self.phase),
            Phase::Between { .. } if byte == MAGIC_AND_DEFLATE[0] => {
                Ok(Phase::Header(Header::Fixed { at: 1, flags: 0 }))
            }
            Phase::Between { members: true } => Err("something that is no gzip member follows a member"),
            Phase::Between { members: false } => Err("it does not begin with a gzip member"),
            Phase::Header(header) => header.after(byte),
            Phase::Trailer { mut read, length } => {
                if let Some(slot) = read.get_mut(length) {
                    *slot = byte;
                }
                if length + 1 < read.len() {
                    return Ok(Phase::Trailer { read, length: length + 1 });
                }
                // Checksum, then length modulo 2^32, both little-endian.
                let trailer = u64::from_le_bytes(read);
                if trailer == u64::from(self.crc.sum()) | u64::from(self.crc.amount()) << 32 {
                    Ok(Phase::Between { members: true })
                } else {
                    Err("the checksum of a member is wrong")
                }
            }
            Phase::Body | Phase::Damaged => Ok(self.phase),
        }
    }

    fn damaged(&mut self, input: &Input, problem: &'static str) -> Error {
        self.phase = Phase::Damaged;
        Error::Gzip { offset: input.offset(), problem, source: None }
    }
}

enum Inflated {
    Content(Bytes),
    Progress,
    NeedsMore,
}

impl Header {
    fn after(self, byte: u8) -> Result<Phase, &'static str> {
        Ok(match self {
            Self::Fixed { at, flags } => {
                if MAGIC_AND_DEFLATE.get(at).is_some_and(|&expected| expected != byte) {
                    return Err("a member does not begin with the marks of gzip");
                }
                let flags = if at == 3 { byte } else { flags };
                if flags & RESERVED != 0 {
                    return Err("a member has unknown flags");
                }
                if at < 9 {
                    Phase::Header(Self::Fixed { at: at + 1, flags })
                } else if flags & HAS_EXTRA != 0 {
                    Phase::Header(Self::ExtraLength { low: None, flags })
                } else {
                    Self::after_extra(flags)
                }
            }
            Self::ExtraLength { low: None, flags } => {
                Phase::Header(Self::ExtraLength { low: Some(byte), flags })
            }
            Self::ExtraLength { low: Some(low), flags } => match u16::from_le_bytes([low, byte]) {
                0 => Self::after_extra(flags),
                left => Phase::Header(Self::Extra { left, flags }),
            },
            Self::Extra { left: 1, flags } => Self::after_extra(flags),
            Self::Extra { left, flags } => Phase::Header(Self::Extra { left: left - 1, flags }),
            Self::Name { flags } if byte == 0 => Self::after_name(flags),
            Self::Comment { flags } if byte == 0 => Self::after_comment(flags),
            Self::Checksum { left: 1 } => Phase::Body,
            Self::Checksum { left } => Phase::Header(Self::Checksum { left: left - 1 }),
            Self::Name { .. } | Self::Comment { .. } => Phase::Header(self),
        })
    }

    fn after_extra(flags: u8) -> Phase {
        if flags & HAS_NAME != 0 { Phase::Header(Self::Name { flags }) } else { Self::after_name(flags) }
    }

    fn after_name(flags: u8) -> Phase {
        if flags & HAS_COMMENT != 0 {
            Phase::Header(Self::Comment { flags })
        } else {
            Self::after_comment(flags)
        }
    }

    fn after_comment(flags: u8) -> Phase {
        if flags & HAS_CHECKSUM != 0 { Phase::Header(Self::Checksum { left: 2 }) } else { Phase::Body }
    }
}
