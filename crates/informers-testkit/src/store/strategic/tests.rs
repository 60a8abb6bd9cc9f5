#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]
#![allow(clippy::needless_pass_by_value, reason = "objects are written where they are passed")]

use serde_json::{Value, json};

use super::{ListRule, ListRules, Merger};
use crate::Status;
use crate::store::ResourceDef;
use crate::store::builtin::builtin_resources;

fn def(plural: &str) -> ResourceDef {
    builtin_resources().find(|def| def.plural == plural).unwrap()
}

fn patched(plural: &str, original: Value, patch: Value) -> Result<Value, Status> {
    let (Value::Object(original), Value::Object(patch)) = (original, patch) else {
        panic!("both are objects");
    };
    Merger::strategic(ListRules::of(&def(plural))).merge(original, patch).map(Value::Object)
}

#[track_caller]
fn check(plural: &str, original: Value, patch: Value, wanted: Value) {
    assert_eq!(patched(plural, original, patch).unwrap(), wanted);
}

fn containers(items: Value) -> Value {
    json!({"spec": {"containers": items}})
}

#[test]
fn objects_are_merged_and_null_removes() {
    check(
        "configmaps",
        json!({"data": {"a": "1", "b": "2"}, "metadata": {"labels": {"x": "y"}}}),
        json!({"data": {"a": null, "c": "3", "d": null}, "metadata": {"annotations": {"n": null, "m": "o"}}}),
        json!({"data": {"b": "2", "c": "3"}, "metadata": {"labels": {"x": "y"}, "annotations": {"m": "o"}}}),
    );
}

#[test]
fn containers_are_merged_by_name() {
    check(
        "pods",
        containers(json!([{"name": "a", "image": "a:1", "args": ["x"]}, {"name": "b", "image": "b:1"}])),
        containers(json!([{"name": "b", "image": "b:2"}, {"name": "c", "image": "c:1", "tty": null}])),
        containers(json!([
            {"name": "a", "image": "a:1", "args": ["x"]},
            {"name": "b", "image": "b:2"},
            {"name": "c", "image": "c:1"},
        ])),
    );
}

#[test]
fn every_keyed_list_of_a_container_has_its_key() {
    let old = json!([{
        "name": "a",
        "args": ["one", "two"],
        "env": [{"name": "A", "value": "1"}],
        "ports": [{"containerPort": 80, "name": "http"}],
        "volumeMounts": [{"mountPath": "/a", "name": "v"}],
        "volumeDevices": [{"devicePath": "/dev/a", "name": "v"}],
    }]);
    let patch = json!([{
        "name": "a",
        "args": ["three"],
        "env": [{"name": "A", "value": "2"}, {"name": "B", "value": "3"}],
        "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "volumeMounts": [{"mountPath": "/a", "readOnly": true}],
        "volumeDevices": [{"devicePath": "/dev/a", "name": "w"}],
    }]);
    let wanted = json!([{
        "name": "a",
        "args": ["three"],
        "env": [{"name": "A", "value": "2"}, {"name": "B", "value": "3"}],
        "ports": [{"containerPort": 80, "name": "http", "protocol": "TCP"}],
        "volumeMounts": [{"mountPath": "/a", "name": "v", "readOnly": true}],
        "volumeDevices": [{"devicePath": "/dev/a", "name": "w"}],
    }]);
    check("pods", containers(old.clone()), containers(patch.clone()), containers(wanted.clone()));
    for (plural, path) in [
        ("deployments", "/spec/template"),
        ("statefulsets", "/spec/template"),
        ("jobs", "/spec/template"),
        ("cronjobs", "/spec/jobTemplate/spec/template"),
        ("podtemplates", "/template"),
    ] {
        let wrap = |spec: Value| {
            path.rsplit('/')
                .filter(|segment| !segment.is_empty())
                .fold(spec, |value, segment| json!({segment: value}))
        };
        check(
            plural,
            wrap(containers(old.clone())),
            wrap(containers(patch.clone())),
            wrap(containers(wanted.clone())),
        );
    }
}

#[test]
fn lists_without_a_key_are_replaced() {
    let tolerations = |items: Value| json!({"spec": {"tolerations": items}});
    check(
        "pods",
        tolerations(json!([{"key": "a"}, {"key": "b"}])),
        tolerations(json!([{"key": "c"}])),
        tolerations(json!([{"key": "c"}])),
    );
}

