//! The fields of a message that lies in memory.

use super::varint::{Form, Key, Step, Varint};

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    /// A text, a message, or bytes.
    Bytes(&'a [u8]),
    Fixed,
}

/// Walks the fields of a message, with their numbers.
///
/// Of a message that is cut off it gives what is there, the last value perhaps in part; who needs the whole asks
/// [`is_whole`](Self::is_whole) in the end.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    is_whole: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message, is_whole: true }
    }

    /// Whether nothing was cut off or broken so far.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The value of the first field of this number that has bytes.
    pub(super) fn first_bytes(message: &'a [u8], number: u32) -> Option<&'a [u8]> {
        Self::of(message).find_map(|field| match field {
            (found, Value::Bytes(bytes)) if found == number => Some(bytes),
            _ => None,
        })
    }

    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let key = Key::read(self.number()?)?;
        let value = match key.form {
            Form::Varint => Value::Number(self.number()?),
            Form::Fixed(count) => {
                self.take(count.into());
                Value::Fixed
            }
            Form::Bytes => {
                let length = self.number()?;
                Value::Bytes(self.take(length))
            }
        };
        Some((key.number, value))
    }

    fn number(&mut self) -> Option<u64> {
        let mut varint = Varint::default();
        for (at, byte) in self.rest.iter().enumerate() {
            match varint.push(*byte) {
                Step::More => {}
                Step::Done(number) => {
                    self.rest = self.rest.get(at + 1..)?;
                    return Some(number);
                }
                Step::TooLong => return None,
            }
        }
        None
    }

    /// So many bytes, or what is left.
    fn take(&mut self, count: u64) -> &'a [u8] {
        let there = usize::try_from(count).ok().and_then(|count| self.rest.split_at_checked(count));
        let (taken, rest) = there.unwrap_or((self.rest, &[]));
        self.is_whole &= there.is_some();
        self.rest = rest;
        taken
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.is_whole = false;
            self.rest = &[];
        }
        field
    }
}

/// A text of a message; what is not UTF-8 is replaced, since a damaged object must still be named.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_value() {
        let message =
            b"\x08\x96\x01\x12\x02hi\x19\x01\x02\x03\x04\x05\x06\x07\x08\x25\x01\x02\x03\x04\x28\x00";
        let mut fields = Fields::of(message);
        let found: Vec<_> = fields.by_ref().collect();
        let expected = [
            (1, Value::Number(150)),
            (2, Value::Bytes(b"hi")),
            (3, Value::Fixed),
            (4, Value::Fixed),
            (5, Value::Number(0)),
        ];
        assert_eq!(found, expected);
        assert!(fields.is_whole());
    }

    #[test]
    fn what_is_there_of_a_cut_message_is_given() {
        let message = b"\x0a\x01a\x12\x05hello";
        for end in 0..message.len() {
            let mut fields = Fields::of(&message[..end]);
            let found = fields.by_ref().count();
            assert_eq!(fields.is_whole(), matches!(end, 0 | 3), "{end}");
            assert_eq!(found, usize::from(end >= 2) + usize::from(end >= 5), "{end}");
        }
        assert_eq!(Fields::first_bytes(&message[..7], 2), Some(&b"he"[..]));
    }

    #[test]
    fn what_is_no_field_ends_it() {
        // Number 0, a group, a key of eleven bytes.
        for message in [&b"\x02\x01a"[..], b"\x0b\x0c", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"] {
            let mut fields = Fields::of(message);
            assert_eq!(fields.next(), None, "{message:?}");
            assert!(!fields.is_whole(), "{message:?}");
        }
    }

    #[test]
    fn the_largest_number() {
        let message = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert_eq!(Fields::of(message).next(), Some((1, Value::Number(u64::MAX))));
    }
}
