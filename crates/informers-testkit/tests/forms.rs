//! The forms in which the server answers what kubectl asks, without kubectl.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failure here fails the test")]

mod client;

use client::{Lines, Protocol, get, patch, request, send};
use http::Method;
use http_body_util::BodyExt;
use informers_core::{ResourceScope, ResourceType};
use informers_testkit::ApiServer;
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}})
}

/// The code, the content type and the body of an answer in a form of the client's choice.
async fn get_as(server: &ApiServer, path: &str, accept: &str) -> (u16, String, Vec<u8>) {
    let mut asked = request(server, Method::GET, path, "");
    asked.headers_mut().insert("accept", accept.parse().unwrap());
    let response = send(server, Protocol::Http1, asked).await.unwrap();
    let code = response.status().as_u16();
    let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    (code, content_type, response.into_body().collect().await.unwrap().to_bytes().to_vec())
}

async fn table(server: &ApiServer, path: &str) -> Value {
    serde_json::from_slice(&get_as(server, path, TABLE).await.2).unwrap()
}

#[tokio::test]
async fn lists_and_objects_are_tables_for_those_who_ask() {
    let server = ApiServer::start().await.unwrap();
    for name in ["a", "b"] {
        server.create(config_map(name)).unwrap();
    }
    let list = table(&server, &format!("{CONFIG_MAPS}?limit=1")).await;
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("Table"), &json!("meta.k8s.io/v1")));
    assert_eq!(list["metadata"]["remainingItemCount"], 1);
    let names: Vec<_> =
        list["columnDefinitions"].as_array().unwrap().iter().map(|column| column["name"].clone()).collect();
    assert_eq!(names, ["Name", "Data", "Age"]);
    assert_eq!(list["rows"][0]["cells"].as_array().unwrap()[..2], [json!("a"), json!(1)]);
    assert_eq!(list["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(list["rows"][0]["object"].get("data"), None);

    let one = table(&server, &format!("{CONFIG_MAPS}/b?includeObject=Object")).await;
    assert_eq!(one["rows"][0]["object"]["data"], json!({"k": "v"}));
    assert_eq!(one["rows"][0]["object"]["kind"], "ConfigMap");
    let bare = table(&server, &format!("{CONFIG_MAPS}/b?includeObject=None")).await;
    assert_eq!(bare["rows"][0]["object"], Value::Null);
    let refused = table(&server, &format!("{CONFIG_MAPS}/b?includeObject=Nope")).await;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(400), &json!("BadRequest")));
    assert_eq!(table(&server, &format!("{CONFIG_MAPS}/nope")).await["reason"], "NotFound");
}

