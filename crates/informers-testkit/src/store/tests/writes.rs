use super::*;

fn message(result: Result<Arc<Stored>, Status>) -> (u16, String) {
    let error = result.unwrap_err();
    (error.code(), error.message().to_owned())
}

#[test]
fn a_new_object_gets_its_identity() {
    let mut harness = Harness::new();
    let value = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "uid": "mine", "creationTimestamp": "2020-01-01T00:00:00Z",
            "deletionTimestamp": "2020-01-01T00:00:00Z"},
        "data": {"k": "v"},
    });
    let stored = harness.create("configmaps", value).unwrap();
    assert_eq!(stored.namespace(), "default");
    assert_eq!(stored.text("creationTimestamp"), "1970-01-01T00:00:00Z");
    assert_eq!(stored.text("deletionTimestamp"), "");
    assert_eq!(stored.text("resourceVersion"), stored.revision.to_string());
    assert_eq!(stored.uid().len(), 36);
    assert_eq!(stored.value.get("kind"), None);
    let other = harness.config_map("b", "x");
    assert_ne!(stored.uid(), other.uid());
}

#[test]
fn what_cannot_be_created() {
    let mut harness = Harness::new();
    harness.config_map("a", "x");
    for (value, code, start) in [
        (json!({"metadata": {"name": "a"}}), 409, "configmaps \"a\" already exists"),
        (
            json!({"metadata": {}}),
            422,
            "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName",
        ),
        (
            json!({"metadata": {"name": "Bad_Name"}}),
            422,
            "ConfigMap \"Bad_Name\" is invalid: metadata.name: Invalid value",
        ),
        (json!({"metadata": {"name": "a..b"}}), 422, "ConfigMap \"a..b\" is invalid"),
        (
            json!({"metadata": {"name": "b", "namespace": "other"}}),
            400,
            "the namespace of the provided object does not",
        ),
        (
            json!({"metadata": {"name": "b", "resourceVersion": "5"}}),
            500,
            "resourceVersion should not be set on objects",
        ),
        (
            json!({"kind": "Pod", "metadata": {"name": "b"}}),
            400,
            "Pod in version \"v1\" cannot be handled as a ConfigMap",
        ),
        (
            json!({"metadata": {"name": "b", "labels": {"x": 1}}}),
            400,
            "ConfigMap in version \"v1\" cannot be handled",
        ),
        (json!([]), 400, "the object provided is unrecognized (must be of type ConfigMap)"),
    ] {
        let (given, text) = message(harness.create("configmaps", value));
        assert!(given == code && text.starts_with(start), "{given} {text}");
    }
    let before = harness.store.revision();
    let target = Target { namespace: "nowhere".to_owned(), ..harness.target("configmaps", "") };
    let result = harness.store.create(&target, json!({"metadata": {"name": "b"}}), OPTIONS);
    assert_eq!(message(result), (404, "namespaces \"nowhere\" not found".to_owned()));
    assert_eq!(harness.store.revision(), before);
}

#[test]
fn names_are_generated_and_repeatable() {
    let run = || {
        let mut harness = Harness::new();
        let create = |harness: &mut Harness| {
            harness.create("pods", json!({"metadata": {"generateName": "web-"}})).unwrap().name().to_owned()
        };
        (create(&mut harness), create(&mut harness))
    };
    let (first, second) = run();
    assert_ne!(first, second);
    assert!(first.starts_with("web-") && first.len() == 9, "{first}");
    assert_eq!(run(), (first, second));
}

#[test]
fn updates_respect_versions_and_uids() {
    let mut harness = Harness::new();
    let old = harness.config_map("a", "x");
    let target = harness.target("configmaps", "a");
    let mut update = |metadata: Value| {
        let value = json!({"metadata": metadata, "data": {"k": old.revision}});
        harness.store.update(&target, value, OPTIONS)
    };
    let meanwhile = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply \
                     your changes to the latest version and try again";
    assert_eq!(message(update(json!({"name": "a", "resourceVersion": "1"}))), (409, meanwhile.to_owned()));
    assert_eq!(message(update(json!({"name": "a", "resourceVersion": "x"}))).0, 500);
    assert_eq!(message(update(json!({"name": "a", "uid": "other"}))).0, 409);
    let (code, text) = message(update(json!({"name": "b"})));
    assert_eq!(
        (code, text.as_str()),
        (400, "the name of the object (b) does not match the name on the URL (a)")
    );
    assert_eq!(message(update(json!({}))).0, 400);

    let unconditional = update(json!({"name": "a"})).unwrap();
    assert_eq!(unconditional.revision, old.revision + 1);
    assert_eq!((unconditional.uid(), unconditional.label("app")), (old.uid(), None));
    let same = update(json!({"name": "a", "resourceVersion": unconditional.revision.to_string()})).unwrap();
    assert_eq!(same.revision, unconditional.revision);
    let missing = harness.target("configmaps", "nope");
    let result = harness.store.update(&missing, json!({"metadata": {"name": "nope"}}), OPTIONS);
    assert_eq!(message(result).0, 404);
}

