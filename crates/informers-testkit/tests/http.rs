//! The embedded server as a client sees it.

mod client;

use std::time::Duration;

use client::{Lines, Protocol, call, get, patch, request, send};
use http::Method;
use http_body_util::BodyExt;
use informers_core::{ResourceScope, ResourceType};
use informers_testkit::{ApiServer, Fault, RequestMatch, StartError, Status, Verb};
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

fn config_maps() -> ResourceType {
    ResourceType::new("", "v1", "ConfigMap", "configmaps", ResourceScope::Namespaced)
}

#[tokio::test]
async fn an_object_lives_over_both_protocols() {
    let server = ApiServer::start().await.unwrap();
    for (protocol, name) in [(Protocol::Http1, "one"), (Protocol::Http2, "two")] {
        let body = config_map(name).to_string();
        let created =
            send(&server, protocol, request(&server, Method::POST, CONFIG_MAPS, &body)).await.unwrap();
        assert_eq!(created.status(), 201);
        let path = format!("{CONFIG_MAPS}/{name}");
        let (code, object) = get(&server, &path).await;
        assert_eq!((code, object["kind"].as_str()), (200, Some("ConfigMap")));
        let (code, changed) =
            patch(&server, "application/merge-patch+json", &path, r#"{"data":{"k":"v"}}"#).await;
        assert_eq!((code, &changed["data"]["k"]), (200, &json!("v")));
        let (code, status) = call(&server, Method::DELETE, &path, "").await;
        assert_eq!(
            (code, &status["status"], &status["details"]["kind"]),
            (200, &json!("Success"), &json!("configmaps"))
        );
        assert_eq!(get(&server, &path).await.0, 404);
    }
    let protocols: Vec<_> =
        server.requests().iter().filter(|r| r.verb() == Some(Verb::Create)).map(|r| r.is_http2()).collect();
    assert_eq!(protocols, [false, true]);
}

#[tokio::test]
async fn a_list_comes_in_pages() {
    let server = ApiServer::start().await.unwrap();
    for name in ["a", "b", "c"] {
        server.create(config_map(name)).unwrap();
    }
    let (_, first) = get(&server, &format!("{CONFIG_MAPS}?limit=2")).await;
    assert_eq!(
        (&first["kind"], &first["metadata"]["remainingItemCount"]),
        (&json!("ConfigMapList"), &json!(1))
    );
    assert_eq!(first["items"][0].get("kind"), None, "items of built-in lists do not repeat their kind");
    let token = first["metadata"]["continue"].as_str().unwrap();
    let (_, second) = get(&server, &format!("{CONFIG_MAPS}?limit=2&continue={token}")).await;
    assert_eq!(second["items"][0]["metadata"]["name"], "c");
    server.create(config_map("d")).unwrap();
    server.compact();
    let (code, expired) = get(&server, &format!("{CONFIG_MAPS}?limit=2&continue={token}")).await;
    assert_eq!((code, &expired["reason"]), (410, &json!("Expired")));
}

#[tokio::test]
async fn a_watch_streams() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let server = ApiServer::builder().bookmark_interval(Duration::from_millis(20)).start().await.unwrap();
        server.create(config_map("a")).unwrap();
        let path = format!(
            "{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        );
        let mut lines = Lines::open(&server, protocol, &path).await;
        assert_eq!(lines.event().await, "ADDED a");
        let end = lines.next().await.unwrap().unwrap();
        assert_eq!(end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
        assert_eq!(end["object"]["kind"], "ConfigMap");
        let bookmark = lines.next().await.unwrap().unwrap();
        assert_eq!(
            (&bookmark["type"], bookmark["object"]["metadata"].get("annotations")),
            (&json!("BOOKMARK"), None)
        );

        server.patch(&config_maps(), Some("default"), "a", json!({"data": {"k": "v"}})).unwrap();
        server.delete(&config_maps(), Some("default"), "a").unwrap();
        let mut events = Vec::new();
        while events.len() < 2 {
            let event = lines.event().await;
            if event != "BOOKMARK" {
                events.push(event);
            }
        }
        assert_eq!(events, ["MODIFIED a", "DELETED a"]);
        server.close_watches();
        while let Some(line) = lines.next().await.unwrap() {
            assert_eq!(line["type"], "BOOKMARK");
        }
    }
}

#[tokio::test]
async fn a_watch_ends_at_its_timeout_with_a_bookmark() {
    let server = ApiServer::start().await.unwrap();
    let path = format!(
        "{CONFIG_MAPS}?watch=1&allowWatchBookmarks=1&timeoutSeconds=1&resourceVersion={}",
        server.revision()
    );
    let mut lines = Lines::open(&server, Protocol::Http1, &path).await;
    assert_eq!(lines.event().await, "BOOKMARK");
    assert_eq!(lines.next().await.unwrap(), None);
}

#[tokio::test]
async fn an_old_version_is_told_inside_the_watch() {
    let server = ApiServer::start().await.unwrap();
    let old = server.revision();
    server.create(config_map("a")).unwrap();
    server.compact();
    let mut lines =
        Lines::open(&server, Protocol::Http1, &format!("{CONFIG_MAPS}?watch=1&resourceVersion={old}")).await;
    let error = lines.next().await.unwrap().unwrap();
    let expected = json!({"type": "ERROR", "object": {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("too old resource version: {old} ({})", server.revision()),
        "reason": "Expired", "code": 410,
    }});
    assert_eq!(error, expected);
    assert_eq!(lines.next().await.unwrap(), None);
}

#[tokio::test]
async fn a_reader_that_stands_still_holds_up_nobody() {
    let server = ApiServer::start().await.unwrap();
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", server.revision());
    let _stalled = Lines::open(&server, Protocol::Http1, &path).await;
    let mut reader = Lines::open(&server, Protocol::Http1, &path).await;
    let filler = "x".repeat(10_000);
    for number in 0..2_000 {
        let mut object = config_map(&format!("o{number:04}"));
        object["data"] = json!({"filler": filler});
        server.create(object).unwrap();
    }
    for number in 0..2_000 {
        assert_eq!(reader.event().await, format!("ADDED o{number:04}"));
    }
}

#[tokio::test]
async fn failures_have_the_shape_of_the_real_ones() {
    let server = ApiServer::start().await.unwrap();
    server.create(config_map("a")).unwrap();
    let no_resource = json!({"message": "the server could not find the requested resource", "reason": "NotFound", "details": {}});
    let no_method = json!({
        "message": "the server does not allow this method on the requested resource",
        "reason": "MethodNotAllowed", "details": {},
    });
    let a = format!("{CONFIG_MAPS}/a");
    let nope = format!("{CONFIG_MAPS}/nope");
    let of_a = json!({"name": "a", "kind": "configmaps"});
    for (method, path, body, code, expected) in [
        (Method::GET, "/api/v1/namespaces/default/nopes", "", 404, no_resource.clone()),
        (Method::GET, "/apis/apps/v9/deployments", "", 404, no_resource),
        (Method::POST, "/api/v1/configmaps", "{}", 405, no_method.clone()),
        (Method::PUT, CONFIG_MAPS, "{}", 405, no_method.clone()),
        (Method::DELETE, "/api/v1/namespaces", "", 405, no_method.clone()),
        (Method::POST, a.as_str(), "{}", 405, no_method),
        (
            Method::GET,
            nope.as_str(),
            "",
            404,
            json!({
                "message": "configmaps \"nope\" not found", "reason": "NotFound",
                "details": {"name": "nope", "kind": "configmaps"},
            }),
        ),
        (
            Method::GET,
            "/apis/apps/v1/namespaces/default/deployments/nope",
            "",
            404,
            json!({
                "message": "deployments.apps \"nope\" not found", "reason": "NotFound",
                "details": {"name": "nope", "group": "apps", "kind": "deployments"},
            }),
        ),
        (
            Method::POST,
            CONFIG_MAPS,
            r#"{"metadata":{"name":"a"}}"#,
            409,
            json!({
                "message": "configmaps \"a\" already exists", "reason": "AlreadyExists", "details": of_a,
            }),
        ),
        (
            Method::POST,
            CONFIG_MAPS,
            r#"{"metadata":{}}"#,
            422,
            json!({
                "message": "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
                "reason": "Invalid",
                "details": {"kind": "ConfigMap", "causes": [{
                    "reason": "FieldValueRequired",
                    "message": "Required value: name or generateName is required",
                    "field": "metadata.name",
                }]},
            }),
        ),
        (
            Method::PUT,
            a.as_str(),
            r#"{"metadata":{"name":"a","resourceVersion":"1"}}"#,
            409,
            json!({
                "message": "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your \
                    changes to the latest version and try again",
                "reason": "Conflict", "details": of_a,
            }),
        ),
        (
            Method::POST,
            CONFIG_MAPS,
            r#"{"metadata":{"name":"b","resourceVersion":"5"}}"#,
            500,
            json!({
                "message": "resourceVersion should not be set on objects to be created",
            }),
        ),
        (
            Method::GET,
            "/api/v1/pods?fieldSelector=spec.bogus%3Dy",
            "",
            400,
            json!({
                "message": "field label not supported: spec.bogus", "reason": "BadRequest",
            }),
        ),
        (
            Method::GET,
            "/api/v1/pods?resourceVersion=99999999",
            "",
            504,
            json!({
                "message": format!("Timeout: Too large resource version: 99999999, current: {}", server.revision()),
                "reason": "Timeout",
                "details": {
                    "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                    "retryAfterSeconds": 1,
                },
            }),
        ),
        (
            Method::DELETE,
            a.as_str(),
            r#"{"propagationPolicy":"Bogus"}"#,
            422,
            json!({
                "message": "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"Bogus\": \
                    supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
                "reason": "Invalid",
                "details": {"group": "meta.k8s.io", "kind": "DeleteOptions", "causes": [{
                    "reason": "FieldValueNotSupported",
                    "message": "Unsupported value: \"Bogus\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
                    "field": "propagationPolicy",
                }]},
            }),
        ),
    ] {
        let mut whole =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code});
        whole.as_object_mut().unwrap().extend(expected.as_object().unwrap().clone());
        assert_eq!(call(&server, method.clone(), path, body).await, (code, whole), "{method} {path} {body}");
    }
    assert_eq!(get(&server, "/apis/nope.io/v1/things").await, (404, json!("404 page not found\n")));
    let mut asked = request(&server, Method::GET, CONFIG_MAPS, "");
    asked.headers_mut().insert("accept", "text/csv".parse().unwrap());
    assert_eq!(send(&server, Protocol::Http1, asked).await.unwrap().status(), 406);
}

