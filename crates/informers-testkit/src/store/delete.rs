//! Deleting objects, one or many.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::object::{metadata_mut, timestamp};
use super::{ResourceDef, Selection, Store, Stored, Target};
use crate::Status;

#[derive(Clone, Debug)]
pub(crate) struct DeleteOptions {
    pub(crate) now: SystemTime,
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) dry_run: bool,
}

impl DeleteOptions {
    /// Checks the preconditions.
    fn hold_for(&self, def: &ResourceDef, object: &Stored) -> Result<(), Status> {
        let name = object.name();
        if let Some(uid) = self.uid.as_deref().filter(|&uid| uid != object.uid()) {
            return Err(def.precondition(
                name,
                &format!(
                    "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have \
                     been deleted and then recreated",
                    object.uid()
                ),
            ));
        }
        let current = object.revision.to_string();
        if let Some(version) = self.version.as_deref().filter(|&version| version != current) {
            return Err(def.precondition(
                name,
                &format!(
                    "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record \
                     ({current}). The object might have been modified"
                ),
            ));
        }
        Ok(())
    }
}

/// What a deletion is answered with.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// The object is gone.
    Gone(Arc<Stored>),
    /// The object as it is now, waiting for its finalizers, or as it was last.
    Object(Arc<Stored>),
}

impl Store {
    /// Deletes an object. Nothing collects garbage here, so a foreground deletion is as one in the
    /// background.
    pub(crate) fn delete(&mut self, target: &Target, options: &DeleteOptions) -> Result<Deleted, Status> {
        let def = &*target.def;
        let old = self.existing(target)?;
        options.hold_for(def, &old)?;
        if options.dry_run {
            return Ok(Deleted::Gone(old));
        }
        let deleted = self.delete_stored(def, &old, options.now)?;
        self.after_removal(options.now)?;
        Ok(deleted)
    }

    /// Deletes everything that is selected; gives the objects as they were. A precondition that does not hold for one of
    /// them is the end, and what went before it is gone.
    pub(crate) fn delete_collection(
        &mut self,
        def: &ResourceDef,
        selection: &Selection,
        options: &DeleteOptions,
    ) -> Result<Vec<Arc<Stored>>, Status> {
        let selected: Vec<_> =
            self.objects(def).into_iter().filter(|object| selection.matches(object)).collect();
        let outcome = selected.iter().try_for_each(|object| {
            options.hold_for(def, object)?;
            if options.dry_run { Ok(()) } else { self.delete_stored(def, object, options.now).map(drop) }
        });
        if !options.dry_run {
            self.after_removal(options.now)?;
        }
        outcome.map(|()| selected)
    }

    pub(super) fn delete_stored(
        &mut self,
        def: &ResourceDef,
        old: &Arc<Stored>,
        now: SystemTime,
    ) -> Result<Deleted, Status> {
        let waits = def.is_namespace() || def.is_crd() || !old.finalizers().is_empty();
        if waits && old.is_terminating() {
            return Ok(Deleted::Object(Arc::clone(old)));
        }
        let pod = def.group.is_empty() && def.plural == "pods";
        let mut value = old.value.clone();
        if waits || pod {
            let metadata = metadata_mut(&mut value);
            metadata.insert("deletionTimestamp".to_owned(), json!(timestamp(now)));
            if !def.is_namespace() && !def.is_crd() {
                metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(0));
            }
            let generation = metadata.get("generation").and_then(Value::as_u64);
            if let Some(generation) = generation.filter(|&generation| generation > 0 && !def.is_crd()) {
                metadata.insert("generation".to_owned(), json!(generation + 1));
            }
        }
        if !waits {
            if pod {
                // A pod's deletion is announced first, even if nothing has to end gracefully.
                let announced = self.store(def, Some(old), value)?;
                self.remove(def, &announced)?;
                return Ok(Deleted::Object(announced.at(self.revision())));
            }
            self.remove(def, old)?;
            return Ok(Deleted::Gone(old.at(self.revision())));
        }
        if def.is_namespace()
            && let Value::Object(status) = value.entry("status").or_insert_with(|| json!({}))
        {
            status.insert("phase".to_owned(), json!("Terminating"));
        }
        if def.is_crd() {
            super::crd::mark_terminating(&mut value, now);
        }
        let stored = self.store(def, Some(old), value)?;
        Ok(Deleted::Object(stored))
    }
}
