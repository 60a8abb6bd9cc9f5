//! Takes the items out of a list body while it arrives.

use bytes::Bytes;

use crate::envelope::{Envelope, Field};
use crate::input::{Input, Keep, RawValue, ValueReader};
use crate::object::excerpt;
use crate::scan::begins_value;
use crate::{DEFAULT_MAX_SIZE, Error, Identity, ListTrailer, TooLarge, peek_identity};

/// Splits the JSON body of a Kubernetes list into its raw items, chunk by chunk.
///
/// Only the envelope is parsed; an item is found by counting brackets outside strings, so a list passes at over a
/// gigabyte a second and one item that does not decode harms no other. An item that lies within one chunk is a
/// slice of it (and keeps that chunk alive); one that spans chunks is gathered. Nothing else is held: memory is
/// bounded by the chunks not yet taken plus one item.
///
/// Key order, white space, a byte order mark, `items: null` and a missing `items` are all right. Elements come as
/// they are, so a `null` in `items` comes as the four bytes `null`.
///
/// ```
/// use bytes::Bytes;
/// use informers_wire::ListSplitter;
///
/// let mut splitter = ListSplitter::new();
/// let mut names = Vec::new();
/// for chunk in [
///     r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"52"},"items":[{"na"#,
///     r#"me":"a"},{"name":"b"}]}"#,
/// ] {
///     splitter.push(Bytes::from_static(chunk.as_bytes()));
///     while let Some(item) = splitter.next_item()? {
///         names.push(item);
///     }
/// }
/// let trailer = splitter.finish()?;
/// assert_eq!(names, [r#"{"name":"a"}"#, r#"{"name":"b"}"#]);
/// assert_eq!(trailer.resource_version, "52");
/// # Ok::<(), informers_wire::Error>(())
/// ```
///
/// # Errors
/// A `Status` comes as [`Error::Status`], a `Table` as [`Error::Table`], any kind that does not end in `List` (or
/// none) as [`Error::NotAList`]: as soon as the kind is known, at the latest at the closing brace. The trailer is
/// what makes a list complete: without it the items seen so far must not replace anything.
#[derive(Debug)]
pub struct ListSplitter {
    input: Input,
    phase: Phase,
    reader: ValueReader<Identity<'static>>,
    envelope: Envelope,
    max_item_size: usize,
}

/// Where in the body the next byte stands.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Start,
    FirstKeyOrEnd,
    Key,
    InKey,
    Colon(Field),
    Value(Field),
    InValue(Field),
    FirstItemOrEnd,
    Item,
    InItem,
    CommaOrEndOfItems,
    CommaOrEnd,
    Done,
    GivenUp,
}

impl Default for ListSplitter {
    fn default() -> Self {
        Self::new()
    }
}

impl ListSplitter {
    /// A splitter at the start of a body, with a limit of [`DEFAULT_MAX_SIZE`] for each item.
    pub fn new() -> Self {
        Self {
            input: Input::default(),
            phase: Phase::Start,
            reader: ValueReader::new(|prefix| peek_identity(prefix).into_owned()),
            envelope: Envelope::default(),
            max_item_size: DEFAULT_MAX_SIZE,
        }
    }

    /// Sets the largest size of an item in bytes; larger ones are skipped and come as [`Error::TooLarge`].
    #[must_use]
    pub fn with_max_item_size(mut self, bytes: usize) -> Self {
        self.max_item_size = bytes;
        self
    }

    /// Hands in the next piece of the body. Take the items with [`ListSplitter::next_item`] before the next push,
    /// or the pieces pile up.
    pub fn push(&mut self, chunk: Bytes) {
        self.input.push(chunk);
    }

    /// The next item, or none when more of the body is needed (or all of it was read).
    ///
    /// # Errors
    /// See [`ListSplitter`]. After [`Error::TooLarge`] go on as before; any other error ends the body, and later
    /// calls give [`Error::GivenUp`].
    pub fn next_item(&mut self) -> Result<Option<Bytes>, Error> {
        let result = self.advance();
        if result.as_ref().is_err_and(Error::is_fatal) {
            self.phase = Phase::GivenUp;
        }
        result
    }

