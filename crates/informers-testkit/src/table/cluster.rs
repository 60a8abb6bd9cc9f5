//! Nodes, namespaces, the network and what happens there.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::age::age;
use super::columns::{AGE, Column, NAME, text, wide};
use super::row::{NONE, Row, or_none};
use crate::store::selector_text;

pub(super) const NAMESPACES: &[Column] = &[NAME, text("Status", |row| json!(row.text("status.phase"))), AGE];

pub(super) const NODES: &[Column] = &[
    NAME,
    text("Status", |row| {
        let mut status = match row.condition("Ready") {
            Some(true) => "Ready".to_owned(),
            Some(false) => "NotReady".to_owned(),
            None => "Unknown".to_owned(),
        };
        if row.at("spec.unschedulable") == Some(&json!(true)) {
            status.push_str(",SchedulingDisabled");
        }
        json!(status)
    }),
    text("Roles", |row| {
        let roles: BTreeSet<_> = row
            .map("metadata.labels")
            .filter_map(|(label, value)| match label.strip_prefix("node-role.kubernetes.io/") {
                Some(role) => Some(role),
                None if label == "kubernetes.io/role" => value.as_str(),
                None => None,
            })
            .filter(|role| !role.is_empty())
            .collect();
        or_none(roles.into_iter().collect::<Vec<_>>().join(","))
    }),
    AGE,
    text("Version", |row| json!(row.text("status.nodeInfo.kubeletVersion"))),
    wide("Internal-IP", |row| or_none(address(row, "InternalIP"))),
    wide("External-IP", |row| or_none(address(row, "ExternalIP"))),
    wide("OS-Image", |row| row.text_or("status.nodeInfo.osImage", UNKNOWN)),
    wide("Kernel-Version", |row| {
        let kernel = row.text_or("status.nodeInfo.kernelVersion", UNKNOWN);
        match (kernel.as_str(), row.text("status.nodeInfo.architecture")) {
            (Some(version), architecture) if !architecture.is_empty() => {
                json!(format!("{version} ({architecture})"))
            }
            _ => kernel,
        }
    }),
    wide("Container-Runtime", |row| row.text_or("status.nodeInfo.containerRuntimeVersion", UNKNOWN)),
];

const UNKNOWN: &str = "<unknown>";

fn address(row: &Row<'_>, kind: &str) -> String {
    let found = row.list("status.addresses").iter().find(|address| address["type"] == kind);
    found.and_then(|address| address["address"].as_str()).unwrap_or_default().to_owned()
}

pub(super) const SERVICES: &[Column] = &[
    NAME,
    text("Type", |row| row.text_or("spec.type", "ClusterIP")),
    text("Cluster-IP", |row| {
        let first = row.list("spec.clusterIPs").first().and_then(Value::as_str);
        or_none(first.unwrap_or_else(|| row.text("spec.clusterIP")).to_owned())
    }),
    text("External-IP", external_ip),
    text("Port(s)", |row| {
        let ports: Vec<_> = row.list("spec.ports").iter().map(port).collect();
        or_none(ports.join(","))
    }),
    AGE,
    wide("Selector", |row| or_none(row.at("spec.selector").map(selector_text).unwrap_or_default())),
];

fn port(port: &Value) -> String {
    let protocol = port["protocol"].as_str().unwrap_or("TCP");
    match (port["port"].as_i64().unwrap_or_default(), port["nodePort"].as_i64().unwrap_or_default()) {
        (number, 0) => format!("{number}/{protocol}"),
        (number, node) => format!("{number}:{node}/{protocol}"),
    }
}

fn external_ip(row: &Row<'_>) -> Value {
    let external = row.list("spec.externalIPs").iter().filter_map(Value::as_str);
    match row.text("spec.type") {
        "ExternalName" => json!(row.text("spec.externalName")),
        "LoadBalancer" => {
            let addresses: Vec<_> = balancers(row).chain(external).collect();
            if addresses.is_empty() { json!("<pending>") } else { json!(addresses.join(",")) }
        }
        _ => or_none(external.collect::<Vec<_>>().join(",")),
    }
}

pub(super) const ENDPOINTS: &[Column] = &[
    NAME,
    text("Endpoints", |row| {
        let mut all = Vec::new();
        for subset in row.list("subsets") {
            let items = |field: &str| subset[field].as_array().into_iter().flatten();
            let ports: Vec<_> = items("ports").filter_map(|port| port["port"].as_i64()).collect();
            for ip in items("addresses").filter_map(|address| address["ip"].as_str()) {
                match ports.as_slice() {
                    [] => all.push(ip.to_owned()),
                    ports => all.extend(ports.iter().map(|port| format!("{ip}:{port}"))),
                }
            }
        }
        or_none(first_three(&all))
    }),
    AGE,
];

