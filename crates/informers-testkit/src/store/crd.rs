//! CustomResourceDefinitions make and unmake resources.

use std::time::SystemTime;

use informers_core::ResourceScope;
use serde_json::{Map, Value, json};

use super::object::timestamp;
use super::scale::ScalePaths;
use super::{PrinterColumn, ResourceDef, Store, Stored, VersionDef};
use crate::Status;

/// The resource that a definition's `spec` describes.
fn parse(name: &str, spec: &Value) -> Result<ResourceDef, Status> {
    let required = |field: &str| {
        super::resource::invalid(
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            name,
            field,
            "FieldValueRequired",
            "Required value",
        )
    };
    let wrong = |field: &str, problem: String| {
        super::resource::invalid(
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            name,
            field,
            "FieldValueInvalid",
            &problem,
        )
    };
    let text = |value: &Value, field: &str| value.get(field).and_then(|text| Some(text.as_str()?.to_owned()));
    let list = |value: &Value, field: &str| -> Vec<String> {
        let items = value.get(field).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|item| Some(item.as_str()?.to_owned())).collect()
    };
    let group = text(spec, "group").ok_or_else(|| required("spec.group"))?;
    let names = spec.get("names").ok_or_else(|| required("spec.names"))?;
    let plural = text(names, "plural").ok_or_else(|| required("spec.names.plural"))?;
    let kind = text(names, "kind").ok_or_else(|| required("spec.names.kind"))?;
    if name != format!("{plural}.{group}") {
        let problem = format!("Invalid value: {name:?}: must be spec.names.plural+\".\"+spec.group");
        return Err(wrong("metadata.name", problem));
    }
    let scope = match text(spec, "scope").as_deref() {
        Some("Namespaced") => ResourceScope::Namespaced,
        Some("Cluster") => ResourceScope::Cluster,
        Some(other) => {
            let problem =
                format!("Unsupported value: {other:?}: supported values: \"Cluster\", \"Namespaced\"");
            return Err(wrong("spec.scope", problem));
        }
        None => return Err(required("spec.scope")),
    };
    let versions: Vec<_> = spec
        .get("versions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|version| version.get("served").and_then(Value::as_bool).unwrap_or(false))
        .filter_map(|version| {
            let subresources = version.get("subresources");
            let path =
                |scale: &Value, field: &str| Some(text(scale, field)?.trim_start_matches('.').to_owned());
            let scale = subresources.and_then(|all| all.get("scale")).map(|scale| ScalePaths {
                spec: path(scale, "specReplicasPath").unwrap_or_default(),
                status: path(scale, "statusReplicasPath").unwrap_or_default(),
                selector: path(scale, "labelSelectorPath"),
            });
            let status = subresources.is_some_and(|all| all.get("status").is_some());
            let columns = PrinterColumn::of_version(version);
            Some(VersionDef { name: text(version, "name")?, status, scale, columns })
        })
        .collect();
    if spec.get("versions").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        return Err(required("spec.versions"));
    }
    Ok(ResourceDef {
        singular: text(names, "singular").unwrap_or_else(|| kind.to_lowercase()),
        list_kind: text(names, "listKind").unwrap_or_else(|| format!("{kind}List")),
        short_names: list(names, "shortNames"),
        categories: list(names, "categories"),
        group,
        plural,
        kind,
        scope,
        versions,
        custom: true,
        generation: true,
        unconditional_update: false,
        fields: &[],
    })
}

fn condition(kind: &str, reason: &str, message: &str, now: SystemTime) -> Value {
    json!({
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": timestamp(now),
    })
}

pub(super) fn mark_terminating(value: &mut Map<String, Value>, now: SystemTime) {
    let status = value.entry("status").or_insert_with(|| json!({}));
    if let Value::Object(status) = status
        && let Value::Array(conditions) = status.entry("conditions").or_insert_with(|| json!([]))
    {
        let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        conditions.push(condition("Terminating", "InstanceDeletionPending", message, now));
    }
}

impl Store {
    /// Checks a definition before it is stored and fills in what the server defaults.
    pub(super) fn prepare_crd(
        &self,
        def: &ResourceDef,
        name: &str,
        value: &mut Map<String, Value>,
    ) -> Result<(), Status> {
        if !def.is_crd() {
            return Ok(());
        }
        let spec = value.entry("spec").or_insert_with(|| json!({}));
        let described = parse(name, spec)?;
        let known = self.collections.get(&described.ident());
        if known.is_some_and(|known| !known.def.custom) {
            let problem = format!("Invalid value: {name:?}: is a resource that the server has built in");
            return Err(def.invalid(name, "spec.names.plural", "FieldValueInvalid", &problem));
        }
        if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
            names.entry("singular").or_insert_with(|| json!(described.singular));
            names.entry("listKind").or_insert_with(|| json!(described.list_kind));
        }
        if let Value::Object(spec) = spec {
            spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
        }
        Ok(())
    }

    /// Serves what a stored definition describes, and says so in its conditions.
    pub(super) fn after_write(
        &mut self,
        def: &ResourceDef,
        stored: &Stored,
        now: SystemTime,
    ) -> Result<(), Status> {
        if !def.is_crd() || stored.is_terminating() {
            return Ok(());
        }
        let Some(spec) = stored.value.get("spec") else {
            return Ok(());
        };
        self.register(parse(stored.name(), spec)?);
        let established =
            stored.value.get("status").and_then(|status| status.get("conditions")?.as_array()).is_some_and(
                |conditions| conditions.iter().any(|condition| condition["type"] == "Established"),
            );
        if established {
            return Ok(());
        }
        let storage: Vec<_> = spec
            .get("versions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter(|version| version["storage"] == true)
            .map(|version| version["name"].clone())
            .collect();
        let mut value = stored.value.clone();
        value.insert(
            "status".to_owned(),
            json!({
                "acceptedNames": spec["names"],
                "storedVersions": storage,
                "conditions": [
                    condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
                    condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now),
                ],
            }),
        );
        let current = self.get(def, "", stored.name());
        self.store(def, current.as_ref(), value)?;
        Ok(())
    }

    pub(super) fn has_custom_objects(&self, crd: &str) -> bool {
        self.collections.get(crd).is_some_and(|collection| !collection.objects.is_empty())
    }

    /// Deletes the objects of definitions that are being deleted, and then these themselves.
    pub(super) fn finish_terminating_crds(&mut self, now: SystemTime) -> Result<(), Status> {
        let Some(crds) = self.resource("apiextensions.k8s.io", "v1", "customresourcedefinitions") else {
            return Ok(());
        };
        let terminating: Vec<_> =
            self.objects(&crds).into_iter().filter(|crd| crd.is_terminating()).collect();
        for crd in terminating {
            let name = crd.name().to_owned();
            if let Some(def) = self.collections.get(&name).map(|collection| collection.def.clone()) {
                for object in self.objects(&def) {
                    self.delete_stored(&def, &object, now)?;
                }
            }
            if crd.finalizers().is_empty() && !self.has_custom_objects(&name) {
                self.unregister(&name);
                self.remove(&crds, &crd)?;
            }
        }
        Ok(())
    }
}
