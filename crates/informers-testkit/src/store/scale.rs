//! The scale subresource: the number of replicas, wherever an object keeps it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::selector_text;
use super::{Patch, Store, Stored, Target, WriteOptions};
use crate::Status;

/// Where an object keeps its replicas, as paths such as `spec.replicas`.
#[derive(Clone, Debug)]
pub(crate) struct ScalePaths {
    pub(crate) spec: String,
    pub(crate) status: String,
    /// Where a custom resource has its selector, as a string.
    pub(crate) selector: Option<String>,
}

impl Default for ScalePaths {
    fn default() -> Self {
        Self { spec: "spec.replicas".to_owned(), status: "status.replicas".to_owned(), selector: None }
    }
}

fn at<'a>(value: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let start = value.get(first)?;
    rest.split('.').filter(|segment| !segment.is_empty()).try_fold(start, |value, segment| value.get(segment))
}

impl Target {
    fn scale(&self) -> Result<&ScalePaths, Status> {
        let paths = self.def.version(&self.version).and_then(|version| version.scale.as_ref());
        paths.ok_or_else(super::list::no_resource)
    }

    /// The `Scale` of an object.
    pub(crate) fn scale_of(&self, object: &Stored) -> Result<Value, Status> {
        let paths = self.scale()?;
        let replicas = |path: &str| at(&object.value, path).and_then(Value::as_i64).unwrap_or_default();
        let mut metadata = Map::new();
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if !object.text(field).is_empty() {
                metadata.insert(field.to_owned(), json!(object.text(field)));
            }
        }
        let mut status = json!({"replicas": replicas(&paths.status)});
        let selector = match &paths.selector {
            Some(path) => at(&object.value, path).and_then(Value::as_str).unwrap_or_default().to_owned(),
            None if self.def.custom => String::new(),
            None => at(&object.value, "spec.selector").map(selector_text).unwrap_or_default(),
        };
        if !selector.is_empty() {
            status["selector"] = json!(selector);
        }
        Ok(json!({
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": metadata,
            "spec": {"replicas": replicas(&paths.spec)},
            "status": status,
        }))
    }
}

impl Store {
    /// Sets the replicas to what a new `Scale` says.
    pub(crate) fn update_scale(
        &mut self,
        target: &Target,
        scale: &Value,
        options: WriteOptions,
    ) -> Result<Arc<Stored>, Status> {
        let paths = target.scale()?.clone();
        let Some(replicas) = scale["spec"]["replicas"].as_u64().or(scale["spec"].is_null().then_some(0))
        else {
            let problem =
                format!("Invalid value: {}: must be a number of replicas", scale["spec"]["replicas"]);
            let invalid = super::resource::invalid;
            let field = "spec.replicas";
            return Err(invalid("autoscaling", "Scale", &target.name, field, "FieldValueInvalid", &problem));
        };
        let mut patch =
            paths.spec.rsplit('.').fold(json!(replicas), |value, segment| json!({segment: value}));
        if let Some(version) = scale["metadata"]["resourceVersion"].as_str() {
            patch["metadata"]["resourceVersion"] = json!(version);
        }
        self.patch(target, &Patch::Merge(patch), options)
    }

    /// Changes the replicas by a patch of the `Scale`.
    pub(crate) fn patch_scale(
        &mut self,
        target: &Target,
        patch: &Patch,
        options: WriteOptions,
    ) -> Result<Arc<Stored>, Status> {
        let scale = target.scale_of(&*self.existing(target)?)?;
        self.update_scale(target, &patch.apply(scale)?, options)
    }
}
