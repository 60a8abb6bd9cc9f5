//! Takes the items out of a list body while it arrives.

use bytes::Bytes;

use super::envelope::{MAGIC, TypeMeta, is_protobuf};
use super::fields::{Fields, Value, text};
use super::identity::peek_identity;
use super::payload::Payload;
use super::status;
use super::varint::{Form, Key, Step, Varint};
use crate::input::Input;
use crate::object::excerpt;
use crate::{DEFAULT_MAX_SIZE, Error, ListTrailer, TooLarge};

/// The largest field beside the items.
const MAX_FIELD_SIZE: u64 = 1 << 20;

/// Splits a Kubernetes list in protobuf into the raw messages of its items, chunk by chunk.
///
/// What is around the items is read, the items themselves are not: their length stands before each, so a list passes
/// at the speed of memory. An item that lies within one chunk is a slice of it (and keeps that chunk alive); one that
/// spans chunks is gathered. Nothing else is held.
///
/// ```
/// use bytes::Bytes;
/// use informers_wire::protobuf::ListSplitter;
///
/// let mut splitter = ListSplitter::new();
/// splitter.push(Bytes::from_static(b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09EventList\x12\x0c\x0a\x03\x12\x019"));
/// assert_eq!(splitter.next_item()?, None); // the item is not there yet
/// splitter.push(Bytes::from_static(b"\x12\x05\x0a\x03\x0a\x01a"));
/// assert_eq!(splitter.next_item()?.unwrap(), &b"\x0a\x03\x0a\x01a"[..]);
/// assert_eq!(splitter.finish()?.resource_version, "9");
/// # Ok::<(), informers_wire::Error>(())
/// ```
///
/// # Errors
/// A `Status` comes as [`Error::Status`], any kind that does not end in `List` (or none) as [`Error::NotAList`], a body
/// in another form (JSON, HTML of a proxy) as [`Error::NotProtobuf`]. The trailer is what makes a list complete:
/// without it the items seen so far must not replace anything.
#[derive(Debug)]
pub struct ListSplitter {
    input: Input,
    phase: Phase,
    varint: Varint,
    payload: Payload,
    /// Where the list ends in the body, while within it.
    list_end: Option<u64>,
    is_complete: bool,
    kind: Option<String>,
    trailer: ListTrailer,
    max_item_size: usize,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Magic,
    Key,
    /// A number that nobody wants.
    Number,
    Length(Field),
    Payload(Field),
    Skip(u64),
    GivenUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    TypeMeta,
    Raw,
    ContentEncoding,
    ContentType,
    Metadata,
    Item,
    Other,
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
            phase: Phase::Magic,
            varint: Varint::default(),
            payload: Payload::default(),
            list_end: None,
            is_complete: false,
            kind: None,
            trailer: ListTrailer::default(),
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

    /// Was the list read to its end?
    pub fn is_complete(&self) -> bool {
        self.is_complete && matches!(self.phase, Phase::Key) && !self.varint.is_begun()
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
        // It may stand behind the list, though nobody writes it there.
        match self.kind {
            Some(kind) if kind.ends_with("List") => Ok(ListTrailer { kind, ..self.trailer }),
            kind => Err(Error::NotAList { kind }),
        }
    }

