//! Just enough OpenAPI for clients that look up what a resource's requests can do.
//!
//! There are no schemas: clients do not validate objects before they send them, and kubectl takes the merge
//! keys of built-in types from itself. For that reason strategic merge patch is not among the content types
//! here, although it is understood.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::store::{ResourceDef, Store};

/// The documents of version 3, one for each group and version.
pub(super) fn index(store: &Store) -> Value {
    let mut paths = BTreeMap::new();
    for collection in store.collections() {
        for version in &collection.def.versions {
            let root = root(&collection.def.group, &version.name);
            let url = format!("/openapi/v3/{root}?hash={}", store.definitions());
            paths.insert(root, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn info() -> Value {
    json!({"title": "Kubernetes", "version": "v1.37.0"})
}

/// The document of one group and version, or none if nothing is served there.
pub(super) fn document(store: &Store, group: &str, version: &str) -> Option<Value> {
    let mut paths = Map::new();
    let root = root(group, version);
    for collection in store.collections().filter(|collection| collection.def.group == group) {
        let def = &*collection.def;
        if def.version(version).is_none() {
            continue;
        }
        let namespace = if def.is_namespaced() { "namespaces/{namespace}/" } else { "" };
        let all = format!("/{root}/{namespace}{}", def.plural);
        let one = json!({
            "get": operation(def, version, "get", &[]),
            "put": operation(def, version, "put", WRITING),
            "patch": patch(def, version),
            "delete": operation(def, version, "delete", &["dryRun"]),
        });
        paths.insert(format!("{all}/{{name}}"), one);
        let many = json!({
            "get": operation(def, version, "list", &["watch"]),
            "post": operation(def, version, "post", WRITING),
        });
        paths.insert(all, many);
    }
    if paths.is_empty() {
        return None;
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": info(),
        "paths": paths,
        "components": {"schemas": {}},
    }))
}

const WRITING: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];

fn operation(def: &ResourceDef, version: &str, action: &str, parameters: &[&str]) -> Value {
    let parameters: Vec<_> = parameters
        .iter()
        .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}}))
        .collect();
    json!({
        "operationId": format!("{action}{}{version}{}", def.group.replace('.', ""), def.kind),
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": def.group, "version": version, "kind": def.kind},
    })
}

fn patch(def: &ResourceDef, version: &str) -> Value {
    let mut operation = operation(def, version, "patch", WRITING);
    let content: Map<_, _> =
        ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"]
            .into_iter()
            .map(|media_type| (media_type.to_owned(), json!({"schema": {"type": "object"}})))
            .collect();
    operation["requestBody"] = json!({"content": content});
    operation
}

/// A document of version 2 without paths and definitions.
pub(super) fn version_2() -> Value {
    json!({"swagger": "2.0", "info": info(), "paths": {}})
}

/// The same as a protocol buffer of gnostic's `openapi.v2.Document`.
pub(super) fn version_2_protobuf() -> Vec<u8> {
    let text = |field: u8, text: &str| delimited(field, text.as_bytes());
    let info = [text(1, "Kubernetes"), text(2, "v1.37.0")].concat();
    [text(1, "2.0"), delimited(2, &info), delimited(8, &[])].concat()
}

/// A field with a length; all here are shorter than 128 bytes.
fn delimited(field: u8, bytes: &[u8]) -> Vec<u8> {
    const LENGTH_DELIMITED: u8 = 2;
    let length = u8::try_from(bytes.len()).ok().filter(|length| *length < 128).unwrap_or_default();
    let mut out = vec![field << 3 | LENGTH_DELIMITED, length];
    out.extend_from_slice(&bytes[..length.into()]);
    out
}