#[test]
fn status_and_specification_are_apart() {
    let mut harness = Harness::new();
    let value = json!({"metadata": {"name": "d"}, "spec": {"replicas": 1}, "status": {"replicas": 4}});
    let created = harness.create("deployments", value).unwrap();
    assert_eq!(created.value["status"], json!({}));
    let generation = |stored: &Stored| stored.value["metadata"]["generation"].as_u64();
    assert_eq!(generation(&created), Some(1));

    let patch = json!({"spec": {"replicas": 3}, "status": {"replicas": 9}});
    let changed = harness.patch("deployments", "d", patch).unwrap();
    assert_eq!((changed.value["status"].clone(), generation(&changed)), (json!({}), Some(2)));

    let target = Target { status: true, ..harness.target("deployments", "d") };
    let patch =
        json!({"spec": {"replicas": 7}, "status": {"replicas": 9}, "metadata": {"labels": {"a": "b"}}});
    let changed = harness.store.patch(&target, &Patch::Merge(patch), OPTIONS).unwrap();
    assert_eq!(changed.value["status"], json!({"replicas": 9}));
    assert_eq!((changed.value["spec"]["replicas"].as_u64(), generation(&changed)), (Some(3), Some(2)));
    assert_eq!(changed.label("a"), None);

    let labelled = harness.patch("deployments", "d", json!({"metadata": {"labels": {"a": "b"}}})).unwrap();
    assert_eq!((generation(&labelled), labelled.label("a")), (Some(2), Some("b")));
}

#[test]
fn labels_of_pods_come_with_their_status() {
    let mut harness = Harness::new();
    harness.create("pods", json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n"}})).unwrap();
    let target = Target { status: true, ..harness.target("pods", "p") };
    let patch = json!({"metadata": {"labels": {"x": "y"}}, "spec": {"nodeName": "m"}, "status": {"phase": "Running"}});
    let changed = harness.store.patch(&target, &Patch::Merge(patch), OPTIONS).unwrap();
    assert_eq!((changed.label("x"), &changed.value["spec"]["nodeName"]), (Some("y"), &json!("n")));
    assert_eq!(changed.value["status"]["phase"], "Running");
}

#[test]
fn nothing_is_stored_on_a_dry_run() {
    let mut harness = Harness::new();
    let revision = harness.store.revision();
    let target = harness.target("configmaps", "");
    let dry = WriteOptions { dry_run: true, ..OPTIONS };
    assert!(harness.store.create(&target, json!({"metadata": {"name": "a"}}), dry).is_ok());
    assert_eq!((harness.get("configmaps", "a").is_none(), harness.store.revision()), (true, revision));
}

#[test]
fn patches_of_both_kinds() {
    let mut harness = Harness::new();
    harness.create("configmaps", json!({"metadata": {"name": "a"}, "data": {"k": "v", "l": "m"}})).unwrap();
    let merged = harness.patch("configmaps", "a", json!({"data": {"k": null, "n": "o"}})).unwrap();
    assert_eq!(merged.value["data"], json!({"l": "m", "n": "o"}));

    let target = harness.target("configmaps", "a");
    let mut json_patch = |operations: Value| {
        let patch =
            Patch::parse("application/json-patch+json", operations.to_string().as_bytes(), &target.def)?;
        harness.store.patch(&target, &patch, OPTIONS)
    };
    let patched = json_patch(json!([
        {"op": "test", "path": "/data/l", "value": "m"},
        {"op": "move", "from": "/data/l", "path": "/data/p~1q"},
        {"op": "copy", "from": "/data/n", "path": "/data/n2"},
        {"op": "replace", "path": "/data/n", "value": "x"},
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.io/b"]},
        {"op": "add", "path": "/metadata/finalizers/-", "value": "c.io/d"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
    ]))
    .unwrap();
    assert_eq!(patched.value["data"], json!({"n": "x", "n2": "o", "p/q": "m"}));
    assert_eq!(patched.finalizers(), [json!("c.io/d")]);

    let rejected = (422, "the server rejected our request due to an error in our request".to_owned());
    for operations in [
        json!([{"op": "remove", "path": "/data/nope"}]),
        json!([{"op": "test", "path": "/data/n", "value": "other"}]),
        json!([{"op": "bogus", "path": "/data/n"}]),
        json!([{"op": "add", "path": "data", "value": 1}]),
    ] {
        assert_eq!(message(json_patch(operations)), rejected);
    }
    for (content_type, body, code) in [
        ("application/merge-patch+json", "{", 400),
        ("application/merge-patch+json", "[1]", 400),
        ("application/json-patch+json", "{", 400),
        ("application/json", "{}", 415),
        ("application/strategic-merge-patch+json", "{", 400),
        ("application/strategic-merge-patch+json", "[1]", 400),
    ] {
        assert_eq!(
            Patch::parse(content_type, body.as_bytes(), &target.def).unwrap_err().code(),
            code,
            "{content_type}"
        );
    }
    let without = harness.patch("configmaps", "a", json!({"metadata": {"uid": null}})).unwrap();
    assert_eq!(without.uid(), patched.uid(), "an object's uid cannot be taken from it");
    let (code, text) = message(harness.patch("configmaps", "a", json!({"metadata": {"uid": "1"}})));
    assert_eq!(
        (code, text.as_str()),
        (422, "ConfigMap \"a\" is invalid: metadata.uid: Invalid value: \"1\": field is immutable")
    );
    assert_eq!(message(harness.patch("configmaps", "a", json!({"metadata": {"name": "b"}}))).0, 400);
}
