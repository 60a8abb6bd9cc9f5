//! Typed requests, discovery, raw requests.

use informers_client::{ClientError, DeleteOptions, Patch, Propagation};
use informers_core::{FieldSelector, JsonDecoder, LabelSelector, Resource, ResourceScope, ResourceType};
use serde_json::json;

use crate::server::{Answer, Server, Widget, list_of, status, widget, widgets};

const PATH: &str = "/apis/example.com/v1/namespaces/shop/widgets";

#[tokio::test]
async fn each_verb_sends_what_it_should() {
    let server = Server::start(|_| Answer::json(widget("w", 5, r#","size":3"#))).await;
    let api = server.client().api(&widgets(), Some("shop")).with_field_manager("me");
    let got = api.get("w").await.unwrap();
    assert_eq!((got.key().as_str(), got.size, got.version()), ("shop/w", 3, &"5".into()));
    api.create(&json!({ "metadata": { "name": "w" } })).await.unwrap();
    api.update("w", &json!({ "kind": "Widget", "apiVersion": "example.com/v1" })).await.unwrap();
    api.update_status("w", &json!({})).await.unwrap();
    api.patch("w", &Patch::merge(&json!({ "a": 1 })).unwrap()).await.unwrap();
    api.patch_status("w", &Patch::json(&json!([])).unwrap()).await.unwrap();
    api.patch("w", &Patch::apply("owner", &json!({ "b": 2 })).unwrap().forced()).await.unwrap();
    api.clone().with_dry_run().patch("w", &Patch::strategic(&json!({})).unwrap()).await.unwrap();
    api.delete("w", &DeleteOptions::new().with_uid("u-w")).await.unwrap();
    let requests: Vec<_> = server.seen.lock().clone();
    let shown: Vec<_> = requests
        .iter()
        .map(|seen| {
            format!(
                "{} {} {}",
                seen.method,
                seen.target.replace(PATH, "…"),
                seen.header("content-type").unwrap_or("-")
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "GET …/w -",
            "POST …?fieldManager=me application/json",
            "PUT …/w?fieldManager=me application/json",
            "PUT …/w/status?fieldManager=me application/json",
            "PATCH …/w?fieldManager=me application/merge-patch+json",
            "PATCH …/w/status?fieldManager=me application/json-patch+json",
            "PATCH …/w?force=true&fieldManager=owner application/apply-patch+yaml",
            "PATCH …/w?fieldManager=me&dryRun=All application/strategic-merge-patch+json",
            "DELETE …/w application/json",
        ]
    );
    let body = |at: usize| serde_json::from_slice::<serde_json::Value>(&requests[at].body).unwrap();
    assert_eq!(
        body(1),
        json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" } })
    );
    assert_eq!(body(6), json!({ "b": 2 }));
    assert_eq!(body(8)["preconditions"]["uid"], "u-w");
}

#[tokio::test]
async fn a_collection_is_deleted_by_one_request_and_its_answer_is_not_read() {
    // A list that never ends.
    let (mut answers, mut bodies) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let (answer, body) = Answer::stream();
        body.send(r#"{"kind":"WidgetList","items":["#);
        answers.push(answer);
        bodies.push(body);
    }
    let busy = Answer::json(status(429, "TooManyRequests", "later")).status(429).header("retry-after", "0");
    answers.push(busy);
    answers.push(Answer::json(status(409, "Conflict", "another uid")).status(409));
    let server = Server::script(answers).await;
    let api = server.client().api(&widgets(), Some("shop"));
    let (everything, no_field) = (LabelSelector::default(), FieldSelector::default());
    api.delete_collection(&everything, &no_field, &DeleteOptions::new()).await.unwrap();
    let (labels, fields) = ("app in (a,b)".parse().unwrap(), "metadata.name!=w".parse().unwrap());
    let options =
        DeleteOptions::new().with_uid("u").with_grace_period_seconds(5).with_propagation(Propagation::Orphan);
    api.clone().with_dry_run().delete_collection(&labels, &fields, &options).await.unwrap();
    let error = api.delete_collection(&labels, &no_field, &options).await.unwrap_err();
    assert!(error.is_conflict() && error.to_string().starts_with("cannot delete all widgets"), "{error}");

    let requests: Vec<_> = server.seen.lock().clone();
    let shown: Vec<_> =
        requests.iter().map(|seen| format!("{} {}", seen.method, seen.target.replace(PATH, "…"))).collect();
    assert_eq!(
        shown,
        [
            "DELETE …",
            "DELETE …?labelSelector=app%20in%20%28a%2Cb%29&fieldSelector=metadata.name%21%3Dw",
            "DELETE …?labelSelector=app%20in%20%28a%2Cb%29",
            "DELETE …?labelSelector=app%20in%20%28a%2Cb%29",
        ]
    );
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&requests[1].body).unwrap(),
        json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"], "propagationPolicy": "Orphan", "gracePeriodSeconds": 5,
            "preconditions": { "uid": "u" },
        })
    );
    let nowhere = server.client().api(&widgets(), None);
    let error = nowhere.delete_collection(&everything, &no_field, &DeleteOptions::new()).await.unwrap_err();
    assert!(error.to_string().contains("name it in Client::api"), "{error}");
}

