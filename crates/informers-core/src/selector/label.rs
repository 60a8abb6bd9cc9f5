//! Label selectors.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use super::SelectorError;

/// A label selector: requirements that must all hold.
///
/// Both the equality form (`app=web,tier!=db`) and the set form (`app in (web,api),!legacy`, `cores>4`)
/// are read. The default value is empty and matches everything.
/// See [labels and selectors](https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/).
///
/// ```
/// use std::collections::BTreeMap;
/// use informers_core::LabelSelector;
///
/// let selector: LabelSelector = "app in (web, api), !legacy".parse().unwrap();
/// let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
/// assert!(selector.matches(&labels));
/// assert_eq!(selector.to_string(), "app in (api,web),!legacy");
/// assert_eq!(selector.as_written(), "app in (web, api), !legacy");
/// ```
///
/// Selectors are equal if they ask for the same, however they were written.
#[derive(Clone, Debug, Default)]
pub struct LabelSelector(Arc<Parsed>);

#[derive(Debug, Default)]
struct Parsed {
    requirements: Vec<LabelRequirement>,
    written: String,
}

impl PartialEq for LabelSelector {
    fn eq(&self, other: &Self) -> bool {
        self.requirements() == other.requirements()
    }
}

impl Eq for LabelSelector {}

impl Hash for LabelSelector {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.requirements().hash(state);
    }
}

/// One requirement of a label selector.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelRequirement {
    key: String,
    operator: LabelOperator,
}

/// What a requirement asks of the label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LabelOperator {
    /// `key`: the label is there.
    Exists,
    /// `!key`: the label is not there.
    DoesNotExist,
    /// `key in (a,b)` and `key=a`: the label has one of these values. Sorted, without repetition.
    In(Vec<String>),
    /// `key notin (a,b)` and `key!=a`: the label is not there or has none of these values.
    NotIn(Vec<String>),
    /// `key>1`: the label is a greater whole number.
    GreaterThan(i64),
    /// `key<1`: the label is a smaller whole number.
    LessThan(i64),
}

impl LabelRequirement {
    /// The name of the label.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is asked of it.
    #[must_use]
    pub fn operator(&self) -> &LabelOperator {
        &self.operator
    }

    fn matches(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.operator {
            LabelOperator::Exists => value.is_some(),
            LabelOperator::DoesNotExist => value.is_none(),
            LabelOperator::In(values) => value.is_some_and(|value| values.iter().any(|v| v == value)),
            LabelOperator::NotIn(values) => value.is_none_or(|value| values.iter().all(|v| v != value)),
            LabelOperator::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
            LabelOperator::LessThan(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

impl LabelSelector {
    /// Whether it asks for nothing, so that everything matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requirements().is_empty()
    }

    /// The requirements, sorted.
    #[must_use]
    pub fn requirements(&self) -> &[LabelRequirement] {
        &self.0.requirements
    }

    /// The text that it was read from: what requests carry, so that a server, its audit log and whatever stands
    /// before it see what the user wrote, as with client-go.
    #[must_use]
    pub fn as_written(&self) -> &str {
        &self.0.written
    }

    /// Whether an object with these labels is selected.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.matches_with(|key| labels.get(key).map(String::as_str))
    }

    /// Whether an object is selected whose label values `value_of` gives.
    pub fn matches_with<'a>(&self, value_of: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements().iter().all(|requirement| requirement.matches(value_of(&requirement.key)))
    }
}

impl FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let mut parser = Parser { text, rest: text };
        let mut requirements = Vec::new();
        while !parser.at_end() {
            requirements.push(parser.requirement()?);
            if !parser.at_end() {
                parser.expect(',')?;
                if parser.at_end() {
                    return Err(parser.error("nothing after the last \",\""));
                }
            }
        }
        requirements.sort();
        Ok(Self(Arc::new(Parsed { requirements, written: text.trim_matches(WHITE_SPACE).to_owned() })))
    }
}

/// The canonical form: requirements and values sorted.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements().iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            fmt::Display::fmt(requirement, f)?;
        }
        Ok(())
    }
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.operator {
            LabelOperator::Exists => write!(f, "{key}"),
            LabelOperator::DoesNotExist => write!(f, "!{key}"),
            LabelOperator::In(values) if values.len() == 1 => write!(f, "{key}={}", values[0]),
            LabelOperator::NotIn(values) if values.len() == 1 => write!(f, "{key}!={}", values[0]),
            LabelOperator::In(values) => write!(f, "{key} in ({})", values.join(",")),
            LabelOperator::NotIn(values) => write!(f, "{key} notin ({})", values.join(",")),
            LabelOperator::GreaterThan(bound) => write!(f, "{key}>{bound}"),
            LabelOperator::LessThan(bound) => write!(f, "{key}<{bound}"),
        }
    }
}

