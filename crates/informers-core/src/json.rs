//! The decoder for any type that serde can read from JSON.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Deserializer as _, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::{Decode, DecodeError, DecodeErrorKind, Entry, ObjectKey, Representation, replace_invalid_text};

/// Reads objects of any serde type from JSON.
///
/// The type needs no metadata of its own: a struct with the few fields that its user wants is fine, and
/// is the cheapest to hold.
///
/// ```
/// use informers_core::{Decode, JsonDecoder};
///
/// #[derive(serde::Deserialize)]
/// struct Node { spec: Spec }
/// #[derive(serde::Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Spec { #[serde(default)] unschedulable: bool }
///
/// let raw = br#"{"metadata":{"name":"n1","uid":"u","resourceVersion":"5"},"spec":{"unschedulable":true}}"#;
/// let node = JsonDecoder::<Node>::new().decode(raw).unwrap();
/// assert_eq!(node.key().as_str(), "n1");
/// assert!(node.spec.unschedulable);
/// ```
pub struct JsonDecoder<T> {
    representation: Representation,
    object: PhantomData<fn() -> T>,
}

impl<T> JsonDecoder<T> {
    /// A decoder for whole objects.
    #[must_use]
    pub const fn new() -> Self {
        Self { representation: Representation::Json, object: PhantomData }
    }

    /// A decoder for objects of which the server sends the metadata alone.
    #[must_use]
    pub const fn metadata_only() -> Self {
        Self { representation: Representation::PartialObjectMetadata, object: PhantomData }
    }
}

impl<T> Default for JsonDecoder<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for JsonDecoder<T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<T> fmt::Debug for JsonDecoder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JsonDecoder").field(&std::any::type_name::<T>()).finish()
    }
}

impl<T: DeserializeOwned + Send + Sync + 'static> Decode<T> for JsonDecoder<T> {
    fn representation(&self) -> Representation {
        self.representation
    }

    fn decode(&self, raw: &[u8]) -> Result<Entry<T>, DecodeError> {
        read(raw).or_else(|error| match error.kind() {
            DecodeErrorKind::Malformed => {
                replace_invalid_text(raw).map_or(Err(error), |mended| read(&mended))
            }
            _ => Err(error),
        })
    }
}

fn read<T: DeserializeOwned>(raw: &[u8]) -> Result<Entry<T>, DecodeError> {
    let identity = identity(raw)?;
    let object = serde_json::from_slice(raw).map_err(|_| DecodeError::locate::<T>(raw))?;
    let key = ObjectKey::new(&identity.namespace, &identity.name);
    Ok(Entry::new(key, identity.uid.as_str().into(), identity.version.as_str().into(), object))
}

impl DecodeError {
    /// Why this JSON is no `T`, and at which field.
    ///
    /// For decoders that read with `serde_json`, when they have failed: it decodes once more to learn where, which
    /// the quick way does not tell. Needs the feature `json`.
    ///
    /// ```
    /// use informers_core::{DecodeError, DecodeErrorKind};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Lamp { spec: Spec }
    /// #[derive(serde::Deserialize)]
    /// struct Spec { bulbs: Vec<u8> }
    ///
    /// let error = DecodeError::locate::<Lamp>(br#"{"spec":{"bulbs":[60,"bright"]}}"#);
    /// assert_eq!(error.path(), Some("spec.bulbs[1]"));
    /// assert_eq!(DecodeError::locate::<Lamp>(b"null").kind(), DecodeErrorKind::Null);
    /// ```
    #[must_use]
    pub fn locate<T: DeserializeOwned>(raw: &[u8]) -> Self {
        if raw.trim_ascii() == b"null" {
            return Self::new(DecodeErrorKind::Null);
        }
        let error = Self::new(DecodeErrorKind::Malformed);
        let mut deserializer = serde_json::Deserializer::from_slice(raw);
        match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
            Err(cause) => error.with_path(cause.path().to_string()).with_source(cause.into_inner()),
            Ok(_) => match deserializer.end() {
                Err(cause) => error.with_source(cause),
                Ok(()) => error,
            },
        }
    }
}

/// What the pipeline needs to know of an object, read from its JSON.
#[derive(Default)]
struct Identity {
    namespace: String,
    name: String,
    uid: String,
    version: String,
    is_complete: bool,
}

/// Reads `metadata` and stops as soon as it has what it wants: servers put it first, so this costs little
/// beside decoding the object.
fn identity(raw: &[u8]) -> Result<Identity, DecodeError> {
    if raw.trim_ascii() == b"null" {
        return Err(DecodeError::new(DecodeErrorKind::Null));
    }
    let mut identity = Identity::default();
    let read = serde_json::Deserializer::from_slice(raw).deserialize_map(Object(&mut identity));
    match read {
        Err(error) if !identity.is_complete => {
            let is_object = raw.trim_ascii_start().starts_with(b"{");
            let path = if is_object { "metadata" } else { "" };
            Err(DecodeError::new(DecodeErrorKind::Malformed).with_path(path).with_source(error))
        }
        _ if identity.name.is_empty() => Err(DecodeError::new(DecodeErrorKind::Nameless)),
        _ => Ok(identity),
    }
}

