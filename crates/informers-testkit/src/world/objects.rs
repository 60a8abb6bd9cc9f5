//! Calls that a test makes without a client.

use std::sync::Arc;
use std::time::SystemTime;

use informers_core::ResourceType;
use serde_json::Value;

use super::World;
use crate::Status;
use crate::store::{DeleteOptions, Deleted, Patch, ResourceDef, Stored, Target, WriteOptions};

/// Where an object without a namespace goes.
const DEFAULT_NAMESPACE: &str = "default";

impl World {
    /// Creates an object; its resource follows from its `apiVersion` and `kind`, and without a namespace it
    /// goes to `default`. Gives it as it was stored.
    ///
    /// Unlike an object that is created over HTTP it keeps its `status`, so that a test can begin with running
    /// pods.
    ///
    /// # Errors
    /// As a client is answered: the kind is not known (404), the name is taken (409), the object is invalid
    /// (422)…
    pub fn create(&self, object: Value) -> Result<Value, Status> {
        let target = self.target_of(&object)?;
        let options = WriteOptions { now: SystemTime::now(), dry_run: false, keep_status: true };
        let stored = self.write(|store| store.create(&target, object, options))?;
        Ok(stored.typed(&target.def, &target.version))
    }

    /// Replaces an object, which is found as by [`create`](Self::create). Without a resource version in its
    /// metadata this is done unconditionally, also for resources whose clients must give one.
    ///
    /// # Errors
    /// As a client is answered: it does not exist (404), it was changed meanwhile (409)…
    pub fn update(&self, mut object: Value) -> Result<Value, Status> {
        let target = self.target_of(&object)?;
        self.write_as_owner(|store, options| {
            if object["metadata"]["resourceVersion"].is_null()
                && let Some(found) = store.get(&target.def, &target.namespace, &target.name)
            {
                object["metadata"]["resourceVersion"] = found.revision.to_string().into();
            }
            store.update(&target, object, options)
        })
        .map(|stored| stored.typed(&target.def, &target.version))
    }

    /// Changes an object by a JSON merge patch (RFC 7386): members are set, `null` removes.
    ///
    /// `namespace` is `None` for resources without.
    ///
    /// # Errors
    /// As a client is answered: it does not exist (404)…
    pub fn patch(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
        patch: Value,
    ) -> Result<Value, Status> {
        self.patch_target(&self.target(resource, namespace, name)?, patch)
    }

    /// As [`patch`](Self::patch), of the status subresource: only `status` is changed.
    ///
    /// # Errors
    /// As a client is answered: it does not exist (404)…
    pub fn patch_status(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
        patch: Value,
    ) -> Result<Value, Status> {
        let target = self.target(resource, namespace, name)?;
        self.patch_target(&Target { status: true, ..target }, patch)
    }

    fn patch_target(&self, target: &Target, patch: Value) -> Result<Value, Status> {
        let stored =
            self.write_as_owner(|store, options| store.patch(target, &Patch::Merge(patch), options))?;
        Ok(stored.typed(&target.def, &target.version))
    }

    /// Deletes an object. One with finalizers stays until these are removed.
    ///
    /// # Errors
    /// As a client is answered: it does not exist (404)…
    pub fn delete(
        &self,
        resource: &ResourceType,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, Status> {
        let target = self.target(resource, namespace, name)?;
        let options = DeleteOptions { now: SystemTime::now(), uid: None, version: None, dry_run: false };
        let deleted = self.write(|store| store.delete(&target, &options))?;
        let (Deleted::Gone(object) | Deleted::Object(object)) = deleted;
        Ok(object.typed(&target.def, &target.version))
    }

    /// An object as it is now, or none.
    #[must_use]
    pub fn get(&self, resource: &ResourceType, namespace: Option<&str>, name: &str) -> Option<Value> {
        let target = self.target(resource, namespace, name).ok()?;
        let found = self.read(|store| store.get(&target.def, &target.namespace, name))?;
        Some(found.typed(&target.def, &target.version))
    }

    /// All objects of a resource, in the order in which a list has them; of one namespace, or of all.
    #[must_use]
    pub fn list(&self, resource: &ResourceType, namespace: Option<&str>) -> Vec<Value> {
        let Ok(target) = self.target(resource, namespace, "") else {
            return Vec::new();
        };
        let objects = self.read(|store| store.objects(&target.def));
        objects
            .iter()
            .filter(|object| namespace.is_none_or(|namespace| object.namespace() == namespace))
            .map(|object| object.typed(&target.def, &target.version))
            .collect()
    }

    fn write_as_owner(
        &self,
        change: impl FnOnce(&mut crate::store::Store, WriteOptions) -> Result<Arc<Stored>, Status>,
    ) -> Result<Arc<Stored>, Status> {
        let options = WriteOptions { now: SystemTime::now(), dry_run: false, keep_status: true };
        self.write(|store| change(store, options))
    }

    fn target(&self, resource: &ResourceType, namespace: Option<&str>, name: &str) -> Result<Target, Status> {
        let (group, version, plural) = (resource.group(), resource.version(), resource.plural());
        let def = self
            .read(|store| store.resource(group, version, plural))
            .ok_or_else(|| Status::new(404, format!("this server does not serve the resource {resource}")))?;
        let namespace = namespace.filter(|_| def.is_namespaced()).unwrap_or_default().to_owned();
        Ok(Target { def, version: version.to_owned(), namespace, name: name.to_owned(), status: false })
    }

    fn target_of(&self, object: &Value) -> Result<Target, Status> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let def: Arc<ResourceDef> =
            self.read(|store| store.resource_of_kind(group, version, &kind)).ok_or_else(|| {
                Status::new(404, format!("this server serves no kind {kind:?} in apiVersion {api_version:?}"))
            })?;
        let metadata = &object["metadata"];
        let namespace = match text(&metadata["namespace"]) {
            _ if !def.is_namespaced() => String::new(),
            namespace if namespace.is_empty() => DEFAULT_NAMESPACE.to_owned(),
            namespace => namespace,
        };
        Ok(Target {
            def,
            version: version.to_owned(),
            namespace,
            name: text(&metadata["name"]),
            status: false,
        })
    }
}