#[tokio::test]
async fn metadata_alone_can_be_asked_for() {
    let server = ApiServer::start().await.unwrap();
    let mut object = config_map("a");
    object["data"] = json!({"k": "v"});
    server.create(object).unwrap();
    let ask = async |path: &str, kind: &str| {
        let mut asked = request(&server, Method::GET, path, "");
        let accept = format!("application/json;as={kind};g=meta.k8s.io;v=v1,application/json;q=0.9");
        asked.headers_mut().insert("accept", accept.parse().unwrap());
        let response = send(&server, Protocol::Http1, asked).await.unwrap();
        serde_json::from_slice::<Value>(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
    };
    let list = ask(CONFIG_MAPS, "PartialObjectMetadataList").await;
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(
        (&list["items"][0]["kind"], list["items"][0].get("data")),
        (&json!("PartialObjectMetadata"), None)
    );
    let one = ask(&format!("{CONFIG_MAPS}/a"), "PartialObjectMetadata").await;
    assert_eq!((&one["apiVersion"], &one["metadata"]["name"]), (&json!("meta.k8s.io/v1"), &json!("a")));
}

#[cfg(feature = "gzip")]
#[tokio::test]
async fn large_lists_are_compressed() {
    use std::io::Read as _;

    let server = ApiServer::start().await.unwrap();
    let mut object = config_map("large");
    object["data"] = json!({"k": "v".repeat(200_000)});
    server.create(object).unwrap();
    let mut asked = request(&server, Method::GET, CONFIG_MAPS, "");
    asked.headers_mut().insert("accept-encoding", "br, gzip;q=0.8".parse().unwrap());
    let response = send(&server, Protocol::Http1, asked).await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    assert!(bytes.len() < 10_000);
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    let list: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(list["items"][0]["data"]["k"].as_str().unwrap().len(), 200_000);
}

#[tokio::test]
async fn the_server_describes_itself() {
    let widgets = ResourceType::new("example.com", "v1", "Widget", "widgets", ResourceScope::Namespaced);
    let server = ApiServer::builder().resource(widgets).start().await.unwrap();
    assert_eq!(get(&server, "/readyz").await, (200, json!("ok")));
    assert_eq!(get(&server, "/version").await.1["minor"], "37");
    assert_eq!(get(&server, "/api").await.1["versions"], json!(["v1"]));
    let (_, groups) = get(&server, "/apis").await;
    let names: Vec<_> =
        groups["groups"].as_array().unwrap().iter().map(|group| group["name"].clone()).collect();
    assert!(names.contains(&json!("apps")) && names.contains(&json!("example.com")), "{names:?}");
    let (_, core) = get(&server, "/api/v1").await;
    let pods =
        core["resources"].as_array().unwrap().iter().find(|resource| resource["name"] == "pods").unwrap();
    assert_eq!(
        (&pods["kind"], &pods["namespaced"], &pods["shortNames"]),
        (&json!("Pod"), &json!(true), &json!(["po"]))
    );
    let (_, custom) = get(&server, "/apis/example.com/v1").await;
    assert_eq!(custom["resources"][1]["name"], "widgets/status");
    assert_eq!(get(&server, "/apis/nope.io").await.0, 404);
}

#[tokio::test]
async fn replicas_are_scaled() {
    let server = ApiServer::start().await.unwrap();
    server
        .create(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}}, "status": {"replicas": 4},
        }))
        .unwrap();
    let path = "/apis/apps/v1/namespaces/default/deployments/web";
    let scale = format!("{path}/scale");
    let (code, found) = get(&server, &scale).await;
    assert_eq!((code, &found["kind"], &found["spec"]["replicas"]), (200, &json!("Scale"), &json!(1)));
    assert_eq!(found["status"], json!({"replicas": 4, "selector": "app=web"}));
    let (_, patched) =
        patch(&server, "application/merge-patch+json", &scale, r#"{"spec":{"replicas":3}}"#).await;
    assert_eq!(patched["spec"]["replicas"], 3);
    let body =
        json!({"metadata": {"name": "web", "resourceVersion": "1"}, "spec": {"replicas": 5}}).to_string();
    assert_eq!(call(&server, Method::PUT, &scale, &body).await.0, 409);
    let (_, deployment) = get(&server, path).await;
    assert_eq!(
        (&deployment["spec"]["replicas"], &deployment["metadata"]["generation"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(get(&server, &format!("{CONFIG_MAPS}/a/scale")).await.0, 404);
}

#[tokio::test]
async fn a_token_is_asked_for() {
    let server = ApiServer::builder().token("secret").start().await.unwrap();
    assert_eq!(get(&server, CONFIG_MAPS).await.1["reason"], "Unauthorized");
    for (token, code) in [("Bearer wrong", 401), ("Bearer secret", 200)] {
        let mut asked = request(&server, Method::GET, CONFIG_MAPS, "");
        asked.headers_mut().insert("authorization", token.parse().unwrap());
        assert_eq!(send(&server, Protocol::Http1, asked).await.unwrap().status(), code);
    }
    assert!(server.kubeconfig().contains("{token: \"secret\"}"));
}

#[tokio::test]
async fn faults_meet_the_requests_that_are_meant() {
    let server = ApiServer::start().await.unwrap();
    server.create(config_map("a")).unwrap();
    server.inject(RequestMatch::list("configmaps"), Status::new(429, "slow down").with_retry_after(3), 1);
    assert_eq!(get(&server, "/api/v1/secrets").await.0, 200);
    let asked = request(&server, Method::GET, CONFIG_MAPS, "");
    let response = send(&server, Protocol::Http1, asked).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &"3".parse().unwrap())
    );
    assert_eq!(get(&server, CONFIG_MAPS).await.0, 200);

    server.fail_next(RequestMatch::any().with_verb(Verb::Get).with_name("a"), 503);
    assert_eq!(get(&server, &format!("{CONFIG_MAPS}/a")).await.1["reason"], "ServiceUnavailable");

    for protocol in [Protocol::Http1, Protocol::Http2] {
        server.inject(RequestMatch::any().with_query("limit=7"), Fault::DropConnection, 1);
        let asked = request(&server, Method::GET, &format!("{CONFIG_MAPS}?limit=7"), "");
        assert!(send(&server, protocol, asked).await.is_err());
    }
    server.inject(RequestMatch::watch("configmaps"), Fault::CutAfter(1), 1);
    let mut lines =
        Lines::open(&server, Protocol::Http1, &format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=1")).await;
    assert_eq!(lines.event().await, "ADDED a");
    assert_eq!(lines.next().await.unwrap(), None);

    server.inject(RequestMatch::any(), Fault::DropConnection, usize::MAX);
    server.clear_faults();
    assert_eq!(get(&server, CONFIG_MAPS).await.0, 200);
}

#[tokio::test]
async fn requests_are_remembered() {
    let server = ApiServer::start().await.unwrap();
    get(&server, &format!("{CONFIG_MAPS}?limit=5&labelSelector=app+in+%28a%29")).await;
    get(&server, "/apis/apps/v1/namespaces/shop/deployments/web/status").await;
    let requests = server.requests();
    let texts: Vec<_> = requests.iter().map(ToString::to_string).collect();
    assert_eq!(texts[0], format!("GET {CONFIG_MAPS}?limit=5&labelSelector=app+in+%28a%29"));
    assert_eq!(requests[0].query_parameter("labelSelector").as_deref(), Some("app in (a)"));
    assert_eq!((requests[0].verb(), requests[0].namespace()), (Some(Verb::List), "default"));
    let second = &requests[1];
    assert_eq!((second.resource(), second.name(), second.subresource()), ("deployments", "web", "status"));
    server.clear_requests();
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let server = ApiServer::start().await.unwrap();
    let error = ApiServer::builder().port(server.port()).start().await.unwrap_err();
    assert!(matches!(error, StartError::PortInUse { port, .. } if port == server.port()));
    assert!(error.to_string().contains(&server.port().to_string()), "{error}");
}

#[tokio::test]
async fn a_killed_server_comes_back_with_its_objects() {
    let server = ApiServer::start().await.unwrap();
    server.create(config_map("a")).unwrap();
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", server.revision());
    let mut watch = Lines::open(&server, Protocol::Http1, &path).await;
    server.stop_listening().await;
    assert!(watch.next().await.is_err(), "the connection was cut");
    assert!(send(&server, Protocol::Http1, request(&server, Method::GET, CONFIG_MAPS, "")).await.is_err());
    server.create(config_map("b")).unwrap();

    server.start_listening().await.unwrap();
    server.start_listening().await.unwrap();
    assert_eq!(Lines::open(&server, Protocol::Http1, &path).await.event().await, "ADDED b");

    let mut watch = Lines::open(&server, Protocol::Http2, &path).await;
    assert_eq!(watch.event().await, "ADDED b");
    server.drop_connections();
    assert!(watch.next().await.is_err());
    assert_eq!(get(&server, CONFIG_MAPS).await.0, 200);
}

#[tokio::test]
async fn nothing_is_left_behind() {
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = alive();
    for abort in [false, true] {
        let server = ApiServer::start().await.unwrap();
        let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", server.revision());
        let mut watches = Vec::new();
        for protocol in [Protocol::Http1, Protocol::Http2] {
            watches.push(Lines::open(&server, protocol, &path).await);
        }
        if abort {
            server.abort();
            for watch in &mut watches {
                assert!(watch.next().await.is_err());
            }
        } else {
            server.stop().await;
            for watch in &mut watches {
                assert_eq!(watch.next().await.unwrap(), None);
            }
        }
        drop(watches);
        // The client's own tasks see their connections end in the next turns.
        let gone = informers_testkit::eventually(Duration::from_secs(10), || alive() == before).await;
        assert!(gone, "{} tasks are left", alive() - before);
    }
}

#[tokio::test]
async fn a_server_may_do_as_it_was_told() {
    let server =
        ApiServer::builder().without_namespace_check().seed(7).history_limit(1).start().await.unwrap();
    let mut object = config_map("a");
    object["metadata"]["namespace"] = json!("nowhere");
    let uid = server.create(object).unwrap()["metadata"]["uid"].clone();
    let other = ApiServer::builder().without_namespace_check().seed(7).start().await.unwrap();
    assert_eq!(other.create(config_map("a")).unwrap()["metadata"]["uid"], uid);
    let old = server.revision();
    for name in ["b", "c", "d"] {
        server.create(config_map(name)).unwrap();
    }
    let path = format!("/api/v1/configmaps?watch=1&resourceVersion={old}");
    assert_eq!(Lines::open(&server, Protocol::Http1, &path).await.event().await, "ERROR");

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config");
    server.write_kubeconfig(&file).unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(&format!("server: \"{}\"", server.url())), "{text}");
}
