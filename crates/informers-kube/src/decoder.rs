//! From JSON to kube's types, and their metadata to an entry.

use std::collections::BTreeMap;
use std::fmt;

use informers_core::{
    Decode, DecodeError, DecodeErrorKind, Entry, ObjectKey, Representation, ResourceType,
    replace_invalid_text,
};
use kube_core::metadata::{PartialObjectMeta, TypeMeta};
use kube_core::object::Object;
use kube_core::{DynamicObject, Resource};
use serde::de::DeserializeOwned;

use crate::{deep, fitted};

/// Reads objects of kube's and k8s-openapi's types; key, uid and version come from the object's own metadata,
/// so the bytes are parsed once. The lengths of arrays are counted beforehand, so that no `Vec` of an object keeps
/// room to spare: an informer holds it for long.
///
/// It is made by the functions of this crate, such as [`resource`](crate::resource).
pub struct KubeDecoder<K> {
    representation: Representation,
    complete: Complete<K>,
}

/// Fills in what the server leaves out of the items of a list.
type Complete<K> = Box<dyn Fn(&mut K) + Send + Sync>;

impl<K> KubeDecoder<K> {
    pub(crate) fn new() -> Self {
        Self { representation: Representation::Json, complete: Box::new(|_| {}) }
    }
}

impl<K> KubeDecoder<PartialObjectMeta<K>> {
    pub(crate) fn metadata() -> Self {
        Self {
            representation: Representation::PartialObjectMetadata,
            complete: Box::new(|object| {
                object.types.get_or_insert_with(|| TypeMeta {
                    api_version: "meta.k8s.io/v1".to_owned(),
                    kind: "PartialObjectMetadata".to_owned(),
                });
            }),
        }
    }
}

impl KubeDecoder<DynamicObject> {
    pub(crate) fn dynamic(resource_type: &ResourceType) -> Self {
        let types = type_meta(resource_type);
        Self {
            representation: Representation::Json,
            complete: Box::new(move |object| {
                object.types.get_or_insert_with(|| types.clone());
            }),
        }
    }
}

impl<Spec: Clone, Status: Clone> KubeDecoder<Object<Spec, Status>> {
    pub(crate) fn object(resource_type: &ResourceType) -> Self {
        let types = type_meta(resource_type);
        Self {
            representation: Representation::Json,
            complete: Box::new(move |object| {
                object.types.get_or_insert_with(|| types.clone());
            }),
        }
    }
}

fn type_meta(resource_type: &ResourceType) -> TypeMeta {
    TypeMeta { api_version: resource_type.api_version(), kind: resource_type.kind().to_owned() }
}

impl<K: Resource + DeserializeOwned + Send + Sync + 'static> Decode<K> for KubeDecoder<K> {
    fn representation(&self) -> Representation {
        self.representation
    }

    fn decode(&self, raw: &[u8]) -> Result<Entry<K>, DecodeError> {
        let mut object = read::<K>(raw)?;
        (self.complete)(&mut object);
        let meta = object.meta();
        let name = meta.name.as_deref().unwrap_or_default();
        if name.is_empty() {
            return Err(DecodeError::new(DecodeErrorKind::Nameless));
        }
        let key = ObjectKey::new(meta.namespace.as_deref().unwrap_or_default(), name);
        let uid = meta.uid.as_deref().unwrap_or_default().into();
        let version = meta.resource_version.as_deref().unwrap_or_default().into();
        Ok(Entry::new(key, uid, version, object))
    }
}

/// As JSON is read, but what is rare and no fault of the object is tried once more.
fn read<K: DeserializeOwned + Send>(raw: &[u8]) -> Result<K, DecodeError> {
    if let Ok(object) = fitted::from_slice(raw) {
        return Ok(object);
    }
    let mended = replace_invalid_text(raw);
    let text = mended.as_deref().unwrap_or(raw);
    match deep::from_slice(text) {
        Some(Ok(object)) => Ok(object),
        Some(Err(error)) => Err(DecodeError::new(DecodeErrorKind::Malformed).with_source(error)),
        None if mended.is_some() => fitted::from_slice(text).map_err(|_| DecodeError::locate::<K>(text)),
        None => Err(DecodeError::locate::<K>(text)),
    }
}

impl<K> fmt::Debug for KubeDecoder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubeDecoder").field("representation", &self.representation).finish_non_exhaustive()
    }
}

