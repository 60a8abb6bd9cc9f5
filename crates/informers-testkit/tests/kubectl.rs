//! A stock kubectl against the embedded server. Where there is no kubectl the tests say so and pass.
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod kubectl_runner;

use informers_core::{ResourceScope, ResourceType};
use kubectl_runner::Kubectl;
use serde_json::{Value, json};

/// A server with a kubectl for it; returns from the test if there is none.
macro_rules! kubectl {
    () => {
        match Kubectl::start().await {
            Some(kubectl) => kubectl,
            None => {
                eprintln!("skipped: no kubectl");
                return;
            }
        }
    };
}

fn deployments() -> ResourceType {
    ResourceType::new("apps", "v1", "Deployment", "deployments", ResourceScope::Namespaced)
}

fn config_maps() -> ResourceType {
    ResourceType::new("", "v1", "ConfigMap", "configmaps", ResourceScope::Namespaced)
}

fn deployment(containers: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}},
        },
    })
}

#[tokio::test]
async fn discovery_names_resources_and_versions() {
    let kubectl = kubectl!();
    let version: Value = serde_json::from_str(&kubectl.run(&["version", "-o", "json"]).await).unwrap();
    assert_eq!(version["serverVersion"]["minor"], "37");
    let resources = kubectl.run(&["api-resources", "--no-headers"]).await;
    let line = |kind: &str| -> Vec<&str> {
        let line = resources.lines().find(|line| line.ends_with(&format!(" {kind}")));
        line.unwrap_or_else(|| panic!("no {kind} in {resources}")).split_whitespace().collect()
    };
    assert_eq!(line("Deployment"), ["deployments", "deploy", "apps/v1", "true", "Deployment"]);
    assert_eq!(line("Node"), ["nodes", "no", "v1", "false", "Node"]);
    let versions = kubectl.run(&["api-versions"]).await;
    assert!(versions.lines().any(|version| version == "coordination.k8s.io/v1"), "{versions}");
}

#[tokio::test]
async fn get_shows_tables() {
    let kubectl = kubectl!();
    kubectl.server.create(deployment(&json!([{"name": "a", "image": "a:1"}]))).unwrap();
    kubectl
        .server
        .create(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0"},
            "spec": {"nodeName": "node-1", "containers": [{"name": "a"}]},
            "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.7"}]},
        }))
        .unwrap();
    let cells = |text: String| -> Vec<Vec<String>> {
        text.lines()
            .map(|line| {
                line.split("  ").map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned).collect()
            })
            .collect()
    };
    let pods = cells(kubectl.run(&["get", "pods"]).await);
    assert_eq!(pods[0], ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
    assert_eq!(pods[1][..4], ["web-0", "0/1", "Running", "0"]);
    let wide = cells(kubectl.run(&["get", "pod", "web-0", "-o", "wide"]).await);
    assert_eq!(wide[0][5..], ["IP", "NODE", "NOMINATED NODE", "READINESS GATES"]);
    assert_eq!(wide[1][5..], ["10.0.0.7", "node-1", "<none>", "<none>"]);
    let deployments = cells(kubectl.run(&["get", "deploy", "-o", "wide"]).await);
    assert_eq!(
        deployments[0],
        ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
    );
    assert_eq!(deployments[1][..4], ["web", "0/2", "0", "0"]);
    assert_eq!(deployments[1][5..], ["a", "a:1", "app=web"]);
    let namespaces = cells(kubectl.run(&["get", "namespaces"]).await);
    assert_eq!(namespaces[1][..2], ["default", "Active"]);
    let all = kubectl.run(&["get", "all", "-o", "name"]).await;
    assert_eq!(all, "pod/web-0\ndeployment.apps/web\n");

    let yaml = kubectl.run(&["get", "pod", "web-0", "-o", "yaml"]).await;
    assert!(yaml.starts_with("apiVersion: v1\nkind: Pod\nmetadata:\n"), "{yaml}");
    assert!(yaml.contains("  nodeName: node-1\n"), "{yaml}");
    assert_eq!(
        kubectl.fail(&["get", "pod", "nope"]).await,
        "Error from server (NotFound): pods \"nope\" not found\n"
    );
}

#[tokio::test]
async fn definitions_have_columns_of_their_own() {
    let kubectl = kubectl!();
    let columns = json!([{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]);
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                "subresources": {"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
                "additionalPrinterColumns": columns,
            }],
        },
    });
    kubectl.apply(&crd).await;
    let widget = |size: u32| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": size}});
    assert_eq!(kubectl.apply(&widget(3)).await, "widget.example.com/w created\n");
    assert_eq!(kubectl.run(&["get", "wd"]).await, "NAME   SIZE\nw      3\n");
    assert_eq!(kubectl.apply(&widget(4)).await, "widget.example.com/w configured\n");
    assert_eq!(kubectl.run(&["scale", "wd/w", "--replicas=5"]).await, "widget.example.com/w scaled\n");
    assert_eq!(kubectl.run(&["get", "widgets"]).await, "NAME   SIZE\nw      5\n");
    let refused = kubectl.fail(&["patch", "wd", "w", "--type=strategic", "-p", "{}"]).await;
    assert!(refused.contains("strategic-merge-patch+json is not supported"), "{refused}");
}

