//! Read, change, write; subresources; limits of the number of requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informers_client::{Client, ClientError, DeleteOptions, Patch, RateLimit};
use informers_core::{ListParams, Scope, Source as _};
use serde_json::{Value, json};

use crate::server::{Answer, Seen, Server, list_of, status, widget, widgets};

const PATH: &str = "/apis/example.com/v1/namespaces/shop/widgets";

fn conflict() -> Answer {
    Answer::json(status(409, "Conflict", "changed meanwhile")).status(409)
}

fn shown(server: &Server) -> Vec<String> {
    let shown = |seen: &Seen| format!("{} {}", seen.method, seen.target.replace(PATH, "…"));
    server.seen.lock().iter().map(shown).collect()
}

fn body(server: &Server, at: usize) -> Value {
    serde_json::from_slice(&server.seen.lock()[at].body).unwrap()
}

#[tokio::test]
async fn a_change_is_made_again_on_what_others_made_of_it() {
    let server = Server::script([
        Answer::json(widget("w", 5, r#","size":1,"unknown":{"kept":true}"#)),
        conflict(),
        Answer::json(widget("w", 6, r#","size":10"#)),
        Answer::json(widget("w", 7, r#","size":11"#)),
    ])
    .await;
    let api = server.client().api(&widgets(), Some("shop"));
    let written = api
        .update_with("w", |widget| {
            widget["size"] = (widget["size"].as_u64().unwrap() + 1).into();
            // Who replaces the whole object loses the version, which must not make the write unconditional.
            widget["metadata"]["resourceVersion"] = Value::Null;
        })
        .await
        .unwrap();
    assert_eq!((written.size, written.version()), (11, &"7".into()));
    assert_eq!(shown(&server), ["GET …/w", "PUT …/w", "GET …/w", "PUT …/w"]);
    assert_eq!(body(&server, 1)["unknown"], json!({ "kept": true }));
    for (at, version, size) in [(1, "5", 2), (3, "6", 11)] {
        let body = body(&server, at);
        assert_eq!((&body["metadata"]["resourceVersion"], &body["size"]), (&json!(version), &json!(size)));
    }
}

#[tokio::test]
async fn a_change_ends_after_five_conflicts_and_at_other_errors() {
    let always = Server::start(|seen| match seen.method.as_str() {
        "GET" => Answer::json(widget("w", 5, "")),
        _ => conflict(),
    })
    .await;
    let api = always.client().api(&widgets(), Some("shop"));
    let error = api.update_status_with("w", |widget| widget["status"] = json!(1)).await.unwrap_err();
    assert!(error.is_conflict());
    assert_eq!(shown(&always), ["GET …/w", "PUT …/w/status"].repeat(5));

    let missing = Server::start(|_| Answer::json(status(404, "NotFound", "m")).status(404)).await;
    let api = missing.client().api(&widgets(), Some("shop"));
    assert!(api.update_with("w", |_| panic!("there is nothing to change")).await.unwrap_err().is_not_found());
    assert_eq!(missing.count(), 1);

    for odd in ["[]", "7", "{}", r#"{"metadata":"x"}"#, r#"{"metadata":{"resourceVersion":5}}"#] {
        let server = Server::start(move |_| Answer::json(odd)).await;
        let error = server.client().api(&widgets(), Some("shop")).update_with("w", |_| {}).await.unwrap_err();
        assert!(matches!(error, ClientError::UnexpectedAnswer { .. }), "{odd}: {error:?}");
    }
}

#[tokio::test]
async fn finalizers_are_added_and_removed_once() {
    let with = |list: &str| {
        format!(
            r#"{{"metadata":{{"namespace":"shop","name":"w","resourceVersion":"5","finalizers":{list}}}}}"#
        )
    };
    let server = Server::script([
        Answer::json(widget("w", 5, "")),
        Answer::json(widget("w", 6, "")),
        Answer::json(with(r#"["mine","other"]"#)),
        Answer::json(with(r#"["mine","other"]"#)),
        Answer::json(widget("w", 7, "")),
        Answer::json(widget("w", 8, "")),
    ])
    .await;
    let api = server.client().api(&widgets(), Some("shop"));
    api.add_finalizer("w", "mine").await.unwrap();
    api.add_finalizer("w", "mine").await.unwrap();
    api.remove_finalizer("w", "mine").await.unwrap();
    api.remove_finalizer("w", "mine").await.unwrap();
    assert_eq!(shown(&server), ["GET …/w", "PUT …/w", "GET …/w", "GET …/w", "PUT …/w", "GET …/w"]);
    assert_eq!(body(&server, 1)["metadata"]["finalizers"], json!(["mine"]));
    assert_eq!(body(&server, 4)["metadata"]["finalizers"], json!(["other"]));
}

#[tokio::test]
async fn a_conflict_of_field_owners_is_told_and_can_be_forced() {
    let server = Server::script([conflict(), Answer::json(widget("w", 6, "")), conflict()]).await;
    let api = server.client().api(&widgets(), Some("shop")).with_field_manager("me");
    let patch = Patch::apply("shop-controller", &json!({ "spec": { "size": 3 } })).unwrap();
    assert!(api.patch("w", &patch).await.unwrap_err().is_conflict());
    api.patch("w", &patch.clone().forced()).await.unwrap();
    // Only an apply can be forced.
    let merge = Patch::merge(&json!({})).unwrap().forced();
    assert!(api.patch("w", &merge).await.unwrap_err().is_conflict());
    assert_eq!(
        shown(&server),
        [
            "PATCH …/w?fieldManager=shop-controller",
            "PATCH …/w?force=true&fieldManager=shop-controller",
            "PATCH …/w?fieldManager=me",
        ]
    );
    assert_eq!(server.seen.lock()[1].header("content-type"), Some("application/apply-patch+yaml"));
}

#[tokio::test]
async fn a_deletion_whose_precondition_does_not_hold_is_a_conflict() {
    let server = Server::script([conflict()]).await;
    let api = server.client().api(&widgets(), Some("shop"));
    let options = DeleteOptions::new().with_uid("u-w").with_resource_version("5");
    assert!(api.delete("w", &options).await.unwrap_err().is_conflict());
    assert_eq!(body(&server, 0)["preconditions"], json!({ "uid": "u-w", "resourceVersion": "5" }));
}

#[tokio::test]
async fn any_subresource_can_be_read_and_written() {
    let scale = r#"{"kind":"Scale","spec":{"replicas":3},"status":{"replicas":2,"selector":"app=cart"}}"#;
    let server = Server::start(move |_| Answer::json(scale)).await;
    let api = server.client().api(&widgets(), Some("shop")).with_field_manager("me");
    let read = api.scale("w").await.unwrap();
    assert_eq!((read.wanted, read.present, read.selector.as_str()), (3, 2, "app=cart"));
    api.set_scale("w", 0).await.unwrap();
    let sub = api.subresource("w", "eviction");
    let _: Value = sub.create(&json!({ "kind": "Eviction" })).await.unwrap();
    let _: Value = sub.update(&json!({})).await.unwrap();
    let _: Value = sub.patch(&Patch::merge(&json!({})).unwrap()).await.unwrap();
    assert_eq!(
        shown(&server),
        [
            "GET …/w/scale",
            "PATCH …/w/scale?fieldManager=me",
            "POST …/w/eviction?fieldManager=me",
            "PUT …/w/eviction?fieldManager=me",
            "PATCH …/w/eviction?fieldManager=me",
        ]
    );
    assert_eq!(body(&server, 1), json!({ "spec": { "replicas": 0 } }));
    assert_eq!(body(&server, 2), json!({ "kind": "Eviction" }), "it is of a kind of its own");
    let error = api.subresource("w", "a?b/..").get::<Value>().await.unwrap_err();
    assert!(matches!(error, ClientError::InvalidRequest { .. }), "{error:?}");
    let error = api.subresource("w", "scale").get::<Vec<u32>>().await.unwrap_err();
    assert!(matches!(error, ClientError::UnexpectedAnswer { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_requests_holds_for_all_clones_of_a_client() {
    // Real sockets and a paused clock do not go together: the server is inside this process.
    struct Lists(Arc<AtomicUsize>);
    #[async_trait::async_trait]
    impl informers_client::HttpService for Lists {
        async fn send(
            &self,
            _: http::Request<bytes::Bytes>,
        ) -> Result<http::Response<informers_client::HttpBody>, informers_client::BoxError> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Ok(http::Response::new(informers_client::HttpBody::full(list_of(7, &[]))))
        }
    }
    let config = informers_client::Config::for_url("http://inside").unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let limit = RateLimit::per_second(2.0, 2);
    let client = Client::over(Lists(Arc::clone(&count)), config.with_rate_limit(limit)).unwrap();
    let start = tokio::time::Instant::now();
    let tasks: Vec<_> = (0..6)
        .map(|_| {
            let widgets = client.clone().list_watch(&widgets(), &Scope::all()).unwrap();
            tokio::spawn(async move { widgets.list(ListParams::first("0".into())).await.map(drop) })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(count.load(Ordering::SeqCst), 6);
    assert_eq!(start.elapsed().as_millis() / 10, 200, "two at once, then two a second");
    tokio::time::sleep(Duration::from_secs(60)).await;
}
