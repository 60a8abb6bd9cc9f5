//! Objects as rows of tables, which is how `kubectl get` asks for them.
//!
//! Built-in resources have the columns of kube-apiserver, custom ones those of their definition, and all
//! others a name and an age.

mod age;
mod builtin;
mod cluster;
mod columns;
mod configuration;
mod pods;
mod row;
#[cfg(test)]
mod tests;
mod workloads;

use std::time::SystemTime;

use serde_json::{Map, Value, json};

use self::age::age;
use self::builtin::builtin_columns;
use self::columns::Column;
use self::row::Row;
use crate::store::{PrinterColumn, ResourceDef};

/// Knows the columns of one resource in one version.
#[derive(Clone, Debug)]
pub(crate) enum Printer {
    Builtin(&'static [Column]),
    Custom(Vec<PrinterColumn>),
}

impl Printer {
    pub(crate) fn new(def: &ResourceDef, version: &str) -> Self {
        match def.version(version) {
            Some(version) if def.custom && !version.columns.is_empty() => {
                Self::Custom(version.columns.clone())
            }
            _ => Self::Builtin(builtin_columns(def)),
        }
    }

    /// The `columnDefinitions` of a table.
    pub(crate) fn columns(&self) -> Value {
        let column = |name: &str, kind: &str, format: &str, description: &str, priority: i64| {
            json!({
                "name": name,
                "type": kind,
                "format": format,
                "description": description,
                "priority": priority,
            })
        };
        match self {
            Self::Builtin(columns) => {
                columns.iter().map(|c| column(c.name, c.kind, c.format, "", c.priority)).collect()
            }
            Self::Custom(columns) => std::iter::once(column("Name", "string", "name", "", 0))
                .chain(
                    columns.iter().map(|c| column(&c.name, &c.kind, &c.format, &c.description, c.priority)),
                )
                .collect(),
        }
    }

    /// The cells of an object as it is at `now`.
    pub(crate) fn cells(&self, object: &Map<String, Value>, now: SystemTime) -> Vec<Value> {
        let row = Row { object, now };
        match self {
            Self::Builtin(columns) => columns.iter().map(|column| (column.cell)(&row)).collect(),
            Self::Custom(columns) => {
                let whole = Value::Object(object.clone());
                std::iter::once(row.name())
                    .chain(columns.iter().map(|column| custom_cell(column, &whole, now)))
                    .collect()
            }
        }
    }
}

/// The first value that a column's path leads to, in the column's type; null if it is of another one.
fn custom_cell(column: &PrinterColumn, object: &Value, now: SystemTime) -> Value {
    let found = column.path.find(object);
    let Some(&value) = found.first() else {
        return Value::Null;
    };
    match (column.kind.as_str(), value) {
        ("string", Value::String(_)) | ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => {
            value.clone()
        }
        ("string", Value::Null) => Value::Null,
        ("string", other) => json!(other.to_string()),
        ("integer", Value::Number(number)) => match number.as_i64() {
            Some(number) => json!(number),
            None => number.as_f64().map_or(Value::Null, |number| json!(number as i64)),
        },
        ("date", Value::String(time)) => json!(age(time, now).unwrap_or_else(|| "<invalid>".to_owned())),
        _ => Value::Null,
    }
}