    fn advance(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            match self.phase {
                Phase::Magic => {
                    if !self.read_magic()? {
                        return Ok(None);
                    }
                }
                Phase::Key => {
                    if self.list_end == Some(self.input.offset()) && !self.varint.is_begun() {
                        self.list_end = None;
                        self.is_complete = true;
                        continue;
                    }
                    let Some(key) = self.number()? else { return Ok(None) };
                    self.phase = self.begin_field(key)?;
                }
                Phase::Number => {
                    if self.number()?.is_none() {
                        return Ok(None);
                    }
                    self.phase = Phase::Key;
                }
                Phase::Length(field) => {
                    let Some(length) = self.number()? else { return Ok(None) };
                    self.phase = self.begin_value(field, length)?;
                }
                Phase::Payload(field) => {
                    let Some(value) = self.payload.read(&mut self.input) else { return Ok(None) };
                    self.phase = Phase::Key;
                    match field {
                        Field::Item if self.payload.size() > self.max_item_size as u64 => {
                            return Err(Error::TooLarge(Box::new(TooLarge {
                                size: self.payload.size(),
                                limit: self.max_item_size,
                                event_type: None,
                                identity: peek_identity(&value).into_owned(),
                            })));
                        }
                        Field::Item => return Ok(Some(value)),
                        _ => self.put(field, &value)?,
                    }
                }
                Phase::Skip(0) => self.phase = Phase::Key,
                Phase::Skip(left) => {
                    let Some(front) = self.input.front() else { return Ok(None) };
                    let count = usize::try_from(left).map_or(front.len(), |left| left.min(front.len()));
                    self.input.advance(count);
                    self.phase = Phase::Skip(left - count as u64);
                }
                Phase::GivenUp => return Err(Error::GivenUp),
            }
        }
    }

    /// Whether the body begins as it must; false if more of it is needed.
    fn read_magic(&mut self) -> Result<bool, Error> {
        loop {
            let read = usize::try_from(self.input.offset()).unwrap_or(MAGIC.len());
            let Some(expected) = MAGIC.get(read) else {
                self.phase = Phase::Key;
                return Ok(true);
            };
            let Some(front) = self.input.front() else { return Ok(false) };
            if front.first() != Some(expected) {
                let begin = [MAGIC.get(..read).unwrap_or_default(), front].concat();
                return Err(Error::NotProtobuf { excerpt: excerpt(&begin) });
            }
            self.input.advance(1);
        }
    }

    /// The next number; none if more of the body is needed.
    fn number(&mut self) -> Result<Option<u64>, Error> {
        while let Some(&byte) = self.input.front().and_then(|front| front.first()) {
            self.input.advance(1);
            match self.varint.push(byte) {
                Step::More => {}
                Step::Done(number) if self.list_end.is_none_or(|end| self.input.offset() <= end) => {
                    return Ok(Some(number));
                }
                Step::Done(_) => return Err(self.broken("a field goes beyond the end of the list")),
                Step::TooLong => return Err(self.broken("a number is too long")),
            }
        }
        Ok(None)
    }

    fn begin_field(&self, key: u64) -> Result<Phase, Error> {
        let key = Key::read(key).ok_or_else(|| self.broken("no field begins like this"))?;
        let field = match (self.list_end.is_some(), key.number) {
            (false, 1) => Field::TypeMeta,
            (false, 2) => Field::Raw,
            (false, 3) => Field::ContentEncoding,
            (false, 4) => Field::ContentType,
            (true, 1) => Field::Metadata,
            (true, 2) => Field::Item,
            _ => Field::Other,
        };
        match key.form {
            Form::Bytes => Ok(Phase::Length(field)),
            _ if field != Field::Other => {
                Err(self.broken("a field is written in another way than it should be"))
            }
            Form::Varint => Ok(Phase::Number),
            Form::Fixed(count) => self.skip(count.into()),
        }
    }

    fn begin_value(&mut self, field: Field, length: u64) -> Result<Phase, Error> {
        let end = self.input.offset().checked_add(length);
        let end = end.filter(|end| self.list_end.is_none_or(|list_end| *end <= list_end));
        let end = end.ok_or_else(|| self.broken("a field goes beyond the end of the list"))?;
        let name = match field {
            Field::Other => return Ok(Phase::Skip(length)),
            Field::Raw if self.is_complete => return Err(self.broken("there is a second list in it")),
            Field::Raw if self.kind.as_deref() == Some("Status") => "status",
            Field::Raw => {
                self.list_end = Some(end);
                return Ok(Phase::Key);
            }
            Field::Item => {
                self.payload.begin(length, self.max_item_size);
                return Ok(Phase::Payload(field));
            }
            Field::TypeMeta => "typeMeta",
            Field::ContentEncoding => "contentEncoding",
            Field::ContentType => "contentType",
            Field::Metadata => "metadata",
        };
        if length > MAX_FIELD_SIZE {
            return Err(Error::EnvelopeTooLarge { field: name, size: length });
        }
        self.payload.begin(length, usize::MAX);
        Ok(Phase::Payload(field))
    }

    fn skip(&self, count: u64) -> Result<Phase, Error> {
        let end = self.input.offset().saturating_add(count);
        if self.list_end.is_some_and(|list_end| end > list_end) {
            return Err(self.broken("a field goes beyond the end of the list"));
        }
        Ok(Phase::Skip(count))
    }

    /// Takes the value of a field beside the items.
    fn put(&mut self, field: Field, value: &[u8]) -> Result<(), Error> {
        match field {
            Field::TypeMeta => {
                let TypeMeta { api_version, kind } = TypeMeta::read(value);
                self.trailer.api_version = api_version;
                self.kind = Some(kind).filter(|kind| !kind.is_empty());
                match self.kind.as_deref() {
                    Some("Status") => {}
                    Some(kind) if kind.ends_with("List") => {}
                    _ => return Err(Error::NotAList { kind: self.kind.take() }),
                }
            }
            Field::Raw => return Err(Error::Status(Box::new(status::read(value)))),
            Field::ContentEncoding if !value.is_empty() => {
                return Err(Error::UnsupportedEncoding { encoding: text(value) });
            }
            Field::ContentType if !value.is_empty() && !is_protobuf(value) => {
                return Err(self.broken("the envelope holds something else than a message"));
            }
            Field::Metadata => return self.read_metadata(value),
            _ => {}
        }
        Ok(())
    }

    fn read_metadata(&mut self, message: &[u8]) -> Result<(), Error> {
        let trailer = &mut self.trailer;
        let mut fields = Fields::of(message);
        for field in fields.by_ref() {
            match field {
                (2, Value::Bytes(version)) => trailer.resource_version = text(version),
                (3, Value::Bytes(token)) => {
                    trailer.continue_token = Some(text(token)).filter(|token| !token.is_empty());
                }
                (4, Value::Number(count)) => {
                    trailer.remaining_item_count = u64::try_from(count.cast_signed()).ok();
                }
                _ => {}
            }
        }
        match fields.is_whole() {
            true => Ok(()),
            false => Err(self.broken("the metadata of the list cannot be read")),
        }
    }

    fn broken(&self, problem: &'static str) -> Error {
        Error::BrokenProtobuf { offset: self.input.offset(), problem }
    }
}
