//! The JSONPath of printer columns: fields, indices, `[*]` and filters by equality.

use serde_json::Value;

/// A path such as `.status.conditions[?(@.type=="Ready")].status`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    /// Negative ones count from the end.
    Index(i64),
    All,
    /// The items whose value at the path is, or is not, this one.
    Filter {
        path: JsonPath,
        equal: bool,
        value: Value,
    },
}

impl JsonPath {
    /// None if the path is not understood.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        while let Some(first) = rest.chars().next() {
            match first {
                '.' => {
                    let (name, after) = field(&rest[1..]);
                    match name.as_str() {
                        "" if after.starts_with('[') || steps.is_empty() && after.is_empty() => {}
                        "" => return None,
                        "*" => steps.push(Step::All),
                        _ => steps.push(Step::Field(name)),
                    }
                    rest = after;
                }
                '[' => {
                    let end = closing_bracket(rest)?;
                    steps.push(subscript(rest[1..end].trim())?);
                    rest = &rest[end + 1..];
                }
                _ => return None,
            }
        }
        Some(Self(steps))
    }

    /// Everything that the path leads to; nothing where a field is missing.
    pub(crate) fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![value];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| step.enter(value)).collect();
        }
        found
    }
}

impl Step {
    fn enter<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Self::Field(name) => value.get(name).into_iter().collect(),
            Self::Index(at) => {
                let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
                let at = if *at < 0 { list.len() as i64 + at } else { *at };
                usize::try_from(at).ok().and_then(|at| list.get(at)).into_iter().collect()
            }
            Self::All => match value {
                Value::Array(list) => list.iter().collect(),
                Value::Object(map) => map.values().collect(),
                _ => Vec::new(),
            },
            Self::Filter { path, equal, value: wanted } => value
                .as_array()
                .into_iter()
                .flatten()
                .filter(|item| path.find(item).first().is_some_and(|found| (*found == wanted) == *equal))
                .collect(),
        }
    }
}

/// The name at the beginning of `text`, in which a backslash takes the next character as it is.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().map(|(_, next)| next)),
            '.' | '[' => return (name, &text[at..]),
            _ => name.push(character),
        }
    }
    (name, "")
}

/// Where the bracket at the beginning of `text` is closed, quotes and inner brackets passed over.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn subscript(text: &str) -> Option<Step> {
    if text == "*" {
        return Some(Step::All);
    }
    if let Some(filter) = text.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        let (equal, (left, right)) = match (filter.split_once("=="), filter.split_once("!=")) {
            (Some(sides), _) => (true, sides),
            (None, Some(sides)) => (false, sides),
            (None, None) => return None,
        };
        let path = JsonPath::parse(left.trim().strip_prefix('@')?)?;
        let right = right.trim();
        let value = match unquoted(right) {
            Some(text) => Value::from(text),
            None => serde_json::from_str(right).ok()?,
        };
        return Some(Step::Filter { path, equal, value });
    }
    match unquoted(text) {
        Some(name) => Some(Step::Field(name.replace('\\', ""))),
        None => text.parse().ok().map(Step::Index),
    }
}

fn unquoted(text: &str) -> Option<&str> {
    let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    quoted('"').or_else(|| quoted('\''))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_values() {
        let object = json!({
            "metadata": {"labels": {"a.b/c": "label"}},
            "spec": {"replicas": 3, "ports": [{"n": 1}, {"n": 2}]},
            "status": {"conditions": [{"type": "A", "status": "x"}, {"type": "Ready", "status": "True"}]},
        });
        for (path, wanted) in [
            (".spec.replicas", json!([3])),
            ("$.spec.replicas", json!([3])),
            (".spec.ports[0].n", json!([1])),
            (".spec.ports[-1].n", json!([2])),
            (".spec.ports[*].n", json!([1, 2])),
            (".metadata.labels.a\\.b/c", json!(["label"])),
            (".metadata.labels['a\\.b/c']", json!(["label"])),
            (".status.conditions[?(@.type==\"Ready\")].status", json!(["True"])),
            (".status.conditions[?(@.type == 'Ready')].status", json!(["True"])),
            (".status.conditions[?(@.type!='Ready')].status", json!(["x"])),
            (".spec.nope.deeper[0]", json!([])),
        ] {
            let found: Vec<_> = JsonPath::parse(path)
                .unwrap_or_else(|| panic!("{path}"))
                .find(&object)
                .into_iter()
                .cloned()
                .collect();
            assert_eq!(Value::Array(found), wanted, "{path}");
        }
        for path in ["spec", ".a[", ".a[x]", ".a..b", ".a[?(@.x)]"] {
            assert_eq!(JsonPath::parse(path), None, "{path}");
        }
    }
}
