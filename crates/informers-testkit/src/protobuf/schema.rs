//! The numbers of fields, from the `generated.proto` files of the Kubernetes API.

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Bytes,
    /// Zero is the same as nothing.
    Number,
    /// Nothing is something else than zero.
    OptionalNumber,
    Flag,
    OptionalFlag,
    Message(&'static [Field]),
    Map(&'static Kind),
    NumberOrText,
    Quantity,
    /// What the server decides itself.
    Ignored,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) number: u64,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) repeated: bool,
}

const fn one(number: u64, name: &'static str, kind: Kind) -> Field {
    Field { number, name, kind, repeated: false }
}

const fn many(number: u64, name: &'static str, kind: Kind) -> Field {
    Field { number, name, kind, repeated: true }
}

const fn text(number: u64, name: &'static str) -> Field {
    one(number, name, Kind::Text)
}

const fn texts(number: u64, name: &'static str) -> Field {
    many(number, name, Kind::Text)
}

const fn labels(number: u64, name: &'static str) -> Field {
    one(number, name, Kind::Map(&Kind::Text))
}

pub(super) const NUMBER_OR_TEXT: &[Field] =
    &[one(1, "type", Kind::Number), one(2, "intVal", Kind::Number), text(3, "strVal")];
pub(super) const QUANTITY: &[Field] = &[text(1, "string")];

const OWNER_REFERENCE: &[Field] = &[
    text(1, "kind"),
    text(3, "name"),
    text(4, "uid"),
    text(5, "apiVersion"),
    one(6, "controller", Kind::OptionalFlag),
    one(7, "blockOwnerDeletion", Kind::OptionalFlag),
];
const METADATA: Field = one(
    1,
    "metadata",
    Kind::Message(&[
        text(1, "name"),
        text(2, "generateName"),
        text(3, "namespace"),
        text(4, "selfLink"),
        text(5, "uid"),
        text(6, "resourceVersion"),
        one(7, "generation", Kind::Number),
        one(8, "creationTimestamp", Kind::Ignored),
        one(9, "deletionTimestamp", Kind::Ignored),
        one(10, "deletionGracePeriodSeconds", Kind::OptionalNumber),
        labels(11, "labels"),
        labels(12, "annotations"),
        many(13, "ownerReferences", Kind::Message(OWNER_REFERENCE)),
        texts(14, "finalizers"),
        one(17, "managedFields", Kind::Ignored),
    ]),
);
const LABEL_SELECTOR: Kind = Kind::Message(&[
    labels(1, "matchLabels"),
    many(2, "matchExpressions", Kind::Message(&[text(1, "key"), text(2, "operator"), texts(3, "values")])),
]);
const STATUS: Field = one(3, "status", Kind::Ignored);

const CONFIG_MAP: &[Field] = &[
    METADATA,
    labels(2, "data"),
    one(3, "binaryData", Kind::Map(&Kind::Bytes)),
    one(4, "immutable", Kind::OptionalFlag),
];
const SECRET: &[Field] = &[
    METADATA,
    one(2, "data", Kind::Map(&Kind::Bytes)),
    text(3, "type"),
    labels(4, "stringData"),
    one(5, "immutable", Kind::OptionalFlag),
];
const NAMESPACE: &[Field] = &[METADATA, one(2, "spec", Kind::Message(&[texts(1, "finalizers")])), STATUS];
const SERVICE_ACCOUNT: &[Field] = &[
    METADATA,
    many(
        2,
        "secrets",
        Kind::Message(&[text(1, "kind"), text(2, "namespace"), text(3, "name"), text(4, "uid")]),
    ),
    many(3, "imagePullSecrets", Kind::Message(&[text(1, "name")])),
    one(4, "automountServiceAccountToken", Kind::OptionalFlag),
];
const SERVICE: &[Field] = &[
    METADATA,
    one(
        2,
        "spec",
        Kind::Message(&[
            many(
                1,
                "ports",
                Kind::Message(&[
                    text(1, "name"),
                    text(2, "protocol"),
                    one(3, "port", Kind::Number),
                    one(4, "targetPort", Kind::NumberOrText),
                    one(5, "nodePort", Kind::Number),
                    text(6, "appProtocol"),
                ]),
            ),
            labels(2, "selector"),
            text(3, "clusterIP"),
            text(4, "type"),
            texts(5, "externalIPs"),
            text(7, "sessionAffinity"),
            text(8, "loadBalancerIP"),
            text(10, "externalName"),
            text(11, "externalTrafficPolicy"),
            text(17, "ipFamilyPolicy"),
            texts(18, "clusterIPs"),
            texts(19, "ipFamilies"),
            text(22, "internalTrafficPolicy"),
        ]),
    ),
    STATUS,
];