#[tokio::test]
async fn watches_tell_the_columns_once() {
    let server = ApiServer::start().await.unwrap();
    server.create(config_map("a")).unwrap();
    let path = format!(
        "{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    );
    let mut lines = Lines::open_as(&server, Protocol::Http1, &path, TABLE).await;
    let added = lines.next().await.unwrap().unwrap();
    assert_eq!((&added["type"], &added["object"]["kind"]), (&json!("ADDED"), &json!("Table")));
    assert_eq!(added["object"]["columnDefinitions"][0]["name"], "Name");
    let bookmark = lines.next().await.unwrap().unwrap();
    assert_eq!(
        (&bookmark["type"], &bookmark["object"]["columnDefinitions"]),
        (&json!("BOOKMARK"), &Value::Null)
    );
    let metadata = &bookmark["object"]["rows"][0]["object"]["metadata"];
    assert_eq!(metadata["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(bookmark["object"]["rows"][0]["cells"], json!(["", 0, "<unknown>"]));
    let config_maps = ResourceType::new("", "v1", "ConfigMap", "configmaps", ResourceScope::Namespaced);
    server.delete(&config_maps, Some("default"), "a").unwrap();
    let deleted = lines.next().await.unwrap().unwrap();
    assert_eq!(
        (&deleted["type"], &deleted["object"]["columnDefinitions"]),
        (&json!("DELETED"), &Value::Null)
    );
    assert_eq!(deleted["object"]["rows"][0]["object"]["metadata"]["name"], "a");
}

#[tokio::test]
async fn discovery_is_aggregated_for_those_who_ask() {
    let server = ApiServer::start().await.unwrap();
    for version in ["v2", "v2beta1"] {
        let accept = format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
        let (_, content_type, body) = get_as(&server, "/apis", &format!("{accept},application/json")).await;
        assert_eq!(content_type, accept);
        let all: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(all["apiVersion"], format!("apidiscovery.k8s.io/{version}"));
        let groups = all["items"].as_array().unwrap();
        let apps = groups.iter().find(|group| group["metadata"]["name"] == "apps").unwrap();
        let resources = apps["versions"][0]["resources"].as_array().unwrap();
        let deployments = resources.iter().find(|resource| resource["resource"] == "deployments").unwrap();
        assert_eq!(
            deployments["responseKind"],
            json!({"group": "apps", "version": "v1", "kind": "Deployment"})
        );
        assert_eq!(deployments["categories"], json!(["all"]));
        let scale = &deployments["subresources"][1];
        assert_eq!(
            (&scale["subresource"], &scale["responseKind"]["group"]),
            (&json!("scale"), &json!("autoscaling"))
        );
    }
    let (_, content_type, body) = get_as(&server, "/api", "application/json").await;
    assert_eq!(content_type, "application/json");
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["kind"], "APIVersions");
}

#[tokio::test]
async fn openapi_says_what_requests_take() {
    let widgets = ResourceType::new("example.com", "v1", "Widget", "widgets", ResourceScope::Cluster);
    let server = ApiServer::builder().resource(widgets).start().await.unwrap();
    let (_, index) = get(&server, "/openapi/v3").await;
    let address = index["paths"]["apis/example.com/v1"]["serverRelativeURL"].as_str().unwrap();
    let (_, document) = get(&server, address).await;
    let patch = &document["paths"]["/apis/example.com/v1/widgets/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Widget");
    let names: Vec<_> =
        patch["parameters"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert!(names.contains(&json!("fieldValidation")), "{names:?}");
    assert_eq!(get(&server, "/openapi/v3/apis/nope.io/v1").await.0, 404);

    assert_eq!(get(&server, "/openapi/v2").await.1["swagger"], "2.0");
    let accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let (_, content_type, body) = get_as(&server, "/openapi/v2", accept).await;
    assert_eq!(content_type, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    assert!(body.starts_with(b"\x0a\x032.0\x12"), "{body:?}");
}

#[tokio::test]
async fn patches_of_all_types_meet_one_object() {
    let server = ApiServer::start().await.unwrap();
    server
        .create(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "a", "image": "a:1"}]},
        }))
        .unwrap();
    let path = "/api/v1/namespaces/default/pods/p";
    let (code, strategic) = patch(
        &server,
        "application/strategic-merge-patch+json",
        &format!("{path}?fieldManager=me&fieldValidation=Strict"),
        r#"{"spec":{"containers":[{"name":"b","image":"b:1"}]}}"#,
    )
    .await;
    let names = |pod: &Value| -> Vec<Value> {
        pod["spec"]["containers"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect()
    };
    assert_eq!((code, names(&strategic)), (200, vec![json!("b"), json!("a")]));
    let apply = "application/apply-patch+yaml";
    let config = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"x": "y"}},
        "spec": {"containers": [{"name": "a", "image": "a:2"}]},
    })
    .to_string();
    assert_eq!(patch(&server, apply, path, &config).await.0, 422, "the field manager is missing");
    let (code, applied) = patch(&server, apply, &format!("{path}?fieldManager=me"), &config).await;
    assert_eq!((code, names(&applied).len(), &applied["metadata"]["labels"]["x"]), (200, 2, &json!("y")));
    let created = config.replace("\"name\":\"p\"", "\"name\":\"q\"");
    let path = "/api/v1/namespaces/default/pods/q?fieldManager=me";
    assert_eq!(patch(&server, apply, path, &created).await.0, 201);
    assert_eq!(patch(&server, apply, path, "kind: Pod").await.0, 415);
}
