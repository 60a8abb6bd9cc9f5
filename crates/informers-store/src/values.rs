//! What an index function may return.

use std::collections::{BTreeSet, HashSet};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The values under which an index function wants an object to be found: none, one or several.
///
/// It is implemented for `Option<V>`, `Vec<V>`, `[V; N]`, `BTreeSet<V>`, `HashSet<V>`, and for `Result`s of
/// these. Order means nothing and a value given twice counts once. It is a trait of its own because
/// `IntoIterator` would take a `Result` too, and its error would vanish.
///
/// ```
/// use informers_core::{Entry, ObjectKey};
/// use informers_store::StoreWriter;
///
/// struct Pod { ports: Vec<u16> }
///
/// let mut writer = StoreWriter::new();
/// let (by_port, pending) = writer.reader().define_index(None, |pod: &Entry<Pod>| pod.ports.clone()).unwrap();
/// assert!(writer.install(pending).is_ok());
/// writer.insert(Entry::keyed(ObjectKey::new("shop", "web"), Pod { ports: vec![80, 443, 80] }));
/// assert_eq!(by_port.keys(&443), [ObjectKey::new("shop", "web")]);
/// assert_eq!(by_port.count(&80), 1);
/// ```
pub trait IndexValues<V> {
    /// Adds the values to `values`.
    ///
    /// # Errors
    /// If the function failed; what was added to `values` is then ignored.
    fn collect_into(self, values: &mut Vec<V>) -> Result<(), BoxError>;
}

macro_rules! impl_for_collection {
    ($(($($generics:tt)*) $collection:ty;)*) => {$(
        impl<$($generics)*> IndexValues<V> for $collection {
            fn collect_into(self, values: &mut Vec<V>) -> Result<(), BoxError> {
                values.extend(self);
                Ok(())
            }
        }
    )*};
}

impl_for_collection! {
    (V) Option<V>;
    (V) Vec<V>;
    (V) BTreeSet<V>;
    (V, S) HashSet<V, S>;
    (V, const N: usize) [V; N];
}

impl<V, R: IndexValues<V>, E: Into<BoxError>> IndexValues<V> for Result<R, E> {
    fn collect_into(self, values: &mut Vec<V>) -> Result<(), BoxError> {
        self.map_err(Into::into)?.collect_into(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: impl IndexValues<u8>) -> Result<Vec<u8>, String> {
        let mut values = Vec::new();
        of.collect_into(&mut values).map(|()| values).map_err(|error| error.to_string())
    }

    #[test]
    fn every_shape_gives_its_values_and_errors_do_not_vanish() {
        assert_eq!(values(None), Ok(vec![]));
        assert_eq!(values(Some(1)), Ok(vec![1]));
        assert_eq!(values(vec![1, 1]), Ok(vec![1, 1]));
        assert_eq!(values([1, 2]), Ok(vec![1, 2]));
        assert_eq!(values(BTreeSet::from([2, 1])), Ok(vec![1, 2]));
        assert_eq!(values(HashSet::from([3])), Ok(vec![3]));
        assert_eq!(values(Ok::<_, std::fmt::Error>(Some(1))), Ok(vec![1]));
        assert_eq!(values(Err::<Vec<u8>, _>("no label")), Err("no label".to_owned()));
    }
}
