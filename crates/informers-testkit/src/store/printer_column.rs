//! The columns that a CustomResourceDefinition declares for tables.

use serde_json::Value;

use crate::json_path::JsonPath;

/// One of a version's `additionalPrinterColumns`.
#[derive(Clone, Debug)]
pub(crate) struct PrinterColumn {
    pub(crate) name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) description: String,
    /// Columns of a priority above 0 are shown in wide output alone.
    pub(crate) priority: i64,
    pub(crate) path: JsonPath,
}

impl PrinterColumn {
    /// Reads the columns of one version of a definition. Those before the first whose path is not understood
    /// are kept, as kube-apiserver does.
    pub(crate) fn of_version(version: &Value) -> Vec<Self> {
        let columns = version.get("additionalPrinterColumns").and_then(Value::as_array);
        columns.into_iter().flatten().map_while(Self::parse).collect()
    }

    fn parse(column: &Value) -> Option<Self> {
        let text = |field: &str| column.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let path = text("jsonPath");
        let description = match text("description") {
            given if given.is_empty() => {
                format!("Custom resource definition column (in JSONPath format): {path}")
            }
            given => given,
        };
        Some(Self {
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description,
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
            path: JsonPath::parse(&path)?,
        })
    }
}
