//! What is recorded, and about what.

use std::collections::BTreeMap;

use informers_core::{Entry, ResourceType};
use serde::Serialize;

/// The object that something happened to (`involvedObject`).
///
/// ```
/// use informers_client::recorder::ObjectReference;
/// use informers_core::{Entry, ResourceScope, ResourceType};
///
/// let pods = ResourceType::new("", "v1", "Pod", "pods", ResourceScope::Namespaced);
/// let pod = Entry::new("shop/cart-0".parse()?, "u-1".into(), "7".into(), ());
/// let container = ObjectReference::of(&pod, &pods).with_field_path("spec.containers{main}");
/// assert_eq!(container, ObjectReference::new("v1", "Pod", "shop", "cart-0", "u-1")
///     .with_resource_version("7").with_field_path("spec.containers{main}"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    pub(super) api_version: String,
    pub(super) kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) namespace: String,
    pub(super) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) uid: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) resource_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) field_path: String,
}

impl ObjectReference {
    /// To this object. A cluster-scoped one has an empty namespace.
    pub fn new(
        api_version: impl Into<String>,
        kind: impl Into<String>,
        namespace: impl Into<String>,
        name: impl Into<String>,
        uid: impl Into<String>,
    ) -> Self {
        Self {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
            uid: uid.into(),
            resource_version: String::new(),
            field_path: String::new(),
        }
    }

    /// To what an informer or a request gave.
    pub fn of<T>(object: &Entry<T>, resource_type: &ResourceType) -> Self {
        let (key, uid) = (object.key(), object.uid().to_string());
        let namespace = key.namespace().unwrap_or_default();
        Self::new(resource_type.api_version(), resource_type.kind(), namespace, key.name(), uid)
            .with_resource_version(object.version().to_string())
    }

    /// As it was at this version.
    #[must_use]
    pub fn with_resource_version(mut self, version: impl Into<String>) -> Self {
        self.resource_version = version.into();
        self
    }

    /// A part of the object, such as `spec.containers{main}`.
    #[must_use]
    pub fn with_field_path(mut self, path: impl Into<String>) -> Self {
        self.field_path = path.into();
        self
    }

    /// Where Events about it are kept: those about cluster-scoped objects in `default`.
    pub(super) fn event_namespace(&self) -> &str {
        if self.namespace.is_empty() { "default" } else { &self.namespace }
    }
}

/// The `type` of an Event: whether somebody should look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum EventType {
    /// Things went as they should.
    Normal,
    /// Something is wrong.
    Warning,
}

/// How much of a message is kept, in bytes.
const MAX_MESSAGE: usize = 8 << 10;

/// Something that happened to an object.
///
/// ```
/// use informers_client::recorder::{ObjectReference, Occurrence, EventType};
///
/// let pod = ObjectReference::new("v1", "Pod", "shop", "cart-0", "u-1");
/// let pulled = Occurrence::new(pod, EventType::Normal, "Pulled", "image cart:7 in 3 s")
///     .with_annotation("example.com/registry", "eu-1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    pub(super) about: ObjectReference,
    pub(super) event_type: EventType,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) annotations: BTreeMap<String, String>,
}

impl Occurrence {
    /// `reason` is for programs: short, in UpperCamelCase, one of few. `message` is for people; one of more than
    /// 8 KiB is cut, and ends in `…` then, so that those that wait have a limit in bytes too. (The API server takes
    /// any length by `core/v1`, and 1 KiB by `events.k8s.io`.)
    pub fn new(
        about: ObjectReference,
        event_type: EventType,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let (reason, mut message) = (reason.into(), message.into());
        if message.len() > MAX_MESSAGE {
            let mut end = MAX_MESSAGE - '…'.len_utf8();
            while !message.is_char_boundary(end) {
                end -= 1;
            }
            message.truncate(end);
            message.push('…');
            message.shrink_to_fit();
        }
        Self { about, event_type, reason, message, annotations: BTreeMap::new() }
    }

    /// With an annotation on the Event. Of Events that are combined, none is kept.
    #[must_use]
    pub fn with_annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.insert(key.into(), value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_any_length_is_no_longer_than_its_limit() {
        let of = |message: String| {
            let about = ObjectReference::new("v1", "Pod", "shop", "cart-0", "u-1");
            Occurrence::new(about, EventType::Normal, "Pulled", message).message
        };
        let fits = "é".repeat(MAX_MESSAGE / 2);
        assert_eq!(of(fits.clone()), fits);
        for before in ["", "x", "xx"] {
            let cut = of(format!("{before}{fits}é"));
            assert!(
                cut.len() > MAX_MESSAGE - 4 && cut.len() <= MAX_MESSAGE && cut.ends_with("é…"),
                "{}",
                cut.len()
            );
        }
        assert!(of("é".repeat(1 << 20)).capacity() <= 2 * MAX_MESSAGE);
    }
}
