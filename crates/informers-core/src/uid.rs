//! The identity of one incarnation of an object.

use std::fmt;
use std::sync::Arc;

/// `metadata.uid`: tells an object from a later one of the same name.
///
/// The canonical form of a UUID is held in 16 bytes, any other text as it is. Both print what was read.
///
/// ```
/// use informers_core::Uid;
///
/// let uid = Uid::from("0190a5a2-7a3c-7d4e-9f00-3b1f0c5d2e11");
/// assert_eq!(uid.to_string(), "0190a5a2-7a3c-7d4e-9f00-3b1f0c5d2e11");
/// assert!(Uid::default().is_empty());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uid(Repr);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
enum Repr {
    #[default]
    Empty,
    Uuid([u8; 16]),
    Text(Arc<str>),
}

impl Uid {
    /// Whether there is no uid, as for objects put into a store by hand.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self.0, Repr::Empty)
    }
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        Self(match parse_uuid(text.as_bytes()) {
            Some(uuid) => Repr::Uuid(uuid),
            None if text.is_empty() => Repr::Empty,
            None => Repr::Text(text.into()),
        })
    }
}

impl From<String> for Uid {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

/// Only the lower-case form with dashes, since anything else would not print as it was read.
fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    if text.len() != 36 {
        return None;
    }
    let mut uuid = [0; 16];
    let mut digits = 0;
    for (at, &byte) in text.iter().enumerate() {
        if matches!(at, 8 | 13 | 18 | 23) {
            if byte != b'-' {
                return None;
            }
            continue;
        }
        let value = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        uuid[digits / 2] = uuid[digits / 2] << 4 | value;
        digits += 1;
    }
    Some(uuid)
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Empty => Ok(()),
            Repr::Text(text) => f.write_str(text),
            Repr::Uuid(bytes) => {
                for (at, byte) in bytes.iter().enumerate() {
                    if matches!(at, 4 | 6 | 8 | 10) {
                        f.write_str("-")?;
                    }
                    write!(f, "{byte:02x}")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_prints_as_it_was_read() {
        for text in [
            "",
            "u1",
            "0190a5a2-7a3c-7d4e-9f00-3b1f0c5d2e11",
            "0190A5A2-7a3c-7d4e-9f00-3b1f0c5d2e11",
            "0190a5a2x7a3c-7d4e-9f00-3b1f0c5d2e11",
            "0190a5a2-7a3c-7d4e-9f00-3b1f0c5d2eéx",
        ] {
            assert_eq!(Uid::from(text).to_string(), text);
        }
        assert!(matches!(Uid::from("0190a5a2-7a3c-7d4e-9f00-3b1f0c5d2e11").0, Repr::Uuid(_)));
    }
}
