use super::*;
use crate::store::options::{Match, RawOptions};

fn paged(limit: usize) -> ListOptions {
    ListOptions { limit, ..ListOptions::default() }
}

fn next(limit: usize, page: &Page) -> ListOptions {
    ListOptions { limit, continue_token: page.continue_token.clone(), ..ListOptions::default() }
}

fn at(version: u64, rule: Match) -> ListOptions {
    ListOptions { version: Some(version), version_match: Some(rule), ..ListOptions::default() }
}

#[test]
fn pages_show_the_state_of_the_first() {
    let mut harness = Harness::new();
    for name in ["a", "b", "c", "d", "e"] {
        harness.config_map(name, "x");
    }
    let first = harness.list(&paged(2)).unwrap();
    assert_eq!((names(&first.items), first.remaining), (vec!["a", "b"], Some(3)));

    harness.delete("configmaps", "c").unwrap();
    harness.config_map("bb", "x");
    let changed = harness.patch("configmaps", "d", json!({"data": {"k": "v"}})).unwrap();
    harness.delete("configmaps", "d").unwrap();
    harness.config_map("d", "again");

    let second = harness.list(&next(2, &first)).unwrap();
    assert_eq!((names(&second.items), second.remaining), (vec!["c", "d"], Some(1)));
    assert_eq!(second.revision, first.revision);
    assert!(second.items[1].revision < changed.revision);
    let third = harness.list(&next(2, &second)).unwrap();
    assert_eq!((names(&third.items), third.remaining, third.continue_token), (vec!["e"], None, None));

    let now = harness.list(&paged(0)).unwrap();
    assert_eq!(names(&now.items), ["a", "b", "bb", "d", "e"]);
}

#[test]
fn the_order_is_that_of_etcd() {
    let mut harness = Harness::new();
    for namespace in ["a", "a-b"] {
        harness.create("namespaces", json!({"metadata": {"name": namespace}})).unwrap();
        for name in ["x", "y"] {
            let target = Target { namespace: namespace.to_owned(), ..harness.target("configmaps", "") };
            harness.store.create(&target, json!({"metadata": {"name": name}}), OPTIONS).unwrap();
        }
    }
    let mut options = paged(1);
    let mut keys = Vec::new();
    loop {
        let page = harness.list(&options).unwrap();
        keys.extend(page.items.iter().map(|item| storage_key(item.namespace(), item.name())));
        if page.continue_token.is_none() {
            break;
        }
        options = next(1, &page);
    }
    // "-" sorts before "/".
    assert_eq!(keys, ["a-b/x", "a-b/y", "a/x", "a/y"]);

    let one = ListOptions {
        selection: Selection { namespace: "a".to_owned(), ..Selection::default() },
        ..paged(1)
    };
    let page = harness.list(&one).unwrap();
    assert_eq!((names(&page.items), page.remaining), (vec!["x"], Some(1)));
    let rest = harness.list(&ListOptions { continue_token: page.continue_token, ..one }).unwrap();
    assert_eq!((names(&rest.items), rest.continue_token), (vec!["y"], None));
}

#[test]
fn a_selector_hides_how_much_remains() {
    let mut harness = Harness::new();
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x"), ("d", "y")] {
        harness.config_map(name, app);
    }
    let options = ListOptions { selection: harness.selection("app=x", ""), ..paged(1) };
    let page = harness.list(&options).unwrap();
    assert_eq!((names(&page.items), page.remaining), (vec!["a"], None));
    let rest = harness.list(&ListOptions { continue_token: page.continue_token, ..options }).unwrap();
    assert_eq!((names(&rest.items), rest.continue_token), (vec!["c"], None));

    let options = ListOptions { selection: harness.selection("", "metadata.name!=b"), ..paged(0) };
    assert_eq!(names(&harness.list(&options).unwrap().items), ["a", "c", "d"]);
}

#[test]
fn versions_select_a_state() {
    let mut harness = Harness::new();
    let first = harness.config_map("a", "x").revision;
    let second = harness.config_map("b", "x").revision;

    let exact = harness.list(&at(first, Match::Exact)).unwrap();
    assert_eq!((names(&exact.items), exact.revision), (vec!["a"], first));
    let newer = harness.list(&at(first, Match::NotOlderThan)).unwrap();
    assert_eq!((names(&newer.items), newer.revision), (vec!["a", "b"], second));
    // Without a rule the version is exact where pages are asked for.
    let options = ListOptions { version: Some(first), ..paged(5) };
    assert_eq!(harness.list(&options).unwrap().revision, first);
    // Version 0 is answered from the cache, which has no pages.
    let options = ListOptions { version: Some(0), ..paged(1) };
    let page = harness.list(&options).unwrap();
    assert_eq!((names(&page.items), page.continue_token), (vec!["a", "b"], None));
}

#[test]
fn what_is_compacted_is_expired() {
    let mut harness = Harness::new();
    for name in ["a", "b", "c"] {
        harness.config_map(name, "x");
    }
    let page = harness.list(&paged(1)).unwrap();
    let compacted = harness.config_map("d", "x").revision;
    harness.store.compact();

    let error = harness.list(&next(1, &page)).unwrap_err();
    assert_eq!((error.code(), error.reason()), (410, "Expired"));
    assert!(
        error
            .message()
            .starts_with("The provided continue parameter is too old to display a consistent list")
    );
    // The answer has a token for an inconsistent remainder.
    let token = error.to_json()["metadata"]["continue"].as_str().map(str::to_owned);
    let rest = harness.list(&ListOptions { continue_token: token, ..paged(0) }).unwrap();
    assert_eq!((names(&rest.items), rest.revision), (vec!["b", "c", "d"], compacted));

    let error = harness.list(&at(page.revision, Match::Exact)).unwrap_err();
    assert_eq!(error.message(), "The resourceVersion for the provided list is too old.");
    assert_eq!(harness.list(&at(compacted, Match::Exact)).unwrap().items.len(), 4);
    assert_eq!(harness.list(&at(page.revision, Match::NotOlderThan)).unwrap().items.len(), 4);
}

