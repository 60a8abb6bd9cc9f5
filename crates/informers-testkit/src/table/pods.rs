//! Pods: what their containers are up to, in one word.

use serde_json::{Value, json};

use super::age::{age, parse};
use super::columns::{AGE, Column, NAME, text, wide};
use super::row::{NONE, Row, joined, or_none};
use crate::store::selector_text;

pub(super) const PODS: &[Column] = &[
    NAME,
    text("Ready", |row| {
        let pod = PodState::of(row);
        json!(format!("{}/{}", pod.ready, pod.total))
    }),
    text("Status", |row| json!(PodState::of(row).status)),
    text("Restarts", |row| {
        let pod = PodState::of(row);
        json!(match pod.last_restart.and_then(|time| age(time, row.now)).filter(|_| pod.restarts != 0) {
            Some(age) => format!("{} ({age} ago)", pod.restarts),
            None => pod.restarts.to_string(),
        })
    }),
    AGE,
    wide("IP", |row| {
        or_none(
            row.list("status.podIPs")
                .first()
                .and_then(|ip| ip["ip"].as_str())
                .map_or_else(|| row.text("status.podIP").to_owned(), str::to_owned),
        )
    }),
    wide("Node", |row| row.text_or("spec.nodeName", NONE)),
    wide("Nominated Node", |row| row.text_or("status.nominatedNodeName", NONE)),
    wide("Readiness Gates", |row| {
        let gates = row.list("spec.readinessGates");
        let passed = gates
            .iter()
            .filter_map(|gate| row.condition(gate["conditionType"].as_str()?))
            .filter(|passed| *passed)
            .count();
        if gates.is_empty() { json!(NONE) } else { json!(format!("{passed}/{}", gates.len())) }
    }),
];

pub(super) const POD_TEMPLATES: &[Column] = &[
    NAME,
    text("Containers", |row| json!(joined(row.list("template.spec.containers"), "name"))),
    text("Images", |row| json!(joined(row.list("template.spec.containers"), "image"))),
    text("Pod Labels", |row| {
        or_none(row.at("template.metadata.labels").map(selector_text).unwrap_or_default())
    }),
];

#[derive(Debug, Default)]
struct PodState<'a> {
    ready: usize,
    total: usize,
    restarts: i64,
    last_restart: Option<&'a str>,
    status: String,
}

/// A restart that lies behind a container.
fn restart(status: &Value) -> Option<&str> {
    status["lastState"]["terminated"]["finishedAt"].as_str()
}

fn later<'a>(left: Option<&'a str>, right: Option<&'a str>) -> Option<&'a str> {
    [left, right].into_iter().flatten().max_by_key(|time| parse(time))
}

/// Why a container ended.
fn ending(terminated: &Value) -> String {
    let number = |field: &str| terminated[field].as_i64().unwrap_or_default();
    match (terminated["reason"].as_str().unwrap_or_default(), number("signal")) {
        ("", 0) => format!("ExitCode:{}", number("exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

impl<'a> PodState<'a> {
    fn of(row: &Row<'a>) -> Self {
        let phase = row.text("status.phase");
        let gated = row
            .list("status.conditions")
            .iter()
            .any(|condition| condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated");
        let status = match row.text("status.reason") {
            _ if gated => "SchedulingGated",
            "" => phase,
            reason => reason,
        };
        let mut pod = Self { status: status.to_owned(), ..Self::default() };
        pod.total = row.list("spec.containers").len();
        let initializing = pod.init_containers(row);
        if !initializing || row.condition("Initialized") == Some(true) {
            pod.containers(row);
        }
        if row.is_terminating() {
            if row.text("status.reason") == "NodeLost" {
                pod.status = "Unknown".to_owned();
            } else if !matches!(phase, "Succeeded" | "Failed") {
                pod.status = "Terminating".to_owned();
            }
        }
        pod
    }

    /// Looks at the init containers up to the first that has work to do, and tells whether there is one.
    /// What is left in `restarts` is for a pod that initializes.
    fn init_containers(&mut self, row: &Row<'a>) -> bool {
        let specs = row.list("spec.initContainers");
        let is_sidecar = |name: &Value| {
            specs.iter().any(|spec| spec["name"] == *name && spec["restartPolicy"] == "Always")
        };
        self.total += specs.iter().filter(|spec| is_sidecar(&spec["name"])).count();
        let (mut sidecar_restarts, mut sidecar_restart) = (0, None);
        for (at, status) in row.list("status.initContainerStatuses").iter().enumerate() {
            let restarts = status["restartCount"].as_i64().unwrap_or_default();
            self.restarts += restarts;
            self.last_restart = later(self.last_restart, restart(status));
            let sidecar = is_sidecar(&status["name"]);
            if sidecar {
                sidecar_restarts += restarts;
                sidecar_restart = later(sidecar_restart, restart(status));
            }
            let terminated = &status["state"]["terminated"];
            let waiting = status["state"]["waiting"]["reason"].as_str().unwrap_or_default();
            if terminated.is_object() && terminated["exitCode"].as_i64().unwrap_or_default() == 0 {
                continue;
            }
            if sidecar && status["started"] == true {
                self.ready += usize::from(status["ready"] == true);
                continue;
            }
            self.status = if terminated.is_object() {
                format!("Init:{}", ending(terminated))
            } else if !matches!(waiting, "" | "PodInitializing") {
                format!("Init:{waiting}")
            } else {
                format!("Init:{at}/{}", specs.len())
            };
            if row.condition("Initialized") == Some(true) {
                (self.restarts, self.last_restart) = (sidecar_restarts, sidecar_restart);
            }
            return true;
        }
        (self.restarts, self.last_restart) = (sidecar_restarts, sidecar_restart);
        false
    }

    fn containers(&mut self, row: &Row<'a>) {
        let mut running = false;
        let mut failure = None;
        for status in row.list("status.containerStatuses").iter().rev() {
            self.restarts += status["restartCount"].as_i64().unwrap_or_default();
            self.last_restart = later(self.last_restart, restart(status));
            let state = &status["state"];
            match state["waiting"]["reason"].as_str() {
                Some(reason) if !reason.is_empty() => self.status = reason.to_owned(),
                _ if state["terminated"].is_object() => {
                    self.status = ending(&state["terminated"]);
                    if state["terminated"]["exitCode"].as_i64().unwrap_or_default() != 0 {
                        failure = Some(self.status.clone());
                    }
                }
                _ if status["ready"] == true && state["running"].is_object() => {
                    running = true;
                    self.ready += 1;
                }
                _ => {}
            }
        }
        if self.status == "Completed" {
            if running && row.condition("Ready") == Some(true) {
                self.status = "Running".to_owned();
            } else if let Some(failure) = failure {
                self.status = failure;
            } else if running {
                self.status = "NotReady".to_owned();
            }
        }
    }
}
