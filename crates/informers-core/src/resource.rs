//! What is listed and watched: a resource and how its objects are read.

use std::any::TypeId;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::Decode;

/// Whether objects of a resource live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::exhaustive_enums, reason = "Kubernetes knows these two")]
pub enum ResourceScope {
    /// Every object has a namespace.
    Namespaced,
    /// No object has one.
    Cluster,
}

/// A resource of the Kubernetes API: group, version, kind, plural name and scope.
///
/// ```
/// use informers_core::{ResourceScope, ResourceType};
///
/// let widgets = ResourceType::new("example.com", "v1", "Widget", "widgets", ResourceScope::Namespaced);
/// assert_eq!(widgets.collection_path(Some("shop")), "/apis/example.com/v1/namespaces/shop/widgets");
/// assert_eq!(widgets.to_string(), "widgets.v1.example.com");
///
/// let nodes = ResourceType::new("", "v1", "Node", "nodes", ResourceScope::Cluster);
/// assert_eq!(nodes.collection_path(None), "/api/v1/nodes");
/// assert_eq!(nodes.api_version(), "v1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceType {
    group: Cow<'static, str>,
    version: Cow<'static, str>,
    kind: Cow<'static, str>,
    plural: Cow<'static, str>,
    scope: ResourceScope,
}

impl ResourceType {
    /// A resource; the group of the core API is empty.
    pub fn new(
        group: impl Into<Cow<'static, str>>,
        version: impl Into<Cow<'static, str>>,
        kind: impl Into<Cow<'static, str>>,
        plural: impl Into<Cow<'static, str>>,
        scope: ResourceScope,
    ) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into(), plural: plural.into(), scope }
    }

    /// The API group; empty for the core API.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The version within the group, such as `v1`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The kind of one object, such as `Pod`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The name in paths, such as `pods`.
    #[must_use]
    pub fn plural(&self) -> &str {
        &self.plural
    }

    /// Whether objects have a namespace.
    #[must_use]
    pub fn scope(&self) -> ResourceScope {
        self.scope
    }

    /// `apiVersion` as it stands in objects: `group/version`, or `version` for the core API.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The path of the collection, in one namespace or in all of them. Of a cluster-scoped resource the
    /// namespace is ignored.
    #[must_use]
    pub fn collection_path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let api_version = self.api_version();
        match namespace.filter(|_| self.scope == ResourceScope::Namespaced) {
            Some(namespace) => format!("{root}/{api_version}/namespaces/{namespace}/{}", self.plural),
            None => format!("{root}/{api_version}/{}", self.plural),
        }
    }
}

/// `plural.version.group`, the form kubectl takes, or the plural alone for the core API.
impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.plural)
        } else {
            write!(f, "{}.{}.{}", self.plural, self.version, self.group)
        }
    }
}

/// A resource together with the decoder that makes its objects.
///
/// ```
/// # #[cfg(feature = "json")] {
/// use informers_core::{JsonDecoder, Resource, ResourceScope, ResourceType};
///
/// #[derive(serde::Deserialize)]
/// struct Widget { size: u32 }
///
/// let widgets: Resource<Widget> = Resource::new(
///     ResourceType::new("example.com", "v1", "Widget", "widgets", ResourceScope::Namespaced),
///     JsonDecoder::new(),
/// );
/// let raw = br#"{"metadata":{"namespace":"shop","name":"w","uid":"u","resourceVersion":"7"},"size":3}"#;
/// let widget = widgets.decoder().decode(raw).unwrap();
/// assert_eq!((widget.key().as_str(), widget.size), ("shop/w", 3));
/// # }
/// ```
pub struct Resource<T> {
    resource_type: Arc<ResourceType>,
    decoder: Arc<dyn Decode<T>>,
    decoder_type: TypeId,
}

impl<T: 'static> Resource<T> {
    /// `resource_type`, whose objects `decoder` reads.
    pub fn new<D: Decode<T>>(resource_type: ResourceType, decoder: D) -> Self {
        Self {
            resource_type: Arc::new(resource_type),
            decoder: Arc::new(decoder),
            decoder_type: TypeId::of::<D>(),
        }
    }

    /// Which resource it is.
    #[must_use]
    pub fn resource_type(&self) -> &ResourceType {
        &self.resource_type
    }

    /// What reads its objects.
    #[must_use]
    pub fn decoder(&self) -> &Arc<dyn Decode<T>> {
        &self.decoder
    }

    /// The types of object and decoder: two users of one resource share an informer where these are equal.
    #[must_use]
    pub fn representation_type(&self) -> (TypeId, TypeId) {
        (TypeId::of::<T>(), self.decoder_type)
    }
}

impl<T> Clone for Resource<T> {
    fn clone(&self) -> Self {
        Self {
            resource_type: Arc::clone(&self.resource_type),
            decoder: Arc::clone(&self.decoder),
            decoder_type: self.decoder_type,
        }
    }
}

impl<T> fmt::Debug for Resource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Resource").field(&self.resource_type).finish()
    }
}
