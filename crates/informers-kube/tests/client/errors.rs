//! What goes wrong, and what informers are told of it.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use futures_util::StreamExt as _;
use informers_core::{Error, ErrorKind, ListParams, Scope, Source as _, WatchParams};
use informers_kube::{KubeSource, kube_client, resource};
use k8s_openapi::api::core::v1::Pod;

use crate::answers::{Answer, Script, answer, cut, read};

async fn list(answer: Answer) -> Error {
    let pods = Script::new([answer]).source().list_watch(&resource::<Pod>(), &Scope::all()).unwrap();
    read(&*pods, ListParams::first("0".into())).await.unwrap_err()
}

async fn watch(answer: Answer) -> (usize, Option<Error>) {
    let pods = Script::new([answer]).source().list_watch(&resource::<Pod>(), &Scope::all()).unwrap();
    let params = WatchParams::from_version("4".into(), Duration::from_secs(300));
    let mut stream = match pods.watch(params).await {
        Ok(stream) => stream,
        Err(error) => return (0, Some(error)),
    };
    let mut events = 0;
    while let Some(batch) = stream.next().await {
        match batch {
            Ok(batch) => events += batch.len(),
            Err(error) => return (events, Some(error)),
        }
    }
    (events, None)
}

const EXPIRED: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old","reason":"Expired","code":410}"#;
const FORBIDDEN: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods is forbidden","reason":"Forbidden","code":403}"#;
const ADDED: &str = concat!(
    r#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"shop","uid":"u","resourceVersion":"5"}}}"#,
    "\n"
);

#[tokio::test]
async fn answers_keep_their_status() {
    let error = list(answer(410, [EXPIRED])).await;
    assert_eq!((error.kind(), error.message()), (ErrorKind::Expired, "too old"));
    let (events, error) = watch(answer(403, [FORBIDDEN])).await;
    assert_eq!((events, error.unwrap().kind()), (0, ErrorKind::Forbidden));
    let mut busy = answer(429, ["busy"]).unwrap();
    busy.headers_mut().insert("retry-after", "3".parse().unwrap());
    let error = list(Ok(busy)).await;
    assert_eq!(
        (error.kind(), error.retry_after()),
        (ErrorKind::TooManyRequests, Some(Duration::from_secs(3)))
    );
}

#[tokio::test]
async fn a03_an_expired_version_inside_a_watch_ends_it() {
    let framed = concat!(
        r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","#,
        r#""message":"too old","reason":"Expired","code":410}}"#,
        "\n"
    );
    let (events, error) = watch(answer(200, [ADDED, framed])).await;
    assert_eq!((events, error.unwrap().kind()), (1, ErrorKind::Expired));
}

#[tokio::test]
async fn a_list_of_the_wrong_kind_is_never_an_empty_list() {
    let other = r#"{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#;
    assert_eq!(list(answer(200, [other])).await.kind(), ErrorKind::UnexpectedAnswer);
}

#[tokio::test]
async fn a_connection_that_breaks_is_lost() {
    let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
    let (events, error) = watch(cut([ADDED], reset())).await;
    let error = error.unwrap();
    assert_eq!((events, error.kind()), (1, ErrorKind::ConnectionLost));
    assert!(error.to_string().contains("the server of the kube::Client"), "{error}");
    assert_eq!(list(cut([r#"{"kind":"PodList","#], reset())).await.kind(), ErrorKind::ConnectionLost);
}

#[tokio::test]
async fn credentials_that_kube_cannot_get_are_told_apart_from_connections() {
    let auth = kube_client::client::AuthError::UnrefreshableTokenResponse;
    let error = list(Err(kube_client::Error::Auth(auth).into())).await;
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    assert!(error.to_string().contains("kube::Client"), "{error}");
    assert!(error.source().unwrap().to_string().contains("non-refreshable"), "{error:?}");
}

#[tokio::test]
async fn a_refused_connection_is_told_so() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let config = kube_client::Config::new(url.parse().unwrap());
    let source = KubeSource::from(kube_client::Client::try_from(config).unwrap());
    let pods = source.list_watch(&resource::<Pod>(), &Scope::all()).unwrap();
    let error = read(&*pods, ListParams::first("0".into())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert!(error.to_string().contains("list pods in all namespaces"), "{error}");
}
