//! Index values on their way into the store: computed before the lock is taken, dropped after it is released.

use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use informers_core::{Entry, ObjectKey};

use crate::definition::{AnyDefinition, Definition, panicking_eq};
use crate::error::IndexError;
use crate::postings::{AnyPostings, EqPanic, Postings, Staged};
use crate::write::Write;

/// The values of one index for the entries of one batch, in order.
pub(crate) struct Staging<T, V> {
    definition: Arc<Definition<T, V>>,
    values: Vec<Staged<V>>,
    /// Where the values of each entry end.
    ends: Vec<usize>,
    /// The next entry to be put.
    next: usize,
    scratch: Vec<V>,
    trash: Vec<V>,
    /// Kept until the lock is released, since a payload is the user's.
    panics: Vec<(ObjectKey, EqPanic)>,
}

impl<T, V> Staging<T, V> {
    pub(crate) fn new(definition: Arc<Definition<T, V>>) -> Self {
        Self {
            definition,
            values: Vec::new(),
            ends: Vec::new(),
            next: 0,
            scratch: Vec::new(),
            trash: Vec::new(),
            panics: Vec::new(),
        }
    }
}

/// Staged values of any type.
pub(crate) trait AnyStaging<T>: Send {
    /// Computes the values of one entry more. Runs user code.
    fn stage(&mut self, entry: &Entry<T>, errors: &mut Vec<IndexError>);
    /// Puts the entry that was staged first and not yet put.
    fn put(&mut self, postings: &mut dyn AnyPostings, object: u32, key: &ObjectKey);
    fn remove(&mut self, postings: &mut dyn AnyPostings, object: u32);
    /// Drops what is left of the batch, and tells of the entries that were put without their values.
    fn finish(&mut self, errors: &mut Vec<IndexError>);
}

impl<T, V> AnyStaging<T> for Staging<T, V>
where
    T: Send + Sync + 'static,
    V: Eq + Hash + Clone + Send + Sync + 'static,
{
    fn stage(&mut self, entry: &Entry<T>, errors: &mut Vec<IndexError>) {
        let result = self.definition.stage(entry, &mut self.scratch, &mut self.values);
        self.ends.push(self.values.len());
        if let Err(fault) = result {
            errors.push(IndexError::new(entry.key(), self.definition.name(), fault));
        }
    }

    fn put(&mut self, postings: &mut dyn AnyPostings, object: u32, key: &ObjectKey) {
        let start = if self.next == 0 { 0 } else { self.ends[self.next - 1] };
        let end = self.ends[self.next];
        self.next += 1;
        if let Some(postings) = postings.as_any_mut().downcast_mut::<Postings<V>>()
            && let Err(panic) = postings.put(object, &mut self.values[start..end], &mut self.trash)
        {
            self.panics.push((key.clone(), panic));
        }
    }

    fn remove(&mut self, postings: &mut dyn AnyPostings, object: u32) {
        if let Some(postings) = postings.as_any_mut().downcast_mut::<Postings<V>>() {
            postings.remove(object, &mut self.trash);
        }
    }

    fn finish(&mut self, errors: &mut Vec<IndexError>) {
        self.ends.clear();
        self.next = 0;
        discard(&mut self.values);
        discard(&mut self.trash);
        let name = self.definition.name();
        for (key, panic) in std::mem::take(&mut self.panics) {
            errors.push(IndexError::new(&key, name, panicking_eq(&*panic)));
        }
    }
}

/// Drops values, which runs the user's code. A panic of it, which the panic hook tells of, must not leave this or
/// another area with values that the next batch would take for its own.
fn discard<V>(values: &mut Vec<V>) {
    let _ = catch_unwind(AssertUnwindSafe(|| values.clear()));
}

/// The staging areas of all indexes of a store, in their order.
pub(crate) struct Stager<T> {
    pub(crate) definitions: Vec<Arc<dyn AnyDefinition<T>>>,
    areas: Vec<Box<dyn AnyStaging<T>>>,
    errors: Vec<IndexError>,
}

impl<T: Send + Sync + 'static> Stager<T> {
    pub(crate) fn new(definitions: Vec<Arc<dyn AnyDefinition<T>>>) -> Self {
        let areas = definitions.iter().map(|definition| Arc::clone(definition).staging()).collect();
        Self { definitions, areas, errors: Vec::new() }
    }

    pub(crate) fn add(&mut self, definition: Arc<dyn AnyDefinition<T>>) {
        self.areas.push(Arc::clone(&definition).staging());
        self.definitions.push(definition);
    }

    pub(crate) fn stage(&mut self, entry: &Entry<T>) {
        for area in &mut self.areas {
            area.stage(entry, &mut self.errors);
        }
    }

    pub(crate) fn stage_all(&mut self, writes: &[Write<T>]) {
        for write in writes {
            if let Write::Insert(entry) = write {
                self.stage(entry);
            }
        }
    }

    pub(crate) fn put(&mut self, indexes: &mut [Box<dyn AnyPostings>], object: u32, key: &ObjectKey) {
        for (area, postings) in self.areas.iter_mut().zip(indexes) {
            area.put(&mut **postings, object, key);
        }
    }

    pub(crate) fn remove(&mut self, indexes: &mut [Box<dyn AnyPostings>], object: u32) {
        for (area, postings) in self.areas.iter_mut().zip(indexes) {
            area.remove(&mut **postings, object);
        }
    }

    /// Drops what is left of the batch, and gives the errors of its index functions.
    pub(crate) fn finish(&mut self) -> Vec<IndexError> {
        self.areas.iter_mut().for_each(|area| area.finish(&mut self.errors));
        std::mem::take(&mut self.errors)
    }
}
