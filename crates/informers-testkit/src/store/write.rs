//! Creating and changing objects.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Map, Value, json};

use super::defaults::set_defaults;
use super::object::{metadata_mut, text, timestamp};
use super::options::number_problem;
use super::validate::{check_metadata, check_name};
use super::{Patch, ResourceDef, Store, Stored};
use crate::Status;

/// Which object a write is about.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) def: Arc<ResourceDef>,
    /// The version in which the client speaks.
    pub(crate) version: String,
    /// Empty for resources without namespaces.
    pub(crate) namespace: String,
    /// Empty where the object itself names it.
    pub(crate) name: String,
    /// Whether the status subresource is meant.
    pub(crate) status: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) now: SystemTime,
    /// Everything is checked, nothing is stored.
    pub(crate) dry_run: bool,
    /// A new object keeps the status that it comes with, which a client could only give it later.
    pub(crate) keep_status: bool,
}

const MODIFIED_MEANWHILE: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

impl Store {
    /// Creates an object.
    pub(crate) fn create(
        &mut self,
        target: &Target,
        value: Value,
        options: WriteOptions,
    ) -> Result<Arc<Stored>, Status> {
        self.create_managed(target, value, options, None)
    }

    /// Creates an object whose `managedFields` are these.
    pub(super) fn create_managed(
        &mut self,
        target: &Target,
        value: Value,
        options: WriteOptions,
        managed: Option<Value>,
    ) -> Result<Arc<Stored>, Status> {
        let def = &*target.def;
        let mut value = self.accept_body(target, value)?;
        let metadata = metadata_mut(&mut value);
        if !text(metadata, "resourceVersion").is_empty() {
            let problem = "resourceVersion should not be set on objects to be created";
            return Err(Status::new(500, problem).with_reason(""));
        }
        let mut name = text(metadata, "name").to_owned();
        let generate_name = text(metadata, "generateName").to_owned();
        if name.is_empty() && generate_name.is_empty() {
            let problem = "Required value: name or generateName is required";
            return Err(def.invalid("", "metadata.name", "FieldValueRequired", problem));
        }
        if name.is_empty() {
            name = self.free_name(target, &generate_name);
        }
        self.check_namespace(target, &name)?;
        check_name(def, &name)?;
        if self.get(def, &target.namespace, &name).is_some() {
            return Err(def.already_exists(&name));
        }

        let uid = self.new_uid();
        let metadata = metadata_mut(&mut value);
        metadata.insert("name".to_owned(), json!(name));
        if !target.namespace.is_empty() {
            metadata.insert("namespace".to_owned(), json!(target.namespace));
        }
        metadata.insert("uid".to_owned(), json!(uid));
        metadata.insert("creationTimestamp".to_owned(), json!(timestamp(options.now)));
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"] {
            metadata.remove(field);
        }
        metadata.extend(managed.map(|managed| ("managedFields".to_owned(), managed)));
        if def.generation {
            metadata.insert("generation".to_owned(), json!(1));
        }
        set_defaults(target, &mut value, options.keep_status);
        self.prepare_crd(def, &name, &mut value)?;
        if options.dry_run {
            return Ok(Stored::new(value, 0));
        }
        let stored = self.store(def, None, value)?;
        self.after_write(def, &stored, options.now)?;
        Ok(stored)
    }

    /// Replaces an object, or its status.
    pub(crate) fn update(
        &mut self,
        target: &Target,
        value: Value,
        options: WriteOptions,
    ) -> Result<Arc<Stored>, Status> {
        let def = &*target.def;
        let mut value = self.accept_body(target, value)?;
        let name = text(metadata_mut(&mut value), "name").to_owned();
        if name.is_empty() {
            let url = &target.name;
            let problem = format!(
                "the name of the object ({url} based on URL) was undeterminable: name must be provided"
            );
            return Err(Status::new(400, problem));
        }
        self.check_name_in_url(target, &name)?;
        let old = self.existing(target)?;
        let metadata = metadata_mut(&mut value);
        if text(metadata, "resourceVersion").is_empty() && !def.unconditional_update {
            let problem = "Invalid value: 0: must be specified for an update";
            let field = "metadata.resourceVersion";
            return Err(super::resource::invalid(
                &def.group,
                &def.plural,
                &name,
                field,
                "FieldValueInvalid",
                problem,
            ));
        }
        let uid = text(metadata, "uid").to_owned();
        if !uid.is_empty() && uid != old.uid() {
            return Err(def.conflict(
                &name,
                &format!(
                    "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                    old.uid()
                ),
            ));
        }
        self.replace(target, &old, value, options)
    }

    /// Changes an object, or its status, by a patch.
    pub(crate) fn patch(
        &mut self,
        target: &Target,
        patch: &Patch,
        options: WriteOptions,
    ) -> Result<Arc<Stored>, Status> {
        let def = &*target.def;
        let old = self.existing(target)?;
        let patched = patch.apply(old.typed(def, &target.version))?;
        let value = self.accept_changed(target, &old, patched)?;
        self.replace(target, &old, value, options)
    }

    /// Puts `value`, made of `old`, in its place, with these `managedFields`.
    pub(super) fn replace_managed(
        &mut self,
        target: &Target,
        old: &Arc<Stored>,
        value: Value,
        options: WriteOptions,
        managed: Value,
    ) -> Result<Arc<Stored>, Status> {
        let value = self.accept_changed(target, old, value)?;
        self.replace_as(target, old, value, options, Some(managed))
    }

    /// Checks what a patch made of `old`.
    fn accept_changed(
        &self,
        target: &Target,
        old: &Stored,
        changed: Value,
    ) -> Result<Map<String, Value>, Status> {
        let def = &*target.def;
        let mut value = self.accept_body(target, changed)?;
        let metadata = metadata_mut(&mut value);
        let name = text(metadata, "name").to_owned();
        self.check_name_in_url(target, &name)?;
        let uid = text(metadata, "uid").to_owned();
        if !uid.is_empty() && uid != old.uid() {
            let problem = format!("Invalid value: {uid:?}: field is immutable");
            return Err(def.invalid(&name, "metadata.uid", "FieldValueInvalid", &problem));
        }
        Ok(value)
    }

    pub(super) fn existing(&self, target: &Target) -> Result<Arc<Stored>, Status> {
        self.get(&target.def, &target.namespace, &target.name)
            .ok_or_else(|| target.def.not_found(&target.name))
    }

    /// Checks that a body is an object of the resource and of the namespace in the path, and takes
    /// `apiVersion` and `kind` off it.
    fn accept_body(&self, target: &Target, value: Value) -> Result<Map<String, Value>, Status> {
        let def = &*target.def;
        let Value::Object(mut value) = value else {
            let problem = format!("the object provided is unrecognized (must be of type {})", def.kind);
            return Err(Status::new(400, problem));
        };
        let kind = value.remove("kind").and_then(|kind| Some(kind.as_str()?.to_owned())).unwrap_or_default();
        let api_version =
            value.remove("apiVersion").and_then(|text| Some(text.as_str()?.to_owned())).unwrap_or_default();
        let wanted = def.api_version(&target.version);
        if def.custom && (kind.is_empty() || api_version.is_empty()) {
            let missing = if kind.is_empty() { "Kind" } else { "apiVersion" };
            let problem = format!(
                "the object provided is unrecognized (must be of type {}): Object '{missing}' is missing",
                def.kind
            );
            return Err(Status::new(400, problem));
        }
        if !kind.is_empty() && kind != def.kind {
            return Err(if def.custom {
                let name = value.get("metadata").and_then(|metadata| metadata.get("name")?.as_str());
                let problem = format!("Invalid value: {kind:?}: must be {}", def.kind);
                let name = name.unwrap_or_default();
                super::resource::invalid(&def.group, &kind, name, "kind", "FieldValueInvalid", &problem)
            } else {
                Status::new(
                    400,
                    format!(
                        "{kind} in version {:?} cannot be handled as a {}: unknown conversion",
                        target.version, def.kind
                    ),
                )
            });
        }
        if !api_version.is_empty() && api_version != wanted {
            let problem = format!(
                "the API version in the data ({api_version}) does not match the expected API version ({wanted})"
            );
            return Err(Status::new(400, problem));
        }
        check_metadata(def, &target.version, &value)?;
        let metadata = metadata_mut(&mut value);
        metadata.retain(|_, value| !value.is_null());
        let namespace = text(metadata, "namespace");
        if !namespace.is_empty() && namespace != target.namespace {
            let problem =
                "the namespace of the provided object does not match the namespace sent on the request";
            return Err(Status::new(400, problem));
        }
        Ok(value)
    }

    pub(super) fn check_name_in_url(&self, target: &Target, name: &str) -> Result<(), Status> {
        if name == target.name {
            return Ok(());
        }
        let url = &target.name;
        Err(Status::new(
            400,
            format!("the name of the object ({name}) does not match the name on the URL ({url})"),
        ))
    }

    /// Puts `value` in the place of `old`, as far as the target and the rules for metadata allow.
    fn replace(
        &mut self,
        target: &Target,
        old: &Arc<Stored>,
        value: Map<String, Value>,
        options: WriteOptions,
    ) -> Result<Arc<Stored>, Status> {
        self.replace_as(target, old, value, options, None)
    }

    /// As [`replace`](Self::replace); without `managed` the owners of the fields stay who they are.
    fn replace_as(
        &mut self,
        target: &Target,
        old: &Arc<Stored>,
        mut value: Map<String, Value>,
        options: WriteOptions,
        managed: Option<Value>,
    ) -> Result<Arc<Stored>, Status> {
        let def = &*target.def;
        let name = old.name().to_owned();
        let version = text(metadata_mut(&mut value), "resourceVersion").to_owned();
        if !version.is_empty() {
            let number: u64 = version.parse().map_err(|_| {
                let problem = number_problem(&version);
                Status::new(500, format!("strconv.ParseUint: parsing {version:?}: {problem}")).with_reason("")
            })?;
            if number != old.revision && number != 0 {
                return Err(def.conflict(&name, MODIFIED_MEANWHILE));
            }
        }

        // Kubelets write labels of pods and nodes together with their status.
        let whole_status = def.group.is_empty() && matches!(def.plural.as_str(), "pods" | "nodes");
        let mut new = if target.status && whole_status {
            match old.value.get("spec") {
                Some(spec) => value.insert("spec".to_owned(), spec.clone()),
                None => value.remove("spec"),
            };
            value
        } else if target.status {
            let mut new = old.value.clone();
            match value.remove("status") {
                Some(status) => new.insert("status".to_owned(), status),
                None => new.remove("status"),
            };
            new
        } else {
            if def.has_status() {
                match old.value.get("status") {
                    Some(status) => value.insert("status".to_owned(), status.clone()),
                    None => value.remove("status"),
                };
            }
            value
        };

        let metadata = metadata_mut(&mut new);
        for field in [
            "name",
            "namespace",
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
            "managedFields",
        ] {
            match old.metadata().and_then(|old| old.get(field)) {
                Some(value) => metadata.insert(field.to_owned(), value.clone()),
                None => metadata.remove(field),
            };
        }
        metadata.extend(managed.map(|managed| ("managedFields".to_owned(), managed)));
        metadata.insert("resourceVersion".to_owned(), json!(old.revision.to_string()));
        // An empty collection is stored as none, as it has no bytes on the real server either.
        for field in ["labels", "annotations", "finalizers", "managedFields", "ownerReferences"] {
            let empty = match metadata.get(field) {
                Some(Value::Object(map)) => map.is_empty(),
                Some(Value::Array(list)) => list.is_empty(),
                _ => false,
            };
            if empty {
                metadata.remove(field);
            }
        }
        if old.is_terminating() {
            let known = old.finalizers();
            let added: Vec<_> = metadata
                .get("finalizers")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter(|finalizer| !known.contains(finalizer))
                .map(Value::to_string)
                .collect();
            if !added.is_empty() {
                let problem = format!(
                    "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \
                     []string{{{}}}",
                    added.join(", ")
                );
                return Err(def.invalid(&name, "metadata.finalizers", "FieldValueForbidden", &problem));
            }
        }
        if def.generation && specification_changed(def, &old.value, &new) {
            let generation = old.metadata().and_then(|metadata| metadata.get("generation")?.as_u64());
            let generation = generation.unwrap_or_default() + 1;
            metadata_mut(&mut new).insert("generation".to_owned(), json!(generation));
        }
        if new == old.value {
            return Ok(Arc::clone(old));
        }
        self.prepare_crd(def, &name, &mut new)?;
        if options.dry_run {
            return Ok(Stored::new(new, old.revision));
        }
        if old.is_terminating() && !metadata_mut(&mut new).contains_key("finalizers") {
            if def.is_crd() || def.is_namespace() {
                // What it holds may keep it still.
                let stored = self.store(def, Some(old), new)?;
                self.after_removal(options.now)?;
                return Ok(stored);
            }
            // The last finalizer is gone: so is the object. The answer shows it as it would have been.
            self.remove(def, old)?;
            self.after_removal(options.now)?;
            return Ok(Stored::new(new, old.revision));
        }
        let stored = self.store(def, Some(old), new)?;
        self.after_write(def, &stored, options.now)?;
        Ok(stored)
    }

    /// A name that is free, made of `prefix` and five characters.
    fn free_name(&mut self, target: &Target, prefix: &str) -> String {
        // Vowels and what looks alike are left out, so that no words come about.
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let prefix: String = prefix.chars().take(58).collect();
        loop {
            let suffix: String =
                (0..5).map(|_| char::from(ALPHABET[self.random.usize(..ALPHABET.len())])).collect();
            let name = format!("{prefix}{suffix}");
            if self.get(&target.def, &target.namespace, &name).is_none() {
                return name;
            }
        }
    }

    pub(super) fn store(
        &mut self,
        def: &ResourceDef,
        old: Option<&Arc<Stored>>,
        value: Map<String, Value>,
    ) -> Result<Arc<Stored>, Status> {
        self.commit(&def.ident(), old.cloned(), Some(value)).ok_or_else(super::list::no_resource)
    }

    pub(super) fn remove(&mut self, def: &ResourceDef, old: &Arc<Stored>) -> Result<(), Status> {
        if self.get(def, old.namespace(), old.name()).is_none() {
            return Err(def.not_found(old.name()));
        }
        self.commit(&def.ident(), Some(Arc::clone(old)), None);
        Ok(())
    }
}

/// Whether anything changed that is neither metadata nor a status of its own.
fn specification_changed(def: &ResourceDef, old: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    let counts = |field: &str| field != "metadata" && !(field == "status" && def.has_status());
    let of = |value: &Map<String, Value>| -> Map<String, Value> {
        value
            .iter()
            .filter(|(field, _)| counts(field))
            .map(|(field, value)| (field.clone(), value.clone()))
            .collect()
    };
    of(old) != of(new)
}
