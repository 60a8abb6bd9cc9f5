//! Strategic merge patches: merge patches that know which lists are sets and which are keyed, and that carry
//! directives.
//!
//! The directives are `$patch` (`replace` or `delete`, in objects and in items of keyed lists), `$retainKeys`,
//! `$setElementOrder/FIELD` and `$deleteFromPrimitiveList/FIELD`.

mod order;
mod rules;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub(crate) use self::rules::{ListRule, ListRules};
use crate::Status;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ELEMENT_ORDER: &str = "$setElementOrder/";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList/";

/// Merges one object into another of the same resource.
#[derive(Debug)]
pub(crate) struct Merger {
    rules: ListRules,
    /// Whether all fields of a key count, as in server-side apply, or the first one alone.
    whole_keys: bool,
    /// The names of the fields on the way to where the merger is.
    path: Vec<String>,
}

/// A patch that cannot be applied; kube-apiserver gives no reason with it.
fn broken(problem: String) -> Status {
    Status::new(500, problem).with_reason("")
}

fn not_a_list(value: &Value) -> Status {
    let problem = format!("Invalid value: {value}: cannot restore slice from map");
    Status::new(422, format!("\"\" is invalid: patch: {problem}")).with_cause(
        "FieldValueInvalid",
        problem,
        "patch",
    )
}

impl Merger {
    pub(crate) fn strategic(rules: ListRules) -> Self {
        Self { rules, whole_keys: false, path: Vec::new() }
    }

    pub(crate) fn apply(rules: ListRules) -> Self {
        Self { rules, whole_keys: true, path: Vec::new() }
    }

    /// `original` with `patch` merged into it.
    pub(crate) fn merge(
        &mut self,
        mut original: Map<String, Value>,
        mut patch: Map<String, Value>,
    ) -> Result<Map<String, Value>, Status> {
        match patch.remove(PATCH) {
            None => {}
            Some(Value::String(text)) if text == "replace" => return Ok(without_directives(patch)),
            Some(Value::String(text)) if text == "delete" => return Ok(Map::new()),
            Some(other) => return Err(broken(format!("unknown patch type found: {other}"))),
        }
        if let Some(kept) = patch.remove(RETAIN_KEYS) {
            retain(&mut original, &patch, &kept)?;
        }
        let mut orders = Map::new();
        let mut deletions = Vec::new();
        let mut plain = Map::new();
        for (field, value) in patch {
            if let Some(list) = field.strip_prefix(DELETE_FROM_LIST) {
                deletions.push((list.to_owned(), value));
            } else if let Some(list) = field.strip_prefix(ELEMENT_ORDER) {
                orders.insert(list.to_owned(), value);
            } else {
                plain.insert(field, value);
            }
        }
        for (field, value) in plain {
            let order = orders.remove(&field);
            self.path.push(field);
            let old = self.path.last().and_then(|field| original.remove(field));
            let merged = self.value(old, value, order)?;
            if let (Some(field), Some(merged)) = (self.path.pop(), merged) {
                original.insert(field, merged);
            }
        }
        // Orders of lists that are not patched otherwise.
        for (field, order) in orders {
            self.path.push(field);
            let field = self.path.last().map(String::as_str).unwrap_or_default();
            if let Some(Value::Array(old)) = original.remove(field) {
                let merged = self.list(old, Vec::new(), Some(order))?;
                if let Some(field) = self.path.last() {
                    original.insert(field.clone(), Value::Array(merged));
                }
            }
            self.path.pop();
        }
        for (field, items) in deletions {
            delete_from_list(&mut original, &field, &items)?;
        }
        Ok(original)
    }

    fn value(
        &mut self,
        old: Option<Value>,
        patch: Value,
        order: Option<Value>,
    ) -> Result<Option<Value>, Status> {
        let rule = self.rule();
        Ok(match (old, patch) {
            (_, Value::Null) => None,
            (_, patch @ (Value::Object(_) | Value::String(_) | Value::Number(_) | Value::Bool(_)))
                if rule != ListRule::Atomic =>
            {
                return Err(not_a_list(&patch));
            }
            (Some(Value::Object(old)), Value::Object(patch)) => Some(Value::Object(self.merge(old, patch)?)),
            (Some(Value::Array(old)), Value::Array(patch)) if rule != ListRule::Atomic => {
                Some(Value::Array(self.list(old, patch, order)?))
            }
            (None, Value::Array(patch)) if rule != ListRule::Atomic => {
                Some(Value::Array(self.list(Vec::new(), patch, order)?))
            }
            (_, patch) => fresh(patch),
        })
    }

    fn rule(&self) -> ListRule {
        let path: Vec<_> = self.path.iter().map(String::as_str).collect();
        self.rules.rule(&path)
    }

