#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]
#![allow(clippy::needless_pass_by_value, reason = "objects are written where they are passed")]

use std::sync::Arc;

use serde_json::{Value, json};

use super::Apply;
use crate::Status;
use crate::store::tests::{Harness, OPTIONS};
use crate::store::{Patch, Stored};

fn apply(
    harness: &mut Harness,
    plural: &str,
    manager: &str,
    force: bool,
    config: Value,
) -> Result<(Arc<Stored>, bool), Status> {
    let target = harness.target(plural, "a");
    let apply = Apply::parse(config.to_string().as_bytes(), manager, force)?;
    harness.store.apply(&target, &apply, OPTIONS)
}

fn config_map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

#[test]
fn what_is_applied_is_owned_and_what_is_no_longer_applied_goes() {
    let mut harness = Harness::new();
    let (created, new) =
        apply(&mut harness, "configmaps", "m", false, config_map(json!({"k": "v", "l": "w"}))).unwrap();
    assert!(new);
    let managed = &created.value["metadata"]["managedFields"];
    assert_eq!(managed.as_array().unwrap().len(), 1);
    assert_eq!(
        managed[0],
        json!({
            "manager": "m", "operation": "Apply", "apiVersion": "v1", "time": "1970-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:k": {}, "f:l": {}}},
        })
    );
    let (again, new) =
        apply(&mut harness, "configmaps", "m", false, config_map(json!({"k": "v", "l": "w"}))).unwrap();
    assert_eq!((new, again.revision), (false, created.revision), "nothing changed, nothing is written");

    harness.patch("configmaps", "a", json!({"data": {"foreign": "f"}})).unwrap();
    let (changed, _) = apply(&mut harness, "configmaps", "m", false, config_map(json!({"k": "x"}))).unwrap();
    assert_eq!(changed.value["data"], json!({"k": "x", "foreign": "f"}));
    assert_eq!(changed.value["metadata"]["managedFields"][0]["fieldsV1"], json!({"f:data": {"f:k": {}}}));
}

#[test]
fn another_appliers_field_is_a_conflict_unless_forced() {
    let mut harness = Harness::new();
    apply(&mut harness, "configmaps", "m", false, config_map(json!({"k": "v"}))).unwrap();
    apply(&mut harness, "configmaps", "n", false, config_map(json!({"k": "v"}))).unwrap();
    let status = apply(&mut harness, "configmaps", "n", false, config_map(json!({"k": "w"}))).unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (409, "Apply failed with 1 conflict: conflict with \"m\": .data.k")
    );
    let (forced, _) = apply(&mut harness, "configmaps", "n", true, config_map(json!({"k": "w"}))).unwrap();
    assert_eq!(forced.value["data"]["k"], "w");
    let managed = forced.value["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(managed.len(), 1, "the other owner has nothing left");
    assert_eq!(managed[0]["manager"], "n");
}

#[test]
fn a_shared_field_stays_until_its_last_owner_drops_it() {
    let mut harness = Harness::new();
    apply(&mut harness, "configmaps", "m", false, config_map(json!({"k": "v"}))).unwrap();
    apply(&mut harness, "configmaps", "n", false, config_map(json!({"k": "v"}))).unwrap();
    let (kept, _) = apply(&mut harness, "configmaps", "m", false, config_map(json!({}))).unwrap();
    assert_eq!(kept.value["data"], json!({"k": "v"}));
    let (gone, _) = apply(&mut harness, "configmaps", "n", false, config_map(json!({}))).unwrap();
    assert_eq!(gone.value["data"].get("k"), None);
}

#[test]
fn items_of_keyed_lists_have_owners() {
    let pod = |containers: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "finalizers": ["a/b"]}, "spec": {"containers": containers}});
    let mut harness = Harness::new();
    let ports = json!([{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}]);
    let (created, _) = apply(
        &mut harness,
        "pods",
        "m",
        false,
        pod(json!([{"name": "a", "image": "i", "ports": ports}, {"name": "b", "image": "i"}])),
    )
    .unwrap();
    let fields = &created.value["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(
        fields,
        &json!({
            "f:metadata": {"f:finalizers": {"v:\"a/b\"": {}}},
            "f:spec": {"f:containers": {
                "k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:image": {}, "f:ports": {
                    "k:{\"containerPort\":53,\"protocol\":\"UDP\"}": {".": {}, "f:containerPort": {}, "f:protocol": {}},
                    "k:{\"containerPort\":53,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}},
                }},
                "k:{\"name\":\"b\"}": {".": {}, "f:name": {}, "f:image": {}},
            }},
        })
    );
    apply(&mut harness, "pods", "n", false, pod(json!([{"name": "c", "image": "i"}]))).unwrap();
    let (changed, _) =
        apply(&mut harness, "pods", "m", false, pod(json!([{"name": "a", "image": "j"}]))).unwrap();
    assert_eq!(
        changed.value["spec"]["containers"],
        json!([{"name": "c", "image": "i"}, {"name": "a", "image": "j"}])
    );
}

#[test]
fn the_status_has_appliers_of_its_own() {
    let mut harness = Harness::new();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": {"x": "y"}}});
    apply(&mut harness, "nodes", "m", false, node.clone()).unwrap();
    let target = crate::store::Target { status: true, ..harness.target("nodes", "a") };
    let mut status = node.clone();
    status["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    let request = Apply::parse(status.to_string().as_bytes(), "m", false).unwrap();
    let (changed, _) = harness.store.apply(&target, &request, OPTIONS).unwrap();
    assert_eq!(changed.value["status"]["conditions"][0]["type"], "Ready");
    let managed = changed.value["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(managed.last().unwrap()["subresource"], "status");
    let (same, _) = apply(&mut harness, "nodes", "m", false, node).unwrap();
    assert_eq!(same.revision, changed.revision, "the status is none of the other's business");
}

#[test]
fn bad_requests_say_what_to_do() {
    let mut harness = Harness::new();
    let missing = Apply::parse(b"{}", "", false).unwrap_err();
    assert_eq!((missing.code(), missing.message().contains("fieldManager")), (422, true));
    let yaml = Apply::parse(b"kind: ConfigMap", "m", false).unwrap_err();
    assert_eq!((yaml.code(), yaml.message().contains("send JSON")), (415, true));
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}});
    assert_eq!(apply(&mut harness, "configmaps", "m", false, other).unwrap_err().code(), 400);
    let owned = json!({"metadata": {"name": "a", "managedFields": []}});
    assert_eq!(apply(&mut harness, "configmaps", "m", false, owned).unwrap_err().code(), 400);
}

#[test]
fn other_writes_keep_the_owners() {
    let mut harness = Harness::new();
    apply(&mut harness, "configmaps", "m", false, config_map(json!({"k": "v"}))).unwrap();
    let target = harness.target("configmaps", "a");
    let patch = Patch::Merge(json!({"data": {"l": "w"}, "metadata": {"managedFields": null}}));
    let patched = harness.store.patch(&target, &patch, OPTIONS).unwrap();
    assert_eq!(patched.value["metadata"]["managedFields"][0]["manager"], "m");
}
