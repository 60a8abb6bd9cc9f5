//! The query of a request.

use std::collections::BTreeMap;

use super::path::query_pairs;
use crate::Status;
use crate::store::{ListOptions, RawOptions, ResourceDef, Selection, WatchOptions};

/// The parameters of a query; of a repeated one the first counts.
#[derive(Debug, Default)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    pub(crate) fn parse(query: &str) -> Self {
        let mut parameters = BTreeMap::new();
        for (name, value) in query_pairs(query) {
            parameters.entry(name).or_insert(value);
        }
        Self(parameters)
    }

    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map(String::as_str).unwrap_or_default()
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.0.get("watch").is_some_and(|value| !matches!(value.as_str(), "0" | "false" | "False" | "FALSE"))
    }

    /// Whether nothing is to be stored.
    pub(crate) fn dry_run(&self, kind: &str) -> Result<bool, Status> {
        match self.0.get("dryRun").map(String::as_str) {
            None => Ok(false),
            Some("All") => Ok(true),
            Some(other) => {
                let problem = format!("Unsupported value: [{other:?}]: supported values: \"All\"");
                Err(Status::new(422, format!("{kind}.meta.k8s.io \"\" is invalid: dryRun: {problem}"))
                    .with_object("meta.k8s.io", kind, "")
                    .with_cause("FieldValueNotSupported", problem, "dryRun"))
            }
        }
    }

    /// What a list or watch of `namespace` (empty for all) selects; `name` narrows it to one object.
    pub(crate) fn selection(
        &self,
        def: &ResourceDef,
        namespace: &str,
        name: &str,
    ) -> Result<Selection, Status> {
        let labels = self.0.get("labelSelector").map(String::as_str);
        let fields = self.get("fieldSelector");
        let fields = match (name, fields) {
            ("", fields) => fields.to_owned(),
            (name, "") => format!("metadata.name={name}"),
            (name, fields) => format!("{fields},metadata.name={name}"),
        };
        Selection::parse(def, namespace, labels, Some(&fields))
    }

    fn raw(&self) -> RawOptions<'_> {
        RawOptions {
            resource_version: self.get("resourceVersion"),
            resource_version_match: self.get("resourceVersionMatch"),
            continue_token: self.get("continue"),
            limit: self.get("limit"),
            timeout_seconds: self.get("timeoutSeconds"),
            allow_watch_bookmarks: self.get("allowWatchBookmarks"),
            send_initial_events: self.0.get("sendInitialEvents").map(String::as_str),
        }
    }

    pub(crate) fn list_options(&self, selection: Selection) -> Result<ListOptions, Status> {
        self.raw().list(selection)
    }

    pub(crate) fn watch_options(&self, selection: Selection) -> Result<WatchOptions, Status> {
        self.raw().watch(selection)
    }
}
