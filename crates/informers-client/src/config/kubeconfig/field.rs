//! A place in a kubeconfig, and the values under it; errors name file and field.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde_json::Value;

use crate::ClientError;

#[derive(Clone)]
pub(super) struct Field<'a> {
    file: &'a Path,
    path: String,
    value: &'a Value,
}

impl<'a> Field<'a> {
    pub(super) fn root(file: &'a Path, value: &'a Value) -> Self {
        Self { file, path: String::new(), value }
    }

    /// Where nothing stands.
    pub(super) fn nothing() -> Self {
        Self { file: Path::new("overrides"), path: String::new(), value: &Value::Null }
    }

    /// Where it stands: file and field.
    pub(super) fn place(&self) -> String {
        match self.path.as_str() {
            "" => self.file.display().to_string(),
            path => format!("{}: {path}", self.file.display()),
        }
    }

    pub(super) fn error(&self, problem: impl Into<String>) -> ClientError {
        ClientError::configuration(self.place(), problem)
    }

    /// The value under `key`; `null` is none.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(Self { file: self.file, path: self.path_to(key), value })
    }

    /// The value under `key`, or nothing under it, which reads as empty.
    pub(super) fn get_or_empty(&self, key: &str) -> Self {
        let nothing = || Self { file: self.file, path: self.path_to(key), value: &Value::Null };
        self.get(key).unwrap_or_else(nothing)
    }

    fn path_to(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The elements of the list under `key`; none if there is no list.
    pub(super) fn entries(&self, key: &str) -> Vec<Self> {
        let Some(list) = self.get(key) else { return Vec::new() };
        let Some(elements) = list.value.as_array() else { return Vec::new() };
        let element = |(at, value)| Self { file: self.file, path: format!("{key}[{at}]"), value };
        elements.iter().enumerate().map(element).collect()
    }

    pub(super) fn value(&self) -> &'a Value {
        self.value
    }

    fn text(&self) -> Result<String, ClientError> {
        match self.value {
            Value::String(text) => Ok(text.clone()),
            // Names and tokens of digits are often written without quotes.
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(value) => Ok(value.to_string()),
            _ => Err(self.error("must be text")),
        }
    }

    /// The text under `key`; an empty one is none.
    pub(super) fn string(&self, key: &str) -> Result<Option<String>, ClientError> {
        let text = self.get(key).map(|field| field.text()).transpose()?;
        Ok(text.filter(|text| !text.is_empty()))
    }

    pub(super) fn bool(&self, key: &str) -> Result<bool, ClientError> {
        let Some(field) = self.get(key) else { return Ok(false) };
        match (field.value.as_bool(), field.value.as_str()) {
            (Some(value), _) => Ok(value),
            (None, Some("true" | "True" | "yes" | "on")) => Ok(true),
            (None, Some("false" | "False" | "no" | "off" | "")) => Ok(false),
            _ => Err(field.error("must be true or false")),
        }
    }

    pub(super) fn strings(&self, key: &str) -> Result<Vec<String>, ClientError> {
        let Some(list) = self.get(key) else { return Ok(Vec::new()) };
        let elements = list.value.as_array().ok_or_else(|| list.error("must be a list"))?;
        let texts = elements
            .iter()
            .enumerate()
            .map(|(at, value)| Self { file: self.file, path: format!("{}[{at}]", list.path), value }.text());
        texts.collect()
    }

    /// The map under `key`, whose values are lists of text.
    pub(super) fn string_lists(&self, key: &str) -> Result<Vec<(String, Vec<String>)>, ClientError> {
        let Some(map) = self.get(key) else { return Ok(Vec::new()) };
        let entries = map.value.as_object().ok_or_else(|| map.error("must be a map"))?;
        entries.keys().map(|name| Ok((name.clone(), map.strings(name)?))).collect()
    }

    /// The list of maps under `key`.
    pub(super) fn list(&self, key: &str) -> Result<Vec<Self>, ClientError> {
        let Some(list) = self.get(key) else { return Ok(Vec::new()) };
        let elements = list.value.as_array().ok_or_else(|| list.error("must be a list"))?;
        let element = |(at, value)| Self { file: self.file, path: format!("{}[{at}]", list.path), value };
        Ok(elements.iter().enumerate().map(element).collect())
    }

    /// The base64 under `key`, decoded. Line breaks in it are passed over.
    pub(super) fn base64(&self, key: &str) -> Result<Option<Vec<u8>>, ClientError> {
        let Some(text) = self.string(key)? else { return Ok(None) };
        let packed: String = text.chars().filter(|character| !character.is_ascii_whitespace()).collect();
        let decoded = base64::engine::general_purpose::STANDARD.decode(packed);
        decoded.map(Some).map_err(|error| self.get_or_empty(key).error("is no valid base64").because(error))
    }

    /// The path under `key`; a relative one is meant from the folder of the file it stands in.
    pub(super) fn path(&self, key: &str) -> Result<Option<PathBuf>, ClientError> {
        Ok(self.string(key)?.map(|path| self.resolve(&path)))
    }

    pub(super) fn resolve(&self, path: &str) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).join(path)
    }
}