struct Object<'a>(&'a mut Identity);

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Key>()? {
            if let Key::Metadata = key {
                map.next_value_seed(Metadata(self.0))?;
                self.0.is_complete = true;
                return Err(A::Error::custom("the rest is not needed"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

struct Metadata<'a>(&'a mut Identity);

impl<'de> serde::de::DeserializeSeed<'de> for Metadata<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Metadata<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the metadata of an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let identity = self.0;
        let mut found = 0;
        while let Some(key) = map.next_key::<Key>()? {
            let field = match key {
                Key::Name => &mut identity.name,
                Key::Namespace => &mut identity.namespace,
                Key::Uid => &mut identity.uid,
                Key::ResourceVersion => &mut identity.version,
                Key::Metadata | Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *field = map.next_value::<Option<String>>()?.unwrap_or_default();
            found += 1;
            if found == 4 {
                identity.is_complete = true;
                return Err(A::Error::custom("the rest is not needed"));
            }
        }
        Ok(())
    }
}

enum Key {
    Metadata,
    Name,
    Namespace,
    Uid,
    ResourceVersion,
    Other,
}

impl<'de> serde::Deserialize<'de> for Key {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Key, E> {
                Ok(match key {
                    "metadata" => Key::Metadata,
                    "name" => Key::Name,
                    "namespace" => Key::Namespace,
                    "uid" => Key::Uid,
                    "resourceVersion" => Key::ResourceVersion,
                    _ => Key::Other,
                })
            }
        }
        deserializer.deserialize_identifier(KeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Slim {
        #[serde(default)]
        size: u32,
    }

    fn decode(raw: &str) -> Result<Entry<Slim>, DecodeError> {
        JsonDecoder::<Slim>::new().decode(raw.as_bytes())
    }

    #[test]
    fn metadata_is_found_wherever_it_stands() {
        for raw in [
            r#"{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7"},"size":3}"#,
            r#"{"size":3,"x":[{"metadata":{"name":"no"}}],"metadata":{"labels":{"name":"no"},"resourceVersion":"7","uid":"u","namespace":"ns","name":"a"}}"#,
            " {\"size\" : 3 , \"metadata\" : { \"name\" : \"\\u0061\", \"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"7\"}}\n",
        ] {
            let entry = decode(raw).unwrap();
            assert_eq!((entry.key().as_str(), entry.size), ("ns/a", 3), "{raw}");
            assert_eq!((entry.uid(), entry.version()), (&"u".into(), &"7".into()), "{raw}");
        }
    }

    #[test]
    fn a_cluster_scoped_object_has_no_namespace() {
        let entry = decode(r#"{"metadata":{"name":"n","uid":"u","resourceVersion":"7"}}"#).unwrap();
        assert_eq!((entry.key().namespace(), entry.key().name()), (None, "n"));
    }

    #[test]
    fn text_that_is_no_unicode_costs_no_object() {
        #[derive(serde::Deserialize)]
        struct Note {
            text: String,
        }
        for raw in [
            &br#"{"metadata":{"name":"a"},"text":"\ud83d!"}"#[..],
            b"{\"metadata\":{\"name\":\"a\"},\"text\":\"\xFF!\"}",
        ] {
            assert_eq!(JsonDecoder::<Note>::new().decode(raw).unwrap().text, "\u{FFFD}!");
        }
        // What else is wrong is told with its place.
        let error = decode(r#"{"metadata":{"name":"a","x":"\ud83d"},"size":"\ud83d"}"#).unwrap_err();
        assert_eq!((error.kind(), error.path()), (DecodeErrorKind::Malformed, Some("size")));
    }

    #[test]
    fn errors_say_what_is_wrong_and_where() {
        for (raw, kind, path) in [
            ("null", DecodeErrorKind::Null, None),
            (" null\n", DecodeErrorKind::Null, None),
            (r#"{"metadata":{"uid":"u"}}"#, DecodeErrorKind::Nameless, None),
            (r#"{"metadata":{"name":null}}"#, DecodeErrorKind::Nameless, None),
            ("{}", DecodeErrorKind::Nameless, None),
            (r#"{"metadata":{"name":7}}"#, DecodeErrorKind::Malformed, Some("metadata")),
            (r#"{"metadata":7}"#, DecodeErrorKind::Malformed, Some("metadata")),
            (r#"{"metadata":{"name":"a"},"size":"big"}"#, DecodeErrorKind::Malformed, Some("size")),
            (r#"{"metadata":{"name":"a"},"size":1"#, DecodeErrorKind::Malformed, None),
            (r#"{"metadata":{"name":"a"}} x"#, DecodeErrorKind::Malformed, None),
            ("7", DecodeErrorKind::Malformed, None),
        ] {
            let error = decode(raw).unwrap_err();
            assert_eq!((error.kind(), error.path()), (kind, path), "{raw}");
        }
    }
}
