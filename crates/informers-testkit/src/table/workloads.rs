//! What makes pods.

use serde_json::{Value, json};

use super::age::{age, between};
use super::columns::{AGE, Column, NAME, boolean, integer, text, wide};
use super::row::{NONE, Row, joined, or_none};
use crate::store::selector_text;

fn selector(row: &Row<'_>) -> Value {
    or_none(row.at("spec.selector").map(selector_text).unwrap_or_default())
}

const CONTAINERS: Column =
    wide("Containers", |row| json!(joined(row.list("spec.template.spec.containers"), "name")));
const IMAGES: Column =
    wide("Images", |row| json!(joined(row.list("spec.template.spec.containers"), "image")));
const SELECTOR: Column = wide("Selector", selector);

pub(super) const DEPLOYMENTS: &[Column] = &[
    NAME,
    text("Ready", |row| {
        json!(format!("{}/{}", row.number("status.readyReplicas"), row.number("spec.replicas")))
    }),
    text("Up-to-date", |row| json!(row.number("status.updatedReplicas"))),
    text("Available", |row| json!(row.number("status.availableReplicas"))),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

pub(super) const REPLICA_SETS: &[Column] = &[
    NAME,
    integer("Desired", |row| json!(row.number("spec.replicas"))),
    integer("Current", |row| json!(row.number("status.replicas"))),
    integer("Ready", |row| json!(row.number("status.readyReplicas"))),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

pub(super) const STATEFUL_SETS: &[Column] = &[
    NAME,
    text("Ready", |row| {
        json!(format!("{}/{}", row.number("status.readyReplicas"), row.number("spec.replicas")))
    }),
    AGE,
    CONTAINERS,
    IMAGES,
];

pub(super) const DAEMON_SETS: &[Column] = &[
    NAME,
    integer("Desired", |row| json!(row.number("status.desiredNumberScheduled"))),
    integer("Current", |row| json!(row.number("status.currentNumberScheduled"))),
    integer("Ready", |row| json!(row.number("status.numberReady"))),
    integer("Up-to-date", |row| json!(row.number("status.updatedNumberScheduled"))),
    integer("Available", |row| json!(row.number("status.numberAvailable"))),
    text("Node Selector", |row| {
        or_none(row.at("spec.template.spec.nodeSelector").map(selector_text).unwrap_or_default())
    }),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

pub(super) const CONTROLLER_REVISIONS: &[Column] = &[
    NAME,
    text("Controller", |row| {
        let owners = row.list("metadata.ownerReferences");
        let owner = owners.iter().find(|owner| owner["controller"] == true);
        or_none(owner.map(controller).unwrap_or_default())
    }),
    text("Revision", |row| json!(row.number("revision"))),
    AGE,
];

/// `statefulset.apps/web`
fn controller(owner: &Value) -> String {
    let text = |field: &str| owner[field].as_str().unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
    format!("{}{group}/{}", text("kind").to_lowercase(), text("name"))
}

pub(super) const JOBS: &[Column] = &[
    NAME,
    text("Status", |row| {
        let finished = ["Complete", "Failed"].into_iter().find(|kind| row.condition(kind) == Some(true));
        let under_way = || {
            ["Suspended", "FailureTarget", "SuccessCriteriaMet"]
                .into_iter()
                .find(|kind| row.condition(kind) == Some(true))
                .unwrap_or("Running")
        };
        json!(match finished {
            Some(finished) => finished,
            None if row.is_terminating() => "Terminating",
            None => under_way(),
        })
    }),
    text("Completions", |row| {
        let succeeded = row.number("status.succeeded");
        json!(match (row.at("spec.completions").and_then(Value::as_i64), row.number("spec.parallelism")) {
            (Some(completions), _) => format!("{succeeded}/{completions}"),
            (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
            (None, _) => format!("{succeeded}/1"),
        })
    }),
    text("Duration", |row| {
        let start = row.text("status.startTime");
        let duration = match row.text("status.completionTime") {
            "" => age(start, row.now),
            end => between(start, end),
        };
        json!(duration.unwrap_or_default())
    }),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const JOB_CONTAINERS: &str = "spec.jobTemplate.spec.template.spec.containers";

pub(super) const CRON_JOBS: &[Column] = &[
    NAME,
    text("Schedule", |row| json!(row.text("spec.schedule"))),
    text("Timezone", |row| row.text_or("spec.timeZone", NONE)),
    boolean("Suspend", |row| {
        let suspended = row.at("spec.suspend") == Some(&json!(true));
        json!(if suspended { "True" } else { "False" })
    }),
    integer("Active", |row| json!(row.list("status.active").len())),
    text("Last Schedule", |row| match row.text("status.lastScheduleTime") {
        "" => json!(NONE),
        time => json!(age(time, row.now)),
    }),
    AGE,
    wide("Containers", |row| json!(joined(row.list(JOB_CONTAINERS), "name"))),
    wide("Images", |row| json!(joined(row.list(JOB_CONTAINERS), "image"))),
    wide("Selector", |row| {
        or_none(row.at("spec.jobTemplate.spec.selector").map(selector_text).unwrap_or_default())
    }),
];

pub(super) const POD_DISRUPTION_BUDGETS: &[Column] = &[
    NAME,
    text("Min Available", |row| row.either_or("spec.minAvailable", "N/A")),
    text("Max Unavailable", |row| row.either_or("spec.maxUnavailable", "N/A")),
    integer("Allowed Disruptions", |row| json!(row.number("status.disruptionsAllowed"))),
    AGE,
];
