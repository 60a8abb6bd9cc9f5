//! Label and field selectors: the syntax of the Kubernetes API, checked before anything is sent.

mod field;
mod label;

pub use field::{FieldRequirement, FieldSelector};
pub use label::{LabelOperator, LabelRequirement, LabelSelector};

/// Why a selector was refused.
///
/// ```
/// use informers_core::LabelSelector;
///
/// let error = "app in web".parse::<LabelSelector>().unwrap_err();
/// assert_eq!(error.to_string(), "invalid label selector \"app in web\": expected \"(\" after \"in\"");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what} selector {text:?}: {problem}")]
pub struct SelectorError {
    what: &'static str,
    text: String,
    problem: String,
}

impl SelectorError {
    fn new(what: &'static str, text: &str, problem: impl Into<String>) -> Self {
        Self { what, text: text.to_owned(), problem: problem.into() }
    }
}
