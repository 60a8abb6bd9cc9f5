//! One version of one object.

use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::resource::ResourceDef;

/// An object at one revision. Its `apiVersion` and `kind` are left out, since one object may be served in
/// several versions, and lists of built-in kinds do not repeat them.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) value: Map<String, Value>,
    pub(crate) revision: u64,
    /// The bytes of `value`, made for the first reader and shared by all others.
    json: OnceLock<Bytes>,
    metadata_json: OnceLock<Bytes>,
}

impl Stored {
    /// `value` at `revision`, which is written into it.
    pub(crate) fn new(mut value: Map<String, Value>, revision: u64) -> Arc<Self> {
        metadata_mut(&mut value).insert("resourceVersion".to_owned(), json!(revision.to_string()));
        Arc::new(Self { value, revision, json: OnceLock::new(), metadata_json: OnceLock::new() })
    }

    /// The same object as it was deleted at `revision`.
    pub(crate) fn at(&self, revision: u64) -> Arc<Self> {
        Self::new(self.value.clone(), revision)
    }

    pub(crate) fn name(&self) -> &str {
        self.text("name")
    }

    pub(crate) fn namespace(&self) -> &str {
        self.text("namespace")
    }

    pub(crate) fn uid(&self) -> &str {
        self.text("uid")
    }

    /// A string in the metadata, empty if it is not there.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.metadata().and_then(|metadata| metadata.get(field)?.as_str()).unwrap_or_default()
    }

    pub(crate) fn metadata(&self) -> Option<&Map<String, Value>> {
        self.value.get("metadata")?.as_object()
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.metadata()?.get("labels")?.get(key)?.as_str()
    }

    pub(crate) fn is_terminating(&self) -> bool {
        !self.text("deletionTimestamp").is_empty()
    }

    pub(crate) fn finalizers(&self) -> &[Value] {
        self.metadata()
            .and_then(|metadata| metadata.get("finalizers")?.as_array())
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The whole object with `apiVersion` and `kind`.
    pub(crate) fn typed(&self, def: &ResourceDef, version: &str) -> Value {
        let mut value = self.value.clone();
        value.insert("apiVersion".to_owned(), json!(def.api_version(version)));
        value.insert("kind".to_owned(), json!(def.kind));
        Value::Object(value)
    }

    /// The object's bytes without `apiVersion` and `kind`.
    pub(crate) fn json(&self) -> &Bytes {
        self.json.get_or_init(|| serde_json::to_vec(&self.value).unwrap_or_default().into())
    }

    /// The bytes of an object that has the metadata alone.
    pub(crate) fn metadata_json(&self) -> &Bytes {
        self.metadata_json.get_or_init(|| {
            let metadata = json!({ "metadata": self.value.get("metadata") });
            serde_json::to_vec(&metadata).unwrap_or_default().into()
        })
    }
}

/// A field of metadata that is text; empty where it is not there.
pub(super) fn text<'a>(metadata: &'a Map<String, Value>, field: &str) -> &'a str {
    metadata.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The metadata of an object, which is made where there is none.
pub(crate) fn metadata_mut(value: &mut Map<String, Value>) -> &mut Map<String, Value> {
    let metadata = value.entry("metadata").or_insert_with(|| json!({}));
    if !metadata.is_object() {
        *metadata = json!({});
    }
    match metadata {
        Value::Object(metadata) => metadata,
        _ => unreachable!("it was made an object above"),
    }
}

/// RFC 3339 in whole seconds, as the metadata of objects has it.
pub(crate) fn timestamp(now: SystemTime) -> String {
    let now = Timestamp::try_from(now.max(UNIX_EPOCH)).unwrap_or(Timestamp::MAX);
    format!("{now:.0}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn timestamps_are_calendar_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
