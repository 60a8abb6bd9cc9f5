//! The task that writes Events.

use std::hash::{BuildHasher as _, RandomState};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{Either, FutureExt as _, select};
use http::{HeaderMap, HeaderValue, Method, header};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::machine::{Correlator, Observation, Verdict, Write, pause};
use super::options::Options;
use super::{Counts, Source};
use crate::client::Call;
use crate::encode::segment;
use crate::{Client, ClientError, timestamp};

/// What became of occurrences.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) written: AtomicU64,
    pub(super) spam: AtomicU64,
    pub(super) overflow: AtomicU64,
    pub(super) rejected: AtomicU64,
    pub(super) lost: AtomicU64,
}

impl Counters {
    pub(super) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            written: of(&self.written),
            spam: of(&self.spam),
            overflow: of(&self.overflow),
            rejected: of(&self.rejected),
            lost: of(&self.lost),
        }
    }
}

pub(super) struct Driver {
    pub(super) client: Client,
    pub(super) source: Source,
    pub(super) options: Options,
    pub(super) queue: mpsc::Receiver<Observation>,
    /// Says true when no more is to come, as its end does.
    pub(super) closing: watch::Receiver<bool>,
    pub(super) counters: Arc<Counters>,
}

impl Driver {
    /// Writes until it is told to close and the queue is empty. While it closes, each Event has one try, and when
    /// the server is not reached or asks for patience, the rest is given up.
    pub(super) async fn run(mut self) {
        let mut correlator = Correlator::new(&self.options);
        // What was so before may have changed: the server has one chance at least when it is told to close.
        let mut is_away = false;
        loop {
            let is_closing = self.is_closing();
            if is_closing {
                self.queue.close();
            }
            let next = if is_closing {
                self.queue.recv().await
            } else {
                let told = pin!(self.closing.wait_for(|closing| *closing).map(drop));
                match select(told, pin!(self.queue.recv())).await {
                    Either::Left(_) => continue,
                    Either::Right((next, _)) => next,
                }
            };
            let Some(observation) = next else { return };
            if is_away {
                Counters::add(&self.counters.lost);
                continue;
            }
            let now = tokio::time::Instant::now().into_std();
            match correlator.observe(observation, now) {
                Verdict::Spam => Counters::add(&self.counters.spam),
                Verdict::Write(write) => is_away = !self.write(&write).await && self.is_closing(),
            }
        }
    }

    fn is_closing(&self) -> bool {
        *self.closing.borrow() || self.closing.has_changed().is_err()
    }

    /// Whether the server has decided about it in the end.
    async fn write(&mut self, write: &Write) -> bool {
        let mut failures = 0;
        loop {
            let error = match self.send(write).await {
                Ok(()) => {
                    Counters::add(&self.counters.written);
                    return true;
                }
                // Nobody else uses its name: the server did it before, and its answer was lost.
                Err(error) if failures > 0 && error.is_already_exists() => {
                    Counters::add(&self.counters.written);
                    return true;
                }
                Err(error) => error,
            };
            if is_refusal(&error) {
                Counters::add(&self.counters.rejected);
                log_refusal(&error, write);
                return true;
            }
            failures += 1;
            let Some(wait) = self.wait(failures).filter(|_| !self.is_closing()) else {
                Counters::add(&self.counters.lost);
                log_loss(&error, write);
                return false;
            };
            let wait = error.retry_after().unwrap_or(wait);
            tracing::debug!(error = &error as &dyn std::error::Error, ?wait, "an Event is tried again");
            // When it is told to close, there is time for one more try.
            let told = self.closing.wait_for(|closing| *closing);
            drop(tokio::time::timeout(wait, told).await);
        }
    }

    fn wait(&self, failures: u32) -> Option<Duration> {
        let random = RandomState::new().hash_one(failures);
        #[allow(clippy::cast_precision_loss, reason = "any number from 0 to 1 will do")]
        pause(failures, &self.options, random as f64 / u64::MAX as f64)
    }

    async fn send(&self, write: &Write) -> Result<(), ClientError> {
        if write.count > 1 {
            let patch = json!({
                "count": write.count,
                "lastTimestamp": timestamp::format(write.last),
                "message": write.occurrence.message,
            });
            match self.call(write, Method::PATCH, &patch).await {
                // It expired, or the one before it was not written.
                Err(error) if error.is_not_found() => {}
                done => return done,
            }
        }
        self.call(write, Method::POST, &self.event(write)).await
    }

    async fn call(&self, write: &Write, method: Method, body: &Value) -> Result<(), ClientError> {
        let namespace = write.occurrence.about.event_namespace();
        let mut path = format!("/api/v1/namespaces/{}/events", segment(namespace));
        let (verb, content_type) = match method {
            Method::PATCH => ("patch", "application/strategic-merge-patch+json"),
            _ => ("create", "application/json"),
        };
        if method == Method::PATCH {
            path = format!("{path}/{}", segment(&write.name));
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        let action = format!("{verb} event {} in namespace {namespace}", write.name);
        let body = body.to_string().into();
        // How often it is tried is decided here, since a close must not wait for what the client would wait.
        let call = Call { method, path, headers, body, gzip: false, action };
        let answer = self.client.call_once(&call).await?;
        match serde_json::from_slice::<Answer>(answer.body()) {
            Ok(Answer { kind }) if kind == "Event" => Ok(()),
            // Such as a proxy's page that asks for a login.
            _ => Err(ClientError::UnexpectedAnswer {
                action: call.action,
                problem: "the answer is no Event; is that an API server?".to_owned(),
                source: None,
            }),
        }
    }

    fn event(&self, write: &Write) -> Value {
        let occurrence = &write.occurrence;
        let mut metadata = json!({ "name": write.name, "namespace": occurrence.about.event_namespace() });
        if !occurrence.annotations.is_empty() {
            metadata["annotations"] = json!(occurrence.annotations);
        }
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": metadata,
            "involvedObject": occurrence.about,
            "type": occurrence.event_type,
            "reason": occurrence.reason,
            "message": occurrence.message,
            "count": write.count,
            "firstTimestamp": timestamp::format(write.first),
            "lastTimestamp": timestamp::format(write.last),
            "source": { "component": self.source.component, "host": self.source.host },
            "reportingComponent": self.source.component,
            "reportingInstance": self.source.host,
        })
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    kind: String,
}

/// Would the same request be refused again? An internal error may be due to this very Event, such as a webhook's.
fn is_refusal(error: &ClientError) -> bool {
    match error {
        ClientError::Status { status, retry_after, .. } => {
            retry_after.is_none() && (!error.is_retryable() || status.is_internal_error())
        }
        ClientError::InvalidRequest { .. } => true,
        _ => false,
    }
}

fn log_refusal(error: &ClientError, write: &Write) {
    let is_usual = error.is_already_exists()
        || error.status().is_some_and(|status| status.has_cause("NamespaceTerminating"));
    let about = &write.occurrence.about;
    let (namespace, name, reason) = (&about.namespace, &about.name, &write.occurrence.reason);
    let error = error as &dyn std::error::Error;
    if is_usual {
        tracing::debug!(error, namespace, name, reason, "the server does not take an Event");
    } else {
        tracing::warn!(error, namespace, name, reason, "the server does not take an Event");
    }
}

fn log_loss(error: &ClientError, write: &Write) {
    let about = &write.occurrence.about;
    let (namespace, name, reason) = (&about.namespace, &about.name, &write.occurrence.reason);
    let error = error as &dyn std::error::Error;
    tracing::warn!(
        error,
        namespace,
        name,
        reason,
        "an Event is given up, since the server cannot take it now"
    );
}