#[test]
fn a_version_from_the_future_is_too_large() {
    let harness = Harness::new();
    let revision = harness.store.revision();
    for rule in [Match::Exact, Match::NotOlderThan] {
        let error = harness.list(&at(revision + 5, rule)).unwrap_err();
        let problem = format!("Timeout: Too large resource version: {}, current: {revision}", revision + 5);
        assert_eq!((error.code(), error.message()), (504, problem.as_str()));
        assert_eq!(error.to_json()["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    }
}

#[test]
fn options_are_checked_as_kube_apiserver_does() {
    let raw = RawOptions::default();
    let list = |raw: RawOptions<'_>| raw.list(Selection::default()).unwrap_err();
    let watch = |raw: RawOptions<'_>| raw.watch(Selection::default()).unwrap_err();
    for (status, code, message) in [
        (
            list(RawOptions { resource_version_match: "Exact", ..raw.clone() }),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is \
             forbidden unless resourceVersion is provided",
        ),
        (
            list(RawOptions { resource_version_match: "Exact", resource_version: "0", ..raw.clone() }),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch \
             \"exact\" is forbidden for resourceVersion \"0\"",
        ),
        (
            list(RawOptions { resource_version_match: "Some", resource_version: "1", ..raw.clone() }),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value: \"Some\": supported \
             values: \"Exact\", \"NotOlderThan\", \"\"",
        ),
        (
            list(RawOptions {
                resource_version_match: "Exact",
                resource_version: "5",
                continue_token: "x",
                ..raw.clone()
            }),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is \
             forbidden when continue is provided",
        ),
        (
            list(RawOptions { send_initial_events: Some("true"), ..raw.clone() }),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden \
             for list",
        ),
        (
            list(RawOptions { limit: "abc", ..raw.clone() }),
            400,
            "strconv.ParseInt: parsing \"abc\": invalid syntax",
        ),
        (
            list(RawOptions { resource_version: "abc", ..raw.clone() }),
            400,
            "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": \
             invalid syntax",
        ),
        (
            watch(RawOptions { resource_version: "abc", ..raw.clone() }),
            500,
            "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax",
        ),
        (
            watch(RawOptions { resource_version: "99999999999999999999999", ..raw.clone() }),
            500,
            "resourceVersion: Invalid value: \"99999999999999999999999\": strconv.ParseUint: parsing \
             \"99999999999999999999999\": value out of range",
        ),
        (
            watch(RawOptions { timeout_seconds: "abc", ..raw.clone() }),
            400,
            "strconv.ParseInt: parsing \"abc\": invalid syntax",
        ),
        (
            watch(RawOptions { send_initial_events: Some("true"), ..raw.clone() }),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires \
             setting resourceVersionMatch to NotOlderThan",
        ),
        (
            watch(RawOptions {
                send_initial_events: Some("true"),
                resource_version_match: "Exact",
                ..raw.clone()
            }),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: sendInitialEvents requires \
             setting resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: \"Exact\": \
             supported values: \"NotOlderThan\"]",
        ),
        (
            watch(RawOptions { resource_version_match: "NotOlderThan", ..raw.clone() }),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is \
             forbidden for watch unless sendInitialEvents is provided",
        ),
    ] {
        assert_eq!((status.code(), status.message()), (code, message));
    }
}

#[test]
fn tokens_that_are_none_are_refused() {
    let harness = Harness::new();
    for token in ["abc", "e30", "!"] {
        let options = ListOptions { continue_token: Some(token.to_owned()), ..paged(1) };
        let error = harness.list(&options).unwrap_err();
        assert_eq!(error.code(), 400, "{token}");
        assert!(
            error.message().starts_with("invalid continue token: continue key is not valid: "),
            "{error}"
        );
    }
    let mut harness = Harness::new();
    harness.config_map("a", "x");
    harness.config_map("b", "x");
    let page = harness.list(&paged(1)).unwrap();
    let error = harness.list(&ListOptions { version: Some(5), ..next(1, &page) }).unwrap_err();
    assert_eq!(error.message(), "specifying resource version is not allowed when using continue");
    // As the remainder of a list from the cache.
    assert!(harness.list(&ListOptions { version: Some(0), ..next(1, &page) }).is_ok());
}

#[test]
fn fields_are_known_by_resource() {
    let harness = Harness::new();
    let parse = |plural: &str, fields: &str| Selection::parse(&harness.def(plural), "", None, Some(fields));
    for (plural, fields) in [
        ("pods", "spec.nodeName=n,status.phase!=Running"),
        ("secrets", "type=Opaque"),
        ("events", "involvedObject.name=a"),
        ("nodes", "spec.unschedulable=true"),
        ("configmaps", "metadata.name=a,metadata.namespace=b"),
    ] {
        assert!(parse(plural, fields).is_ok(), "{plural} {fields}");
    }
    let error = parse("pods", "spec.other=x").unwrap_err();
    assert_eq!((error.code(), error.message()), (400, "field label not supported: spec.other"));
    assert_eq!(parse("nodes", "metadata.namespace=x").unwrap_err().code(), 400);
    let error = parse("configmaps", "data.x=y").unwrap_err();
    let problem = "\"data.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
    assert_eq!(error.message(), problem);
}
