//! What columns are made of.

use serde_json::Value;

use super::row::Row;

/// A column, and how its cell is made of an object.
#[derive(Debug)]
pub(crate) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) format: &'static str,
    pub(super) priority: i64,
    pub(super) cell: fn(&Row<'_>) -> Value,
}

pub(super) const NAME: Column =
    Column { name: "Name", kind: "string", format: "name", priority: 0, cell: |row| row.name() };
pub(super) const AGE: Column = text("Age", |row| row.age());

pub(super) const fn text(name: &'static str, cell: fn(&Row<'_>) -> Value) -> Column {
    Column { name, kind: "string", format: "", priority: 0, cell }
}

pub(super) const fn integer(name: &'static str, cell: fn(&Row<'_>) -> Value) -> Column {
    Column { name, kind: "integer", format: "", priority: 0, cell }
}

pub(super) const fn boolean(name: &'static str, cell: fn(&Row<'_>) -> Value) -> Column {
    Column { name, kind: "boolean", format: "", priority: 0, cell }
}

/// A column that is shown in wide output alone.
pub(super) const fn wide(name: &'static str, cell: fn(&Row<'_>) -> Value) -> Column {
    Column { name, kind: "string", format: "", priority: 1, cell }
}
