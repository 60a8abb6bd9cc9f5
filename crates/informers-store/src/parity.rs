//! Where this crate deviates from client-go, and how to switch that off.

/// Which of this crate's deviations from client-go are switched back.
///
/// ```
/// use informers_core::{Entry, ObjectKey};
/// use informers_store::{Parity, StoreWriter};
///
/// let entry = |version: &str| Entry::new(ObjectKey::cluster("a"), "u".into(), version.into(), ());
/// let mut ours = StoreWriter::new();
/// let mut theirs = StoreWriter::with_parity(Parity::client_go_0_37());
/// for writer in [&mut ours, &mut theirs] {
///     writer.insert(entry("9"));
///     writer.insert(entry("8"));
/// }
/// assert_eq!(ours.reader().version().to_string(), "9");
/// assert_eq!(theirs.reader().version().to_string(), "8");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parity {
    /// The store's version is that of the last object written, even if it is older. By default a version
    /// that is known to be older than the store's does not take its place.
    pub version_follows_last_object: bool,
}

impl Parity {
    /// Everything as in client-go 0.37.
    #[must_use]
    pub fn client_go_0_37() -> Self {
        Self { version_follows_last_object: true }
    }
}
