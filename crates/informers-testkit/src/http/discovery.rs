//! What the server says about itself.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::store::{ResourceDef, Store};

pub(crate) fn version() -> Value {
    json!({
        "major": "1",
        "minor": "37",
        "gitVersion": "v1.37.0+informers-testkit",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

pub(crate) fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// Versions by group, the core API left out.
fn group_versions(store: &Store) -> BTreeMap<&str, Vec<&str>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for collection in store.collections().filter(|collection| !collection.def.group.is_empty()) {
        let versions = groups.entry(&collection.def.group).or_default();
        for version in &collection.def.versions {
            if !versions.contains(&version.name.as_str()) {
                versions.push(&version.name);
            }
        }
    }
    groups.retain(|_, versions| !versions.is_empty());
    groups
}

fn group_json(name: &str, versions: &[&str]) -> Value {
    let one = |version: &str| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    json!({
        "name": name,
        "versions": versions.iter().map(|version| one(version)).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(|version| one(version)),
    })
}

pub(crate) fn groups(store: &Store) -> Value {
    let groups: Vec<_> =
        group_versions(store).into_iter().map(|(name, versions)| group_json(name, &versions)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

pub(crate) fn group(store: &Store, name: &str) -> Option<Value> {
    let versions = group_versions(store).remove(name)?;
    let mut group = group_json(name, &versions);
    group["kind"] = json!("APIGroup");
    group["apiVersion"] = json!("v1");
    Some(group)
}

/// The resources of one version of one group, or none if nothing is served there.
pub(crate) fn resources(store: &Store, group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    let mut group_version = String::new();
    for collection in store.collections().filter(|collection| collection.def.group == group) {
        let def = &collection.def;
        let Some(served) = def.version(version) else { continue };
        group_version = def.api_version(version);
        resources.push(resource(def));
        let sub = |name: &str, kind: &str, verbs: &[&str]| {
            json!({
                "name": format!("{}/{name}", def.plural),
                "singularName": "",
                "namespaced": def.is_namespaced(),
                "kind": kind,
                "verbs": verbs,
            })
        };
        if served.status {
            resources.push(sub("status", &def.kind, &["get", "patch", "update"]));
        }
        if served.scale.is_some() {
            let mut scale = sub("scale", "Scale", &["get", "patch", "update"]);
            scale["group"] = json!("autoscaling");
            scale["version"] = json!("v1");
            resources.push(scale);
        }
    }
    if resources.is_empty() {
        return None;
    }
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": resources,
    }))
}

fn resource(def: &ResourceDef) -> Value {
    let mut verbs = vec!["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    if def.group.is_empty() && def.plural == "namespaces" {
        verbs.retain(|verb| *verb != "deletecollection");
    }
    let mut resource = json!({
        "name": def.plural,
        "singularName": def.singular,
        "namespaced": def.is_namespaced(),
        "kind": def.kind,
        "verbs": verbs,
    });
    if !def.short_names.is_empty() {
        resource["shortNames"] = json!(def.short_names);
    }
    if !def.categories.is_empty() {
        resource["categories"] = json!(def.categories);
    }
    resource
}
