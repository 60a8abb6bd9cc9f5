//! Which objects a request selects.

use informers_core::{FieldSelector, LabelSelector};
use serde_json::Value;

use super::object::Stored;
use super::resource::ResourceDef;
use crate::Status;

/// A namespace and selectors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// Empty for all namespaces.
    pub(crate) namespace: String,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selection {
    /// Parses the two selectors of a request and checks them against what the resource can be selected by.
    pub(crate) fn parse(
        def: &ResourceDef,
        namespace: &str,
        labels: Option<&str>,
        fields: Option<&str>,
    ) -> Result<Self, Status> {
        let bad = |problem: String| Status::new(400, problem);
        let labels: LabelSelector = labels
            .unwrap_or_default()
            .parse()
            .map_err(|error| bad(format!("unable to parse requirement: {error}")))?;
        let fields: FieldSelector =
            fields.unwrap_or_default().parse().map_err(|error| bad(format!("{error}")))?;
        for requirement in fields.requirements() {
            let path = requirement.path();
            // Resources that name their fields themselves do not know a namespace that they have not.
            let namespace = path == "metadata.namespace" && (def.is_namespaced() || def.fields.is_empty());
            if namespace || path == "metadata.name" || def.fields.contains(&path) {
                continue;
            }
            return Err(bad(if def.fields.is_empty() && !def.custom {
                format!(
                    "{path:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                )
            } else {
                format!("field label not supported: {path}")
            }));
        }
        Ok(Self { namespace: namespace.to_owned(), labels, fields })
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        (self.namespace.is_empty() || self.namespace == object.namespace()) && self.matches_selectors(object)
    }

    pub(crate) fn has_selectors(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }

    fn matches_selectors(&self, object: &Stored) -> bool {
        self.labels.matches_with(|key| object.label(key))
            && self.fields.matches_with(|path| Some(field(object, path)))
    }
}

/// The value of a selectable field; empty where it is absent, or its default where the API has one.
fn field(object: &Stored, path: &str) -> String {
    let value = |path: &str| {
        let mut segments = path.split('.');
        let first = segments.next().and_then(|segment| object.value.get(segment));
        segments.fold(first, |value, segment| value?.get(segment))
    };
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    match path {
        "source" => match text(value("source.component")) {
            component if component.is_empty() => text(value("reportingComponent")),
            component => component,
        },
        "spec.hostNetwork" | "spec.unschedulable" => text(Some(value(path).unwrap_or(&Value::Bool(false)))),
        "status.successful" => text(Some(value("status.succeeded").unwrap_or(&Value::from(0)))),
        "status.replicas" => text(Some(value(path).unwrap_or(&Value::from(0)))),
        _ => text(value(path)),
    }
}
