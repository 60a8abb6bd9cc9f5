//! Walks the fields of one JSON object in a slice, key by key, skipping values it is not asked for.

use std::borrow::Cow;
use std::ops::Range;

use crate::scan::{ValueScanner, begins_value, is_space};

/// What follows in the object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// A key, as it stands between its quotes (escapes not decoded); its value is next.
    Key(&'a [u8]),
    /// The closing brace, and where the object ends.
    End(usize),
    /// Not JSON, or cut off.
    Damaged,
}

/// A position inside an object of `raw`.
#[derive(Debug)]
pub(crate) struct FieldWalker<'a> {
    raw: &'a [u8],
    at: usize,
    first: bool,
}

impl<'a> FieldWalker<'a> {
    /// Starts at the object whose opening brace is the next token at or after `at`; none if another value is there.
    pub(crate) fn enter(raw: &'a [u8], at: usize) -> Option<Self> {
        let mut walker = Self { raw, at, first: true };
        (walker.token()? == b'{').then(|| {
            walker.at += 1;
            walker
        })
    }

    /// Where the next value or token begins.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Goes to the next key. The value of the key before must have been passed with [`FieldWalker::value`].
    pub(crate) fn next_key(&mut self) -> Step<'a> {
        self.try_next_key().unwrap_or(Step::Damaged)
    }

    fn try_next_key(&mut self) -> Option<Step<'a>> {
        let mut token = self.token()?;
        if token == b'}' {
            return Some(Step::End(self.at + 1));
        }
        if !self.first {
            if token != b',' {
                return None;
            }
            self.at += 1;
            token = self.token()?;
        }
        self.first = false;
        if token != b'"' {
            return None;
        }
        let key = self.skip()?;
        if self.token()? != b':' {
            return None;
        }
        self.at += 1;
        self.token()?;
        Some(Step::Key(self.raw.get(key.start + 1..key.end - 1)?))
    }

    /// Passes the value and tells where it stood; none if it is cut off or is no value.
    pub(crate) fn value(&mut self) -> Option<Range<usize>> {
        if !begins_value(self.token()?) {
            return None;
        }
        self.skip()
    }

    fn token(&mut self) -> Option<u8> {
        let rest = self.raw.get(self.at..)?;
        self.at += rest.iter().position(|&byte| !is_space(byte))?;
        self.raw.get(self.at).copied()
    }

    fn skip(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        self.at += ValueScanner::default().scan(self.raw.get(start..)?)?;
        Some(start..self.at)
    }
}

/// The text of a raw JSON string, borrowed where it has no escapes; none if `raw` is another value. Invalid UTF-8
/// is replaced, since a damaged object must still be named.
pub(crate) fn string(raw: &[u8]) -> Option<Cow<'_, str>> {
    let text = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', text).is_none() {
        return Some(String::from_utf8_lossy(text));
    }
    serde_json::from_str::<String>(&String::from_utf8_lossy(raw)).ok().map(Cow::Owned)
}

/// Does the key, as it stands between its quotes, say `name`?
pub(crate) fn key_is(key: &[u8], name: &str) -> bool {
    if memchr::memchr(b'\\', key).is_none() {
        return key == name.as_bytes();
    }
    let quoted = [b"\"", key, b"\""].concat();
    string(&quoted).is_some_and(|decoded| decoded == name)
}

/// The first bytes of something unexpected, as text for a message.
pub(crate) fn excerpt(raw: &[u8]) -> String {
    const LENGTH: usize = 200;
    let cut = raw.get(..LENGTH).unwrap_or(raw);
    let mut text = String::from_utf8_lossy(cut).trim().to_owned();
    if cut.len() < raw.len() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_fields() {
        let raw = br#" { "a" : [1, 2] , "b\u0063":"}" } x"#;
        let mut walker = FieldWalker::enter(raw, 0).unwrap();
        assert_eq!(walker.next_key(), Step::Key(b"a"));
        assert_eq!(&raw[walker.value().unwrap()], b"[1, 2]");
        let Step::Key(key) = walker.next_key() else { panic!("second key") };
        assert!(key_is(key, "bc"));
        assert_eq!(&raw[walker.value().unwrap()], br#""}""#);
        assert_eq!(walker.next_key(), Step::End(raw.len() - 2));
    }

    #[test]
    fn damage_is_told_apart_from_the_end() {
        for raw in [r#"{"a""#, r#"{"a":1 "b":2}"#, r#"{a:1}"#, r#"{"a":"#] {
            let mut walker = FieldWalker::enter(raw.as_bytes(), 0).unwrap();
            while let Step::Key(_) = walker.next_key() {
                if walker.value().is_none() {
                    break;
                }
            }
            assert_eq!(walker.next_key(), Step::Damaged, "{raw}");
        }
        assert!(FieldWalker::enter(b"[1]", 0).is_none());
    }
}
