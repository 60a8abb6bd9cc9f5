//! Lists and watches of one collection.

mod batches;
mod decode;
pub(crate) mod form;
mod list;
mod pipeline;
mod watch;

use async_trait::async_trait;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use informers_core::{
    Error, ErrorKind, ListParams, ListStream, ListWatch, Representation, Resource, ResourceScope, Scope,
    WatchParams, WatchStream,
};

use crate::answer;
use crate::chunks::Chunks;
use crate::client::Call;
use crate::encode::Query;
use crate::transport::ResponseBody;
use crate::{Client, ClientError};

/// One resource in one scope, read through a client.
pub(crate) struct Collection<T> {
    client: Client,
    resource: Resource<T>,
    path: String,
    labels: String,
    fields: String,
    description: String,
}

impl<T: Send + Sync + 'static> Collection<T> {
    pub(crate) fn new(client: Client, resource: Resource<T>, scope: &Scope) -> Result<Self, Error> {
        let description = describe(&resource, scope);
        let refuse = |problem: String| {
            Err(Error::new(ErrorKind::Configuration, format!("list {description}")).with_message(problem))
        };
        if let Some(namespace) = scope.namespace_name()
            && !is_segment(namespace)
        {
            return refuse(format!("`{namespace}` is no name of a namespace"));
        }
        Ok(Self {
            path: resource.resource_type().collection_path(scope.namespace_name()),
            labels: scope.labels().as_written().to_owned(),
            fields: scope.fields().to_string(),
            client,
            resource,
            description,
        })
    }

    fn call(&self, mut query: Query, accept: &'static str, gzip: bool, action: &str) -> Call {
        query.put("labelSelector", &self.labels);
        query.put("fieldSelector", &self.fields);
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        Call {
            method: Method::GET,
            path: format!("{}{}", self.path, query.as_str()),
            headers,
            body: bytes::Bytes::new(),
            gzip,
            action: format!("{action} {}", self.description),
        }
    }

    fn representation(&self) -> Representation {
        self.resource.decoder().representation()
    }

    /// Sends a call, and checks that the answer is in the form that was asked for.
    async fn send(&self, call: &Call) -> Result<Response<ResponseBody>, ClientError> {
        let representation = self.representation();
        let sent = self.client.send(call).await;
        let response = sent.map_err(|error| form::refused(error, representation))?;
        form::check(&response, representation, &call.action)?;
        Ok(response)
    }

    pub(crate) async fn list_stream(&self, params: ListParams) -> Result<list::List<T>, ClientError> {
        let mut query = Query::default();
        query.put_number("limit", params.limit.into());
        query.put("continue", params.continue_token().unwrap_or_default());
        query.put("resourceVersion", &params.version().to_string());
        query.put("resourceVersionMatch", params.version_match().map_or("", |rule| rule.as_str()));
        let call = self.call(query, form::of_list(self.representation()), true, "list");
        let response = self.send(&call).await?;
        let chunks = Chunks::new(response, self.client.timeouts().idle, &call.action)?;
        Ok(list::List::new(chunks, &self.resource, self.client.limits(), call.action))
    }

    async fn watch_stream(&self, params: WatchParams) -> Result<watch::Watch<T>, ClientError> {
        let mut query = Query::default();
        query.put_true("watch", true);
        query.put_true("allowWatchBookmarks", true);
        query.put("resourceVersion", &params.version.to_string());
        if params.send_initial_events {
            query.put_true("sendInitialEvents", true);
            query.put("resourceVersionMatch", "NotOlderThan");
        }
        query.put_number("timeoutSeconds", params.timeout.as_secs().max(1));
        let call = self.call(query, form::of_objects(self.representation()), false, "watch");
        let response = self.send(&call).await?;
        let content_type = answer::text(&response, header::CONTENT_TYPE).unwrap_or_default();
        if response.status() != StatusCode::OK || content_type.starts_with("text/html") {
            return Err(ClientError::UnexpectedAnswer {
                problem: format!("the answer is no watch: status {}, {content_type}", response.status()),
                action: call.action,
                source: None,
            });
        }
        let silence = params.timeout.saturating_add(self.client.timeouts().watch_slack);
        let chunks = Chunks::new(response, silence, &call.action)?;
        Ok(watch::Watch::new(chunks, &self.resource, self.client.limits(), call.action))
    }
}

#[async_trait]
impl<T: Send + Sync + 'static> ListWatch<T> for Collection<T> {
    async fn list(&self, params: ListParams) -> Result<ListStream<T>, Error> {
        match self.list_stream(params).await {
            Ok(stream) => Ok(Box::pin(stream)),
            Err(error) => Err(error.into_core(&format!("list {}", self.description))),
        }
    }

    async fn watch(&self, params: WatchParams) -> Result<WatchStream<T>, Error> {
        match self.watch_stream(params).await {
            Ok(stream) => Ok(Box::pin(stream)),
            Err(error) => Err(error.into_core(&format!("watch {}", self.description))),
        }
    }

    fn description(&self) -> String {
        self.description.clone()
    }
}

fn describe<T: 'static>(resource: &Resource<T>, scope: &Scope) -> String {
    let resource_type = resource.resource_type();
    match resource_type.scope() {
        ResourceScope::Namespaced => format!("{resource_type} in {scope}"),
        ResourceScope::Cluster => {
            let selectors =
                Scope::all().with_labels(scope.labels().clone()).with_fields(scope.fields().clone());
            let text = selectors.to_string();
            format!("{resource_type}{}", text.strip_prefix("all namespaces").unwrap_or_default())
        }
    }
}

/// May this stand between two slashes of a path, so that the path ends neither sooner nor later?
pub(crate) fn is_segment(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '%', '?', '#'])
}
