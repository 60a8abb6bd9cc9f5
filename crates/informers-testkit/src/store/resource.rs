//! What the store knows of a resource.

use informers_core::{ResourceScope, ResourceType};

use super::PrinterColumn;
use super::scale::ScalePaths;
use crate::Status;

/// A resource that the server serves, in one or several versions over the same objects.
#[derive(Clone, Debug)]
pub(crate) struct ResourceDef {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) scope: ResourceScope,
    pub(crate) versions: Vec<VersionDef>,
    /// Made by a CustomResourceDefinition or like one.
    pub(crate) custom: bool,
    /// Whether the server counts changes of the specification.
    pub(crate) generation: bool,
    /// Whether an update without a resource version is taken.
    pub(crate) unconditional_update: bool,
    /// The fields beside name and namespace that can be selected by.
    pub(crate) fields: &'static [&'static str],
}

#[derive(Clone, Debug)]
pub(crate) struct VersionDef {
    pub(crate) name: String,
    pub(crate) status: bool,
    pub(crate) scale: Option<ScalePaths>,
    /// What a definition wants to be shown in tables.
    pub(crate) columns: Vec<PrinterColumn>,
}

impl ResourceDef {
    /// A resource as a CustomResourceDefinition would make it, with a status subresource.
    pub(crate) fn custom(resource: &ResourceType) -> Self {
        Self {
            group: resource.group().to_owned(),
            plural: resource.plural().to_owned(),
            singular: resource.kind().to_lowercase(),
            kind: resource.kind().to_owned(),
            list_kind: format!("{}List", resource.kind()),
            short_names: Vec::new(),
            categories: Vec::new(),
            scope: resource.scope(),
            versions: vec![VersionDef {
                name: resource.version().to_owned(),
                status: true,
                scale: None,
                columns: Vec::new(),
            }],
            custom: true,
            generation: true,
            unconditional_update: false,
            fields: &[],
        }
    }

    /// `plural.group`, as messages name it; the key of its collection.
    pub(crate) fn ident(&self) -> String {
        ident(&self.group, &self.plural)
    }

    pub(crate) fn qualified_kind(&self) -> String {
        ident(&self.group, &self.kind)
    }

    pub(crate) fn version(&self, name: &str) -> Option<&VersionDef> {
        self.versions.iter().find(|version| version.name == name)
    }

    pub(crate) fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }

    /// Whether its objects are the namespaces themselves.
    pub(super) fn is_namespace(&self) -> bool {
        self.group.is_empty() && self.plural == "namespaces"
    }

    /// Whether its objects define resources.
    pub(super) fn is_crd(&self) -> bool {
        self.group == "apiextensions.k8s.io" && self.plural == "customresourcedefinitions"
    }

    pub(crate) fn is_namespaced(&self) -> bool {
        self.scope == ResourceScope::Namespaced
    }

    pub(crate) fn has_status(&self) -> bool {
        self.versions.iter().any(|version| version.status)
    }

    pub(crate) fn not_found(&self, name: &str) -> Status {
        Status::new(404, format!("{} {name:?} not found", self.ident())).with_object(
            &self.group,
            &self.plural,
            name,
        )
    }

    pub(crate) fn already_exists(&self, name: &str) -> Status {
        Status::new(409, format!("{} {name:?} already exists", self.ident()))
            .with_reason("AlreadyExists")
            .with_object(&self.group, &self.plural, name)
    }

    pub(crate) fn conflict(&self, name: &str, problem: &str) -> Status {
        Status::new(409, format!("Operation cannot be fulfilled on {} {name:?}: {problem}", self.ident()))
            .with_object(&self.group, &self.plural, name)
    }

    /// A failed precondition of a deletion, in which the server names the kind.
    pub(crate) fn precondition(&self, name: &str, problem: &str) -> Status {
        let kind = self.qualified_kind();
        Status::new(409, format!("Operation cannot be fulfilled on {kind} {name:?}: {problem}")).with_object(
            &self.group,
            &self.kind,
            name,
        )
    }

    /// An object with one wrong field. `reason` is a cause's reason such as `FieldValueInvalid`.
    pub(crate) fn invalid(&self, name: &str, field: &str, reason: &str, problem: &str) -> Status {
        invalid(&self.group, &self.kind, name, field, reason, problem)
    }
}

pub(crate) fn ident(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

/// A 422 with one cause.
pub(crate) fn invalid(
    group: &str,
    kind: &str,
    name: &str,
    field: &str,
    reason: &str,
    problem: &str,
) -> Status {
    Status::new(422, format!("{} {name:?} is invalid: {field}: {problem}", ident(group, kind)))
        .with_object(group, kind, name)
        .with_cause(reason, problem, field)
}
