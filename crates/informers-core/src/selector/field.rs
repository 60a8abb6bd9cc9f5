//! Field selectors.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::SelectorError;

/// A field selector: `path=value` and `path!=value`, all of which must hold.
///
/// Which paths a server knows depends on the resource; `metadata.name` and `metadata.namespace` always
/// work. In values `\`, `,` and `=` are escaped by a backslash. The default value is empty and matches
/// everything. See [field selectors](https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/).
///
/// ```
/// use informers_core::FieldSelector;
///
/// let selector: FieldSelector = "spec.nodeName=node-1,status.phase!=Failed".parse().unwrap();
/// assert!(selector.matches_with(|path| (path == "spec.nodeName").then(|| "node-1".into())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct FieldSelector(Arc<[FieldRequirement]>);

/// One requirement of a field selector.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldRequirement {
    path: String,
    value: String,
    equal: bool,
}

impl FieldRequirement {
    /// The path of the field, such as `spec.nodeName`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value that the field must have, or must not have.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Whether the field must have the value (`=`) or must not (`!=`).
    #[must_use]
    pub fn is_equality(&self) -> bool {
        self.equal
    }
}

impl FieldSelector {
    /// Whether it asks for nothing, so that everything matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The requirements, sorted.
    #[must_use]
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.0
    }

    /// Whether an object is selected whose field values `value_of` gives; an absent field is empty.
    pub fn matches_with(&self, value_of: impl Fn(&str) -> Option<String>) -> bool {
        self.0.iter().all(|requirement| {
            let value = value_of(&requirement.path).unwrap_or_default();
            (value == requirement.value) == requirement.equal
        })
    }
}

impl FromStr for FieldSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let error = |problem: String| SelectorError::new("field", text, problem);
        let mut requirements = Vec::new();
        for term in split_terms(text) {
            let Some(at) = term.find('=') else {
                return Err(error(format!("{term:?} has no \"=\" or \"!=\"")));
            };
            let (path, equal) = match term[..at].strip_suffix('!') {
                Some(path) => (path, false),
                None => (&term[..at], true),
            };
            let raw = term[at + 1..].strip_prefix('=').filter(|_| equal).unwrap_or(&term[at + 1..]);
            if path.trim().is_empty() {
                return Err(error(format!("{term:?} has no field before its operator")));
            }
            let value = unescape(raw).map_err(error)?;
            requirements.push(FieldRequirement { path: path.trim().to_owned(), value, equal });
        }
        requirements.sort();
        Ok(Self(requirements.into()))
    }
}

/// The terms between commas that no backslash escapes; empty ones are left out.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms.retain(|term| !term.trim().is_empty());
    terms
}

fn unescape(raw: &str) -> Result<String, String> {
    let mut value = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => value.push(c),
                Some(c) => return Err(format!("\"\\{c}\" is no escape")),
                None => return Err("a backslash at the end escapes nothing".to_owned()),
            },
            '=' => return Err(format!("an unescaped \"=\" in the value {raw:?}")),
            c => value.push(c),
        }
    }
    Ok(value)
}

/// The canonical form: requirements sorted, values escaped.
impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, FieldRequirement { path, value, equal }) in self.0.iter().enumerate() {
            let (comma, operator) = (if at > 0 { "," } else { "" }, if *equal { "=" } else { "!=" });
            write!(f, "{comma}{path}{operator}")?;
            for c in value.chars() {
                if matches!(c, '\\' | ',' | '=') {
                    f.write_str("\\")?;
                }
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_and_inequality() {
        let value_of = |path: &str| (path == "a").then(|| "1".to_owned());
        for (selector, expected) in [
            ("", true),
            ("a=1", true),
            ("a==1", true),
            ("a=2", false),
            ("a!=2", true),
            ("b=", true),
            ("b!=x,a=1", true),
        ] {
            let selector: FieldSelector = selector.parse().unwrap();
            assert_eq!(selector.matches_with(value_of), expected, "{selector}");
        }
    }

    #[test]
    fn escapes_survive_a_round_trip() {
        let selector: FieldSelector = r"a=x\,y\=z\\".parse().unwrap();
        assert_eq!(selector.requirements()[0].value(), r"x,y=z\");
        assert_eq!(selector.to_string().parse::<FieldSelector>().unwrap(), selector);
    }

    #[test]
    fn errors_name_the_selector_and_the_problem() {
        for (text, problem) in [
            ("a", "\"a\" has no \"=\" or \"!=\""),
            ("=1", "\"=1\" has no field before its operator"),
            ("a=b=c", "an unescaped \"=\" in the value \"b=c\""),
            (r"a=\n", "\"\\n\" is no escape"),
        ] {
            let error = text.parse::<FieldSelector>().unwrap_err();
            assert_eq!(error.to_string(), format!("invalid field selector {text:?}: {problem}"));
        }
    }
}