const CONTAINER: Kind = Kind::Message(&[
    text(1, "name"),
    text(2, "image"),
    texts(3, "command"),
    texts(4, "args"),
    text(5, "workingDir"),
    many(
        6,
        "ports",
        Kind::Message(&[
            text(1, "name"),
            one(2, "hostPort", Kind::Number),
            one(3, "containerPort", Kind::Number),
            text(4, "protocol"),
            text(5, "hostIP"),
        ]),
    ),
    many(7, "env", Kind::Message(&[text(1, "name"), text(2, "value")])),
    text(13, "terminationMessagePath"),
    text(14, "imagePullPolicy"),
    one(16, "stdin", Kind::Flag),
    one(17, "stdinOnce", Kind::Flag),
    one(18, "tty", Kind::Flag),
    text(20, "terminationMessagePolicy"),
]);
const POD_SPEC: Kind = Kind::Message(&[
    many(2, "containers", CONTAINER),
    text(3, "restartPolicy"),
    one(4, "terminationGracePeriodSeconds", Kind::OptionalNumber),
    one(5, "activeDeadlineSeconds", Kind::OptionalNumber),
    text(6, "dnsPolicy"),
    labels(7, "nodeSelector"),
    text(8, "serviceAccountName"),
    text(9, "serviceAccount"),
    text(10, "nodeName"),
    one(11, "hostNetwork", Kind::Flag),
    many(15, "imagePullSecrets", Kind::Message(&[text(1, "name")])),
    text(16, "hostname"),
    text(17, "subdomain"),
    text(19, "schedulerName"),
    many(20, "initContainers", CONTAINER),
    text(24, "priorityClassName"),
]);
const POD_TEMPLATE: Kind = Kind::Message(&[METADATA, one(2, "spec", POD_SPEC)]);
const POD: &[Field] = &[METADATA, one(2, "spec", POD_SPEC), STATUS];
const DEPLOYMENT: &[Field] = &[
    METADATA,
    one(
        2,
        "spec",
        Kind::Message(&[
            one(1, "replicas", Kind::OptionalNumber),
            one(2, "selector", LABEL_SELECTOR),
            one(3, "template", POD_TEMPLATE),
            one(
                4,
                "strategy",
                Kind::Message(&[
                    text(1, "type"),
                    one(
                        2,
                        "rollingUpdate",
                        Kind::Message(&[
                            one(1, "maxUnavailable", Kind::NumberOrText),
                            one(2, "maxSurge", Kind::NumberOrText),
                        ]),
                    ),
                ]),
            ),
            one(5, "minReadySeconds", Kind::Number),
            one(6, "revisionHistoryLimit", Kind::OptionalNumber),
            one(7, "paused", Kind::Flag),
            one(9, "progressDeadlineSeconds", Kind::OptionalNumber),
        ]),
    ),
    STATUS,
];
const JOB_SPEC: Field = one(
    2,
    "spec",
    Kind::Message(&[
        one(1, "parallelism", Kind::OptionalNumber),
        one(2, "completions", Kind::OptionalNumber),
        one(3, "activeDeadlineSeconds", Kind::OptionalNumber),
        one(4, "selector", LABEL_SELECTOR),
        one(5, "manualSelector", Kind::OptionalFlag),
        one(6, "template", POD_TEMPLATE),
        one(7, "backoffLimit", Kind::OptionalNumber),
        one(8, "ttlSecondsAfterFinished", Kind::OptionalNumber),
        text(9, "completionMode"),
        one(10, "suspend", Kind::OptionalFlag),
    ]),
);
const JOB: &[Field] = &[METADATA, JOB_SPEC, STATUS];
const CRON_JOB: &[Field] = &[
    METADATA,
    one(
        2,
        "spec",
        Kind::Message(&[
            text(1, "schedule"),
            one(2, "startingDeadlineSeconds", Kind::OptionalNumber),
            text(3, "concurrencyPolicy"),
            one(4, "suspend", Kind::OptionalFlag),
            one(5, "jobTemplate", Kind::Message(&[METADATA, JOB_SPEC])),
            one(6, "successfulJobsHistoryLimit", Kind::OptionalNumber),
            one(7, "failedJobsHistoryLimit", Kind::OptionalNumber),
            text(8, "timeZone"),
        ]),
    ),
    STATUS,
];

