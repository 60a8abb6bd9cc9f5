//! The conformance checks over HTTP, through a client that is as plain as can be.

#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

mod client;

use std::sync::Arc;

use async_trait::async_trait;
use client::{Lines, Protocol, get};
use futures_util::stream;
use informers_core::{
    Change, Error, ListParams, ListPart, ListStream, ListTrailer, ListWatch, Resource, Scope, Source,
    WatchEvent, WatchParams, WatchStream,
};
use informers_testkit::conformance::{WorldPlayground, check_all};
use informers_testkit::{ApiServer, Status};
use serde_json::Value;

struct PlainClient {
    server: Arc<ApiServer>,
    protocol: Protocol,
}

impl Source for PlainClient {
    fn list_watch<T: Send + Sync + 'static>(
        &self,
        resource: &Resource<T>,
        scope: &Scope,
    ) -> Result<Arc<dyn ListWatch<T>>, Error> {
        let path = resource.resource_type().collection_path(scope.namespace_name());
        // The checks select by `key=value` alone.
        let labels = scope.labels().to_string().replace('=', "%3D").replace(',', "%2C");
        Ok(Arc::new(PlainListWatch {
            server: Arc::clone(&self.server),
            protocol: self.protocol,
            resource: resource.clone(),
            path: format!("{path}?labelSelector={labels}"),
        }))
    }
}

struct PlainListWatch<T> {
    server: Arc<ApiServer>,
    protocol: Protocol,
    resource: Resource<T>,
    path: String,
}

fn error(status: &Value) -> Error {
    let code = u16::try_from(status["code"].as_u64().unwrap()).unwrap();
    let mut found = Status::new(code, status["message"].as_str().unwrap_or_default())
        .with_reason(status["reason"].as_str().unwrap_or_default());
    for cause in status["details"]["causes"].as_array().into_iter().flatten() {
        found = found.with_cause(cause["reason"].as_str().unwrap_or_default(), "", "");
    }
    found.to_error("read config maps")
}

#[async_trait]
impl<T: Send + Sync + 'static> ListWatch<T> for PlainListWatch<T> {
    async fn list(&self, params: ListParams) -> Result<ListStream<T>, Error> {
        let rule = params.version_match().map(|rule| rule.as_str()).unwrap_or_default();
        let path = format!(
            "{}&limit={}&continue={}&resourceVersion={}&resourceVersionMatch={rule}",
            self.path,
            params.limit,
            params.continue_token().unwrap_or_default(),
            params.version(),
        );
        let (code, list) = get(&self.server, &path).await;
        if code != 200 {
            return Err(error(&list));
        }
        let decode =
            |item: &Value| self.resource.decoder().decode(item.to_string().as_bytes()).unwrap().into();
        let items = list["items"].as_array().unwrap().iter().map(decode).collect();
        let text = |field: &str| list["metadata"][field].as_str().unwrap_or_default().to_owned();
        let trailer = ListTrailer::new(text("resourceVersion").into()).with_continue(text("continue"));
        Ok(Box::pin(stream::iter([Ok(ListPart::Items(items)), Ok(ListPart::Trailer(trailer))])))
    }

    async fn watch(&self, params: WatchParams) -> Result<WatchStream<T>, Error> {
        let initial = if params.send_initial_events {
            "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        } else {
            ""
        };
        let path = format!(
            "{}&watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}{initial}",
            self.path,
            params.version,
            params.timeout.as_secs(),
        );
        let lines = Lines::open(&self.server, self.protocol, &path).await;
        let state = (lines, self.resource.clone());
        Ok(Box::pin(stream::unfold(state, |(mut lines, resource)| async move {
            let line = lines.next().await.unwrap()?;
            let object = &line["object"];
            let decode = || resource.decoder().decode(object.to_string().as_bytes()).unwrap();
            let event: WatchEvent<T> = match line["type"].as_str().unwrap() {
                "ADDED" => Change::added(decode()).into(),
                "MODIFIED" => Change::modified(decode()).into(),
                "DELETED" => Change::deleted(decode()).into(),
                "BOOKMARK" => WatchEvent::Bookmark {
                    version: object["metadata"]["resourceVersion"].as_str().unwrap().into(),
                    initial_events_end: !object["metadata"]["annotations"].is_null(),
                },
                _ => return Some((Err(error(object)), (lines, resource))),
            };
            Some((Ok(vec![event]), (lines, resource)))
        })))
    }

    fn description(&self) -> String {
        self.path.clone()
    }
}

#[tokio::test]
async fn the_embedded_server_conforms() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let server = Arc::new(ApiServer::start().await.unwrap());
        let client = PlainClient { server: Arc::clone(&server), protocol };
        let playground = WorldPlayground::new((**server).clone(), client);
        assert_eq!(check_all(&playground).await.unwrap(), Vec::<&str>::new());
    }
}
