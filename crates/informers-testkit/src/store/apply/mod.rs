//! Server-side apply, as far as tests need it: an applier owns what it applies, and owners are recorded.
//!
//! Only appliers own fields here. Plain updates take no ownership, so an applier never meets a conflict with
//! them, and lists of custom resources are owned as a whole whatever their schema says.

mod fields;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use self::fields::{Fields, conflicts, fields_of, remove, without};
use super::object::{metadata_mut, text, timestamp};
use super::strategic::{ListRules, Merger};
use super::{Store, Stored, Target, WriteOptions};
use crate::Status;

/// An apply request.
#[derive(Clone, Debug)]
pub(crate) struct Apply {
    pub(crate) config: Map<String, Value>,
    pub(crate) manager: String,
    /// Takes fields from their owners instead of failing.
    pub(crate) force: bool,
}

/// One entry of `metadata.managedFields`.
#[derive(Clone, Debug)]
struct Owner {
    entry: Map<String, Value>,
    fields: Fields,
}

impl Owner {
    fn all(object: &Map<String, Value>) -> Vec<Self> {
        let entries = object.get("metadata").and_then(|metadata| metadata.get("managedFields")?.as_array());
        entries
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let entry = entry.as_object()?.clone();
                let fields = entry.get("fieldsV1")?.as_object()?.clone();
                Some(Self { entry, fields })
            })
            .collect()
    }

    fn text(&self, field: &str) -> &str {
        self.entry.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    fn is(&self, manager: &str, subresource: &str) -> bool {
        self.text("operation") == "Apply"
            && self.text("manager") == manager
            && self.text("subresource") == subresource
    }
}

impl Apply {
    /// Reads the body of an apply request.
    ///
    /// # Errors
    /// If it names no field manager (422), or is not JSON (415): YAML is not read.
    pub(crate) fn parse(body: &[u8], manager: &str, force: bool) -> Result<Self, Status> {
        if manager.is_empty() {
            let problem = "Required value: is required for apply patch";
            return Err(Status::new(
                422,
                format!("PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: {problem}"),
            )
            .with_object("meta.k8s.io", "PatchOptions", "")
            .with_cause("FieldValueRequired", problem, "fieldManager"));
        }
        let Ok(Value::Object(config)) = serde_json::from_slice(body) else {
            let problem =
                "this embedded server reads the body of an apply patch as JSON, which is YAML too; send JSON";
            return Err(Status::new(415, problem));
        };
        if config.get("metadata").is_some_and(|metadata| !metadata["managedFields"].is_null()) {
            return Err(Status::new(400, "metadata.managedFields must be nil"));
        }
        Ok(Self { config, manager: manager.to_owned(), force })
    }

    fn entry(&self, target: &Target, fields: Fields, options: WriteOptions) -> Owner {
        let mut entry = Map::new();
        entry.insert("manager".to_owned(), json!(self.manager));
        entry.insert("operation".to_owned(), json!("Apply"));
        entry.insert("apiVersion".to_owned(), json!(target.def.api_version(&target.version)));
        entry.insert("time".to_owned(), json!(timestamp(options.now)));
        entry.insert("fieldsType".to_owned(), json!("FieldsV1"));
        entry.insert("fieldsV1".to_owned(), Value::Object(fields.clone()));
        if target.status {
            entry.insert("subresource".to_owned(), json!("status"));
        }
        Owner { entry, fields }
    }
}

fn managed(owners: &[Owner]) -> Value {
    owners.iter().map(|owner| Value::Object(owner.entry.clone())).collect()
}

impl Store {
    /// Creates or changes an object so that it has what is applied, and no longer what the same manager
    /// applied before and does not now. Tells whether it was created.
    pub(crate) fn apply(
        &mut self,
        target: &Target,
        apply: &Apply,
        options: WriteOptions,
    ) -> Result<(Arc<Stored>, bool), Status> {
        let def = &*target.def;
        let rules = ListRules::of(def);
        let wanted = fields_of(&apply.config, rules);
        let Some(old) = self.get(def, &target.namespace, &target.name) else {
            if target.status {
                return Err(def.not_found(&target.name));
            }
            let owner = apply.entry(target, wanted, options);
            let mut config = apply.config.clone();
            metadata_mut(&mut config).entry("name").or_insert_with(|| json!(target.name));
            self.check_name_in_url(target, text(metadata_mut(&mut config), "name"))?;
            let config = Merger::apply(rules).merge(Map::new(), config)?;
            let owners = (!owner.fields.is_empty()).then(|| managed(&[owner]));
            return Ok((self.create_managed(target, Value::Object(config), options, owners)?, true));
        };

        let Value::Object(mut live) = old.typed(def, &target.version) else {
            return Err(def.not_found(&target.name));
        };
        let subresource = if target.status { "status" } else { "" };
        let mut owners = Owner::all(&live);
        let mine = owners.iter().position(|owner| owner.is(&apply.manager, subresource));
        let before = mine.map(|at| owners.remove(at));
        self.settle_conflicts(target, apply, &wanted, &live, &mut owners)?;

        if let Some(before) = &before {
            let dropped = owners
                .iter()
                .fold(without(&before.fields, &wanted), |dropped, owner| without(&dropped, &owner.fields));
            let mut value = Value::Object(live);
            remove(&mut value, &dropped);
            live = match value {
                Value::Object(live) => live,
                _ => Map::new(),
            };
        }
        let merged = Merger::apply(rules).merge(live, apply.config.clone())?;
        // The time of an applier's entry is that of the last change of its fields.
        let owner = match before {
            Some(before) if before.fields == wanted => before,
            _ => apply.entry(target, wanted, options),
        };
        if !owner.fields.is_empty() {
            owners.insert(mine.unwrap_or(owners.len()).min(owners.len()), owner);
        }
        let stored = self.replace_managed(target, &old, Value::Object(merged), options, managed(&owners))?;
        Ok((stored, false))
    }

    /// Fails if another applier owns a field that would change, or takes it from that one by force.
    fn settle_conflicts(
        &self,
        target: &Target,
        apply: &Apply,
        wanted: &Fields,
        live: &Map<String, Value>,
        owners: &mut Vec<Owner>,
    ) -> Result<(), Status> {
        let (config, live) = (Value::Object(apply.config.clone()), Value::Object(live.clone()));
        let mut lines = Vec::new();
        let mut causes = Vec::new();
        for owner in &mut *owners {
            let fields = conflicts(wanted, &owner.fields, &config, &live);
            if fields.is_empty() {
                continue;
            }
            if apply.force {
                owner.fields = without(&owner.fields, wanted);
                owner.entry.insert("fieldsV1".to_owned(), Value::Object(owner.fields.clone()));
                continue;
            }
            for field in fields {
                let problem = format!("conflict with {:?}", owner.text("manager"));
                lines.push(format!("{problem}: {field}"));
                causes.push((problem, field));
            }
        }
        owners.retain(|owner| !owner.fields.is_empty());
        if causes.is_empty() {
            return Ok(());
        }
        let plural = if causes.len() == 1 { "" } else { "s" };
        let message = format!("Apply failed with {} conflict{plural}: {}", causes.len(), lines.join("\n"));
        let status =
            Status::new(409, message).with_object(&target.def.group, &target.def.plural, &target.name);
        Err(causes.into_iter().fold(status, |status, (problem, field)| {
            status.with_cause("FieldManagerConflict", problem, &field)
        }))
    }
}
