//! Aggregated discovery: all groups, versions and resources in one answer.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::discovery::{subresources, verbs};
use crate::store::{ResourceDef, Store, VersionDef};

/// An `APIGroupDiscoveryList` in this version, of the core API or of all other groups.
pub(super) fn aggregated(store: &Store, version: &str, core: bool) -> Value {
    // In the order of the plain discovery: groups by name, versions as their resources name them.
    let mut groups: BTreeMap<&str, Vec<(&str, Vec<Value>)>> = BTreeMap::new();
    for collection in store.collections().filter(|collection| collection.def.group.is_empty() == core) {
        let versions = groups.entry(&collection.def.group).or_default();
        for served in &collection.def.versions {
            let at = versions.iter().position(|(name, _)| *name == served.name).unwrap_or_else(|| {
                versions.push((&served.name, Vec::new()));
                versions.len() - 1
            });
            versions[at].1.push(resource(&collection.def, served));
        }
    }
    groups.retain(|_, versions| !versions.is_empty());
    let items: Vec<_> = groups
        .into_iter()
        .map(|(group, versions)| {
            let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
            let versions: Vec<_> = versions
                .into_iter()
                .map(|(version, resources)| {
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items,
    })
}

fn resource(def: &ResourceDef, served: &VersionDef) -> Value {
    let kind =
        |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut resource = json!({
        "resource": def.plural,
        "responseKind": kind(&def.group, &served.name, &def.kind),
        "scope": if def.is_namespaced() { "Namespaced" } else { "Cluster" },
        "singularResource": def.singular,
        "verbs": verbs(def),
    });
    let mut optional = |field: &str, list: Value| {
        if list.as_array().is_some_and(|list| !list.is_empty()) {
            resource[field] = list;
        }
    };
    optional("shortNames", json!(def.short_names));
    optional("categories", json!(def.categories));
    let subresources: Vec<_> = subresources(def, served)
        .map(|subresource| {
            json!({
                "subresource": subresource.name,
                "responseKind": kind(subresource.group, subresource.version, subresource.kind),
                "verbs": subresource.verbs,
            })
        })
        .collect();
    optional("subresources", json!(subresources));
    resource
}
