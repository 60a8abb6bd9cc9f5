//! What is remembered of discovery, and waiting for a custom resource.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informers_client::ClientError;

use crate::server::{Answer, Seen, Server, status};

fn groups(names: &[&str]) -> Answer {
    let group = |name: &&str| {
        format!(r#"{{"name":"{name}","versions":[{{"groupVersion":"{name}/v1","version":"v1"}}]}}"#)
    };
    Answer::json(format!(r#"{{"groups":[{}]}}"#, names.iter().map(group).collect::<Vec<_>>().join(",")))
}

fn resources(kind: &str, plural: &str) -> Answer {
    Answer::json(format!(
        r#"{{"resources":[{{"name":"{plural}","singularName":"","namespaced":true,"kind":"{kind}"}}]}}"#
    ))
}

fn not_found() -> Answer {
    Answer::json(status(404, "NotFound", "there is none")).status(404)
}

#[tokio::test]
async fn discovery_is_asked_once_and_again_for_what_is_new() {
    let has_widgets = Arc::new(AtomicUsize::new(0));
    let known = Arc::clone(&has_widgets);
    let server = Server::start(move |seen| match seen.target.as_str() {
        "/api/v1" => resources("Pod", "pods"),
        "/apis" if known.load(Ordering::SeqCst) == 1 => groups(&["example.com"]),
        "/apis" => groups(&[]),
        "/apis/example.com/v1" => resources("Widget", "widgets"),
        _ => not_found(),
    })
    .await;
    let discovery = server.client().discovery();
    for _ in 0..3 {
        assert_eq!(discovery.find("pods").await.unwrap().kind(), "Pod");
    }
    assert_eq!(server.targets(), ["/api/v1"]);
    let error = discovery.clone().find("widgets").await.unwrap_err();
    assert!(matches!(error, ClientError::UnknownResource { .. }), "{error:?}");

    has_widgets.store(1, Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(discovery.find("widgets.example.com").await.unwrap().kind(), "Widget");
    }
    let before = server.count();
    discovery.find("widgets").await.unwrap();
    discovery.find("pods").await.unwrap();
    assert_eq!(server.count(), before + 1, "only the core group was to be asked for again");
    discovery.forget();
    discovery.find("pods").await.unwrap();
    assert_eq!(server.count(), before + 2);
}

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";

fn definition(conditions: &str) -> Answer {
    Answer::json(format!(r#"{{"status":{{"conditions":[{conditions}]}}}}"#))
}

const ESTABLISHED: &str =
    r#"{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"True"}"#;

#[tokio::test]
async fn a_custom_resource_is_waited_for_until_discovery_has_it() {
    // Each look finds it one step further.
    let looks = AtomicUsize::new(0);
    let server = Server::start(move |seen: &Seen| {
        let look = looks.load(Ordering::SeqCst);
        match (seen.target.as_str(), look) {
            (DEFINITION, _) => {
                looks.store(look + 1, Ordering::SeqCst);
                match look {
                    0 => not_found(),
                    1 => Answer::json(r#"{"metadata":{"name":"widgets.example.com"}}"#),
                    2 => definition(r#"{"type":"Established","status":"False"}"#),
                    _ => definition(ESTABLISHED),
                }
            }
            ("/api/v1", _) => resources("Pod", "pods"),
            ("/apis", 4) => groups(&[]),
            ("/apis", _) => groups(&["example.com"]),
            ("/apis/example.com/v1", 5) => not_found(),
            ("/apis/example.com/v1", _) => resources("Widget", "widgets"),
            _ => not_found(),
        }
    })
    .await;
    let found = server.client().wait_until_established("widgets.example.com", Duration::from_secs(30)).await;
    assert_eq!(found.unwrap().to_string(), "widgets.v1.example.com");
    assert_eq!(server.targets().iter().filter(|target| *target == DEFINITION).count(), 6);
}

#[tokio::test]
async fn the_longest_patience_has_no_end() {
    let looks = AtomicUsize::new(0);
    let server = Server::start(move |seen: &Seen| match seen.target.as_str() {
        DEFINITION if looks.fetch_add(1, Ordering::SeqCst) == 0 => not_found(),
        DEFINITION => definition(ESTABLISHED),
        "/apis" => groups(&["example.com"]),
        "/apis/example.com/v1" => resources("Widget", "widgets"),
        _ => resources("Pod", "pods"),
    })
    .await;
    let found = server.client().wait_until_established("widgets.example.com", Duration::MAX).await;
    assert_eq!(found.unwrap().to_string(), "widgets.v1.example.com");
}

#[tokio::test]
async fn what_keeps_a_custom_resource_from_being_served_is_said() {
    let rejected = r#"{"type":"NamesAccepted","status":"False","reason":"ListKindConflict","message":"\"WidgetList\" is taken"}"#;
    let server = Server::start(move |_| definition(rejected)).await;
    let wait = |server: &Server, name: &'static str| {
        let client = server.client();
        async move { client.wait_until_established(name, Duration::from_millis(60)).await.unwrap_err() }
    };
    let error = wait(&server, "widgets.example.com").await;
    let text = error.to_string();
    assert!(error.is_timeout() && text.contains("widgets.example.com"), "{text}");
    assert!(text.contains("\"WidgetList\" is taken (ListKindConflict)"), "{text}");

    let forbidden = Server::start(|_| Answer::json(status(403, "Forbidden", "no")).status(403)).await;
    assert!(wait(&forbidden, "widgets.example.com").await.is_forbidden());
    assert_eq!(forbidden.count(), 1, "time does not heal it");
    for name in ["widgets", "../pods.x"] {
        let error = wait(&forbidden, name).await;
        assert!(matches!(error, ClientError::InvalidRequest { .. }), "{name}: {error:?}");
    }
}
