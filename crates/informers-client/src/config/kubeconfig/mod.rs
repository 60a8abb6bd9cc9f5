//! Kubeconfig files: reading, merging, and what a context says.
//!
//! Nothing is read into structs ahead of time, so an incomplete entry harms nobody who does not ask for it.

mod cluster;
mod context;
mod field;
mod text;
mod user;

use std::path::{Path, PathBuf};

use field::Field;
use serde_json::Value;

use super::{Config, Environment, Overrides};
use crate::ClientError;

/// One kubeconfig file, or several merged.
///
/// The rules are kubectl's: of clusters, users and contexts the first file that has the name wins with its
/// whole entry; the first `current-context` that is not empty wins; relative paths are meant from the folder
/// of the file they stand in. Only what a context needs is looked at, so other entries may be incomplete.
///
/// ```
/// use informers_client::{Config, Kubeconfig};
///
/// let kubeconfig = Kubeconfig::from_text("
/// current-context: dev
/// contexts: [{name: dev, context: {cluster: here, namespace: shop}}, {name: incomplete}]
/// clusters: [{name: here, cluster: {server: 'http://127.0.0.1:8001'}}]
/// ", "dev.yaml")?;
/// assert_eq!(kubeconfig.context_names(), ["dev", "incomplete"]);
///
/// let config = Config::from_kubeconfig(&kubeconfig, None)?;
/// assert_eq!(config.namespace(), "shop");
///
/// let error = Config::from_kubeconfig(&kubeconfig, Some("prod")).unwrap_err();
/// assert_eq!(error.to_string(), "dev.yaml: there is no context `prod`; there are: dev, incomplete");
/// # Ok::<(), informers_client::ClientError>(())
/// ```
#[derive(Clone, Default)]
pub struct Kubeconfig {
    files: Vec<File>,
}

#[derive(Clone)]
struct File {
    path: PathBuf,
    content: Value,
}

