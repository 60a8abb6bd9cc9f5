//! The name of an object inside one collection.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use hashbrown::DefaultHashBuilder;

/// Seeded anew in each process, so that no fixed list of names collides everywhere; it does not hold against somebody who
/// can observe hashes.
static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

/// Names one object of a resource: `namespace/name`, or `name` where there is no namespace.
///
/// It takes the place of client-go's key functions and `cache.ObjectName`. A clone costs one reference
/// count, and maps keyed by it can be asked with a `&str`.
///
/// ```
/// use informers_core::ObjectKey;
///
/// let key = ObjectKey::new("shop", "cart-0");
/// assert_eq!(key.namespace(), Some("shop"));
/// assert_eq!(key.name(), "cart-0");
/// assert_eq!(key.to_string(), "shop/cart-0");
/// assert_eq!("shop/cart-0".parse(), Ok(key));
/// assert_eq!(ObjectKey::cluster("node-1").namespace(), None);
/// ```
#[derive(Clone)]
pub struct ObjectKey {
    text: Arc<str>,
    /// Where the name begins: 0 without a namespace, else one past the slash.
    name_start: u32,
    /// Of the text. There is room for it on 64-bit machines, and whoever looks the key up need not touch the text for it.
    hash: u32,
}

impl ObjectKey {
    /// The key of `name` in `namespace`. An empty namespace is none, as in client-go.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        if namespace.is_empty() {
            return Self::cluster(name);
        }
        let mut text = String::with_capacity(namespace.len() + 1 + name.len());
        text.push_str(namespace);
        text.push('/');
        text.push_str(name);
        // Names in Kubernetes have at most 253 bytes; a namespace of 4 GiB keeps working as a plain key.
        let name_start = u32::try_from(namespace.len() + 1).unwrap_or(0);
        Self::of(text.into(), name_start)
    }

    /// The key of a cluster-scoped object.
    #[must_use]
    pub fn cluster(name: &str) -> Self {
        Self::of(name.into(), 0)
    }

    fn of(text: Arc<str>, name_start: u32) -> Self {
        let hash = Self::hash_text(&text);
        Self { text, name_start, hash }
    }

    /// The namespace, or none for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        match self.name_start as usize {
            0 => None,
            start => Some(&self.text[..start - 1]),
        }
    }

    /// The name without its namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.text[self.name_start as usize..]
    }

    /// The whole key as text: `namespace/name` or `name`.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The hash of the text, which a key carries along: whoever keeps keys in a table of its own need not hash them.
    ///
    /// Equal keys have the same within one process, and another one in the next. It is not what [`Hash`] feeds to a
    /// hasher.
    ///
    /// ```
    /// # use informers_core::ObjectKey;
    /// assert_eq!(ObjectKey::new("shop", "web").text_hash(), ObjectKey::hash_text("shop/web"));
    /// ```
    #[must_use]
    #[inline]
    pub fn text_hash(&self) -> u32 {
        self.hash
    }

    /// The [`text_hash`](Self::text_hash) as hash tables want it: with something at both ends of 64 bits.
    ///
    /// ```
    /// # use informers_core::ObjectKey;
    /// let key: ObjectKey = "shop/web".parse().unwrap();
    /// assert_eq!(key.table_hash(), ObjectKey::new("shop", "web").table_hash());
    /// ```
    #[must_use]
    #[inline]
    pub fn table_hash(&self) -> u64 {
        let hash = u64::from(self.hash);
        hash << 32 | hash
    }

    /// The [`text_hash`](Self::text_hash) of the key that has this text.
    #[must_use]
    pub fn hash_text(text: &str) -> u32 {
        let hash = HASHER.hash_one(text);
        (hash ^ (hash >> 32)) as u32
    }
}

impl FromStr for ObjectKey {
    type Err = ParseKeyError;

    /// Reads `name` or `namespace/name`, like client-go's `SplitMetaNamespaceKey`.
    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        match text.split_once('/') {
            None => Ok(Self::cluster(text)),
            Some((_, name)) if name.contains('/') => Err(ParseKeyError { text: text.to_owned() }),
            Some((namespace, name)) => Ok(Self::new(namespace, name)),
        }
    }
}

/// A text with more than one slash, which no object key has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unexpected key format {text:?}: expected \"name\" or \"namespace/name\"")]
pub struct ParseKeyError {
    text: String,
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl PartialEq for ObjectKey {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && (Arc::ptr_eq(&self.text, &other.text) || self.text == other.text)
    }
}

impl Eq for ObjectKey {}

impl PartialEq<str> for ObjectKey {
    fn eq(&self, other: &str) -> bool {
        &*self.text == other
    }
}

impl PartialEq<&str> for ObjectKey {
    fn eq(&self, other: &&str) -> bool {
        &*self.text == *other
    }
}

impl PartialOrd for ObjectKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Hash for ObjectKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Must equal the hash of `str`, since the key borrows as one.
        self.text.hash(state);
    }
}

impl Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl AsRef<str> for ObjectKey {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn parses_what_it_prints() {
        for (text, namespace, name) in
            [("a", None, "a"), ("ns/a", Some("ns"), "a"), ("", None, ""), ("ns/", Some("ns"), "")]
        {
            let key: ObjectKey = text.parse().unwrap();
            assert_eq!((key.namespace(), key.name()), (namespace, name), "{text:?}");
            assert_eq!(key.to_string(), text);
        }
    }

    #[test]
    fn an_empty_namespace_is_none() {
        assert_eq!(ObjectKey::new("", "a"), ObjectKey::cluster("a"));
        assert_eq!("/a".parse::<ObjectKey>().unwrap(), ObjectKey::cluster("a"));
    }

    #[test]
    fn more_than_one_slash_is_an_error() {
        let error = "a/b/c".parse::<ObjectKey>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unexpected key format \"a/b/c\": expected \"name\" or \"namespace/name\""
        );
    }

    #[test]
    fn the_hash_takes_no_room_and_is_that_of_the_text() {
        #[cfg(target_pointer_width = "64")]
        assert_eq!(size_of::<ObjectKey>(), 3 * size_of::<usize>());
        let hashes = ["a", "b", "ns/a", ""].map(|text| text.parse::<ObjectKey>().unwrap().text_hash());
        assert_eq!(hashes, ["a", "b", "ns/a", ""].map(ObjectKey::hash_text));
        assert!(hashes[0] != hashes[1] || hashes[0] != hashes[2], "{hashes:?}");
    }

    #[test]
    fn maps_can_be_asked_with_text() {
        let map = HashMap::from([(ObjectKey::new("ns", "a"), 1)]);
        assert_eq!(map.get("ns/a"), Some(&1));
    }
}
