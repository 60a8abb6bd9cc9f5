//! Slim pods read from protobuf: the fields that are wanted, by their numbers in `k8s.io/api/core/v1/generated.proto`.

use informers::core::{ProtobufDecoder, Resource};
use k8s_openapi::api::core::v1::Pod;
use prost::Message;

use crate::pods::{Owner, SlimMetadata, SlimPod, SlimSpec, SlimStatus};

/// Reads slim pods as an informer would.
pub(crate) fn slim_pods() -> Resource<SlimPod> {
    Resource::new(informers::kube::resource_type::<Pod>(), ProtobufDecoder::<PodMessage, SlimPod>::new())
}

#[derive(Message)]
pub(crate) struct PodMessage {
    #[prost(message, optional, tag = "1")]
    metadata: Option<MetadataMessage>,
    #[prost(message, optional, tag = "2")]
    spec: Option<SpecMessage>,
    #[prost(message, optional, tag = "3")]
    status: Option<StatusMessage>,
}

#[derive(Message)]
struct MetadataMessage {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    namespace: String,
    #[prost(string, tag = "5")]
    uid: String,
    #[prost(string, tag = "6")]
    resource_version: String,
    // A map is written as its entries.
    #[prost(message, repeated, tag = "11")]
    labels: Vec<LabelMessage>,
    #[prost(message, repeated, tag = "13")]
    owner_references: Vec<OwnerMessage>,
}

#[derive(Message)]
struct LabelMessage {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Message)]
struct OwnerMessage {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(string, tag = "4")]
    uid: String,
    #[prost(string, tag = "5")]
    api_version: String,
    #[prost(bool, tag = "6")]
    controller: bool,
    #[prost(bool, tag = "7")]
    block_owner_deletion: bool,
}

#[derive(Message)]
struct SpecMessage {
    #[prost(string, optional, tag = "10")]
    node_name: Option<String>,
}

#[derive(Message)]
struct StatusMessage {
    #[prost(string, optional, tag = "1")]
    phase: Option<String>,
}

impl From<PodMessage> for SlimPod {
    fn from(pod: PodMessage) -> Self {
        let metadata = pod.metadata.unwrap_or_default();
        let label = |label: LabelMessage| (label.key.into(), label.value.into());
        Self {
            metadata: SlimMetadata {
                namespace: metadata.namespace.into(),
                name: metadata.name.into(),
                uid: metadata.uid.into(),
                resource_version: metadata.resource_version.into(),
                labels: metadata.labels.into_iter().map(label).collect(),
                owner_references: metadata.owner_references.into_iter().map(Owner::from).collect(),
            },
            spec: SlimSpec { node_name: pod.spec.and_then(|spec| spec.node_name).map(String::into) },
            status: SlimStatus { phase: pod.status.and_then(|status| status.phase).map(String::into) },
        }
    }
}

impl From<OwnerMessage> for Owner {
    fn from(owner: OwnerMessage) -> Self {
        Self {
            api_version: owner.api_version.into(),
            kind: owner.kind.into(),
            name: owner.name.into(),
            uid: owner.uid.into(),
            controller: owner.controller,
            block_owner_deletion: owner.block_owner_deletion,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_as_from_json() {
        let text = |text: &str| text.to_owned();
        let message = PodMessage {
            metadata: Some(MetadataMessage {
                name: text("cart-0"),
                namespace: text("shop"),
                uid: text("u"),
                resource_version: text("70"),
                labels: vec![LabelMessage { key: text("app"), value: text("cart") }],
                owner_references: vec![OwnerMessage {
                    kind: text("ReplicaSet"),
                    name: text("cart"),
                    uid: text("v"),
                    api_version: text("apps/v1"),
                    controller: true,
                    block_owner_deletion: false,
                }],
            }),
            spec: Some(SpecMessage { node_name: Some(text("node-1")) }),
            status: Some(StatusMessage { phase: Some(text("Running")) }),
        };
        let decoded = slim_pods().decoder().decode(&message.encode_to_vec()).unwrap();
        let json: SlimPod = serde_json::from_str(crate::pods::tests::RAW).unwrap();
        assert_eq!(format!("{:?}", decoded.object()), format!("{json:?}"));
        assert_eq!(decoded.key().as_str(), "shop/cart-0");
    }
}
