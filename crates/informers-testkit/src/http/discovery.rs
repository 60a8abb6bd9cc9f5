//! What the server says about itself.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::store::{ResourceDef, Store, VersionDef};

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
        for subresource in subresources(def, served) {
            let mut described = json!({
                "name": format!("{}/{}", def.plural, subresource.name),
                "singularName": "",
                "namespaced": def.is_namespaced(),
                "kind": subresource.kind,
                "verbs": subresource.verbs,
            });
            if subresource.group != def.group {
                described["group"] = json!(subresource.group);
                described["version"] = json!(subresource.version);
            }
            resources.push(described);
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

/// A part of a resource with an address of its own.
pub(super) struct Subresource<'a> {
    pub(super) name: &'static str,
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) kind: &'a str,
    pub(super) verbs: &'static [&'static str],
}

pub(super) fn subresources<'a>(
    def: &'a ResourceDef,
    served: &'a VersionDef,
) -> impl Iterator<Item = Subresource<'a>> {
    const VERBS: &[&str] = &["get", "patch", "update"];
    let status = served.status.then_some(Subresource {
        name: "status",
        group: &def.group,
        version: &served.name,
        kind: &def.kind,
        verbs: VERBS,
    });
    let scale = served.scale.is_some().then_some(Subresource {
        name: "scale",
        group: "autoscaling",
        version: "v1",
        kind: "Scale",
        verbs: VERBS,
    });
    status.into_iter().chain(scale)
}

pub(super) fn verbs(def: &ResourceDef) -> Vec<&'static str> {
    let mut verbs = vec!["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    if def.group.is_empty() && def.plural == "namespaces" {
        verbs.retain(|verb| *verb != "deletecollection");
    }
    verbs
}

fn resource(def: &ResourceDef) -> Value {
    let mut resource = json!({
        "name": def.plural,
        "singularName": def.singular,
        "namespaced": def.is_namespaced(),
        "kind": def.kind,
        "verbs": verbs(def),
    });
    if !def.short_names.is_empty() {
        resource["shortNames"] = json!(def.short_names);
    }
    if !def.categories.is_empty() {
        resource["categories"] = json!(def.categories);
    }
    resource
}
