use super::*;

fn crd(scope: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": scope,
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}},
                {"name": "v2", "served": false, "storage": false},
            ],
        },
    })
}

fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"a": 1}})
}

#[test]
fn preconditions_guard_deletions() {
    let mut harness = Harness::new();
    let old = harness.config_map("a", "x");
    let target = harness.target("configmaps", "a");
    let uid = DeleteOptions { uid: Some("other".to_owned()), ..DELETE };
    let error = harness.store.delete(&target, &uid).unwrap_err();
    assert_eq!((error.code(), error.reason()), (409, "Conflict"));
    let version = DeleteOptions { version: Some("1".to_owned()), ..DELETE };
    let error = harness.store.delete(&target, &version).unwrap_err();
    let problem = format!(
        "Operation cannot be fulfilled on ConfigMap \"a\": the ResourceVersion in the precondition (1) does not match \
         the ResourceVersion in record ({}). The object might have been modified",
        old.revision
    );
    assert_eq!(error.message(), problem);
    let right =
        DeleteOptions { uid: Some(old.uid().to_owned()), version: Some(old.revision.to_string()), ..DELETE };
    assert!(matches!(harness.store.delete(&target, &right), Ok(Deleted::Gone(_))));
    assert_eq!(harness.store.delete(&target, &DELETE).unwrap_err().code(), 404);
}

#[test]
fn finalizers_hold_an_object() {
    let mut harness = Harness::new();
    let start = harness.store.revision();
    let value = json!({"metadata": {"name": "a", "finalizers": ["x.io/f"]}});
    harness.create("configmaps", value).unwrap();
    let options = WatchOptions { version: Some(start), ..WatchOptions::default() };
    let mut watch = harness.watch(&options);
    let Ok(Deleted::Object(waiting)) = harness.delete("configmaps", "a") else {
        panic!("it has a finalizer")
    };
    assert!(waiting.is_terminating());
    assert_eq!(waiting.value["metadata"]["deletionGracePeriodSeconds"], 0);
    // A second deletion changes nothing.
    harness.delete("configmaps", "a").unwrap();
    let error =
        harness.patch("configmaps", "a", json!({"metadata": {"finalizers": ["y.io/new"]}})).unwrap_err();
    assert_eq!(error.code(), 422);
    assert!(error.message().contains("found new finalizers []string{\"y.io/new\"}"), "{error}");
    harness.patch("configmaps", "a", json!({"metadata": {"finalizers": null}})).unwrap();
    assert!(harness.get("configmaps", "a").is_none());
    let expected = [
        format!("ADDED a@{}", start + 1),
        format!("MODIFIED a@{}", start + 2),
        format!("DELETED a@{}", start + 3),
    ];
    assert_eq!(harness.frames(&mut watch), expected);
}

#[test]
fn a_selection_is_deleted_at_once() {
    let mut harness = Harness::new();
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x")] {
        harness.config_map(name, app);
    }
    let (def, selection) = (harness.def("configmaps"), harness.selection("app=x", ""));
    let deleted = harness.store.delete_collection(&def, &selection, &DELETE).unwrap();
    assert_eq!(names(&deleted), ["a", "c"]);
    assert_eq!(names(&harness.store.objects(&def)), ["b"]);
}

#[test]
fn a_precondition_holds_for_each_object_of_a_selection() {
    let mut harness = Harness::new();
    for name in ["a", "b", "c"] {
        harness.config_map(name, "x");
    }
    let (def, selection) = (harness.def("configmaps"), harness.selection("", ""));
    let uid = harness.get("configmaps", "a").unwrap().uid().to_owned();
    let only_a = DeleteOptions { uid: Some(uid), ..DELETE };
    let checked = DeleteOptions { dry_run: true, ..only_a.clone() };
    for (options, left) in [(checked, vec!["a", "b", "c"]), (only_a, vec!["b", "c"])] {
        let error = harness.store.delete_collection(&def, &selection, &options).unwrap_err();
        assert_eq!((error.code(), error.reason()), (409, "Conflict"));
        assert!(error.message().contains("does not match the UID in record"), "{error}");
        assert_eq!(names(&harness.store.objects(&def)), left);
    }
    let checked = DeleteOptions { dry_run: true, ..DELETE };
    assert_eq!(harness.store.delete_collection(&def, &selection, &checked).unwrap().len(), 2);
    assert_eq!(harness.store.objects(&def).len(), 2);
}

