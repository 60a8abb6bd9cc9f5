//! Objects in Kubernetes' protocol buffers, as `kubectl create configmap` and its like send them.
//!
//! Only what such commands fill in is known. A field that is not known is passed over if it is empty, as
//! most are, and refused otherwise, so that nothing gets lost unnoticed.

mod schema;
#[cfg(test)]
mod tests;
mod wire;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use self::schema::{Field, Kind, message_of};
use self::wire::{Fields, Wire, is_empty};
use crate::Status;

pub(crate) const CONTENT_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What a body begins with.
const MAGIC: &[u8] = b"k8s\0";

fn refused(problem: &str) -> Status {
    let advice = "send JSON, which this embedded server knows in full (kubectl: --dry-run=client -o yaml | kubectl create -f -)";
    Status::new(
        415,
        format!("cannot read the protocol buffer in the body of the request: {problem}; {advice}"),
    )
}

/// The JSON of an object in a protocol buffer, with its `apiVersion` and `kind`.
///
/// # Errors
/// 415 if it is not such a buffer, or holds something that is not known here.
pub(crate) fn to_json(body: &[u8]) -> Result<Value, Status> {
    let body = body.strip_prefix(MAGIC).ok_or_else(|| refused("it does not begin as one of Kubernetes"))?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in Fields(body) {
        match field.ok_or_else(|| refused("it is cut off"))? {
            (1, Wire::Bytes(type_meta)) => {
                for field in Fields(type_meta) {
                    match field.ok_or_else(|| refused("it is cut off"))? {
                        (1, Wire::Bytes(text)) => api_version = String::from_utf8_lossy(text).into_owned(),
                        (2, Wire::Bytes(text)) => kind = String::from_utf8_lossy(text).into_owned(),
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let fields = message_of(&api_version, &kind)
        .ok_or_else(|| refused(&format!("{kind} in {api_version:?} is not known in this form")))?;
    let mut object = message(raw, fields, &kind)?;
    object.insert("apiVersion".to_owned(), json!(api_version));
    object.insert("kind".to_owned(), json!(kind));
    Ok(Value::Object(object))
}

fn message(bytes: &[u8], fields: &[Field], path: &str) -> Result<Map<String, Value>, Status> {
    let mut object = Map::new();
    for entry in Fields(bytes) {
        let (number, wire) = entry.ok_or_else(|| refused(&format!("{path} is cut off")))?;
        let Some(field) = fields.iter().find(|field| field.number == number) else {
            if wire.is_nothing() {
                continue;
            }
            return Err(refused(&format!("field {number} of {path} is not known")));
        };
        let path = format!("{path}.{}", field.name);
        if let Kind::Map(values) = field.kind {
            let (key, value) = map_entry(wire, values, &path)?;
            if let Value::Object(map) = object.entry(field.name).or_insert_with(|| json!({})) {
                map.insert(key, value);
            }
            continue;
        }
        let Some(value) = value(wire, field.kind, field.repeated, &path)? else { continue };
        if field.repeated {
            if let Value::Array(list) = object.entry(field.name).or_insert_with(|| json!([])) {
                list.push(value);
            }
        } else {
            object.insert(field.name.to_owned(), value);
        }
    }
    Ok(object)
}

/// The JSON of one field, none where it would be left out. Items of lists are never left out.
fn value(wire: Wire<'_>, kind: Kind, item: bool, path: &str) -> Result<Option<Value>, Status> {
    Ok(match (kind, wire) {
        (Kind::Ignored, _) => None,
        (Kind::Text, Wire::Bytes(text)) => {
            (item || !text.is_empty()).then(|| json!(String::from_utf8_lossy(text)))
        }
        (Kind::Bytes, Wire::Bytes(bytes)) => Some(json!(STANDARD.encode(bytes))),
        // Negative numbers are sent as their complement.
        (Kind::Number, Wire::Varint(number)) => (number != 0).then(|| json!(number.cast_signed())),
        (Kind::OptionalNumber, Wire::Varint(number)) => Some(json!(number.cast_signed())),
        (Kind::Flag, Wire::Varint(flag)) => (flag != 0).then_some(json!(true)),
        (Kind::OptionalFlag, Wire::Varint(flag)) => Some(json!(flag != 0)),
        (Kind::Message(fields), Wire::Bytes(bytes)) => {
            let object = message(bytes, fields, path)?;
            (item || !object.is_empty()).then_some(Value::Object(object))
        }
        (Kind::NumberOrText, Wire::Bytes(bytes)) => {
            let either = message(bytes, schema::NUMBER_OR_TEXT, path)?;
            match either.get("type") {
                Some(_) => either.get("strVal").cloned(),
                None => Some(either.get("intVal").cloned().unwrap_or(json!(0))).filter(|_| !is_empty(bytes)),
            }
        }
        (Kind::Quantity, Wire::Bytes(bytes)) => message(bytes, schema::QUANTITY, path)?.remove("string"),
        _ => return Err(refused(&format!("{path} has an unexpected wire type"))),
    })
}

fn map_entry(wire: Wire<'_>, values: &Kind, path: &str) -> Result<(String, Value), Status> {
    let Wire::Bytes(bytes) = wire else {
        return Err(refused(&format!("{path} has an unexpected wire type")));
    };
    let (mut key, mut found) = (String::new(), json!(""));
    for entry in Fields(bytes) {
        match entry.ok_or_else(|| refused(&format!("{path} is cut off")))? {
            (1, Wire::Bytes(text)) => key = String::from_utf8_lossy(text).into_owned(),
            (2, wire) => found = value(wire, *values, true, path)?.unwrap_or(found),
            _ => {}
        }
    }
    Ok((key, found))
}