#[test]
fn other_resources_have_rules_of_their_own() {
    check(
        "services",
        json!({"spec": {"ports": [{"port": 80, "nodePort": 30000}]}}),
        json!({"spec": {"ports": [{"port": 443}, {"port": 80, "name": "http"}]}}),
        json!({"spec": {"ports": [{"port": 443}, {"port": 80, "nodePort": 30000, "name": "http"}]}}),
    );
    check(
        "nodes",
        json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "r"}]}}),
        json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}),
        json!({"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "r"}]}}),
    );
    check(
        "configmaps",
        json!({"metadata": {"ownerReferences": [{"uid": "1", "name": "a"}], "finalizers": ["a/b"]}}),
        json!({"metadata": {"ownerReferences": [{"uid": "1", "controller": true}], "finalizers": ["c/d", "a/b"]}}),
        json!({"metadata": {
            "ownerReferences": [{"uid": "1", "name": "a", "controller": true}],
            "finalizers": ["c/d", "a/b"],
        }}),
    );
    assert_eq!(
        ListRules::of(&def("customresourcedefinitions")).rule(&["status", "conditions"]),
        ListRule::Atomic
    );
}

#[test]
fn items_and_objects_are_deleted_and_replaced_by_directives() {
    let old = json!([{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]);
    check(
        "pods",
        containers(old.clone()),
        containers(json!([{"name": "a", "$patch": "delete"}])),
        containers(json!([{"name": "b", "image": "1"}])),
    );
    check(
        "pods",
        containers(old),
        containers(json!([{"$patch": "replace"}, {"name": "c", "image": "1"}])),
        containers(json!([{"name": "c", "image": "1"}])),
    );
    check(
        "pods",
        json!({"spec": {"nodeSelector": {"a": "b", "c": "d"}, "securityContext": {"runAsUser": 1}}}),
        json!({"spec": {
            "nodeSelector": {"$patch": "replace", "e": "f"},
            "securityContext": {"$patch": "delete"},
            "affinity": {"$patch": "delete"},
            "overhead": {"$patch": "replace", "cpu": "1"},
        }}),
        json!({"spec": {"nodeSelector": {"e": "f"}, "securityContext": {}}}),
    );
}

#[test]
fn fields_that_are_not_retained_go() {
    check(
        "deployments",
        json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}),
        json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": null}}}),
        json!({"spec": {"strategy": {"type": "Recreate"}}}),
    );
    let volumes = |items: Value| json!({"spec": {"volumes": items}});
    check(
        "pods",
        volumes(json!([{"name": "v", "emptyDir": {}}])),
        volumes(json!([{"name": "v", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}])),
        volumes(json!([{"name": "v", "secret": {"secretName": "s"}}])),
    );
}

#[test]
fn the_order_of_elements_is_kept() {
    let names = |names: &[&str]| -> Value { names.iter().map(|name| json!({"name": name})).collect() };
    let ordered = |order: &[&str], patch: Value| json!({"spec": {"$setElementOrder/containers": names(order), "containers": patch}});
    check(
        "pods",
        containers(names(&["sidecar", "b", "a"])),
        ordered(&["a", "b", "c"], names(&["c"])),
        containers(names(&["sidecar", "a", "b", "c"])),
    );
    // Only the order is new.
    check(
        "pods",
        containers(names(&["b", "a"])),
        json!({"spec": {"$setElementOrder/containers": names(&["a", "b"])}}),
        containers(names(&["a", "b"])),
    );
    check(
        "configmaps",
        json!({"metadata": {"finalizers": ["x", "y", "z"]}}),
        json!({"metadata": {
            "$deleteFromPrimitiveList/finalizers": ["y"],
            "$setElementOrder/finalizers": ["w", "z"],
            "finalizers": ["w"],
        }}),
        json!({"metadata": {"finalizers": ["w", "x", "z"]}}),
    );
}

#[test]
fn broken_patches_are_refused() {
    let old = containers(json!([{"name": "a"}]));
    for (patch, code, words) in [
        (containers(json!([{"image": "y"}])), 500, "does not contain declared merge key: name"),
        (containers(json!(["y"])), 500, "list element types are not identical"),
        (containers(json!({"a": 1})), 422, "cannot restore slice from map"),
        (json!({"spec": {"$patch": "nope"}}), 500, "unknown patch type"),
        (json!({"spec": {"$retainKeys": ["a"], "hostNetwork": true}}), 400, "retainKeys"),
        (
            json!({"spec": {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "b"}]}}),
            500,
            "$setElementOrder",
        ),
    ] {
        let status = patched("pods", old.clone(), patch.clone()).unwrap_err();
        assert_eq!(status.code(), code, "{patch}: {status}");
        assert!(status.message().contains(words), "{patch}: {status}");
    }
}
