//! The resources that the server knows from the start.

use informers_core::ResourceScope::{self, Cluster, Namespaced};

use super::resource::{ResourceDef, VersionDef};
use super::scale::ScalePaths;

struct Row {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    scope: ResourceScope,
    /// Any of `s` status subresource, `g` generation, `c` scale subresource, `p` updates need a version, `a` in the
    /// category `all`, `x` in `api-extensions`.
    traits: &'static str,
    fields: &'static [&'static str],
}

const POD_FIELDS: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
];
const EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("", "v1", "ConfigMap", "configmaps", &["cm"], Namespaced, "", &[]),
    row("", "v1", "Endpoints", "endpoints", &["ep"], Namespaced, "", &[]),
    row("", "v1", "Event", "events", &["ev"], Namespaced, "", EVENT_FIELDS),
    row("", "v1", "LimitRange", "limitranges", &["limits"], Namespaced, "", &[]),
    row("", "v1", "Namespace", "namespaces", &["ns"], Cluster, "s", &["status.phase"]),
    row("", "v1", "Node", "nodes", &["no"], Cluster, "s", &["spec.unschedulable"]),
    row("", "v1", "PersistentVolume", "persistentvolumes", &["pv"], Cluster, "s", &[]),
    row("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", &["pvc"], Namespaced, "s", &[]),
    row("", "v1", "Pod", "pods", &["po"], Namespaced, "sga", POD_FIELDS),
    row("", "v1", "PodTemplate", "podtemplates", &[], Namespaced, "g", &[]),
    row("", "v1", "ReplicationController", "replicationcontrollers", &["rc"], Namespaced, "sgca", &["status.replicas"]),
    row("", "v1", "ResourceQuota", "resourcequotas", &["quota"], Namespaced, "s", &[]),
    row("", "v1", "Secret", "secrets", &[], Namespaced, "", &["type"]),
    row("", "v1", "Service", "services", &["svc"], Namespaced, "sa", &["spec.clusterIP", "spec.type"]),
    row("", "v1", "ServiceAccount", "serviceaccounts", &["sa"], Namespaced, "", &[]),
    row("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", &["crd", "crds"], Cluster, "sgpx", &[]),
    row("apps", "v1", "ControllerRevision", "controllerrevisions", &[], Namespaced, "", &[]),
    row("apps", "v1", "DaemonSet", "daemonsets", &["ds"], Namespaced, "sga", &[]),
    row("apps", "v1", "Deployment", "deployments", &["deploy"], Namespaced, "sgca", &[]),
    row("apps", "v1", "ReplicaSet", "replicasets", &["rs"], Namespaced, "sgca", &[]),
    row("apps", "v1", "StatefulSet", "statefulsets", &["sts"], Namespaced, "sgca", &[]),
    row("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"], Namespaced, "sa", &[]),
    row("batch", "v1", "CronJob", "cronjobs", &["cj"], Namespaced, "sga", &[]),
    row("batch", "v1", "Job", "jobs", &[], Namespaced, "sga", &["status.successful"]),
    row("coordination.k8s.io", "v1", "Lease", "leases", &[], Namespaced, "p", &[]),
    row("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", &[], Namespaced, "g", &[]),
    row("networking.k8s.io", "v1", "Ingress", "ingresses", &["ing"], Namespaced, "sg", &[]),
    row("networking.k8s.io", "v1", "IngressClass", "ingressclasses", &[], Cluster, "g", &[]),
    row("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", &["netpol"], Namespaced, "g", &[]),
    row("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", &["pdb"], Namespaced, "sgp", &[]),
    row("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", &[], Cluster, "", &[]),
    row("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", &[], Cluster, "", &[]),
    row("rbac.authorization.k8s.io", "v1", "Role", "roles", &[], Namespaced, "", &[]),
    row("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", &[], Namespaced, "", &[]),
    row("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", &["pc"], Cluster, "g", &[]),
    row("storage.k8s.io", "v1", "StorageClass", "storageclasses", &["sc"], Cluster, "", &[]),
];

#[allow(clippy::too_many_arguments, reason = "the columns of a table")]
const fn row(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    scope: ResourceScope,
    traits: &'static str,
    fields: &'static [&'static str],
) -> Row {
    Row { group, version, kind, plural, short_names, scope, traits, fields }
}

fn category(letter: char) -> Option<&'static str> {
    match letter {
        'a' => Some("all"),
        'x' => Some("api-extensions"),
        _ => None,
    }
}

/// The built-in resources of the usual workloads, as kube-apiserver describes them.
pub(crate) fn builtin_resources() -> impl Iterator<Item = ResourceDef> {
    ROWS.iter().map(|row| ResourceDef {
        group: row.group.to_owned(),
        plural: row.plural.to_owned(),
        singular: row.kind.to_lowercase(),
        kind: row.kind.to_owned(),
        list_kind: format!("{}List", row.kind),
        short_names: row.short_names.iter().map(|&name| name.to_owned()).collect(),
        categories: match row.traits.chars().find_map(category) {
            Some(category) => vec![category.to_owned()],
            None => Vec::new(),
        },
        scope: row.scope,
        versions: vec![VersionDef {
            name: row.version.to_owned(),
            status: row.traits.contains('s'),
            scale: row.traits.contains('c').then(ScalePaths::default),
            columns: Vec::new(),
        }],
        custom: false,
        generation: row.traits.contains('g'),
        unconditional_update: !row.traits.contains('p'),
        fields: row.fields,
    })
}
