//! Patches of objects.

use serde_json::{Map, Value};

use super::ResourceDef;
use super::strategic::{ListRules, Merger};
use crate::Status;

/// A patch that can be applied to the JSON of an object.
#[derive(Clone, Debug)]
pub(crate) enum Patch {
    /// RFC 7386.
    Merge(Value),
    /// RFC 6902.
    Json(Vec<Operation>),
    /// A merge patch with directives, for a resource with these lists.
    Strategic { patch: Map<String, Value>, rules: ListRules },
}

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Add { path: Pointer, value: Value },
    Remove { path: Pointer },
    Replace { path: Pointer, value: Value },
    Move { from: Pointer, path: Pointer },
    Copy { from: Pointer, path: Pointer },
    Test { path: Pointer, value: Value },
}

type Pointer = Vec<String>;

/// kube-apiserver does not say which operation failed.
fn rejected() -> Status {
    Status::new(422, "the server rejected our request due to an error in our request").with_details()
}

impl Patch {
    /// Reads a patch of an object of `def`, of one of the content types that the server knows.
    pub(crate) fn parse(content_type: &str, body: &[u8], def: &ResourceDef) -> Result<Self, Status> {
        let json =
            || serde_json::from_slice::<Value>(body).map_err(|_| Status::new(400, "invalid JSON patch"));
        match content_type {
            "application/merge-patch+json" => match json()? {
                Value::Object(patch) => Ok(Self::Merge(Value::Object(patch))),
                other => {
                    Err(Status::new(400, format!("error decoding patch: json: {}", not_an_object(&other))))
                }
            },
            "application/json-patch+json" => {
                let Value::Array(operations) = json()? else {
                    return Err(Status::new(400, "error decoding patch: expected a list of operations"));
                };
                operations.iter().map(operation).collect::<Option<_>>().map(Self::Json).ok_or_else(rejected)
            }
            "application/strategic-merge-patch+json" if def.custom => {
                let problem = "the body of the request was in an unknown format - accepted media types include: \
                               application/json-patch+json, application/merge-patch+json, \
                               application/apply-patch+yaml";
                Err(Status::new(415, problem))
            }
            "application/strategic-merge-patch+json" => match json()? {
                Value::Object(patch) => Ok(Self::Strategic { patch, rules: ListRules::of(def) }),
                other => Err(Status::new(400, format!("json: {}", not_an_object(&other)))),
            },
            _ => Err(Status::new(415, "415: Unsupported Media Type").with_details()),
        }
    }

    /// The object with the patch applied.
    pub(crate) fn apply(&self, mut object: Value) -> Result<Value, Status> {
        match self {
            Self::Merge(patch) => merge(&mut object, patch),
            Self::Json(operations) => {
                for operation in operations {
                    apply(&mut object, operation).ok_or_else(rejected)?;
                }
            }
            Self::Strategic { patch, rules } => {
                let Value::Object(original) = object else { return Err(rejected()) };
                object = Value::Object(Merger::strategic(*rules).merge(original, patch.clone())?);
            }
        }
        Ok(object)
    }
}

fn not_an_object(value: &Value) -> String {
    let found = match value {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        _ => "null",
    };
    format!("cannot unmarshal {found} into Go value of type map[string]interface {{}}")
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (field, value) in patch {
        if value.is_null() {
            target.remove(field);
        } else {
            merge(target.entry(field.clone()).or_insert(Value::Null), value);
        }
    }
}

fn pointer(text: &str) -> Option<Pointer> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let segments = text.strip_prefix('/')?.split('/');
    Some(segments.map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect())
}

fn operation(value: &Value) -> Option<Operation> {
    let at = |field: &str| pointer(value.get(field)?.as_str()?);
    let operand = || value.get("value").cloned();
    Some(match value.get("op")?.as_str()? {
        "add" => Operation::Add { path: at("path")?, value: operand()? },
        "remove" => Operation::Remove { path: at("path")? },
        "replace" => Operation::Replace { path: at("path")?, value: operand()? },
        "move" => Operation::Move { from: at("from")?, path: at("path")? },
        "copy" => Operation::Copy { from: at("from")?, path: at("path")? },
        "test" => Operation::Test { path: at("path")?, value: operand().unwrap_or(Value::Null) },
        _ => return None,
    })
}

fn apply(object: &mut Value, operation: &Operation) -> Option<()> {
    match operation {
        Operation::Add { path, value } => add(object, path, value.clone()),
        Operation::Remove { path } => remove(object, path).map(drop),
        Operation::Replace { path, value } => {
            *find(object, path)? = value.clone();
            Some(())
        }
        Operation::Move { from, path } => {
            let value = remove(object, from)?;
            add(object, path, value)
        }
        Operation::Copy { from, path } => {
            let value = find(object, from)?.clone();
            add(object, path, value)
        }
        Operation::Test { path, value } => {
            let found = find(object, path);
            (found.map_or(value.is_null(), |found| found == value)).then_some(())
        }
    }
}

fn find<'a>(object: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(object, |value, segment| match value {
        Value::Object(map) => map.get_mut(segment),
        Value::Array(list) => list.get_mut(segment.parse::<usize>().ok()?),
        _ => None,
    })
}

fn add(object: &mut Value, path: &[String], value: Value) -> Option<()> {
    let Some((last, parents)) = path.split_last() else {
        *object = value;
        return Some(());
    };
    match find(object, parents)? {
        Value::Object(map) => {
            map.insert(last.clone(), value);
        }
        Value::Array(list) if last == "-" => list.push(value),
        Value::Array(list) => {
            let at = last.parse::<usize>().ok().filter(|&at| at <= list.len())?;
            list.insert(at, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(object: &mut Value, path: &[String]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    match find(object, parents)? {
        Value::Object(map) => map.remove(last),
        Value::Array(list) => {
            let at = last.parse::<usize>().ok().filter(|&at| at < list.len())?;
            Some(list.remove(at))
        }
        _ => None,
    }
}
