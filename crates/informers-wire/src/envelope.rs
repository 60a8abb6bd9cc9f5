//! The fields of a list body beside its items.

use bytes::Bytes;

use crate::input::{Keep, RawValue};
use crate::object::key_is;
use crate::trailer::{ListMeta, ListTrailer};
use crate::{Error, Status};

/// The largest field beside the items. A continue token has a few hundred bytes, a Status seldom more than a few
/// thousand.
const MAX_FIELD_SIZE: usize = 1 << 20;

/// A key of the body. Those of a `Status` are kept as well, since what comes is known only once the kind is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Items,
    Known(&'static str),
    Other,
}

const KNOWN: [&str; 8] = ["kind", "apiVersion", "metadata", "status", "message", "reason", "details", "code"];

impl Field {
    /// The field for a key with its quotes.
    pub(crate) fn of_key(quoted: &[u8]) -> Self {
        let key = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        if key_is(key, "items") {
            return Self::Items;
        }
        KNOWN.into_iter().find(|name| key_is(key, name)).map_or(Self::Other, Self::Known)
    }

    pub(crate) fn keep(self) -> Keep {
        match self {
            Self::Known(_) => Keep::UpTo(MAX_FIELD_SIZE),
            Self::Items | Self::Other => Keep::Nothing,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Envelope {
    fields: Vec<(&'static str, Bytes)>,
    kind: Option<String>,
}

impl Envelope {
    /// Takes the value of a field, and judges the kind as soon as it is there.
    pub(crate) fn put<P>(&mut self, field: Field, value: RawValue<P>) -> Result<(), Error> {
        let Field::Known(field) = field else { return Ok(()) };
        match value {
            RawValue::Whole(raw) => {
                if field == "kind" {
                    let kind: Option<String> = read(field, &raw)?;
                    match kind.as_deref() {
                        Some("Status") => {}
                        Some("Table") => return Err(Error::Table),
                        Some(name) if name.ends_with("List") => {}
                        _ => return Err(Error::NotAList { kind }),
                    }
                    self.kind = kind;
                }
                // Of a field that comes again the last value counts, as with encoding/json; none piles up.
                self.fields.retain(|(name, _)| *name != field);
                self.fields.push((field, raw));
                Ok(())
            }
            RawValue::TooLarge { size, .. } => Err(Error::EnvelopeTooLarge { field, size }),
            RawValue::Skipped => Ok(()),
        }
    }

    /// How many fields are held.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.fields.len()
    }

    /// Judges the whole when its closing brace was read.
    pub(crate) fn check_complete(&self) -> Result<(), Error> {
        match self.kind.as_deref() {
            Some("Status") => Err(Error::Status(Box::new(self.status()?))),
            Some(_) => Ok(()),
            None => Err(Error::NotAList { kind: None }),
        }
    }

    pub(crate) fn trailer(&self) -> Result<ListTrailer, Error> {
        let metadata: ListMeta = self.field("metadata")?.unwrap_or_default();
        Ok(ListTrailer {
            kind: self.kind.clone().unwrap_or_default(),
            api_version: self.field("apiVersion")?.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            continue_token: metadata.r#continue.filter(|token| !token.is_empty()),
            remaining_item_count: metadata.remaining_item_count.and_then(|count| u64::try_from(count).ok()),
        })
    }

    fn field<T: serde::de::DeserializeOwned>(&self, field: &'static str) -> Result<Option<T>, Error> {
        let raw = self.fields.iter().find(|(name, _)| *name == field);
        raw.map_or(Ok(None), |(_, raw)| read(field, raw))
    }

    fn status(&self) -> Result<Status, Error> {
        Ok(Status {
            status: self.field("status")?.unwrap_or_default(),
            message: self.field("message")?.unwrap_or_default(),
            reason: self.field("reason")?.unwrap_or_default(),
            code: self.field("code")?.unwrap_or_default(),
            details: self.field("details")?,
        })
    }
}

fn read<T: serde::de::DeserializeOwned>(field: &'static str, raw: &[u8]) -> Result<Option<T>, Error> {
    serde_json::from_slice(raw).map_err(|source| Error::Envelope { field, source })
}
