//! Which part of a resource is meant.

use std::fmt;
use std::sync::Arc;

use crate::{FieldSelector, LabelSelector};

/// A part of a resource: one namespace or all, narrowed by selectors.
///
/// ```
/// use informers_core::Scope;
///
/// let scope = Scope::namespace("shop").with_labels("app=web".parse().unwrap());
/// assert_eq!(scope.to_string(), "namespace shop, labels app=web");
/// assert_eq!(Scope::all().to_string(), "all namespaces");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Scope {
    namespace: Option<Arc<str>>,
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Scope {
    /// Everything: all namespaces, no selector.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// One namespace; the empty name stands for all of them, as in client-go.
    #[must_use]
    pub fn namespace(name: &str) -> Self {
        Self { namespace: (!name.is_empty()).then(|| name.into()), ..Self::default() }
    }

    /// Narrowed to objects whose labels match.
    #[must_use]
    pub fn with_labels(mut self, labels: LabelSelector) -> Self {
        self.labels = labels;
        self
    }

    /// Narrowed to objects whose fields match.
    #[must_use]
    pub fn with_fields(mut self, fields: FieldSelector) -> Self {
        self.fields = fields;
        self
    }

    /// The one namespace, or none for all.
    #[must_use]
    pub fn namespace_name(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The label selector; empty matches everything.
    #[must_use]
    pub fn labels(&self) -> &LabelSelector {
        &self.labels
    }

    /// The field selector; empty matches everything.
    #[must_use]
    pub fn fields(&self) -> &FieldSelector {
        &self.fields
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "namespace {namespace}")?,
            None => f.write_str("all namespaces")?,
        }
        if !self.labels.is_empty() {
            write!(f, ", labels {}", self.labels)?;
        }
        if !self.fields.is_empty() {
            write!(f, ", fields {}", self.fields)?;
        }
        Ok(())
    }
}