#[tokio::test]
async fn apply_changes_what_changed() {
    let kubectl = kubectl!();
    let server = &kubectl.server;
    let first = json!([
        {"name": "a", "image": "a:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        {"name": "b", "image": "b:1"},
    ]);
    assert_eq!(kubectl.apply(&deployment(&first)).await, "deployment.apps/web created\n");
    // What somebody else has added stays; what is no longer applied goes.
    let injected = json!({"spec": {"template": {"spec": {"serviceAccountName": "robot"}}}});
    server.patch(&deployments(), Some("default"), "web", injected).unwrap();
    let second = json!([
        {"name": "c", "image": "c:1"},
        {"name": "a", "image": "a:2", "env": [{"name": "A", "value": "3"}]},
    ]);
    assert_eq!(kubectl.apply(&deployment(&second)).await, "deployment.apps/web configured\n");
    let stored = server.get(&deployments(), Some("default"), "web").unwrap();
    let spec = &stored["spec"]["template"]["spec"];
    assert_eq!(spec["containers"], second);
    assert_eq!(spec["serviceAccountName"], "robot");
    let revision = server.revision();
    assert_eq!(kubectl.apply(&deployment(&second)).await, "deployment.apps/web unchanged\n");
    assert_eq!(server.revision(), revision);
    let patches = server.requests();
    let patch = patches.iter().find(|request| request.to_string().starts_with("PATCH")).unwrap();
    assert!(patch.query_parameter("fieldValidation").is_some(), "{patch}");
}

#[tokio::test]
async fn objects_are_created_with_and_without_validation() {
    let kubectl = kubectl!();
    for (name, validate) in [("a", "--validate=true"), ("b", "--validate=false"), ("c", "--validate=warn")] {
        let file = kubectl.file(&json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"},
        }));
        let created = kubectl.run(&["create", "-f", &file, validate]).await;
        assert_eq!(created, format!("configmap/{name} created\n"));
        assert!(kubectl.fail(&["create", "-f", &file]).await.contains("AlreadyExists"));
    }
    assert_eq!(kubectl.server.list(&config_maps(), None).len(), 3);
}

#[tokio::test]
async fn server_side_apply_has_owners() {
    let kubectl = kubectl!();
    let object = |value: &str| {
        kubectl.file(&json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": value},
        }))
    };
    let (v, w) = (object("v"), object("w"));
    let apply = ["apply", "--server-side", "-f"];
    let run =
        |more: &[&str]| -> Vec<String> { apply.iter().chain(more).map(|&text| text.to_owned()).collect() };
    assert_eq!(kubectl.run(&run(&[&v])).await, "configmap/a serverside-applied\n");
    let conflict = kubectl.fail(&run(&[&w, "--field-manager=other"])).await;
    assert!(conflict.contains("conflict with \"kubectl\": .data.k"), "{conflict}");
    kubectl.run(&run(&[&w, "--field-manager=other", "--force-conflicts"])).await;
    let stored = kubectl.server.get(&config_maps(), Some("default"), "a").unwrap();
    assert_eq!(stored["data"]["k"], "w");
    assert_eq!(stored["metadata"]["managedFields"][0]["manager"], "other");
}

#[tokio::test]
async fn metadata_and_specifications_are_patched() {
    let kubectl = kubectl!();
    let server = &kubectl.server;
    server.create(deployment(&json!([{"name": "a", "image": "a:1"}]))).unwrap();
    kubectl.run(&["label", "deploy", "web", "tier=front", "app-"]).await;
    kubectl.run(&["annotate", "deploy/web", "note=hello"]).await;
    let strategic = r#"{"spec":{"template":{"spec":{"containers":[{"name":"b","image":"b:1"}]}}}}"#;
    kubectl.run(&["patch", "deploy", "web", "-p", strategic]).await;
    kubectl.run(&["patch", "deploy", "web", "--type=merge", "-p", r#"{"spec":{"paused":true}}"#]).await;
    let operations = r#"[{"op":"replace","path":"/spec/paused","value":false}]"#;
    kubectl.run(&["patch", "deploy", "web", "--type=json", "-p", operations]).await;
    kubectl.run(&["set", "image", "deploy/web", "a=a:2"]).await;
    let stored = server.get(&deployments(), Some("default"), "web").unwrap();
    assert_eq!(stored["metadata"]["labels"], json!({"tier": "front"}));
    assert_eq!(stored["metadata"]["annotations"]["note"], "hello");
    assert_eq!(stored["spec"]["paused"], false);
    let containers = &stored["spec"]["template"]["spec"]["containers"];
    let images: Vec<_> = containers.as_array().unwrap().iter().map(|container| &container["image"]).collect();
    assert_eq!((images.len(), images.contains(&&json!("a:2"))), (2, true), "{containers}");
}

#[tokio::test]
async fn workloads_are_scaled_and_deleted() {
    let kubectl = kubectl!();
    let server = &kubectl.server;
    server.create(deployment(&json!([{"name": "a", "image": "a:1"}]))).unwrap();
    let scaled = kubectl.run(&["scale", "deploy/web", "--replicas=5", "--current-replicas=2"]).await;
    assert_eq!(scaled, "deployment.apps/web scaled\n");
    assert_eq!(server.get(&deployments(), Some("default"), "web").unwrap()["spec"]["replicas"], 5);
    assert_eq!(kubectl.run(&["get", "deploy", "web", "-o", "jsonpath={.spec.replicas}"]).await, "5");
    let deleted = kubectl.run(&["delete", "deploy", "web"]).await;
    assert!(deleted.starts_with("deployment.apps \"web\" deleted"), "{deleted}");
    assert_eq!(server.get(&deployments(), Some("default"), "web"), None);
    for name in ["a", "b"] {
        server.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})).unwrap();
    }
    kubectl.run(&["delete", "configmaps", "--all"]).await;
    assert!(server.list(&config_maps(), None).is_empty());
}

