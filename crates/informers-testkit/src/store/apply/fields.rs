//! Sets of fields in the form in which `metadata.managedFields` has them (`FieldsV1`).
//!
//! A set is a tree of maps: `f:NAME` leads to a field, `k:{…}` to an item of a keyed list, `v:…` to a member
//! of a set. An empty map is a field that is owned as a whole; `.` says the same of one with members.

use serde_json::{Map, Value, json};

use crate::store::strategic::{ListRule, ListRules, key_part};

pub(super) type Fields = Map<String, Value>;

const SELF: &str = ".";

/// The fields that an applied configuration has an opinion of.
pub(super) fn fields_of(config: &Map<String, Value>, rules: ListRules) -> Fields {
    let mut fields = Reading { rules, path: Vec::new() }.map(config);
    for field in ["f:apiVersion", "f:kind"] {
        fields.remove(field);
    }
    // What names the object belongs to nobody.
    if let Some(Value::Object(metadata)) = fields.get_mut("f:metadata") {
        for field in ["name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"] {
            metadata.remove(&format!("f:{field}"));
        }
        metadata.remove("f:managedFields");
        if metadata.is_empty() {
            fields.remove("f:metadata");
        }
    }
    fields
}

struct Reading<'a> {
    rules: ListRules,
    path: Vec<&'a str>,
}

impl<'a> Reading<'a> {
    fn map(&mut self, map: &'a Map<String, Value>) -> Fields {
        let mut fields = Fields::new();
        for (field, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            self.path.push(field);
            fields.insert(format!("f:{field}"), Value::Object(self.value(value)));
            self.path.pop();
        }
        fields
    }

    fn value(&mut self, value: &'a Value) -> Fields {
        match value {
            // An empty object is owned without its future members.
            Value::Object(map) if map.is_empty() => Fields::from_iter([(SELF.to_owned(), json!({}))]),
            Value::Object(map) => self.map(map),
            Value::Array(items) => match self.rules.rule(&self.path) {
                ListRule::Atomic => Fields::new(),
                ListRule::Set => items.iter().map(|item| (format!("v:{item}"), json!({}))).collect(),
                ListRule::Keyed(keys) => items
                    .iter()
                    .filter_map(|item| {
                        let mut fields = self.map(item.as_object()?);
                        fields.insert(SELF.to_owned(), json!({}));
                        Some((item_key(item, keys), Value::Object(fields)))
                    })
                    .collect(),
            },
            _ => Fields::new(),
        }
    }
}

fn item_key(item: &Value, keys: &[&str]) -> String {
    let key: Map<_, _> = keys
        .iter()
        .map(|&key| (key.to_owned(), key_part(item, key)))
        .filter(|(_, part)| !part.is_null())
        .collect();
    format!("k:{}", Value::Object(key))
}

/// One step into an object.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Item(Map<String, Value>),
    Member(Value),
}

fn step(element: &str) -> Option<Step> {
    let (kind, rest) = element.split_once(':')?;
    match kind {
        "f" => Some(Step::Field(rest.to_owned())),
        "k" => serde_json::from_str(rest).ok().map(Step::Item),
        "v" => serde_json::from_str(rest).ok().map(Step::Member),
        _ => None,
    }
}

fn is_item(value: &Value, key: &Map<String, Value>) -> bool {
    value.is_object() && key.iter().all(|(name, part)| key_part(value, name) == *part)
}

fn enter<'a>(value: &'a Value, step: &Step) -> Option<&'a Value> {
    match step {
        Step::Field(name) => value.get(name),
        Step::Item(key) => value.as_array()?.iter().find(|item| is_item(item, key)),
        Step::Member(member) => value.as_array()?.iter().find(|item| *item == member),
    }
}

/// The leaves of `wanted` that are in `owned` too and whose value would change, as `.data.k`.
pub(super) fn conflicts(wanted: &Fields, owned: &Fields, config: &Value, live: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(wanted, owned, Some(config), Some(live), "", &mut found);
    found
}

fn collect(
    wanted: &Fields,
    owned: &Fields,
    config: Option<&Value>,
    live: Option<&Value>,
    path: &str,
    found: &mut Vec<String>,
) {
    for (element, inner) in wanted {
        let (Some(Value::Object(owned)), Value::Object(inner)) = (owned.get(element), inner) else {
            continue;
        };
        let Some(step) = step(element) else { continue };
        let (config, live) =
            (config.and_then(|value| enter(value, &step)), live.and_then(|value| enter(value, &step)));
        let path = match &step {
            Step::Field(name) => format!("{path}.{name}"),
            Step::Item(key) => {
                let key: Vec<_> = key.iter().map(|(name, part)| format!("{name}={part}")).collect();
                format!("{path}[{}]", key.join(","))
            }
            Step::Member(member) => format!("{path}[={member}]"),
        };
        if inner.is_empty() || owned.is_empty() {
            if config != live {
                found.push(path);
            }
        } else {
            collect(inner, owned, config, live, &path, found);
        }
    }
}

/// `from` without what `taken` has.
pub(super) fn without(from: &Fields, taken: &Fields) -> Fields {
    let mut rest = Fields::new();
    for (element, inner) in from {
        match (inner, taken.get(element)) {
            (inner, None) => {
                rest.insert(element.clone(), inner.clone());
            }
            (Value::Object(inner), Some(Value::Object(taken))) if !inner.is_empty() => {
                let left = without(inner, taken);
                if !left.is_empty() {
                    rest.insert(element.clone(), Value::Object(left));
                }
            }
            _ => {}
        }
    }
    rest
}

/// Removes from `object` the fields of a set; items of keyed lists go as a whole where the set owns them.
pub(super) fn remove(object: &mut Value, fields: &Fields) {
    for (element, inner) in fields {
        let (Some(step), Value::Object(inner)) = (step(element), inner) else { continue };
        match (&step, object.as_array_mut()) {
            (Step::Item(key), Some(list)) if inner.contains_key(SELF) => {
                list.retain(|item| !is_item(item, key));
            }
            (Step::Item(key), Some(list)) => {
                if let Some(item) = list.iter_mut().find(|item| is_item(item, key)) {
                    remove(item, inner);
                }
            }
            (Step::Member(member), Some(list)) => list.retain(|item| item != member),
            (Step::Field(name), _) => {
                let Some(map) = object.as_object_mut() else { continue };
                if inner.is_empty() {
                    map.remove(name);
                } else if let Some(value) = map.get_mut(name) {
                    remove(value, inner);
                    let empty = match value {
                        Value::Object(map) => map.is_empty(),
                        Value::Array(list) => list.is_empty(),
                        _ => false,
                    };
                    if empty {
                        map.remove(name);
                    }
                }
            }
            _ => {}
        }
    }
}