pub(super) const ENDPOINT_SLICES: &[Column] = &[
    NAME,
    text("AddressType", |row| json!(row.text("addressType"))),
    text("Ports", |row| {
        let port = |port: &Value| match (port["port"].as_i64(), port["name"].as_str()) {
            (Some(number), _) => number.to_string(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => "*".to_owned(),
        };
        or_none(first_three(&row.list("ports").iter().map(port).collect::<Vec<_>>()))
    }),
    text("Endpoints", |row| {
        let addresses = row.list("endpoints").iter().filter_map(|endpoint| endpoint["addresses"].as_array());
        or_none(first_three(&addresses.flatten().filter_map(Value::as_str).collect::<Vec<_>>()))
    }),
    AGE,
];

/// The first three of a list, and how many more there are.
fn first_three<T: AsRef<str>>(all: &[T]) -> String {
    const SHOWN: usize = 3;
    let shown = all.iter().take(SHOWN).map(AsRef::as_ref).collect::<Vec<_>>().join(",");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

pub(super) const INGRESSES: &[Column] = &[
    NAME,
    text("Class", |row| row.text_or("spec.ingressClassName", NONE)),
    text("Hosts", |row| {
        let hosts = row.list("spec.rules").iter().filter_map(|rule| rule["host"].as_str());
        match first_three(&hosts.filter(|host| !host.is_empty()).collect::<Vec<_>>()) {
            none if none.is_empty() => json!("*"),
            hosts => json!(hosts),
        }
    }),
    text("Address", |row| json!(balancers(row).collect::<Vec<_>>().join(","))),
    text("Ports", |row| json!(if row.list("spec.tls").is_empty() { "80" } else { "80, 443" })),
    AGE,
];

/// The addresses of load balancers.
fn balancers<'a>(row: &Row<'a>) -> impl Iterator<Item = &'a str> {
    let ingress = row.list("status.loadBalancer.ingress").iter();
    ingress.filter_map(|ingress| ingress["ip"].as_str().or_else(|| ingress["hostname"].as_str()))
}

pub(super) const INGRESS_CLASSES: &[Column] = &[
    NAME,
    text("Controller", |row| json!(row.text("spec.controller"))),
    text("Parameters", |row| {
        let (group, kind) = (row.text("spec.parameters.apiGroup"), row.text("spec.parameters.kind"));
        let name = row.text("spec.parameters.name");
        json!(match (kind, group) {
            ("", _) => NONE.to_owned(),
            (kind, "") => format!("{kind}/{name}"),
            (kind, group) => format!("{kind}.{group}/{name}"),
        })
    }),
    AGE,
];

pub(super) const NETWORK_POLICIES: &[Column] = &[
    NAME,
    text("Pod-Selector", |row| or_none(row.at("spec.podSelector").map(selector_text).unwrap_or_default())),
    AGE,
];

pub(super) const EVENTS: &[Column] = &[
    text("Last Seen", |row| {
        let times = [row.text("series.lastObservedTime"), row.text("lastTimestamp"), first_seen(row)];
        ago(row, times.into_iter().find(|time| !time.is_empty()).unwrap_or_default())
    }),
    text("Type", |row| json!(row.text("type"))),
    text("Reason", |row| json!(row.text("reason"))),
    text("Object", |row| {
        let kind = row.text("involvedObject.kind").to_lowercase();
        match row.text("involvedObject.name") {
            "" => json!(kind),
            name => json!(format!("{kind}/{name}")),
        }
    }),
    wide("Subobject", |row| json!(row.text("involvedObject.fieldPath"))),
    wide("Source", |row| {
        let component = match row.text("source.component") {
            "" => row.text("reportingComponent"),
            component => component,
        };
        match row.text("source.host") {
            "" => json!(component),
            host => json!(format!("{component}, {host}")),
        }
    }),
    text("Message", |row| json!(row.text("message").trim())),
    wide("First Seen", |row| ago(row, first_seen(row))),
    wide("Count", |row| {
        let counts = [row.number("series.count"), row.number("count"), 1];
        json!(counts.into_iter().find(|&count| count > 0))
    }),
    Column { name: "Name", kind: "string", format: "name", priority: 1, cell: |row| row.name() },
];

fn first_seen<'a>(row: &Row<'a>) -> &'a str {
    match row.text("firstTimestamp") {
        "" => row.text("eventTime"),
        time => time,
    }
}

fn ago(row: &Row<'_>, time: &str) -> Value {
    json!(age(time, row.now).unwrap_or_else(|| UNKNOWN.to_owned()))
}