#[tokio::test]
async fn get_watches() {
    let kubectl = kubectl!();
    let server = &kubectl.server;
    let config_map =
        |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    server.create(config_map("a")).unwrap();
    let mut watch = kubectl.spawn(&["get", "configmaps", "-w", "--output-watch-events"]);
    let mut next = async || watch.line().await.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    assert_eq!(next().await, "EVENT NAME DATA");
    assert_eq!(next().await, "ADDED a 0");
    server.create(config_map("b")).unwrap();
    assert_eq!(next().await, "ADDED b 0");
    server.patch(&config_maps(), Some("default"), "b", json!({"data": {"k": "v"}})).unwrap();
    assert_eq!(next().await, "MODIFIED b 1");
    server.delete(&config_maps(), Some("default"), "a").unwrap();
    assert_eq!(next().await, "DELETED a 0");
}

#[tokio::test]
async fn objects_are_created_by_arguments() {
    let kubectl = kubectl!();
    for arguments in [
        &["create", "namespace", "shop"][..],
        &["create", "configmap", "c", "--from-literal=k=v"],
        &["create", "secret", "generic", "s", "--from-literal=k=v"],
        &["create", "serviceaccount", "robot"],
        &["create", "deployment", "web", "--image=web:1", "--replicas=0", "--port=80"],
        &["create", "service", "clusterip", "web", "--tcp=80:8080"],
        &["create", "job", "once", "--image=job:1", "--", "run", "it"],
        &["create", "cronjob", "often", "--image=job:1", "--schedule=* * * * *"],
        &["create", "role", "reader", "--verb=get,list", "--resource=pods"],
        &["create", "rolebinding", "readers", "--role=reader", "--user=me"],
        &["create", "clusterrole", "all", "--verb=*", "--resource=pods"],
        &["create", "quota", "few", "--hard=pods=3"],
        &["create", "pdb", "half", "--selector=app=web", "--min-available=50%"],
        &["create", "priorityclass", "high", "--value=1000"],
        &["expose", "deployment", "web", "--name=web2", "--port=80"],
        &["run", "alone", "--image=web:1"],
    ] {
        kubectl.run(arguments).await;
    }
    let shown = async |what: &[&str]| -> Value {
        let arguments: Vec<_> = ["get", "-o", "json"].iter().chain(what).copied().collect();
        serde_json::from_str(&kubectl.run(&arguments).await).unwrap()
    };
    assert_eq!(shown(&["configmap", "c"]).await["data"], json!({"k": "v"}));
    assert_eq!(shown(&["secret", "s"]).await["data"], json!({"k": "dg=="}));
    let deployment = shown(&["deployment", "web"]).await;
    assert_eq!(deployment["spec"]["replicas"], 0);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!((&container["name"], &container["image"]), (&json!("web"), &json!("web:1")));
    assert_eq!(container["ports"], json!([{"containerPort": 80}]));
    let ports = &shown(&["service", "web"]).await["spec"]["ports"];
    assert_eq!(ports[0], json!({"name": "80-8080", "protocol": "TCP", "port": 80, "targetPort": 8080}));
    let job = shown(&["job", "once"]).await;
    assert_eq!(job["spec"]["template"]["spec"]["containers"][0]["command"], json!(["run", "it"]));
    assert_eq!(shown(&["pdb", "half"]).await["spec"]["minAvailable"], "50%");
    assert_eq!(shown(&["quota", "few"]).await["spec"]["hard"], json!({"pods": "3"}));
    assert_eq!(shown(&["role", "reader"]).await["rules"][0]["verbs"], json!(["get", "list"]));
}
