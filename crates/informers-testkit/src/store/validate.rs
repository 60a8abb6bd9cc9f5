//! What every object must satisfy. Specifications are not validated.

use serde_json::{Map, Value};

use super::resource::ResourceDef;
use crate::Status;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
     or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation \
     is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
     start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SEGMENT: &str = "may not be '.', '..', or contain '/' or '%'";

/// What form the names of a resource have.
enum NameForm {
    Subdomain,
    Label,
    /// Anything that can stand in a path.
    Segment,
}

fn name_form(def: &ResourceDef) -> NameForm {
    match (def.group.as_str(), def.plural.as_str()) {
        ("", "namespaces" | "services") => NameForm::Label,
        ("rbac.authorization.k8s.io", _) => NameForm::Segment,
        _ => NameForm::Subdomain,
    }
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    !bytes.is_empty()
        && bytes.iter().all(|&byte| inner(byte) || byte == b'-')
        && bytes.first().is_some_and(|&byte| inner(byte))
        && bytes.last().is_some_and(|&byte| inner(byte))
}

/// Checks the name of an object to be created.
pub(crate) fn check_name(def: &ResourceDef, name: &str) -> Result<(), Status> {
    let (longest, well_formed, problem) = match name_form(def) {
        NameForm::Label => (63, is_label(name), LABEL),
        NameForm::Subdomain => (253, name.split('.').all(is_label), SUBDOMAIN),
        NameForm::Segment => {
            (usize::MAX, !name.contains(['/', '%']) && !matches!(name, "" | "." | ".."), SEGMENT)
        }
    };
    let problem = if name.len() > longest {
        format!("must be no more than {longest} bytes")
    } else if well_formed {
        return Ok(());
    } else {
        problem.to_owned()
    };
    let problem = format!("Invalid value: {name:?}: {problem}");
    Err(def.invalid(name, "metadata.name", "FieldValueInvalid", &problem))
}

/// Checks the types of what the server itself reads in an object's metadata.
pub(crate) fn check_metadata(
    def: &ResourceDef,
    version: &str,
    value: &Map<String, Value>,
) -> Result<(), Status> {
    let wrong = |field: &str, wanted: &str| {
        Status::new(
            400,
            format!(
                "{} in version {version:?} cannot be handled as a {}: {field} must be {wanted}",
                def.kind, def.kind
            ),
        )
    };
    let metadata = match value.get("metadata") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(metadata)) => metadata,
        Some(_) => return Err(wrong("metadata", "an object")),
    };
    for field in ["name", "generateName", "namespace", "uid", "resourceVersion"] {
        if metadata.get(field).is_some_and(|value| !value.is_string() && !value.is_null()) {
            return Err(wrong(&format!("metadata.{field}"), "a string"));
        }
    }
    for field in ["labels", "annotations"] {
        let good = match metadata.get(field) {
            None | Some(Value::Null) => true,
            Some(Value::Object(map)) => map.values().all(Value::is_string),
            Some(_) => false,
        };
        if !good {
            return Err(wrong(&format!("metadata.{field}"), "a map of strings"));
        }
    }
    for field in ["finalizers", "ownerReferences"] {
        if metadata.get(field).is_some_and(|value| !value.is_array() && !value.is_null()) {
            return Err(wrong(&format!("metadata.{field}"), "a list"));
        }
    }
    Ok(())
}
