//! An object as the cells of its row see it.

use std::time::SystemTime;

use serde_json::{Map, Value, json};

use super::age::age;

#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) object: &'a Map<String, Value>,
    pub(super) now: SystemTime,
}

/// What is shown for nothing.
pub(super) const NONE: &str = "<none>";

impl<'a> Row<'a> {
    /// The value at a path such as `spec.replicas`.
    pub(super) fn at(&self, path: &str) -> Option<&'a Value> {
        let mut segments = path.split('.');
        let first = self.object.get(segments.next()?)?;
        segments.try_fold(first, |value, segment| value.get(segment))
    }

    pub(super) fn text(&self, path: &str) -> &'a str {
        self.at(path).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn number(&self, path: &str) -> i64 {
        self.at(path).and_then(Value::as_i64).unwrap_or_default()
    }

    pub(super) fn list(&self, path: &str) -> &'a [Value] {
        self.at(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn map(&self, path: &str) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        self.at(path).and_then(Value::as_object).into_iter().flatten()
    }

    /// The text at a path, or `fallback` where there is none.
    pub(super) fn text_or(&self, path: &str, fallback: &str) -> Value {
        match self.text(path) {
            "" => json!(fallback),
            text => json!(text),
        }
    }

    /// A number or a string such as a percentage, as a string.
    pub(super) fn either_or(&self, path: &str, fallback: &str) -> Value {
        match self.at(path) {
            Some(Value::String(text)) => json!(text),
            Some(Value::Null) | None => json!(fallback),
            Some(other) => json!(other.to_string()),
        }
    }

    pub(super) fn name(&self) -> Value {
        json!(self.text("metadata.name"))
    }

    pub(super) fn is_terminating(&self) -> bool {
        !self.text("metadata.deletionTimestamp").is_empty()
    }

    /// How long ago the time at a path was.
    pub(super) fn since(&self, path: &str) -> Value {
        json!(age(self.text(path), self.now).unwrap_or_else(|| "<unknown>".to_owned()))
    }

    pub(super) fn age(&self) -> Value {
        self.since("metadata.creationTimestamp")
    }

    /// Whether the condition of this type is `True`; none if there is none.
    pub(super) fn condition(&self, kind: &str) -> Option<bool> {
        let condition = self.list("status.conditions").iter().find(|condition| condition["type"] == kind)?;
        Some(condition["status"] == "True")
    }
}

/// One field of all items of a list, joined by commas.
pub(super) fn joined(items: &[Value], field: &str) -> String {
    items.iter().filter_map(|item| item.get(field)?.as_str()).collect::<Vec<_>>().join(",")
}

/// `text`, or `<none>` for nothing.
pub(super) fn or_none(text: String) -> Value {
    if text.is_empty() { json!(NONE) } else { Value::String(text) }
}
