//! Changes to parts of an object.

use bytes::Bytes;
use serde::Serialize;

use crate::ClientError;

/// A change to parts of an object, in one of the forms that API servers know.
///
/// ```
/// use informers_client::Patch;
/// use serde_json::json;
///
/// let paint = Patch::merge(&json!({ "spec": { "color": "blue" } }))?;
/// let first = Patch::json(&json!([{ "op": "test", "path": "/spec/size", "value": 3 }]))?;
/// let owned = Patch::apply("my-controller", &json!({
///     "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": { "size": 3 },
/// }))?.forced();
/// # Ok::<(), informers_client::ClientError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Patch {
    form: Form,
    body: Bytes,
    field_manager: Option<String>,
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Merge,
    Json,
    Strategic,
    Apply,
}

impl Patch {
    fn new(form: Form, body: &impl Serialize) -> Result<Self, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| ClientError::InvalidRequest {
            action: "patch".to_owned(),
            problem: "the patch cannot be written as JSON".to_owned(),
            source: crate::error::cause(error),
        })?;
        Ok(Self { form, body: body.into(), field_manager: None, force: false })
    }

    /// A JSON merge patch (RFC 7386): maps are merged, `null` removes, anything else replaces.
    ///
    /// # Errors
    /// If serde cannot write it.
    pub fn merge(body: &impl Serialize) -> Result<Self, ClientError> {
        Self::new(Form::Merge, body)
    }

    /// A JSON patch (RFC 6902): a list of operations.
    ///
    /// # Errors
    /// If serde cannot write it.
    pub fn json(operations: &impl Serialize) -> Result<Self, ClientError> {
        Self::new(Form::Json, operations)
    }

    /// A strategic merge patch: lists are merged by the keys that built-in types declare. Not for custom
    /// resources.
    ///
    /// # Errors
    /// If serde cannot write it.
    pub fn strategic(body: &impl Serialize) -> Result<Self, ClientError> {
        Self::new(Form::Strategic, body)
    }

    /// A server-side apply: the fields that `field_manager` wants, and no others. Creates the object if it is
    /// not there.
    ///
    /// # Errors
    /// If serde cannot write it.
    pub fn apply(field_manager: impl Into<String>, body: &impl Serialize) -> Result<Self, ClientError> {
        Ok(Self { field_manager: Some(field_manager.into()), ..Self::new(Form::Apply, body)? })
    }

    /// Takes fields of a server-side apply from other owners instead of failing with a conflict.
    #[must_use]
    pub fn forced(mut self) -> Self {
        self.force = self.form == Form::Apply;
        self
    }

    pub(crate) fn content_type(&self) -> &'static str {
        match self.form {
            Form::Merge => "application/merge-patch+json",
            Form::Json => "application/json-patch+json",
            Form::Strategic => "application/strategic-merge-patch+json",
            // JSON is YAML too.
            Form::Apply => "application/apply-patch+yaml",
        }
    }

    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    pub(crate) fn field_manager(&self) -> Option<&str> {
        self.field_manager.as_deref()
    }

    pub(crate) fn force(&self) -> bool {
        self.force
    }
}
