//! What the embedded server was asked.

use std::collections::VecDeque;
use std::fmt;

use http::request::Parts;

use crate::http::path::{ResourcePath, query_pairs};

/// What a request wants to do, in the words of the Kubernetes API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// One object.
    Get,
    /// A collection, or a page of it.
    List,
    /// The changes of a collection.
    Watch,
    /// A new object.
    Create,
    /// An object in place of another.
    Update,
    /// A change of an object.
    Patch,
    /// One object less.
    Delete,
    /// All selected objects less.
    DeleteCollection,
}

/// One request that the embedded server received.
#[derive(Clone)]
pub struct RequestRecord {
    method: String,
    path: String,
    query: String,
    accept: String,
    user_agent: String,
    http2: bool,
    verb: Option<Verb>,
    resource: String,
    namespace: String,
    name: String,
    subresource: String,
}

impl RequestRecord {
    pub(crate) fn new(parts: &Parts, verb: Option<Verb>, resource: &ResourcePath) -> Self {
        let header = |name: http::HeaderName| {
            let value = parts.headers.get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        Self {
            method: parts.method.to_string(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            accept: header(http::header::ACCEPT),
            user_agent: header(http::header::USER_AGENT),
            http2: parts.version == http::Version::HTTP_2,
            verb,
            resource: resource.plural.clone(),
            namespace: resource.namespace.clone(),
            name: resource.name.clone(),
            subresource: resource.subresource.clone(),
        }
    }

    /// A request that did not come over HTTP.
    pub(crate) fn in_process(verb: Verb, path: String, query: String, resource: &ResourcePath) -> Self {
        Self {
            method: "GET".to_owned(),
            path,
            query,
            accept: String::new(),
            user_agent: String::new(),
            http2: false,
            verb: Some(verb),
            resource: resource.plural.clone(),
            namespace: resource.namespace.clone(),
            name: String::new(),
            subresource: String::new(),
        }
    }

    /// The HTTP method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The path, as it was sent.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The query, as it was sent, without the question mark; may be empty.
    #[must_use]
    pub fn query(&self) -> &str {
        &self.query
    }

    /// The decoded value of a parameter of the query, or none if it was not sent.
    #[must_use]
    pub fn query_parameter(&self, name: &str) -> Option<String> {
        query_pairs(&self.query).find(|(found, _)| found == name).map(|(_, value)| value)
    }

    /// The `Accept` header; empty if there was none.
    #[must_use]
    pub fn accept(&self) -> &str {
        &self.accept
    }

    /// The `User-Agent` header; empty if there was none.
    #[must_use]
    pub fn user_agent(&self) -> &str {
        &self.user_agent
    }

    /// Whether it came over HTTP/2.
    #[must_use]
    pub fn is_http2(&self) -> bool {
        self.http2
    }

    /// What it wanted to do; none if it was not about a resource.
    #[must_use]
    pub fn verb(&self) -> Option<Verb> {
        self.verb
    }

    /// The plural of the resource; empty if it was about none.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The namespace; empty for all namespaces and for resources without.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name of the object; empty for collections.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The subresource, such as `status`; empty if there was none.
    #[must_use]
    pub fn subresource(&self) -> &str {
        &self.subresource
    }
}

/// As in an access log: method, path and query.
impl fmt::Display for RequestRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        if self.query.is_empty() { Ok(()) } else { write!(f, "?{}", self.query) }
    }
}

impl fmt::Debug for RequestRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// How many requests are remembered.
pub(crate) const LOG_LIMIT: usize = 100_000;

/// The last requests, oldest first.
#[derive(Debug, Default)]
pub(crate) struct RequestLog(VecDeque<RequestRecord>);

impl RequestLog {
    pub(crate) fn push(&mut self, record: RequestRecord) {
        if self.0.len() == LOG_LIMIT {
            self.0.pop_front();
        }
        self.0.push_back(record);
    }

    pub(crate) fn all(&self) -> Vec<RequestRecord> {
        self.0.iter().cloned().collect()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
