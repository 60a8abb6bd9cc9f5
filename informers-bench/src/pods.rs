//! The two forms in which pods are held.

use std::collections::BTreeMap;
use std::convert::Infallible;

use informers::core::{JsonDecoder, Resource, Transform};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::json;

/// What is done with the pods of a look-up, whatever their form.
pub(crate) trait AnyPod: Sized + Send + Sync + 'static {
    /// Reads it from JSON as an informer would.
    fn resource() -> Resource<Self>;
    /// One with these texts and nothing else, as the parts are measured with.
    fn small(pod: Small) -> Self;
    /// The node that it runs on.
    fn node(&self) -> Option<&str>;
    /// Reads namespace, name and version, and gives their lengths together.
    fn read(&self) -> usize;
}

/// The texts of a small pod.
#[derive(Debug)]
pub(crate) struct Small {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) version: String,
    pub(crate) app: String,
    pub(crate) node: String,
}

impl Small {
    /// The same as a server would send it.
    pub(crate) fn to_json(&self) -> String {
        let Self { namespace, name, uid, version, app, node } = self;
        let labels = json!({"app": app});
        json!({
            "metadata": {"namespace": namespace, "name": name, "uid": uid, "resourceVersion": version, "labels": labels},
            "spec": {"nodeName": node, "containers": []},
        })
        .to_string()
    }
}

impl AnyPod for Pod {
    fn resource() -> Resource<Self> {
        informers::kube::resource()
    }

    fn small(pod: Small) -> Self {
        let metadata = ObjectMeta {
            namespace: Some(pod.namespace),
            name: Some(pod.name),
            uid: Some(pod.uid),
            resource_version: Some(pod.version),
            labels: Some(BTreeMap::from([("app".to_owned(), pod.app)])),
            ..ObjectMeta::default()
        };
        let spec = PodSpec { node_name: Some(pod.node), ..PodSpec::default() };
        Self { metadata, spec: Some(spec), status: None }
    }

    fn node(&self) -> Option<&str> {
        self.spec.as_ref()?.node_name.as_deref()
    }

    fn read(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let metadata = &self.metadata;
        length(&metadata.namespace) + length(&metadata.name) + length(&metadata.resource_version)
    }
}

/// A pod as a controller would declare it that needs no more than this.
///
/// The identity stands here as well as in the entry, since the comparison asks for a struct that has it.
#[derive(Debug, Deserialize)]
pub(crate) struct SlimPod {
    pub(crate) metadata: SlimMetadata,
    #[serde(default)]
    pub(crate) spec: SlimSpec,
    #[serde(default)]
    #[allow(dead_code, reason = "held, to be paid for")]
    pub(crate) status: SlimStatus,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SlimMetadata {
    #[serde(default)]
    pub(crate) namespace: Box<str>,
    pub(crate) name: Box<str>,
    #[allow(dead_code, reason = "held, to be paid for")]
    pub(crate) uid: Box<str>,
    pub(crate) resource_version: Box<str>,
    #[serde(default)]
    #[allow(dead_code, reason = "held, to be paid for")]
    pub(crate) labels: BTreeMap<Box<str>, Box<str>>,
    #[serde(default)]
    #[allow(dead_code, reason = "held, to be paid for")]
    pub(crate) owner_references: Box<[Owner]>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "held, to be paid for")]
pub(crate) struct Owner {
    pub(crate) api_version: Box<str>,
    pub(crate) kind: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) uid: Box<str>,
    #[serde(default)]
    pub(crate) controller: bool,
    #[serde(default)]
    pub(crate) block_owner_deletion: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SlimSpec {
    pub(crate) node_name: Option<Box<str>>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct SlimStatus {
    #[allow(dead_code, reason = "held, to be paid for")]
    pub(crate) phase: Option<Box<str>>,
}

impl AnyPod for SlimPod {
    fn resource() -> Resource<Self> {
        Resource::new(informers::kube::resource_type::<Pod>(), JsonDecoder::new())
    }

    fn small(pod: Small) -> Self {
        let metadata = SlimMetadata {
            namespace: pod.namespace.into(),
            name: pod.name.into(),
            uid: pod.uid.into(),
            resource_version: pod.version.into(),
            labels: BTreeMap::from([("app".into(), pod.app.into())]),
            owner_references: Box::default(),
        };
        let spec = SlimSpec { node_name: Some(pod.node.into()) };
        Self { metadata, spec, status: SlimStatus::default() }
    }

    fn node(&self) -> Option<&str> {
        self.spec.node_name.as_deref()
    }

    fn read(&self) -> usize {
        self.metadata.namespace.len() + self.metadata.name.len() + self.metadata.resource_version.len()
    }
}

/// Drops what no controller reads.
pub(crate) fn without_managed_fields() -> Transform<Pod> {
    Transform::new(|pod: &mut Pod| {
        pod.metadata.managed_fields = None;
        Ok::<_, Infallible>(())
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const RAW: &str = r#"{"metadata":{"namespace":"shop","name":"cart-0","uid":"u","resourceVersion":"70",
        "labels":{"app":"cart"},"managedFields":[{"manager":"kubelet"}],
        "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"cart","uid":"v","controller":true}]},
        "spec":{"nodeName":"node-1","containers":[]},"status":{"phase":"Running"}}"#;

    #[test]
    fn both_forms_read_the_same() {
        let typed: Pod = serde_json::from_str(RAW).unwrap();
        let slim: SlimPod = serde_json::from_str(RAW).unwrap();
        assert_eq!((typed.node(), typed.read()), (Some("node-1"), 12));
        assert_eq!((slim.node(), slim.read()), (Some("node-1"), 12));
        assert!(slim.metadata.owner_references[0].controller);
        assert_eq!(slim.status.phase.as_deref(), Some("Running"));
    }

    #[test]
    fn small_pods_are_the_same_made_in_place_and_decoded() {
        let small = || {
            let [namespace, name, uid, version, app, node] =
                ["shop", "cart-0", "u", "70", "cart", "node-1"].map(str::to_owned);
            Small { namespace, name, uid, version, app, node }
        };
        let typed: Pod = serde_json::from_str(&small().to_json()).unwrap();
        assert_eq!(typed, Pod::small(small()));
        let slim: SlimPod = serde_json::from_str(&small().to_json()).unwrap();
        assert_eq!(format!("{slim:?}"), format!("{:?}", SlimPod::small(small())));
    }

    #[test]
    fn managed_fields_go() {
        let entry =
            informers::core::Entry::keyed("shop/cart-0".parse().unwrap(), serde_json::from_str(RAW).unwrap());
        let entry = without_managed_fields().apply(entry).unwrap();
        assert!(entry.metadata.managed_fields.is_none());
        assert!(entry.metadata.labels.is_some());
    }
}