/// The labels of an object, as listers with label selectors want them.
///
/// ```
/// use informers_kube::labels_of;
/// use k8s_openapi::api::core::v1::Pod;
///
/// assert!(labels_of(&Pod::default()).is_none());
/// ```
pub fn labels_of<K: Resource>(object: &K) -> Option<&BTreeMap<String, String>> {
    object.meta().labels.as_ref()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube::CustomResource;

    use super::*;
    use crate::{dynamic, metadata, resource};

    #[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema, CustomResource)]
    #[kube(group = "example.com", version = "v1", kind = "Widget", namespaced)]
    struct WidgetSpec {
        size: u32,
    }

    fn raw(extra: &str) -> Vec<u8> {
        format!(
            r#"{{"metadata":{{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7","labels":{{"app":"x"}}}}{extra}}}"#
        )
        .into_bytes()
    }

    #[test]
    fn built_in_and_custom_types_are_read_from_list_items() {
        let pod =
            resource::<Pod>().decoder().decode(&raw(r#","spec":{"containers":[],"nodeName":"n"}"#)).unwrap();
        assert_eq!(pod.spec.as_ref().unwrap().node_name.as_deref(), Some("n"));
        assert_eq!((pod.key().as_str(), pod.uid(), pod.version()), ("ns/a", &"u".into(), &"7".into()));
        assert_eq!(labels_of(pod.object()).unwrap()["app"], "x");

        let widget = resource::<Widget>()
            .decoder()
            .decode(&raw(r#","apiVersion":"example.com/v1","kind":"Widget","spec":{"size":3}"#));
        assert_eq!(widget.unwrap().spec.size, 3);
    }

    #[test]
    fn the_path_of_a_wrong_field_is_named() {
        let error =
            resource::<Pod>().decoder().decode(&raw(r#","spec":{"containers":[{"name":7}]}"#)).unwrap_err();
        assert_eq!(error.kind(), DecodeErrorKind::Malformed);
        assert_eq!(error.path(), Some("spec.containers[0].name"));
    }

    #[test]
    fn what_go_reads_and_serde_does_not_costs_no_object() {
        let nested = |depth: usize| {
            raw(&format!(r#","spec":{}1{}"#, r#"{"a":["#.repeat(depth / 2), "]}".repeat(depth / 2)))
        };
        let widgets = dynamic(crate::resource_type::<Widget>());
        for depth in [100, 200, 500] {
            let widget = widgets.decoder().decode(&nested(depth)).unwrap();
            let mut value = &widget.data["spec"];
            for _ in 0..depth / 2 {
                value = &value["a"][0];
            }
            assert_eq!(*value, 1);
        }
        let error = widgets.decoder().decode(&nested(100_000)).unwrap_err();
        assert_eq!(error.kind(), DecodeErrorKind::Malformed);

        let pod =
            resource::<Pod>().decoder().decode(&raw(r#","spec":{"containers":[],"nodeName":"n\udead"}"#));
        assert_eq!(pod.unwrap().spec.as_ref().unwrap().node_name.as_deref(), Some("n\u{FFFD}"));
    }

    #[test]
    fn null_and_nameless_objects_are_told_apart() {
        let kind = |raw: &[u8]| resource::<Pod>().decoder().decode(raw).unwrap_err().kind();
        assert_eq!(kind(b"null"), DecodeErrorKind::Null);
        assert_eq!(kind(br#"{"metadata":{}}"#), DecodeErrorKind::Nameless);
        assert_eq!(kind(b"7"), DecodeErrorKind::Malformed);
    }

    #[test]
    fn metadata_alone_is_asked_for_and_read() {
        let pods = metadata::<Pod>();
        let pod = pods.decoder().decode(&raw("")).unwrap();
        assert_eq!(pod.types.as_ref().unwrap().kind, "PartialObjectMetadata");
        assert_eq!(pod.metadata.labels.as_ref().unwrap()["app"], "x");
    }

    #[test]
    fn a_dynamic_object_keeps_the_type_it_came_with() {
        let widgets = dynamic(crate::resource_type::<Widget>());
        let with = raw(r#","apiVersion":"example.com/v2","kind":"Widget""#);
        assert_eq!(
            widgets.decoder().decode(&with).unwrap().types.as_ref().unwrap().api_version,
            "example.com/v2"
        );
        assert_eq!(
            widgets.decoder().decode(&raw("")).unwrap().types.as_ref().unwrap().api_version,
            "example.com/v1"
        );
    }
}