    fn list(
        &mut self,
        old: Vec<Value>,
        patch: Vec<Value>,
        order: Option<Value>,
    ) -> Result<Vec<Value>, Status> {
        let order = match order {
            None => None,
            Some(Value::Array(order)) => Some(order),
            Some(other) => return Err(broken(format!("{ELEMENT_ORDER} must be a list, not {other}"))),
        };
        match self.rule() {
            ListRule::Atomic => Ok(if patch.is_empty() { old } else { patch }),
            ListRule::Set => {
                if let Some(item) = old.iter().chain(&patch).find(|item| item.is_object() || item.is_array())
                {
                    return Err(broken(format!("list element types are not identical: {item}")));
                }
                let mut merged: Vec<Value> = Vec::new();
                for item in old.iter().chain(&patch) {
                    if !merged.contains(item) {
                        merged.push(item.clone());
                    }
                }
                order::arrange(merged, &old, &patch, order.as_deref(), |left, right| left == right)
            }
            ListRule::Keyed(keys) => self.keyed(&old, patch, order.as_deref(), keys),
        }
    }

    fn keyed(
        &mut self,
        old: &[Value],
        patch: Vec<Value>,
        order: Option<&[Value]>,
        keys: &'static [&'static str],
    ) -> Result<Vec<Value>, Status> {
        let keys = if self.whole_keys { keys } else { &keys[..1] };
        let mut merged = old.to_vec();
        let mut items = Vec::new();
        let mut replace = false;
        for item in patch {
            let Value::Object(mut item) = item else {
                return Err(broken(format!("list element types are not identical: {item}")));
            };
            match item.remove(PATCH) {
                None => items.push(item),
                Some(Value::String(text)) if text == "delete" => {
                    let key = self.key(&Value::Object(item), keys)?;
                    merged.retain(|old| !has_key(old, keys, &key));
                }
                Some(Value::String(text)) if text == "replace" => replace = true,
                Some(other) => return Err(broken(format!("unknown patch type found: {other}"))),
            }
        }
        if replace {
            return Ok(items.into_iter().map(|item| Value::Object(without_directives(item))).collect());
        }
        let shown: Vec<_> = items.iter().cloned().map(Value::Object).collect();
        for item in items {
            let key = self.key(&Value::Object(item.clone()), keys)?;
            match merged.iter_mut().find(|old| has_key(old, keys, &key)) {
                Some(found) => {
                    let old = std::mem::take(found.as_object_mut().unwrap_or(&mut Map::new()));
                    *found = Value::Object(self.merge(old, item)?);
                }
                None => merged.push(Value::Object(self.merge(Map::new(), item)?)),
            }
        }
        order::arrange(merged, old, &shown, order, |left, right| {
            keys.iter().all(|&key| key_part(left, key) == key_part(right, key))
        })
    }

    fn key(&self, item: &Value, keys: &[&str]) -> Result<Vec<Value>, Status> {
        let first = keys.first().copied().unwrap_or_default();
        if item.get(first).is_none_or(Value::is_null) {
            let list = self.path.join(".");
            return Err(broken(format!("map: {item} does not contain declared merge key: {first} ({list})")));
        }
        Ok(keys.iter().map(|&key| key_part(item, key)).collect())
    }
}

/// One field of an item's key, with the default that the API declares.
pub(crate) fn key_part(item: &Value, key: &str) -> Value {
    match item.get(key) {
        Some(value) => value.clone(),
        None if key == "protocol" => Value::from("TCP"),
        None => Value::Null,
    }
}

fn has_key(item: &Value, keys: &[&str], key: &[Value]) -> bool {
    item.is_object() && keys.iter().zip(key).all(|(name, part)| key_part(item, name) == *part)
}

/// Removes the fields of `original` that `$retainKeys` does not name.
fn retain(original: &mut Map<String, Value>, patch: &Map<String, Value>, kept: &Value) -> Result<(), Status> {
    let Value::Array(kept) = kept else {
        return Err(Status::new(400, "invalid patch format of retainKeys"));
    };
    let is_kept = |field: &str| kept.iter().any(|name| name == field);
    let stray =
        |(field, value): (&String, &Value)| !value.is_null() && !field.starts_with('$') && !is_kept(field);
    if patch.iter().any(stray) {
        return Err(Status::new(400, "invalid patch format of retainKeys"));
    }
    original.retain(|field, _| is_kept(field));
    Ok(())
}

fn delete_from_list(original: &mut Map<String, Value>, field: &str, items: &Value) -> Result<(), Status> {
    let Value::Array(items) = items else {
        return Err(broken(format!("{DELETE_FROM_LIST}{field} must be a list, not {items}")));
    };
    if let Some(Value::Array(list)) = original.get_mut(field) {
        list.retain(|item| !items.contains(item));
    }
    Ok(())
}

/// What a patch's value is where there was nothing before: without directives and without nulls. None if it
/// was a directive itself.
fn fresh(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        // Whatever the directive is: kube-apiserver does not replace what is not there either.
        Value::Object(map) if map.contains_key(PATCH) => None,
        Value::Object(map) => Some(Value::Object(without_directives(map))),
        Value::Array(list) => Some(Value::Array(list.into_iter().filter_map(fresh).collect())),
        scalar => Some(scalar),
    }
}

fn without_directives(map: Map<String, Value>) -> Map<String, Value> {
    map.into_iter()
        .filter(|(field, _)| !field.starts_with('$'))
        .filter_map(|(field, value)| Some((field, fresh(value)?)))
        .collect()
}
