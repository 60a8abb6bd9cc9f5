//! Resource versions, and when two of them can be compared.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// `metadata.resourceVersion`: the server's mark of a state of an object or of a whole collection.
///
/// It is opaque: equal or not. Where both sides are decimal numbers without leading zeros, Kubernetes
/// (since 1.35) allows an order too, which [`compare`](Self::compare) gives. The default value is empty:
/// no version.
///
/// ```
/// use std::cmp::Ordering;
/// use informers_core::ResourceVersion;
///
/// let (old, new) = (ResourceVersion::from("99"), ResourceVersion::from("100"));
/// assert_eq!(old.compare(&new), Some(Ordering::Less));
/// assert_eq!(old.compare(&ResourceVersion::from("abc")), None);
/// assert_eq!(new.to_string(), "100");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct ResourceVersion(Repr);

#[derive(Clone, PartialEq, Eq, Hash, Default)]
enum Repr {
    #[default]
    Empty,
    /// The canonical decimal form of a number, which is what every API server sends.
    Number(u64),
    Text(Arc<str>),
}

impl ResourceVersion {
    /// Whether there is no version.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self.0, Repr::Empty)
    }

    /// Whether this is `"0"`, which in a request stands for "any version will do".
    #[must_use]
    pub fn is_any(&self) -> bool {
        matches!(self.0, Repr::Number(0))
    }

    /// Whether this names a state: neither empty nor `"0"`.
    #[must_use]
    pub fn is_specific(&self) -> bool {
        !self.is_empty() && !self.is_any()
    }

    /// The version as a number, where it is the decimal form of one that fits.
    #[must_use]
    pub fn as_number(&self) -> Option<u64> {
        match self.0 {
            Repr::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The order of two versions, or none where either of them is not a decimal number without leading
    /// zeros. Only versions of one resource on one server may be compared.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (&self.0, &other.0) {
            (Repr::Number(a), Repr::Number(b)) => Some(a.cmp(b)),
            _ => {
                let (a, b) = (self.to_string(), other.to_string());
                let comparable = is_comparable(&a) && is_comparable(&b);
                comparable.then(|| a.len().cmp(&b.len()).then_with(|| a.cmp(&b)))
            }
        }
    }
}

fn is_comparable(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
}

impl From<&str> for ResourceVersion {
    fn from(text: &str) -> Self {
        if text.is_empty() {
            return Self(Repr::Empty);
        }
        match text.parse() {
            Ok(number) if is_comparable(text) => Self(Repr::Number(number)),
            _ => Self(Repr::Text(text.into())),
        }
    }
}

impl From<String> for ResourceVersion {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<u64> for ResourceVersion {
    fn from(number: u64) -> Self {
        Self(Repr::Number(number))
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Empty => Ok(()),
            Repr::Number(number) => fmt::Display::fmt(number, f),
            Repr::Text(text) => f.pad(text),
        }
    }
}

impl fmt::Debug for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_prints_as_it_was_read() {
        for text in ["", "0", "7", "007", "18446744073709551615", "18446744073709551616", "+7", "abc"] {
            assert_eq!(ResourceVersion::from(text).to_string(), text);
        }
    }

    #[test]
    fn the_order_is_that_of_numbers_of_any_length() {
        let compare = |a: &str, b: &str| ResourceVersion::from(a).compare(&b.into());
        assert_eq!(compare("9", "10"), Some(Ordering::Less));
        assert_eq!(compare("18446744073709551616", "18446744073709551615"), Some(Ordering::Greater));
        assert_eq!(compare("28446744073709551616", "28446744073709551616"), Some(Ordering::Equal));
        assert_eq!(compare("", "1"), None);
        assert_eq!(compare("01", "1"), None);
        assert_eq!(compare("x", "1"), None);
    }

    #[test]
    fn zero_is_any_and_nothing_is_empty() {
        assert!(ResourceVersion::from("0").is_any());
        assert!(ResourceVersion::default().is_empty());
        assert!(!ResourceVersion::from("0").is_specific() && ResourceVersion::from("5").is_specific());
    }
}
