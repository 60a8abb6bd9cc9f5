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

/// Whether somebody should look at it (the `type` of an Event).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Severity {
    /// Things went as they should.
    Normal,
    /// Something is wrong.
    Warning,
}

/// Something that happened to an object.
///
/// ```
/// use informers_client::recorder::{ObjectReference, Occurrence, Severity};
///
/// let pod = ObjectReference::new("v1", "Pod", "shop", "cart-0", "u-1");
/// let pulled = Occurrence::new(pod, Severity::Normal, "Pulled", "image cart:7 in 3 s")
///     .with_annotation("example.com/registry", "eu-1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    pub(super) about: ObjectReference,
    pub(super) severity: Severity,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) annotations: BTreeMap<String, String>,
}

impl Occurrence {
    /// `reason` is for programs: short, in UpperCamelCase, one of few. `message` is for people.
    pub fn new(
        about: ObjectReference,
        severity: Severity,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let (reason, message) = (reason.into(), message.into());
        Self { about, severity, reason, message, annotations: BTreeMap::new() }
    }

    /// With an annotation on the Event. Of Events that are combined, none is kept.
    #[must_use]
    pub fn with_annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.insert(key.into(), value.into());
        self
    }
}