    /// Was the closing brace of the list read?
    pub fn is_complete(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    /// Ends the body and gives what the list says about itself.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the body is not complete, [`Error::NotDrained`] if items are left to take, and what
    /// [`ListSplitter::next_item`] gives.
    pub fn finish(mut self) -> Result<ListTrailer, Error> {
        if self.next_item()?.is_some() {
            return Err(Error::NotDrained);
        }
        if !self.is_complete() {
            return Err(Error::Truncated { bytes: self.input.offset() });
        }
        self.envelope.trailer()
    }

    fn advance(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            // Inside a string or an item white space counts, so these come before the next token is looked for.
            match self.phase {
                Phase::InKey => {
                    let Some(key) = self.reader.read(&mut self.input, Keep::UpTo(self.max_item_size)) else {
                        return Ok(None);
                    };
                    // A key over the limit cannot be one of those that matter.
                    self.phase = Phase::Colon(match key {
                        RawValue::Whole(key) => Field::of_key(&key),
                        _ => Field::Other,
                    });
                    continue;
                }
                Phase::InValue(field) => {
                    let Some(value) = self.reader.read(&mut self.input, field.keep()) else {
                        return Ok(None);
                    };
                    self.envelope.put(field, value)?;
                    self.phase = Phase::CommaOrEnd;
                    continue;
                }
                Phase::InItem => {
                    let keep = Keep::UpTo(self.max_item_size);
                    let Some(item) = self.reader.read(&mut self.input, keep) else { return Ok(None) };
                    self.phase = Phase::CommaOrEndOfItems;
                    match item {
                        RawValue::Whole(item) => return Ok(Some(item)),
                        RawValue::TooLarge { size, peeked } => {
                            return Err(Error::TooLarge(Box::new(TooLarge {
                                size,
                                limit: self.max_item_size,
                                event_type: None,
                                identity: peeked,
                            })));
                        }
                        RawValue::Skipped => continue,
                    }
                }
                Phase::GivenUp => return Err(Error::GivenUp),
                _ => {}
            }
            let Some(token) = self.input.peek_token() else { return Ok(None) };
            self.phase = self.after_token(token)?;
        }
    }

    /// The phase that follows a token; takes the token, unless it begins a value.
    fn after_token(&mut self, token: u8) -> Result<Phase, Error> {
        let next = match (self.phase, token) {
            (Phase::Start, b'{') => Phase::FirstKeyOrEnd,
            (Phase::Start, _) => {
                let begin = self.input.front().map(|front| excerpt(front)).unwrap_or_default();
                return Err(Error::NotJson { excerpt: begin });
            }
            (Phase::FirstKeyOrEnd | Phase::Key, b'"') => return Ok(Phase::InKey),
            (Phase::Colon(field), b':') => Phase::Value(field),
            (Phase::Value(Field::Items), b'[') => Phase::FirstItemOrEnd,
            (Phase::Value(Field::Items), b'n') => return Ok(Phase::InValue(Field::Items)),
            (Phase::Value(Field::Items), _) => {
                return Err(self.unexpected(token, "an array of items or null"));
            }
            (Phase::Value(field), _) if begins_value(token) => return Ok(Phase::InValue(field)),
            (Phase::FirstItemOrEnd | Phase::Item, _) if begins_value(token) => return Ok(Phase::InItem),
            (Phase::FirstItemOrEnd | Phase::CommaOrEndOfItems, b']') => Phase::CommaOrEnd,
            (Phase::CommaOrEndOfItems, b',') => Phase::Item,
            (Phase::CommaOrEnd, b',') => Phase::Key,
            (Phase::FirstKeyOrEnd | Phase::CommaOrEnd, b'}') => {
                self.envelope.check_complete()?;
                Phase::Done
            }
            (phase, _) => return Err(self.unexpected(token, phase.expected())),
        };
        self.input.advance(1);
        Ok(next)
    }

    fn unexpected(&self, token: u8, expected: &'static str) -> Error {
        Error::Syntax { offset: self.input.offset(), expected, found: char::from(token) }
    }
}

impl Phase {
    fn expected(self) -> &'static str {
        match self {
            Self::FirstKeyOrEnd => "a key or the closing brace",
            Self::Key => "a key",
            Self::Colon(_) => "a colon",
            Self::FirstItemOrEnd => "an item or the closing bracket",
            Self::Item => "an item",
            Self::CommaOrEndOfItems => "a comma or the closing bracket",
            Self::CommaOrEnd => "a comma or the closing brace",
            Self::Done => "the end of the body",
            _ => "a value",
        }
    }
}

#[cfg(test)]
mod tests;