impl Kubeconfig {
    /// Reads one file.
    ///
    /// # Errors
    /// If it is missing, is no text (UTF-8, or UTF-16 with its mark), or is no YAML.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ClientError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| unreadable(path, error))?;
        Self::from_bytes(&bytes, path)
    }

    /// As [`read`](Self::read), with the contents of a file at hand; `path` says where it lies, for relative
    /// paths in it and for errors.
    ///
    /// # Errors
    /// If it is no text (UTF-8, or UTF-16 with its mark), or is no YAML.
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Self, ClientError> {
        let path = path.as_ref();
        Self::from_text(&text::decode(bytes, path)?, path)
    }

    /// Reads several files, the most important first. Missing and empty ones are skipped.
    ///
    /// # Errors
    /// If one that is there cannot be read.
    pub fn read_all(paths: &[impl AsRef<Path>]) -> Result<Self, ClientError> {
        // It may be there, and say something else than what the next one says.
        Self::merge(paths, |path, error| Err(unreadable(path, error)))
    }

    /// As [`read_all`](Self::read_all), but what cannot be read is passed over with a warning.
    pub(super) fn read_all_readable(paths: &[impl AsRef<Path>]) -> Result<Self, ClientError> {
        Self::merge(paths, |path, error| {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, file = %path.display(), "the kubeconfig file cannot be read; going on without it");
            Ok(())
        })
    }

    fn merge(
        paths: &[impl AsRef<Path>],
        on_unreadable: impl Fn(&Path, std::io::Error) -> Result<(), ClientError>,
    ) -> Result<Self, ClientError> {
        let mut merged = Self::default();
        for path in paths.iter().map(AsRef::as_ref) {
            match std::fs::read(path) {
                Ok(bytes) => merged.files.extend(Self::from_bytes(&bytes, path)?.files),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    tracing::debug!(file = %path.display(), "kubeconfig file is missing");
                }
                Err(error) => on_unreadable(path, error)?,
            }
        }
        Ok(merged)
    }

    /// Takes the text of a file; `path` is its name in errors, and relative paths in it are meant from there.
    ///
    /// # Errors
    /// If it is no YAML.
    pub fn from_text(text: &str, path: impl AsRef<Path>) -> Result<Self, ClientError> {
        let path = path.as_ref();
        // No excerpt of the text may get into an error: it has secrets. Names such as `on` or `007` stay text.
        let options = serde_saphyr::options! {
            with_snippet: false,
            strict_booleans: true,
            leading_zero_numbers_as_strings: true,
            underscored_numbers_as_strings: true,
        };
        let documents: Vec<Value> =
            serde_saphyr::from_multiple_with_options(text, options).map_err(|error| {
                ClientError::configuration(path.display().to_string(), "the kubeconfig file is no valid YAML")
                    .because(error)
            })?;
        let mut kubeconfig = Self::default();
        for content in documents {
            match content {
                Value::Null => {}
                Value::Object(mut fields) => {
                    if let Some(current) = fields.get_mut("current-context")
                        && (current.is_number() || current.is_boolean())
                    {
                        // A name without quotes.
                        *current = current.to_string().into();
                    }
                    kubeconfig.files.push(File { path: path.to_owned(), content: fields.into() });
                }
                _ => {
                    let problem =
                        "the file is no kubeconfig: it must be a map with `clusters`, `contexts`, `users`";
                    return Err(ClientError::configuration(path.display().to_string(), problem));
                }
            }
        }
        if kubeconfig.files.is_empty() {
            // It says nothing, but errors must be able to name it.
            let content = Value::Object(Default::default());
            kubeconfig.files.push(File { path: path.to_owned(), content });
        }
        Ok(kubeconfig)
    }

    /// Whether it says nothing of any cluster or context.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.context_names().is_empty() && self.names("clusters").is_empty()
    }

    /// The context that is current, if one is named.
    #[must_use]
    pub fn current_context(&self) -> Option<&str> {
        let mut names = self.files.iter().filter_map(|file| file.content.get("current-context")?.as_str());
        names.find(|name| !name.is_empty())
    }

    /// The names of all contexts, in order.
    #[must_use]
    pub fn context_names(&self) -> Vec<String> {
        self.names("contexts")
    }

    fn names(&self, list: &str) -> Vec<String> {
        let mut names = Vec::new();
        for file in &self.files {
            for entry in Field::root(&file.path, &file.content).entries(list) {
                if let Ok(Some(name)) = entry.string("name")
                    && !names.contains(&name)
                {
                    names.push(name);
                }
            }
        }
        names
    }

    /// The entry of this name; the first file that has one wins.
    fn entry(&self, list: &'static str, name: &str) -> Result<Option<Field<'_>>, ClientError> {
        for file in &self.files {
            let mut found = Field::root(&file.path, &file.content)
                .entries(list)
                .into_iter()
                .filter(|entry| matches!(entry.string("name"), Ok(Some(found)) if found == name));
            if let Some(entry) = found.next() {
                return match found.next() {
                    Some(second) => Err(second.error(format!("the name `{name}` is there twice"))),
                    None => Ok(Some(entry)),
                };
            }
        }
        Ok(None)
    }

    /// The file names, for errors that concern no single one.
    fn place(&self) -> String {
        let mut paths: Vec<_> = self.files.iter().map(|file| file.path.display().to_string()).collect();
        paths.dedup();
        if paths.is_empty() { "kubeconfig".to_owned() } else { paths.join(", ") }
    }

    /// Whether not even an empty file was read.
    pub(super) fn has_no_file(&self) -> bool {
        self.files.is_empty()
    }

    pub(super) fn config(&self, overrides: &Overrides, env: &Environment) -> Result<Config, ClientError> {
        context::config(self, overrides, env)
    }
}

fn unreadable(path: &Path, error: std::io::Error) -> ClientError {
    let problem = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such kubeconfig file",
        _ => "the kubeconfig file cannot be read",
    };
    ClientError::configuration(path.display().to_string(), problem).because(error)
}

/// Shows files and contexts, no contents.
impl std::fmt::Debug for Kubeconfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kubeconfig")
            .field("files", &self.place())
            .field("current_context", &self.current_context())
            .field("contexts", &self.context_names())
            .finish()
    }
}

#[cfg(test)]
mod tests;
