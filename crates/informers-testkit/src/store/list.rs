//! Lists, whole or in pages, now or as of an earlier revision.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::options::Match;
use super::{Collection, ListOptions, ResourceDef, Store, Stored};
use crate::Status;

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) items: Vec<Arc<Stored>>,
    pub(crate) revision: u64,
    pub(crate) continue_token: Option<String>,
    pub(crate) remaining: Option<usize>,
}

/// A continue token, in the form that kube-apiserver gives it.
#[derive(Serialize, Deserialize)]
struct Token {
    v: String,
    rv: i64,
    start: String,
}

impl Token {
    /// Continues after `last`, at `revision`, or at whatever is current if that is negative.
    fn after(last: &str, revision: i64) -> String {
        let token = Self { v: "meta.k8s.io/v1".to_owned(), rv: revision, start: format!("{last}\0") };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
    }

    fn parse(text: &str) -> Result<Self, Status> {
        let invalid = |problem: &str| {
            Status::new(400, format!("invalid continue token: continue key is not valid: {problem}"))
        };
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .or_else(|_| URL_SAFE.decode(text))
            .map_err(|error| invalid(&error.to_string()))?;
        let token: Self = serde_json::from_slice(&bytes).map_err(|error| invalid(&error.to_string()))?;
        match (token.v.as_str(), token.rv, token.start.as_str()) {
            ("meta.k8s.io/v1", 0, _) => Err(invalid("incorrect encoded start resourceVersion")),
            ("meta.k8s.io/v1", _, "") => Err(invalid("encoded start key empty")),
            ("meta.k8s.io/v1", ..) => Ok(token),
            (other, ..) => Err(invalid(&format!("server does not recognize this encoded version {other:?}"))),
        }
    }
}

/// The answer to a version that the server has not reached.
pub(crate) fn too_large(version: u64, current: u64) -> Status {
    Status::new(504, format!("Timeout: Too large resource version: {version}, current: {current}"))
        .with_cause("ResourceVersionTooLarge", "Too large resource version", "")
        .with_retry_after(1)
}

const EXPIRED_TOKEN: &str = "The provided continue parameter is too old to display a consistent list result. \
     You can start a new list without the continue parameter, or use the continue token in this response to \
     retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list \
     - objects that were created, modified, or deleted between the time the first chunk was returned and now \
     may show up in the list.";

impl Store {
    /// Answers a list request.
    pub(crate) fn list(&self, def: &ResourceDef, options: &ListOptions) -> Result<Page, Status> {
        let Some(collection) = self.collections.get(&def.ident()) else {
            return Err(no_resource());
        };
        let (at, start, limit) = match &options.continue_token {
            Some(text) => {
                let token = Token::parse(text)?;
                if options.version.is_some_and(|version| version != 0) {
                    let problem = "specifying resource version is not allowed when using continue";
                    return Err(Status::new(400, problem));
                }
                let at = u64::try_from(token.rv).unwrap_or(self.revision);
                if at > self.revision {
                    return Err(too_large(at, self.revision));
                }
                if !self.keeps(collection, at) {
                    let start = token.start.trim_end_matches('\0');
                    return Err(Status::new(410, EXPIRED_TOKEN).with_continue(Token::after(start, -1)));
                }
                // As a list from the cache, which is what version 0 asks for, it is not cut into pages.
                let limit = if options.version == Some(0) { 0 } else { options.limit };
                (at, token.start, limit)
            }
            None => {
                let at = self.first_page_revision(collection, options)?;
                let any = options.version == Some(0);
                (at, String::new(), if any { 0 } else { options.limit })
            }
        };
        Ok(page(collection, options, at, &start, limit))
    }

    fn first_page_revision(&self, collection: &Collection, options: &ListOptions) -> Result<u64, Status> {
        let version = options.version.unwrap_or_default();
        if version > self.revision {
            return Err(too_large(version, self.revision));
        }
        // A version without a rule is exact where pages are asked for, and a lower bound elsewhere.
        let exact = match options.version_match {
            Some(rule) => rule == Match::Exact,
            None => version > 0 && options.limit > 0,
        };
        if !exact {
            return Ok(self.revision);
        }
        if !self.keeps(collection, version) {
            return Err(Status::new(410, "The resourceVersion for the provided list is too old."));
        }
        Ok(version)
    }

    /// Whether the state at `revision` can still be told.
    fn keeps(&self, collection: &Collection, revision: u64) -> bool {
        revision >= self.compacted && revision >= collection.floor
    }
}

pub(crate) fn no_resource() -> Status {
    Status::new(404, "the server could not find the requested resource").with_details()
}

fn page(collection: &Collection, options: &ListOptions, at: u64, start: &str, limit: usize) -> Page {
    let selection = &options.selection;
    // Undo what happened since: the oldest event after `at` tells what an object was then.
    let since = collection.history.partition_point(|event| event.revision <= at);
    let mut then = BTreeMap::new();
    for event in collection.history.range(since..) {
        then.entry(event.key()).or_insert_with(|| event.old.clone());
    }
    let prefix =
        if selection.namespace.is_empty() { String::new() } else { format!("{}/", selection.namespace) };
    let from = start.strip_prefix('/').unwrap_or(start);
    let from = if from.is_empty() { prefix.clone() } else { format!("{prefix}{from}") };
    let bounds = (Bound::Included(from.as_str()), Bound::Unbounded);
    let now = collection
        .objects
        .range::<str, _>(bounds)
        .map(|(key, object)| (key.as_str(), Some(object)))
        .filter(|(key, _)| !then.contains_key(*key));
    let past = then.range::<str, _>(bounds).map(|(key, object)| (key.as_str(), object.as_ref()));
    let mut selected = merge(now, past)
        .take_while(|(key, _)| key.starts_with(&prefix))
        .filter_map(|(key, object)| Some((key, object?)))
        .filter(|(_, object)| selection.matches(object));

    let mut items = Vec::new();
    let mut last = "";
    while limit == 0 || items.len() < limit {
        let Some((key, object)) = selected.next() else { break };
        items.push(Arc::clone(object));
        last = key.strip_prefix(&prefix).unwrap_or(key);
    }
    // The server counts what remains only where it need not look into objects for that.
    let more = limit > 0 && selected.next().is_some();
    let remaining = (more && !selection.has_selectors()).then(|| selected.count() + 1);
    Page {
        items,
        revision: at,
        continue_token: more.then(|| Token::after(&format!("/{last}"), i64::try_from(at).unwrap_or(-1))),
        remaining,
    }
}

/// Two sequences, each ordered by key and without a key of the other, as one.
fn merge<'a, T>(
    left: impl Iterator<Item = (&'a str, T)>,
    right: impl Iterator<Item = (&'a str, T)>,
) -> impl Iterator<Item = (&'a str, T)> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    std::iter::from_fn(move || match (left.peek(), right.peek()) {
        (Some((a, _)), Some((b, _))) if a > b => right.next(),
        (None, _) => right.next(),
        _ => left.next(),
    })
}