/// What servers pass over in a selector; anything else would be refused by them.
const WHITE_SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn error(&self, problem: impl Into<String>) -> SelectorError {
        SelectorError::new("label", self.text, problem)
    }

    fn at_end(&mut self) -> bool {
        self.rest = self.rest.trim_start_matches(WHITE_SPACE);
        self.rest.is_empty()
    }

    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start_matches(WHITE_SPACE);
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: char) -> Result<(), SelectorError> {
        if self.eat(token.encode_utf8(&mut [0; 4])) {
            return Ok(());
        }
        Err(self.error(format!("expected {:?} before {:?}", token.to_string(), self.rest)))
    }

    /// A run of the characters that keys and values consist of; may be empty.
    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_start_matches(WHITE_SPACE);
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn key(&mut self) -> Result<String, SelectorError> {
        let key = self.word();
        check_key(key).map_err(|problem| self.error(problem))?;
        Ok(key.to_owned())
    }

    fn value(&mut self) -> Result<String, SelectorError> {
        let value = self.word();
        if !is_label_value(value) {
            return Err(self.error(format!("{value:?} is not a valid label value")));
        }
        Ok(value.to_owned())
    }

    fn number(&mut self) -> Result<i64, SelectorError> {
        let value = self.word();
        value.parse().map_err(|_| self.error(format!("{value:?} is not a whole number")))
    }

    fn values(&mut self, after: &str) -> Result<Vec<String>, SelectorError> {
        if !self.eat("(") {
            return Err(self.error(format!("expected \"(\" after {after:?}")));
        }
        let mut values = vec![self.value()?];
        while self.eat(",") {
            values.push(self.value()?);
        }
        self.expect(')')?;
        values.sort();
        values.dedup();
        Ok(values)
    }

    fn requirement(&mut self) -> Result<LabelRequirement, SelectorError> {
        if self.eat("!") {
            return Ok(LabelRequirement { key: self.key()?, operator: LabelOperator::DoesNotExist });
        }
        let key = self.key()?;
        let operator = if self.eat("==") || self.eat("=") {
            LabelOperator::In(vec![self.value()?])
        } else if self.eat("!=") {
            LabelOperator::NotIn(vec![self.value()?])
        } else if self.eat(">") {
            LabelOperator::GreaterThan(self.number()?)
        } else if self.eat("<") {
            LabelOperator::LessThan(self.number()?)
        } else if self.rest.trim_start_matches(WHITE_SPACE).is_empty()
            || self.rest.trim_start_matches(WHITE_SPACE).starts_with(',')
        {
            LabelOperator::Exists
        } else {
            match self.word() {
                "in" => LabelOperator::In(self.values("in")?),
                "notin" => LabelOperator::NotIn(self.values("notin")?),
                other => {
                    let found = if other.is_empty() { self.rest } else { other };
                    return Err(self.error(format!("unknown operator {found:?}")));
                }
            }
        };
        Ok(LabelRequirement { key, operator })
    }
}

fn check_key(key: &str) -> Result<(), String> {
    if key.is_empty() {
        return Err("a label key is missing".to_owned());
    }
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let prefix_is_good = prefix.is_none_or(|prefix| {
        let is_part = |part: &str| {
            is_alphanumeric_at_ends(part)
                && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        prefix.len() <= 253 && prefix.split('.').all(is_part)
    });
    if prefix_is_good && !name.is_empty() && is_label_value(name) {
        Ok(())
    } else {
        Err(format!("{key:?} is not a valid label key"))
    }
}

fn is_label_value(value: &str) -> bool {
    value.is_empty() || value.len() <= 63 && !value.contains('/') && is_alphanumeric_at_ends(value)
}

fn is_alphanumeric_at_ends(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        selector.parse::<LabelSelector>().unwrap().matches(&labels)
    }

    #[test]
    fn every_operator_selects_as_the_api_server_does() {
        let web = &[("app", "web"), ("cores", "8")][..];
        for (selector, expected) in [
            ("", true),
            ("app", true),
            ("gone", false),
            ("!app", false),
            ("!gone", true),
            ("app=web", true),
            ("app==web", true),
            ("app = api", false),
            ("app!=api", true),
            ("gone!=api", true),
            ("app in (web,api)", true),
            ("app in (api)", false),
            ("app notin (api, db)", true),
            ("gone notin (x)", true),
            ("cores>7", true),
            ("cores>8", false),
            ("cores<9", true),
            ("app>1", false),
            ("gone=", false),
            ("app=web,cores=4", false),
            ("in", false),
        ] {
            assert_eq!(matches(selector, web), expected, "{selector:?}");
        }
        assert!(matches("empty=", &[("empty", "")]));
    }

    #[test]
    fn errors_name_the_selector_and_the_problem() {
        for (text, problem) in [
            ("=a", "a label key is missing"),
            ("a=b=c", "expected \",\" before \"=c\""),
            ("a,", "nothing after the last \",\""),
            ("a in", "expected \"(\" after \"in\""),
            ("a in (b", "expected \")\" before \"\""),
            ("a near (b)", "unknown operator \"near\""),
            ("a>b", "\"b\" is not a whole number"),
            ("-a", "\"-a\" is not a valid label key"),
            ("a/b/c", "\"a/b/c\" is not a valid label key"),
            ("a=b/c", "\"b/c\" is not a valid label value"),
        ] {
            let error = text.parse::<LabelSelector>().unwrap_err();
            assert_eq!(error.to_string(), format!("invalid label selector {text:?}: {problem}"));
        }
    }

    #[test]
    fn equal_selectors_print_and_compare_equal() {
        let a: LabelSelector = "b in (y,x,y),a=1".parse().unwrap();
        let b: LabelSelector = "a==1, b in (x, y)".parse().unwrap();
        assert_eq!(a, b);
        assert_eq!((a.as_written(), b.as_written()), ("b in (y,x,y),a=1", "a==1, b in (x, y)"));
        let set = std::collections::HashSet::from([a.clone(), b]);
        assert_eq!(set.len(), 1);
        assert!(LabelSelector::default() == " ".parse().unwrap());
        assert_eq!(a.to_string(), "a=1,b in (x,y)");
        assert_eq!(a.to_string().parse::<LabelSelector>().unwrap(), a);
    }
}
