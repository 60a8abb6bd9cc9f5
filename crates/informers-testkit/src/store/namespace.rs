//! Namespaces: objects need them, and go with them.
//!
//! There is no namespace controller here: deleting a namespace deletes its contents at once. It stays, with
//! the phase `Terminating`, only while a finalizer keeps an object in it.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::json;

use super::{Store, Target, WriteOptions};
use crate::Status;

impl Store {
    pub(super) fn seed_namespace(&mut self, name: &str, now: SystemTime) {
        if let Some(def) = self.resource("", "v1", "namespaces") {
            let target = Target {
                def,
                version: "v1".to_owned(),
                namespace: String::new(),
                name: String::new(),
                status: false,
            };
            let options = WriteOptions { now, dry_run: false, keep_status: false };
            // Only a taken or malformed name can be refused here, and these are neither.
            let _ = self.create(&target, json!({"metadata": {"name": name}}), options);
        }
    }

    /// Whether `name` may be created in the namespace of the target.
    pub(super) fn check_namespace(&self, target: &Target, name: &str) -> Result<(), Status> {
        if !target.def.is_namespaced() || !self.config.check_namespaces {
            return Ok(());
        }
        let Some(namespaces) = self.resource("", "v1", "namespaces") else {
            return Ok(());
        };
        let namespace = &target.namespace;
        match self.get(&namespaces, "", namespace) {
            None => Err(namespaces.not_found(namespace)),
            Some(found) if found.is_terminating() => {
                let def = &target.def;
                let problem = format!(
                    "{} {name:?} is forbidden: unable to create new content in namespace {namespace} because it is \
                     being terminated",
                    def.ident()
                );
                let cause = format!("namespace {namespace} is being terminated");
                Err(Status::new(403, problem).with_object(&def.group, &def.plural, name).with_cause(
                    "NamespaceTerminating",
                    cause,
                    "metadata.namespace",
                ))
            }
            Some(_) => Ok(()),
        }
    }

    fn has_contents(&self, namespace: &str) -> bool {
        self.collections.values().any(|collection| collection.in_namespace(namespace).next().is_some())
    }

    /// What controllers would do after something was deleted: contents of a namespace that is being deleted,
    /// and objects of a resource whose definition is, go too; and when all are gone, so does the holder.
    pub(super) fn after_removal(&mut self, now: SystemTime) -> Result<(), Status> {
        let Some(namespaces) = self.resource("", "v1", "namespaces") else {
            return Ok(());
        };
        let terminating: Vec<_> =
            self.objects(&namespaces).into_iter().filter(|namespace| namespace.is_terminating()).collect();
        for namespace in terminating {
            let name = namespace.name().to_owned();
            let contents: Vec<_> = self
                .collections
                .values()
                .flat_map(|collection| {
                    collection
                        .in_namespace(&name)
                        .map(|object| (Arc::clone(&collection.def), Arc::clone(object)))
                })
                .collect();
            for (def, object) in contents {
                self.delete_stored(&def, &object, now)?;
            }
            if namespace.finalizers().is_empty() && !self.has_contents(&name) {
                self.remove(&namespaces, &namespace)?;
            }
        }
        self.finish_terminating_crds(now)
    }
}
