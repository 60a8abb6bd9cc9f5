//! What the columns show. The wanted cells are those of kube-apiserver 1.37 for the same objects.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]
#![allow(clippy::needless_pass_by_value, reason = "objects are written where they are passed")]

use std::time::{Duration, UNIX_EPOCH};

use informers_core::{ResourceScope, ResourceType};
use serde_json::{Value, json};

use super::Printer;
use crate::store::{PrinterColumn, ResourceDef, Store, StoreConfig};

const CREATED: &str = "1970-01-01T00:00:00Z";

fn def(group: &str, plural: &str) -> ResourceDef {
    let config = StoreConfig { seed: 1, history_limit: 1, check_namespaces: false };
    let store = Store::new(config, UNIX_EPOCH);
    let found = store.collections().find(|found| found.def.group == group && found.def.plural == plural);
    (*found.unwrap_or_else(|| panic!("no {plural}")).def).clone()
}

/// The cells of an object that is 90 seconds old.
fn cells(printer: &Printer, mut object: Value) -> Value {
    object["metadata"]["name"] = json!("n");
    object["metadata"]["creationTimestamp"] = json!(CREATED);
    let now = UNIX_EPOCH + Duration::from_secs(90);
    Value::Array(printer.cells(object.as_object().unwrap(), now))
}

#[track_caller]
fn check(group: &str, plural: &str, object: Value, wanted: Value) {
    let def = def(group, plural);
    let printer = Printer::new(&def, &def.versions[0].name);
    assert_eq!(printer.columns().as_array().unwrap().len(), wanted.as_array().unwrap().len());
    assert_eq!(cells(&printer, object), wanted, "{plural}");
}

#[track_caller]
fn check_pod(spec: Value, status: Value, metadata: Value, wanted: [&str; 3]) {
    let def = def("", "pods");
    let object = json!({"spec": spec, "status": status, "metadata": metadata});
    let cells = cells(&Printer::new(&def, "v1"), object);
    let shown: Vec<_> = cells.as_array().unwrap()[1..4].iter().map(|cell| cell.as_str().unwrap()).collect();
    assert_eq!(shown, wanted);
}

