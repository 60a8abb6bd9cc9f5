//! What the server itself puts into a new object.

use serde_json::{Map, Value, json};

use super::Target;
use super::object::{metadata_mut, text};

/// Fills in what `value` leaves out, and takes off the status that a client may not set.
pub(super) fn set_defaults(target: &Target, value: &mut Map<String, Value>, keep_status: bool) {
    let def = &*target.def;
    let version_has_status = def.version(&target.version).is_some_and(|version| version.status);
    let keeps = keep_status || matches!((def.group.as_str(), def.plural.as_str()), ("", "nodes"));
    if version_has_status && !keeps {
        value.remove("status");
    }
    let mut default = |field: &str, fallback: Value| {
        value.entry(field).or_insert(fallback);
    };
    match (def.group.as_str(), def.plural.as_str()) {
        ("", "namespaces") => {
            default("spec", json!({"finalizers": ["kubernetes"]}));
            default("status", json!({"phase": "Active"}));
            let name = text(metadata_mut(value), "name").to_owned();
            let labels = metadata_mut(value).entry("labels").or_insert_with(|| json!({}));
            if let Value::Object(labels) = labels {
                labels.insert("kubernetes.io/metadata.name".to_owned(), json!(name));
            }
        }
        ("", "pods") => default("status", json!({"phase": "Pending"})),
        ("", "secrets") => default("type", json!("Opaque")),
        ("", "persistentvolumeclaims" | "persistentvolumes") => {
            default("status", json!({"phase": "Pending"}));
        }
        ("apps", "deployments" | "replicasets" | "statefulsets") => {
            if let Value::Object(spec) = value.entry("spec").or_insert_with(|| json!({})) {
                spec.entry("replicas").or_insert_with(|| json!(1));
            }
            value.entry("status").or_insert_with(|| json!({}));
        }
        ("batch", _) | ("apps", "daemonsets") => default("status", json!({})),
        _ => {}
    }
}
