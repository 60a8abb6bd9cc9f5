//! What to list and watch, from the types themselves.

use informers_core::{Resource, ResourceScope, ResourceType};
use kube_core::metadata::PartialObjectMeta;
use kube_core::object::Object;
use kube_core::{ApiResource, ClusterResourceScope, DynamicObject, NamespaceResourceScope};
use serde::de::DeserializeOwned;

use crate::KubeDecoder;

/// The scopes that are known at compile time: namespaced and cluster-wide.
pub trait StaticScope: sealed::Sealed {
    /// The scope as a value.
    const SCOPE: ResourceScope;
}

impl StaticScope for NamespaceResourceScope {
    const SCOPE: ResourceScope = ResourceScope::Namespaced;
}

impl StaticScope for ClusterResourceScope {
    const SCOPE: ResourceScope = ResourceScope::Cluster;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for kube_core::NamespaceResourceScope {}
    impl Sealed for kube_core::ClusterResourceScope {}
}

/// The resource of a type that knows it at compile time: any of k8s-openapi, or with
/// `#[derive(CustomResource)]`.
///
/// ```
/// use informers_core::ResourceScope;
/// use informers_kube::resource;
/// use k8s_openapi::api::core::v1::Node;
///
/// assert_eq!(resource::<Node>().resource_type().scope(), ResourceScope::Cluster);
/// ```
#[must_use]
pub fn resource<K>() -> Resource<K>
where
    K: kube_core::Resource<DynamicType = (), Scope: StaticScope>
        + Clone
        + DeserializeOwned
        + Send
        + Sync
        + 'static,
{
    Resource::new(resource_type::<K>(), KubeDecoder::new())
}

/// As [`resource`], of which the server sends the metadata alone.
///
/// ```
/// use informers_core::Representation;
/// use k8s_openapi::api::core::v1::Secret;
///
/// let secrets = informers_kube::metadata::<Secret>();
/// assert_eq!(secrets.decoder().representation(), Representation::PartialObjectMetadata);
/// ```
#[must_use]
pub fn metadata<K>() -> Resource<PartialObjectMeta<K>>
where
    K: kube_core::Resource<DynamicType = (), Scope: StaticScope> + Send + Sync + 'static,
{
    Resource::new(resource_type::<K>(), KubeDecoder::metadata())
}

/// The resource of objects whose type is known only at run time.
///
/// Items of lists come without `apiVersion` and `kind`; these are filled in.
///
/// ```
/// use informers_core::{ResourceScope, ResourceType};
///
/// let widgets = informers_kube::dynamic(ResourceType::new(
///     "example.com", "v1", "Widget", "widgets", ResourceScope::Namespaced,
/// ));
/// let raw = br#"{"metadata":{"name":"w","namespace":"shop","uid":"u","resourceVersion":"7"},"spec":{"size":3}}"#;
/// let widget = widgets.decoder().decode(raw)?;
/// assert_eq!(widget.types.as_ref().unwrap().kind, "Widget");
/// assert_eq!(widget.data["spec"]["size"], 3);
/// # Ok::<(), informers_core::DecodeError>(())
/// ```
#[must_use]
pub fn dynamic(resource_type: ResourceType) -> Resource<DynamicObject> {
    let decoder = KubeDecoder::dynamic(&resource_type);
    Resource::new(resource_type, decoder)
}

/// As [`dynamic`], of which the server sends the metadata alone.
///
/// ```
/// use informers_core::{Representation, ResourceScope, ResourceType};
///
/// let widgets = informers_kube::dynamic_metadata(ResourceType::new(
///     "example.com", "v1", "Widget", "widgets", ResourceScope::Namespaced,
/// ));
/// assert_eq!(widgets.decoder().representation(), Representation::PartialObjectMetadata);
/// ```
#[must_use]
pub fn dynamic_metadata(resource_type: ResourceType) -> Resource<PartialObjectMeta> {
    Resource::new(resource_type, KubeDecoder::metadata())
}

/// The resource of objects with a spec and status of one's own.
///
/// ```
/// use informers_core::{ResourceScope, ResourceType};
/// use informers_kube::NotUsed;
///
/// #[derive(Clone, Debug, serde::Deserialize)]
/// struct Size { size: u32 }
///
/// let widgets = informers_kube::object::<Size, NotUsed>(ResourceType::new(
///     "example.com", "v1", "Widget", "widgets", ResourceScope::Namespaced,
/// ));
/// let raw = br#"{"metadata":{"name":"w","namespace":"shop","uid":"u","resourceVersion":"7"},"spec":{"size":3}}"#;
/// assert_eq!(widgets.decoder().decode(raw)?.spec.size, 3);
/// # Ok::<(), informers_core::DecodeError>(())
/// ```
#[must_use]
pub fn object<Spec, Status>(resource_type: ResourceType) -> Resource<Object<Spec, Status>>
where
    Spec: Clone + DeserializeOwned + Send + Sync + 'static,
    Status: Clone + Default + DeserializeOwned + Send + Sync + 'static,
{
    let decoder = KubeDecoder::object(&resource_type);
    Resource::new(resource_type, decoder)
}

/// The resource type of a type that knows it at compile time.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
///
/// let deployments = informers_kube::resource_type::<Deployment>();
/// assert_eq!(deployments.to_string(), "deployments.v1.apps");
/// ```
#[must_use]
pub fn resource_type<K>() -> ResourceType
where
    K: kube_core::Resource<DynamicType = (), Scope: StaticScope>,
{
    ResourceType::new(
        K::group(&()).into_owned(),
        K::version(&()).into_owned(),
        K::kind(&()).into_owned(),
        K::plural(&()).into_owned(),
        <K::Scope as StaticScope>::SCOPE,
    )
}

/// The resource type of kube's [`ApiResource`], which does not say its scope.
///
/// ```
/// use informers_core::ResourceScope;
/// use informers_kube::{ApiResource, resource_type_of};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let pods = resource_type_of(&ApiResource::erase::<Pod>(&()), ResourceScope::Namespaced);
/// assert_eq!(pods.plural(), "pods");
/// ```
#[must_use]
pub fn resource_type_of(resource: &ApiResource, scope: ResourceScope) -> ResourceType {
    let ApiResource { group, version, kind, plural, .. } = resource.clone();
    ResourceType::new(group, version, kind, plural, scope)
}
