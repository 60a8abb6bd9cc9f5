//! Which lists of an object are merged item by item, and what tells their items apart.

use crate::store::ResourceDef;

/// How a list meets another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListRule {
    /// The new list takes the old one's place.
    Atomic,
    /// A set of scalars.
    Set,
    /// Objects, told apart by these fields. Strategic merge patches look at the first one alone.
    Keyed(&'static [&'static str]),
}

/// The lists of one resource's objects, as the types of the Kubernetes API declare them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListRules {
    kind: Kind,
    /// Where the metadata and the specification of a pod are, if anywhere.
    pod: Option<&'static [&'static str]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Custom,
    /// A built-in resource whose conditions are replaced as a whole.
    Definition,
    Pod,
    Node,
    Service,
    ServiceAccount,
    Other,
}

const NAME: ListRule = ListRule::Keyed(&["name"]);
const TYPE: ListRule = ListRule::Keyed(&["type"]);
const IP: ListRule = ListRule::Keyed(&["ip"]);

impl ListRules {
    pub(crate) fn of(def: &ResourceDef) -> Self {
        let names = (def.group.as_str(), def.plural.as_str());
        let kind = match names {
            _ if def.custom => Kind::Custom,
            ("", "pods") => Kind::Pod,
            ("", "nodes") => Kind::Node,
            ("", "services") => Kind::Service,
            ("", "serviceaccounts") => Kind::ServiceAccount,
            ("apiextensions.k8s.io", _) => Kind::Definition,
            _ => Kind::Other,
        };
        let pod: Option<&[&str]> = match names {
            _ if def.custom => None,
            ("", "pods") => Some(&[]),
            ("", "podtemplates") => Some(&["template"]),
            ("", "replicationcontrollers")
            | ("apps", "daemonsets" | "deployments" | "replicasets" | "statefulsets")
            | ("batch", "jobs") => Some(&["spec", "template"]),
            ("batch", "cronjobs") => Some(&["spec", "jobTemplate", "spec", "template"]),
            _ => None,
        };
        Self { kind, pod }
    }

    /// The rule of the list at `path`, which names fields only and passes over the items of outer lists.
    pub(crate) fn rule(self, path: &[&str]) -> ListRule {
        if let ["metadata", field] = path {
            return metadata(field);
        }
        if let Some(inner) = self.pod.and_then(|pod| path.strip_prefix(pod)) {
            match inner {
                ["metadata", field] => return metadata(field),
                ["spec", inner @ ..] => return pod_spec(inner),
                _ => {}
            }
        }
        match (self.kind, path) {
            (Kind::Custom | Kind::Definition, _) => ListRule::Atomic,
            (_, ["status", "conditions"]) | (Kind::Node, ["status", "addresses"]) => TYPE,
            (Kind::Pod, ["status", "podIPs" | "hostIPs"]) => IP,
            (Kind::Node, ["spec", "podCIDRs"]) => ListRule::Set,
            (Kind::Service, ["spec", "ports"]) => ListRule::Keyed(&["port", "protocol"]),
            (Kind::ServiceAccount, ["secrets"]) => NAME,
            _ => ListRule::Atomic,
        }
    }
}

fn metadata(field: &str) -> ListRule {
    match field {
        "finalizers" => ListRule::Set,
        "ownerReferences" => ListRule::Keyed(&["uid"]),
        _ => ListRule::Atomic,
    }
}

fn pod_spec(path: &[&str]) -> ListRule {
    match path {
        [
            "containers"
            | "initContainers"
            | "ephemeralContainers"
            | "volumes"
            | "imagePullSecrets"
            | "schedulingGates"
            | "resourceClaims",
        ] => NAME,
        ["hostAliases"] => IP,
        ["topologySpreadConstraints"] => ListRule::Keyed(&["topologyKey", "whenUnsatisfiable"]),
        ["containers" | "initContainers" | "ephemeralContainers", field] => match *field {
            "env" => NAME,
            "ports" => ListRule::Keyed(&["containerPort", "protocol"]),
            "volumeMounts" => ListRule::Keyed(&["mountPath"]),
            "volumeDevices" => ListRule::Keyed(&["devicePath"]),
            _ => ListRule::Atomic,
        },
        _ => ListRule::Atomic,
    }
}