#[tokio::test]
async fn errors_answer_the_questions_that_users_ask() {
    let server = Server::script([
        Answer::json(status(404, "NotFound", "widgets \\\"w\\\" not found")).status(404),
        Answer::json(status(409, "AlreadyExists", "m")).status(409),
        Answer::json(status(409, "Conflict", "m")).status(409),
        Answer::json(status(422, "Invalid", "m")).status(422),
        Answer::json("{}"),
        Answer::json(widget("w", 1, r#","size":"big""#)),
    ])
    .await;
    let api = server.client().api(&widgets(), Some("shop"));
    let missing = api.get("w").await.unwrap_err();
    assert!(missing.is_not_found() && !missing.is_conflict());
    assert_eq!(
        missing.to_string(),
        r#"cannot get widgets.v1.example.com w in namespace shop: widgets "w" not found (404 NotFound)"#
    );
    let exists = api.create(&json!({})).await.unwrap_err();
    assert!(exists.is_already_exists() && !exists.is_conflict());
    assert!(api.update("w", &json!({})).await.unwrap_err().is_conflict());
    assert!(api.create(&json!({})).await.unwrap_err().is_invalid());
    let empty = api.get("w").await.unwrap_err();
    assert!(matches!(empty, ClientError::UnexpectedAnswer { .. }), "{empty:?}");
    let bad = api.get("w").await.unwrap_err();
    let ClientError::Decode { source, .. } = &bad else { panic!("{bad:?}") };
    assert_eq!(source.path(), Some("size"));
}

#[tokio::test]
async fn requests_that_cannot_be_made_are_not_sent() {
    let server = Server::start(|_| Answer::json("{}")).await;
    let client = server.client();
    for name in ["", ".", "..", "a/b", "a%2fb"] {
        let error = client.api(&widgets(), Some("shop")).get(name).await.unwrap_err();
        assert!(matches!(error, ClientError::InvalidRequest { .. }), "{name}: {error:?}");
    }
    let error = client.api(&widgets(), None).get("w").await.unwrap_err();
    assert!(error.to_string().contains("name it in Client::api"), "{error}");
    assert!(client.api(&widgets(), Some("../x")).get("w").await.is_err());
    assert_eq!(server.count(), 0);
    let nodes = ResourceType::new("", "v1", "Node", "nodes", ResourceScope::Cluster);
    let nodes: Resource<Widget> = Resource::new(nodes, JsonDecoder::new());
    let _ = client.api(&nodes, None).get("n:1").await;
    assert_eq!(server.targets(), ["/api/v1/nodes/n:1"]);
}

#[tokio::test]
async fn a16_a_request_is_sent_again_when_the_server_asks_to_wait() {
    let busy = |code| Answer::json("busy").status(code).header("retry-after", "0");
    let server = Server::script([
        busy(429),
        busy(503),
        Answer::json(widget("w", 5, "")),
        Answer::json("busy").status(429),
        busy(429),
    ])
    .await;
    let api = server.client().api(&widgets(), Some("shop"));
    api.create(&json!({ "a": 1 })).await.unwrap();
    let bodies: Vec<_> = server.seen.lock().iter().map(|seen| seen.body.clone()).collect();
    assert_eq!((bodies.len(), &bodies[0]), (3, &bodies[2]), "with the same body");
    assert!(api.get("w").await.unwrap_err().is_too_many_requests(), "without a hint it is not");
    assert_eq!(server.count(), 4);
}

#[tokio::test]
async fn list_all_reads_every_page() {
    let page = |version, names: &[&str], next: &str| {
        let items: Vec<_> = names.iter().map(|name| widget(name, 1, "")).collect();
        let meta = format!(r#""resourceVersion":"{version}","continue":"{next}""#);
        Answer::json(list_of(version, &items).replacen(
            &format!(r#""resourceVersion":"{version}""#),
            &meta,
            1,
        ))
    };
    let server = Server::script([
        page(7, &["a", "b"], "next"),
        page(7, &["c"], ""),
        page(8, &["a"], "x"),
        Answer::json(status(410, "Expired", "m")).status(410),
    ])
    .await;
    let api = server.client().api(&widgets(), Some("shop"));
    assert_eq!(api.list_all().await.unwrap().len(), 3);
    assert_eq!(server.targets(), [format!("{PATH}?limit=500"), format!("{PATH}?limit=500&continue=next")]);
    assert!(api.list_all().await.unwrap_err().is_expired());
}

async fn cluster() -> Server {
    Server::start(|seen| {
        let resource = |name: &str, kind: &str, namespaced: bool| {
            json!({ "name": name, "singularName": kind.to_lowercase(), "kind": kind, "namespaced": namespaced,
                    "shortNames": [&name[..2]] })
        };
        let resources = |list: Vec<serde_json::Value>| {
            Answer::json(json!({ "kind": "APIResourceList", "resources": list }).to_string())
        };
        match seen.target.as_str() {
            "/api/v1" => resources(vec![
                resource("pods", "Pod", true),
                resource("pods/status", "Pod", true),
                resource("nodes", "Node", false),
            ]),
            "/apis" => Answer::json(
                json!({ "groups": [
                    { "name": "broken.io", "versions": [{ "version": "v1" }] },
                    { "name": "example.com", "versions": [{ "version": "v2" }, { "version": "v1" }],
                      "preferredVersion": { "version": "v2" } },
                ] })
                .to_string(),
            ),
            "/apis/example.com/v1" => resources(vec![resource("widgets", "Widget", true)]),
            "/apis/example.com/v2" => {
                resources(vec![resource("widgets", "Widget", true), resource("gadgets", "Gadget", false)])
            }
            _ => Answer::json(status(503, "ServiceUnavailable", "m")).status(503),
        }
    })
    .await
}

#[tokio::test]
async fn resources_are_found_by_all_their_names() {
    let server = cluster().await;
    let client = server.client();
    for (name, expected) in [
        ("pods", "/api/v1/pods"),
        ("po", "/api/v1/pods"),
        ("Node", "/api/v1/nodes"),
        ("widgets.example.com", "/apis/example.com/v2/widgets"),
        ("widgets.v1.example.com", "/apis/example.com/v1/widgets"),
        ("gadget", "/apis/example.com/v2/gadgets"),
    ] {
        assert_eq!(client.discover(name).await.unwrap().collection_path(None), expected, "{name}");
    }
    for (name, expected) in [
        ("pod_s", "the server has no resource `pod_s`; did you mean `pods`?"),
        (
            "wigets.example.com",
            "the server has no resource `wigets.example.com`; did you mean `widgets.example.com`?",
        ),
        (
            "widgets.exmple.com",
            "the server has no resource `widgets.exmple.com`; did you mean `widgets.example.com`?",
        ),
        (
            "widgets.v7.example.com",
            "the server has no resource `widgets.v7.example.com`; did you mean `widgets.example.com`?",
        ),
        ("unheard", "the server has no resource `unheard`"),
    ] {
        assert_eq!(client.discover(name).await.unwrap_err().to_string(), expected);
    }
}

#[tokio::test]
async fn any_path_can_be_asked_for() {
    let server = Server::start(|_| Answer::json("ok")).await;
    let request = http::Request::post("/x?y=1").body(bytes::Bytes::from_static(b"{}")).unwrap();
    let answer = server.client().raw(request).await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.body().as_ref()), (200, &b"ok"[..]));
    let seen = server.seen.lock()[0].clone();
    assert_eq!(
        (seen.method.as_str(), seen.target.as_str(), seen.body.as_ref()),
        ("POST", "/x?y=1", &b"{}"[..])
    );
    assert_eq!(seen.header("content-type"), Some("application/json"));
}