#[test]
fn pods_tell_what_their_containers_do() {
    let one = json!({"containers": [{"name": "a"}]});
    check_pod(one.clone(), json!({"phase": "Pending"}), json!({}), ["0/1", "Pending", "0"]);
    check_pod(
        one.clone(),
        json!({"phase": "Running", "containerStatuses": [
            {"name": "a", "ready": true, "restartCount": 2, "state": {"running": {}},
             "lastState": {"terminated": {"finishedAt": "1970-01-01T00:01:00Z"}}},
        ]}),
        json!({}),
        ["1/1", "Running", "2 (30s ago)"],
    );
    check_pod(
        one.clone(),
        json!({"phase": "Running", "containerStatuses": [
            {"name": "a", "ready": false, "restartCount": 0, "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
        ]}),
        json!({}),
        ["0/1", "CrashLoopBackOff", "0"],
    );
    for (terminated, word) in [
        (json!({"exitCode": 0, "reason": "Completed"}), "Completed"),
        (json!({"exitCode": 3}), "ExitCode:3"),
        (json!({"exitCode": 137, "signal": 9}), "Signal:9"),
    ] {
        check_pod(
            one.clone(),
            json!({"phase": "Succeeded", "containerStatuses": [{"name": "a", "state": {"terminated": terminated}}]}),
            json!({}),
            ["0/1", word, "0"],
        );
    }
    check_pod(
        json!({"containers": [{"name": "a"}], "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]}),
        json!({"phase": "Pending", "initContainerStatuses": [
            {"name": "i", "restartCount": 1, "state": {"terminated": {"exitCode": 0}}},
            {"name": "s", "state": {"waiting": {"reason": "PodInitializing"}}},
        ]}),
        json!({}),
        ["0/2", "Init:1/2", "1"],
    );
    check_pod(
        one.clone(),
        json!({"phase": "Running"}),
        json!({"deletionTimestamp": CREATED}),
        ["0/1", "Terminating", "0"],
    );
    check_pod(one, json!({"phase": "Failed", "reason": "Evicted"}), json!({}), ["0/1", "Evicted", "0"]);
}

#[test]
fn pods_have_wide_columns() {
    check(
        "",
        "pods",
        json!({
            "spec": {"nodeName": "node-1", "readinessGates": [{"conditionType": "g"}]},
            "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "g", "status": "True"}]},
        }),
        json!(["n", "0/0", "Running", "0", "90s", "10.0.0.1", "node-1", "<none>", "1/1"]),
    );
}

#[test]
fn workloads_are_counted() {
    let template =
        json!({"spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]}});
    let selector = json!({"matchLabels": {"app": "web"}});
    check(
        "apps",
        "deployments",
        json!({
            "spec": {"replicas": 3, "selector": selector, "template": template},
            "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
        }),
        json!(["n", "1/3", 2, 1, "90s", "a,b", "i,j", "app=web"]),
    );
    check(
        "apps",
        "replicasets",
        json!({"spec": {"replicas": 3, "selector": selector, "template": template}, "status": {"replicas": 2}}),
        json!(["n", 3, 2, 0, "90s", "a,b", "i,j", "app=web"]),
    );
    check(
        "apps",
        "statefulsets",
        json!({"spec": {"replicas": 3, "template": template}}),
        json!(["n", "0/3", "90s", "a,b", "i,j"]),
    );
    check(
        "batch",
        "jobs",
        json!({
            "spec": {"completions": 2},
            "status": {"succeeded": 1, "startTime": CREATED, "conditions": [{"type": "Failed", "status": "True"}]},
        }),
        json!(["n", "Failed", "1/2", "90s", "90s", "", "", "<none>"]),
    );
}

#[test]
fn the_cluster_is_shown() {
    check(
        "",
        "nodes",
        json!({
            "metadata": {"labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""}},
            "spec": {"unschedulable": true},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kubeletVersion": "v1.37.0", "kernelVersion": "6.1", "architecture": "arm64"},
            },
        }),
        json!([
            "n",
            "Ready,SchedulingDisabled",
            "control-plane,worker",
            "90s",
            "v1.37.0",
            "10.0.0.1",
            "<none>",
            "<unknown>",
            "6.1 (arm64)",
            "<unknown>",
        ]),
    );
    check("", "namespaces", json!({"status": {"phase": "Active"}}), json!(["n", "Active", "90s"]));
    check(
        "",
        "services",
        json!({"spec": {
            "type": "LoadBalancer", "clusterIP": "10.0.0.1", "selector": {"app": "web"},
            "ports": [{"port": 80, "nodePort": 30000, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
        }}),
        json!(["n", "LoadBalancer", "10.0.0.1", "<pending>", "80:30000/TCP,53/UDP", "90s", "app=web"]),
    );
    check(
        "",
        "events",
        json!({
            "lastTimestamp": "1970-01-01T00:01:20Z", "type": "Normal", "reason": "Started", "message": "up\n",
            "involvedObject": {"kind": "Pod", "name": "p"}, "count": 4,
        }),
        json!(["10s", "Normal", "Started", "pod/p", "", "", "up", "<unknown>", 4, "n"]),
    );
}

#[test]
fn configuration_is_counted() {
    check("", "configmaps", json!({"data": {"a": "b"}, "binaryData": {"c": ""}}), json!(["n", 2, "90s"]));
    check("", "secrets", json!({"type": "Opaque", "data": {"a": "b"}}), json!(["n", "Opaque", 1, "90s"]));
    check("", "serviceaccounts", json!({}), json!(["n", "90s"]));
    check("rbac.authorization.k8s.io", "roles", json!({}), json!(["n", CREATED]));
    check(
        "",
        "persistentvolumeclaims",
        json!({
            "spec": {"volumeName": "v", "storageClassName": "fast"},
            "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
        }),
        json!(["n", "Bound", "v", "1Gi", "RWO", "fast", "<unset>", "90s", "<unset>"]),
    );
}

#[test]
fn custom_resources_show_what_their_definition_says() {
    let widgets = ResourceType::new("example.com", "v1", "Widget", "widgets", ResourceScope::Namespaced);
    let mut def = ResourceDef::custom(&widgets);
    assert_eq!(cells(&Printer::new(&def, "v1"), json!({})), json!(["n", "90s"]));

    let column = |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path});
    def.versions[0].columns = PrinterColumn::of_version(&json!({"additionalPrinterColumns": [
        column("Size", "integer", ".spec.size"),
        column("Ready", "string", ".status.conditions[?(@.type==\"Ready\")].status"),
        column("Age", "date", ".metadata.creationTimestamp"),
        column("Count", "string", ".spec.size"),
        column("Wrong", "integer", ".spec.name"),
        column("Missing", "string", ".spec.nope"),
    ]}));
    let printer = Printer::new(&def, "v1");
    assert_eq!(printer.columns()[1]["name"], "Size");
    let object = json!({
        "spec": {"size": 3, "name": "x"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    assert_eq!(cells(&printer, object), json!(["n", 3, "True", "90s", "3", null, null]));
}