const ROLE: &[Field] = &[
    METADATA,
    many(
        2,
        "rules",
        Kind::Message(&[
            texts(1, "verbs"),
            texts(2, "apiGroups"),
            texts(3, "resources"),
            texts(4, "resourceNames"),
            texts(5, "nonResourceURLs"),
        ]),
    ),
];
const ROLE_BINDING: &[Field] = &[
    METADATA,
    many(
        2,
        "subjects",
        Kind::Message(&[text(1, "kind"), text(2, "apiGroup"), text(3, "name"), text(4, "namespace")]),
    ),
    one(3, "roleRef", Kind::Message(&[text(1, "apiGroup"), text(2, "kind"), text(3, "name")])),
];
const RESOURCE_QUOTA: &[Field] = &[
    METADATA,
    one(2, "spec", Kind::Message(&[one(1, "hard", Kind::Map(&Kind::Quantity)), texts(2, "scopes")])),
    STATUS,
];
const POD_DISRUPTION_BUDGET: &[Field] = &[
    METADATA,
    one(
        2,
        "spec",
        Kind::Message(&[
            one(1, "minAvailable", Kind::NumberOrText),
            one(2, "selector", LABEL_SELECTOR),
            one(3, "maxUnavailable", Kind::NumberOrText),
        ]),
    ),
    STATUS,
];
const PRIORITY_CLASS: &[Field] = &[
    METADATA,
    one(2, "value", Kind::Number),
    one(3, "globalDefault", Kind::Flag),
    text(4, "description"),
    text(5, "preemptionPolicy"),
];

const DELETE_OPTIONS: &[Field] = &[
    one(1, "gracePeriodSeconds", Kind::OptionalNumber),
    one(2, "preconditions", Kind::Message(&[text(1, "uid"), text(2, "resourceVersion")])),
    one(3, "orphanDependents", Kind::OptionalFlag),
    text(4, "propagationPolicy"),
    texts(5, "dryRun"),
];

/// The fields of an object of this kind.
pub(super) fn message_of(api_version: &str, kind: &str) -> Option<&'static [Field]> {
    Some(match (api_version, kind) {
        // Each group and version has these.
        (_, "DeleteOptions") => DELETE_OPTIONS,
        ("v1", "ConfigMap") => CONFIG_MAP,
        ("v1", "Namespace") => NAMESPACE,
        ("v1", "Pod") => POD,
        ("v1", "ResourceQuota") => RESOURCE_QUOTA,
        ("v1", "Secret") => SECRET,
        ("v1", "Service") => SERVICE,
        ("v1", "ServiceAccount") => SERVICE_ACCOUNT,
        ("apps/v1", "Deployment") => DEPLOYMENT,
        ("batch/v1", "CronJob") => CRON_JOB,
        ("batch/v1", "Job") => JOB,
        ("policy/v1", "PodDisruptionBudget") => POD_DISRUPTION_BUDGET,
        ("rbac.authorization.k8s.io/v1", "ClusterRole" | "Role") => ROLE,
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding" | "RoleBinding") => ROLE_BINDING,
        ("scheduling.k8s.io/v1", "PriorityClass") => PRIORITY_CLASS,
        _ => return None,
    })
}
