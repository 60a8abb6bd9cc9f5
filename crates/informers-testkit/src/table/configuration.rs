//! Configuration, storage and rights.

use serde_json::{Value, json};

use super::columns::{AGE, Column, NAME, boolean, integer, text, wide};
use super::row::Row;

pub(super) const CONFIG_MAPS: &[Column] =
    &[NAME, text("Data", |row| json!(row.map("data").count() + row.map("binaryData").count())), AGE];

pub(super) const SECRETS: &[Column] = &[
    NAME,
    text("Type", |row| json!(row.text("type"))),
    text("Data", |row| json!(row.map("data").count())),
    AGE,
];

pub(super) const LEASES: &[Column] =
    &[NAME, text("Holder", |row| json!(row.text("spec.holderIdentity"))), AGE];

/// Resources without columns of their own on kube-apiserver.
pub(super) const CREATED_AT: &[Column] = &[
    NAME,
    Column {
        name: "Created At",
        kind: "date",
        format: "",
        priority: 0,
        cell: |row| json!(row.text("metadata.creationTimestamp")),
    },
];

pub(super) const PRIORITY_CLASSES: &[Column] = &[
    NAME,
    integer("Value", |row| json!(row.number("value"))),
    boolean("Global-Default", |row| json!(row.at("globalDefault") == Some(&json!(true)))),
    AGE,
    text("PreemptionPolicy", |row| row.text_or("preemptionPolicy", "PreemptLowerPriority")),
];

pub(super) const STORAGE_CLASSES: &[Column] = &[
    NAME,
    text("Provisioner", |row| json!(row.text("provisioner"))),
    text("ReclaimPolicy", |row| row.text_or("reclaimPolicy", "Delete")),
    text("VolumeBindingMode", |row| row.text_or("volumeBindingMode", "<unset>")),
    text("AllowVolumeExpansion", |row| json!(row.at("allowVolumeExpansion") == Some(&json!(true)))),
    AGE,
];

pub(super) const RESOURCE_QUOTAS: &[Column] =
    &[NAME, text("Request", |row| quotas(row, false)), text("Limit", |row| quotas(row, true)), AGE];

/// `pods: 1/3, requests.cpu: 0/2`, of limits or of all else.
fn quotas(row: &Row<'_>, limits: bool) -> Value {
    let used = |name: &str| row.at("status.used").and_then(|used| used.get(name)?.as_str()).unwrap_or("0");
    let quotas: Vec<_> = row
        .map("status.hard")
        .filter(|(name, _)| name.starts_with("limits.") == limits)
        .map(|(name, hard)| format!("{name}: {}/{}", used(name), hard.as_str().unwrap_or_default()))
        .collect();
    json!(quotas.join(", "))
}

fn subjects(row: &Row<'_>, kind: &str) -> Value {
    let names: Vec<_> = row
        .list("subjects")
        .iter()
        .filter(|subject| subject["kind"] == kind)
        .map(|subject| match (subject["namespace"].as_str(), subject["name"].as_str().unwrap_or_default()) {
            (Some(namespace), name) if !namespace.is_empty() => format!("{namespace}/{name}"),
            (_, name) => name.to_owned(),
        })
        .collect();
    json!(names.join(", "))
}

pub(super) const ROLE_BINDINGS: &[Column] = &[
    NAME,
    text("Role", |row| json!(format!("{}/{}", row.text("roleRef.kind"), row.text("roleRef.name")))),
    AGE,
    wide("Users", |row| subjects(row, "User")),
    wide("Groups", |row| subjects(row, "Group")),
    wide("ServiceAccounts", |row| subjects(row, "ServiceAccount")),
];

/// Access modes by their short names.
fn access_modes(row: &Row<'_>, path: &str) -> Value {
    let given = row.list(path);
    let modes: Vec<_> = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ]
    .into_iter()
    .filter(|(mode, _)| given.iter().any(|given| given == mode))
    .map(|(_, short)| short)
    .collect();
    json!(modes.join(","))
}

fn phase(row: &Row<'_>) -> Value {
    if row.is_terminating() { json!("Terminating") } else { json!(row.text("status.phase")) }
}

pub(super) const PERSISTENT_VOLUMES: &[Column] = &[
    NAME,
    text("Capacity", |row| json!(row.text("spec.capacity.storage"))),
    text("Access Modes", |row| access_modes(row, "spec.accessModes")),
    text("Reclaim Policy", |row| json!(row.text("spec.persistentVolumeReclaimPolicy"))),
    text("Status", phase),
    text("Claim", |row| {
        let (namespace, name) = (row.text("spec.claimRef.namespace"), row.text("spec.claimRef.name"));
        if row.at("spec.claimRef").is_some() { json!(format!("{namespace}/{name}")) } else { json!("") }
    }),
    text("StorageClass", |row| json!(row.text("spec.storageClassName"))),
    text("VolumeAttributesClass", |row| row.text_or("spec.volumeAttributesClassName", "<unset>")),
    text("Reason", |row| json!(row.text("status.reason"))),
    AGE,
    wide("VolumeMode", |row| row.text_or("spec.volumeMode", "<unset>")),
];

pub(super) const PERSISTENT_VOLUME_CLAIMS: &[Column] = &[
    NAME,
    text("Status", phase),
    text("Volume", |row| json!(row.text("spec.volumeName"))),
    text("Capacity", |row| match row.text("spec.volumeName") {
        "" => json!(""),
        _ => json!(row.text("status.capacity.storage")),
    }),
    text("Access Modes", |row| match row.text("spec.volumeName") {
        "" => json!(""),
        _ => access_modes(row, "status.accessModes"),
    }),
    text("StorageClass", |row| json!(row.text("spec.storageClassName"))),
    text("VolumeAttributesClass", |row| row.text_or("spec.volumeAttributesClassName", "<unset>")),
    AGE,
    wide("VolumeMode", |row| row.text_or("spec.volumeMode", "<unset>")),
];