#[test]
fn a_namespace_takes_its_contents_along() {
    let mut harness = Harness::new();
    harness.create("namespaces", json!({"metadata": {"name": "shop"}})).unwrap();
    let target = Target { namespace: "shop".to_owned(), ..harness.target("configmaps", "") };
    harness.store.create(&target, json!({"metadata": {"name": "a"}}), OPTIONS).unwrap();
    let held = json!({"metadata": {"name": "held", "finalizers": ["x.io/f"]}});
    harness.store.create(&target, held, OPTIONS).unwrap();
    harness.config_map("elsewhere", "x");

    harness.delete("namespaces", "shop").unwrap();
    let namespace = harness.get("namespaces", "shop").unwrap();
    assert_eq!(namespace.value["status"]["phase"], "Terminating");
    let objects = harness.store.objects(&target.def);
    assert_eq!(names(&objects), ["elsewhere", "held"]);
    let error = harness.store.create(&target, json!({"metadata": {"name": "b"}}), OPTIONS).unwrap_err();
    assert_eq!((error.code(), error.reason()), (403, "Forbidden"));
    assert_eq!(error.to_json()["details"]["causes"][0]["reason"], "NamespaceTerminating");

    let held = Target { name: "held".to_owned(), ..target };
    harness.store.patch(&held, &Patch::Merge(json!({"metadata": {"finalizers": []}})), OPTIONS).unwrap();
    assert!(harness.get("namespaces", "shop").is_none());
    assert_eq!(names(&harness.store.objects(&held.def)), ["elsewhere"]);
}

#[test]
fn a_definition_makes_and_unmakes_a_resource() {
    let mut harness = Harness::new();
    harness.create("customresourcedefinitions", crd("Namespaced")).unwrap();
    let stored = harness.get("customresourcedefinitions", "widgets.example.com").unwrap();
    let conditions = stored.value["status"]["conditions"].as_array().unwrap();
    assert!(
        conditions
            .iter()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
    );
    assert_eq!(stored.value["spec"]["names"]["listKind"], "WidgetList");
    assert!(harness.store.resource("example.com", "v2", "widgets").is_none(), "it is not served");

    let created = harness.create("widgets", widget("w")).unwrap();
    assert_eq!(created.value["metadata"]["generation"], 1);
    let def = harness.def("widgets");
    let mut watch =
        harness.store.watch(&def, &WatchOptions { version: Some(1), ..Default::default() }).unwrap();
    assert!(harness.frames(&mut watch)[0].starts_with("ERROR 410"), "the resource is younger");
    let options = WatchOptions { version: Some(created.revision), ..Default::default() };
    let mut watch = harness.store.watch(&def, &options).unwrap();

    harness.delete("customresourcedefinitions", "widgets.example.com").unwrap();
    assert!(harness.store.resource("example.com", "v1", "widgets").is_none());
    assert!(harness.get("customresourcedefinitions", "widgets.example.com").is_none());
    assert_eq!(harness.frames(&mut watch), [format!("DELETED w@{}", created.revision + 2), "END".to_owned()]);
    assert_eq!(harness.frames(&mut watch), ["END"]);

    harness.create("customresourcedefinitions", crd("Namespaced")).unwrap();
    assert!(harness.store.objects(&def).is_empty());
    assert_eq!(harness.frames(&mut watch), ["END"], "a new resource is not the old one");
}

