//! Who is this object? Answered from its raw bytes, for objects that do not decode.

use std::borrow::Cow;

use crate::object::{FieldWalker, Step, key_is, string};

/// Name and version of an object as far as its `metadata` tells them. A field that is missing, is no string, or
/// stands behind the damage is `None`; an empty string in the JSON stays an empty string.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Identity<'a> {
    /// `metadata.namespace`; none for objects of cluster scope.
    pub namespace: Option<Cow<'a, str>>,
    /// `metadata.name`.
    pub name: Option<Cow<'a, str>>,
    /// `metadata.uid`.
    pub uid: Option<Cow<'a, str>>,
    /// `metadata.resourceVersion`.
    pub resource_version: Option<Cow<'a, str>>,
}

impl Identity<'_> {
    /// The same without borrowing from the raw bytes.
    pub fn into_owned(self) -> Identity<'static> {
        let own = |field: Option<Cow<'_, str>>| field.map(|text| Cow::Owned(text.into_owned()));
        Identity {
            namespace: own(self.namespace),
            name: own(self.name),
            uid: own(self.uid),
            resource_version: own(self.resource_version),
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.namespace.is_some()
            && self.name.is_some()
            && self.uid.is_some()
            && self.resource_version.is_some()
    }
}

/// Reads `metadata.{namespace,name,uid,resourceVersion}` of a raw JSON object, and nothing else.
///
/// Other values are skipped at scanning speed (over a gigabyte a second), and the scan stops once all four fields
/// are known or `metadata` ends. It never fails: of a damaged or cut object it gives what stands before the
/// damage. Where a key occurs twice, the first one counts.
///
/// ```
/// use informers_wire::peek_identity;
///
/// let raw = br#"{"kind":"Pod","metadata":{"name":"web-0","namespace":"shop","resourceVersion":"41"},"spec":{"priority":"hi"#;
/// let identity = peek_identity(raw);
/// assert_eq!(identity.name.as_deref(), Some("web-0"));
/// assert_eq!(identity.namespace.as_deref(), Some("shop"));
/// assert_eq!(identity.resource_version.as_deref(), Some("41"));
/// assert_eq!(identity.uid, None);
/// ```
pub fn peek_identity(raw: &[u8]) -> Identity<'_> {
    peek_identity_at(raw, 0)
}

/// The same for an object that begins at `at`.
pub(crate) fn peek_identity_at(raw: &[u8], at: usize) -> Identity<'_> {
    let mut identity = Identity::default();
    let Some(mut fields) = FieldWalker::enter(raw, at) else { return identity };
    while let Step::Key(key) = fields.next_key() {
        if key_is(key, "metadata") {
            if let Some(metadata) = FieldWalker::enter(raw, fields.position()) {
                read_metadata(raw, metadata, &mut identity);
            }
            break;
        }
        if fields.value().is_none() {
            break;
        }
    }
    identity
}

fn read_metadata<'a>(raw: &'a [u8], mut fields: FieldWalker<'a>, identity: &mut Identity<'a>) {
    while let Step::Key(key) = fields.next_key() {
        let Some(value) = fields.value() else { break };
        let slot = if key_is(key, "name") {
            &mut identity.name
        } else if key_is(key, "namespace") {
            &mut identity.namespace
        } else if key_is(key, "uid") {
            &mut identity.uid
        } else if key_is(key, "resourceVersion") {
            &mut identity.resource_version
        } else {
            continue;
        };
        if slot.is_none() {
            *slot = raw.get(value).and_then(string);
            if identity.is_full() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peek(raw: &str) -> [Option<String>; 4] {
        let identity = peek_identity(raw.as_bytes()).into_owned();
        [identity.namespace, identity.name, identity.uid, identity.resource_version]
            .map(|field| field.map(Cow::into_owned))
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn only_top_level_metadata_counts() {
        let raw = r#"{"spec":{"template":{"metadata":{"name":"no"}}},"metadata":{"labels":{"name":"no","uid":"no"},
            "name":"yes","ownerReferences":[{"name":"no","uid":"no"}],"uid":"u","resourceVersion":"7"},"x":1}"#;
        assert_eq!(peek(raw), [None, some("yes"), some("u"), some("7")]);
    }

    #[test]
    fn a11_a_damaged_object_is_still_named() {
        let full = [some("ns"), some("a"), some("u"), some("3")];
        let head = r#"{"metadata":{"uid":"u","resourceVersion":"3","namespace":"ns","name":"a""#;
        for tail in ["", "}", "},\"spec\":{\"replicas\":\"three\"}}", "],", "}} garbage", "\u{0}"] {
            assert_eq!(peek(&format!("{head}{tail}")), full, "{tail:?}");
        }
    }

    #[test]
    fn every_prefix_is_survived_and_knowledge_only_grows() {
        let raw =
            r#"{"a":[{}],"metadata":{"name":"x\u00e9","namespace":"n","uid":"u","resourceVersion":"9"}}"#;
        let mut known = 0;
        for end in 0..=raw.len() {
            let now = peek(&raw[..end]).iter().flatten().count();
            assert!(now >= known, "at {end}");
            known = now;
        }
        assert_eq!(peek(raw), [some("n"), some("xé"), some("u"), some("9")]);
    }

    #[test]
    fn fields_of_another_type_are_unknown() {
        assert_eq!(
            peek(r#"{"metadata":{"name":5,"uid":null,"resourceVersion":"1"}}"#),
            [None, None, None, some("1")]
        );
        for raw in ["", "null", "[]", "{", "{}", r#"{"metadata":null}"#, r#"{"metadata":[]}"#, "\"metadata\""]
        {
            assert_eq!(peek(raw), [None, None, None, None], "{raw}");
        }
    }

    proptest::proptest! {
        #![proptest_config(crate::generators::seeded())]

        #[test]
        fn agrees_with_a_parser(
            before in crate::generators::any_json(),
            labels in crate::generators::any_json(),
            name in ".*",
            namespace in proptest::option::of(".*"),
            pretty: bool,
        ) {
            let object = serde_json::json!({
                "a": before,
                "metadata": {"labels": labels, "name": name, "namespace": namespace, "resourceVersion": "1"},
                "spec": {"metadata": {"name": "no"}},
            });
            let raw = if pretty { serde_json::to_string_pretty(&object) } else { serde_json::to_string(&object) };
            proptest::prop_assert_eq!(peek(&raw.unwrap()), [namespace, Some(name), None, some("1")]);
        }
    }

    #[test]
    fn invalid_utf8_does_not_hide_the_rest() {
        let identity = peek_identity(b"{\"metadata\":{\"name\":\"a\xFF\",\"uid\":\"u\"}}");
        assert_eq!(identity.name.as_deref(), Some("a\u{FFFD}"));
        assert_eq!(identity.uid.as_deref(), Some("u"));
    }
}
