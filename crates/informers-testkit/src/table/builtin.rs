//! The columns of built-in resources, by resource.

use super::columns::{AGE, Column, NAME};
use super::{cluster, configuration, pods, workloads};
use crate::store::ResourceDef;

const NAME_AND_AGE: &[Column] = &[NAME, AGE];

pub(super) fn builtin_columns(def: &ResourceDef) -> &'static [Column] {
    if def.custom {
        return NAME_AND_AGE;
    }
    match (def.group.as_str(), def.plural.as_str()) {
        ("", "configmaps") => configuration::CONFIG_MAPS,
        ("", "secrets") => configuration::SECRETS,
        ("", "endpoints") => cluster::ENDPOINTS,
        ("", "events") => cluster::EVENTS,
        ("", "namespaces") => cluster::NAMESPACES,
        ("", "nodes") => cluster::NODES,
        ("", "services") => cluster::SERVICES,
        ("", "pods") => pods::PODS,
        ("", "podtemplates") => pods::POD_TEMPLATES,
        ("", "resourcequotas") => configuration::RESOURCE_QUOTAS,
        ("discovery.k8s.io", "endpointslices") => cluster::ENDPOINT_SLICES,
        ("networking.k8s.io", "ingresses") => cluster::INGRESSES,
        ("", "persistentvolumes") => configuration::PERSISTENT_VOLUMES,
        ("", "persistentvolumeclaims") => configuration::PERSISTENT_VOLUME_CLAIMS,
        ("", "replicationcontrollers") | ("apps", "replicasets") => workloads::REPLICA_SETS,
        ("apps", "daemonsets") => workloads::DAEMON_SETS,
        ("apps", "deployments") => workloads::DEPLOYMENTS,
        ("apps", "statefulsets") => workloads::STATEFUL_SETS,
        ("apps", "controllerrevisions") => workloads::CONTROLLER_REVISIONS,
        ("batch", "jobs") => workloads::JOBS,
        ("batch", "cronjobs") => workloads::CRON_JOBS,
        ("policy", "poddisruptionbudgets") => workloads::POD_DISRUPTION_BUDGETS,
        ("coordination.k8s.io", "leases") => configuration::LEASES,
        ("networking.k8s.io", "ingressclasses") => cluster::INGRESS_CLASSES,
        ("networking.k8s.io", "networkpolicies") => cluster::NETWORK_POLICIES,
        ("scheduling.k8s.io", "priorityclasses") => configuration::PRIORITY_CLASSES,
        ("storage.k8s.io", "storageclasses") => configuration::STORAGE_CLASSES,
        ("rbac.authorization.k8s.io", "clusterrolebindings" | "rolebindings") => configuration::ROLE_BINDINGS,
        ("rbac.authorization.k8s.io", _) | ("apiextensions.k8s.io", _) | ("", "limitranges") => {
            configuration::CREATED_AT
        }
        _ => NAME_AND_AGE,
    }
}