#[test]
fn custom_objects_say_what_they_are() {
    let mut harness = Harness::new();
    harness.create("customresourcedefinitions", crd("Cluster")).unwrap();
    let error = harness.create("widgets", json!({"metadata": {"name": "w"}})).unwrap_err();
    assert!(error.code() == 400 && error.message().contains("Object 'Kind' is missing"), "{error}");
    let other = json!({"apiVersion": "example.com/v1", "kind": "Other", "metadata": {"name": "w"}});
    let error = harness.create("widgets", other).unwrap_err();
    let problem = "Other.example.com \"w\" is invalid: kind: Invalid value: \"Other\": must be Widget";
    assert_eq!((error.code(), error.message()), (422, problem));

    harness.create("widgets", widget("w")).unwrap();
    let target = harness.target("widgets", "w");
    let error = harness.store.update(&target, widget("w"), OPTIONS).unwrap_err();
    let problem = "widgets.example.com \"w\" is invalid: metadata.resourceVersion: Invalid value: 0: must be \
                   specified for an update";
    assert_eq!((error.code(), error.message()), (422, problem));
}

#[test]
fn definitions_are_checked() {
    let mut harness = Harness::new();
    let mut wrong_name = crd("Cluster");
    wrong_name["metadata"]["name"] = json!("other");
    let mut wrong_scope = crd("Galaxy");
    wrong_scope["spec"]["scope"] = json!("Galaxy");
    let mut no_versions = crd("Cluster");
    no_versions["spec"]["versions"] = json!([]);
    let mut taken = crd("Cluster");
    taken["metadata"]["name"] = json!("deployments.apps");
    taken["spec"]["group"] = json!("apps");
    taken["spec"]["names"]["plural"] = json!("deployments");
    for (value, field) in [
        (wrong_name, "metadata.name"),
        (wrong_scope, "spec.scope"),
        (no_versions, "spec.versions"),
        (taken, "spec.names.plural"),
    ] {
        let error = harness.create("customresourcedefinitions", value).unwrap_err();
        assert_eq!(error.code(), 422);
        assert_eq!(error.to_json()["details"]["causes"][0]["field"], field);
    }
}

#[test]
fn a_finalizer_of_a_definition_keeps_the_resource() {
    let mut harness = Harness::new();
    let mut held = crd("Cluster");
    held["metadata"]["finalizers"] = json!(["x.io/f"]);
    harness.create("customresourcedefinitions", held).unwrap();
    harness.create("widgets", widget("w")).unwrap();
    harness.delete("customresourcedefinitions", "widgets.example.com").unwrap();
    assert!(harness.get("widgets", "w").is_none());
    assert!(harness.store.resource("example.com", "v1", "widgets").is_some());
    let free = json!({"metadata": {"finalizers": null}});
    harness.patch("customresourcedefinitions", "widgets.example.com", free).unwrap();
    assert!(harness.store.resource("example.com", "v1", "widgets").is_none());
    assert!(harness.get("customresourcedefinitions", "widgets.example.com").is_none());
}

#[test]
fn the_deletion_of_a_pod_is_announced() {
    let mut harness = Harness::new();
    let created = harness.create("pods", json!({"metadata": {"name": "p"}})).unwrap().revision;
    let options = WatchOptions { version: Some(created), ..WatchOptions::default() };
    let mut watch = harness.store.watch(&harness.def("pods"), &options).unwrap();
    let Ok(Deleted::Object(last)) = harness.delete("pods", "p") else { panic!("pods are answered whole") };
    assert_eq!((last.revision, last.value["metadata"]["generation"].as_u64()), (created + 2, Some(2)));
    assert!(last.is_terminating());
    let expected = [format!("MODIFIED p@{}", created + 1), format!("DELETED p@{}", created + 2)];
    assert_eq!(harness.frames(&mut watch), expected);
    assert!(harness.get("pods", "p").is_none());
}
