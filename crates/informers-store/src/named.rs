//! client-go's view of indexes: by name, with text as values.

use std::sync::Arc;

use informers_core::{Entry, ObjectKey};

use crate::definition::Definition;
use crate::error::{Error, IndexError};
use crate::index::{look_up, look_up_in, values};
use crate::shared::Inner;
use crate::store::Store;

/// The view by text, in client-go's words. It reaches every index that has a name and whose values are
/// `String`s.
impl<T: Send + Sync + 'static> Store<T> {
    /// The keys of the entries that have `value` in the index `name`, sorted.
    ///
    /// # Errors
    /// If there is no such index, or its values are not strings.
    pub fn index_keys(&self, name: &str, value: &str) -> Result<Vec<ObjectKey>, Error> {
        let mut keys: Vec<_> = self.by_index(name, value)?.iter().map(|entry| entry.key().clone()).collect();
        keys.sort_unstable();
        Ok(keys)
    }

    /// The entries that have `value` in the index `name`, in any order; none if nothing has it.
    ///
    /// # Errors
    /// If there is no such index, or its values are not strings.
    pub fn by_index(&self, name: &str, value: &str) -> Result<Vec<Entry<T>>, Error> {
        let (definition, all) = {
            let inner = self.shared().read();
            let definition = find(&inner, name)?;
            // One lock for both, and no count of the definition that readers would share.
            match look_up_in(&inner, definition, value) {
                Some(hits) => {
                    drop(inner);
                    return Ok(hits.into_vec());
                }
                None => (Arc::clone(definition), inner.primary.entries().snapshot()),
            }
        };
        Ok(definition.scan(&all, value))
    }

    /// The entries that share a value with the given one in the index `name`, each once, in any order.
    ///
    /// # Errors
    /// If there is no such index, its values are not strings, or its function fails for `entry`.
    pub fn index(&self, name: &str, entry: &Entry<T>) -> Result<Vec<Entry<T>>, Error> {
        let definition = self.named(name)?;
        let mut values = Vec::new();
        if let Err(fault) = definition.values(entry, &mut values) {
            return Err(Error::Index(IndexError::new(entry.key(), definition.name(), fault)));
        }
        values.sort_unstable();
        values.dedup();
        let mut hits: Vec<Entry<T>> = Vec::new();
        for value in &values {
            match look_up(self.shared(), &definition, value.as_str()) {
                Ok(found) => hits.extend(found.into_vec()),
                Err(all) => hits.extend(definition.scan(&all, value.as_str())),
            }
        }
        if values.len() > 1 {
            hits.sort_by(|a, b| a.key().cmp(b.key()));
            hits.dedup_by(|a, b| a.key() == b.key());
        }
        Ok(hits)
    }

    /// The values that at least one entry has in the index `name`, in any order; none if there is no such
    /// index (client-go's `ListIndexFuncValues`).
    #[must_use]
    pub fn list_index_values(&self, name: &str) -> Vec<String> {
        self.named(name).map(|definition| values(self.shared(), &definition)).unwrap_or_default()
    }

    /// The names of all indexes that have one, sorted.
    #[must_use]
    pub fn indexers(&self) -> Vec<String> {
        self.shared().read().names.keys().map(|name| name.to_string()).collect()
    }

    /// Whether an entry, stored or not, would be found under `value` in the index `name`.
    pub(crate) fn has_index_value(&self, name: &str, entry: &Entry<T>, value: &str) -> bool {
        let mut values = Vec::new();
        self.named(name).is_ok_and(|definition| {
            definition.values(entry, &mut values).is_ok() && values.iter().any(|own| own == value)
        })
    }

    fn named(&self, name: &str) -> Result<Arc<Definition<T, String>>, Error> {
        find(&self.shared().read(), name).map(Arc::clone)
    }
}

fn find<'a, T>(inner: &'a Inner<T>, name: &str) -> Result<&'a Arc<Definition<T, String>>, Error> {
    match inner.names.get(name) {
        Some(Some(definition)) => Ok(definition),
        Some(None) => Err(Error::NotStrings { name: name.to_owned() }),
        None => Err(Error::NoSuchIndex {
            name: name.to_owned(),
            existing: inner.names.keys().map(|name| name.to_string()).collect(),
        }),
    }
}
