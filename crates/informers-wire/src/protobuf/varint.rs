//! Numbers of variable length.

/// A number, byte by byte.
#[derive(Debug, Default)]
pub(super) struct Varint {
    number: u64,
    bits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    More,
    Done(u64),
    /// No number has so many bytes.
    TooLong,
}

impl Varint {
    /// Takes the next byte. The one after a whole number begins another.
    pub(super) fn push(&mut self, byte: u8) -> Step {
        self.number |= u64::from(byte & 0x7F) << self.bits;
        if byte & 0x80 == 0 {
            return Step::Done(std::mem::take(self).number);
        }
        self.bits += 7;
        if self.bits < u64::BITS { Step::More } else { Step::TooLong }
    }

    /// Whether it is within a number.
    pub(super) fn is_begun(&self) -> bool {
        self.bits > 0
    }
}

/// What the key of a field says: its number, and how its value is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) number: u32,
    pub(super) form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Varint,
    /// Four or eight bytes.
    Fixed(u8),
    /// A length, then so many bytes.
    Bytes,
}

impl Key {
    /// None if no field has it, or one of the groups that Kubernetes never uses.
    pub(super) fn read(key: u64) -> Option<Self> {
        let number = u32::try_from(key >> 3).ok().filter(|number| *number != 0)?;
        let form = match key & 7 {
            0 => Form::Varint,
            1 => Form::Fixed(8),
            2 => Form::Bytes,
            5 => Form::Fixed(4),
            _ => return None,
        };
        Some(Self { number, form })
    }
}
