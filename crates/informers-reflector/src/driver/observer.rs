//! Where a reflector tells what happens: status, log, metrics and the user's hooks.

use std::sync::Arc;
use std::time::Instant;

use informers_core::{Error, Metrics, SinkError, Undecodable};
use tracing::{debug, info, trace, warn};

use super::{Stop, now};
use crate::hooks::{Hooks, call};
use crate::machine::{Memory, Notice};
use crate::status::StatusCell;
use crate::{GuardedMetrics, Phase, ReflectorStatus, StatusWatch};

pub(crate) struct Observer {
    name: Arc<str>,
    metrics: GuardedMetrics,
    hooks: Hooks,
    status: StatusCell,
}

impl Observer {
    pub(crate) fn new(name: Arc<str>, metrics: Arc<dyn Metrics>, hooks: Hooks) -> Self {
        let metrics = GuardedMetrics::new(metrics);
        Self { name, metrics, hooks, status: StatusCell::new() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn status(&self) -> StatusWatch {
        self.status.watch()
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut ReflectorStatus)) {
        self.status.update(change);
    }

    pub(super) fn debug(&self, message: &str) {
        debug!(reflector = %self.name, "{message}");
    }

    pub(super) fn enter(&self, phase: Phase) {
        trace!(reflector = %self.name, ?phase, "entering");
        self.update(|status| status.enter(phase, now()));
    }

    /// Something arrived.
    pub(super) fn activity(&self, memory: &Memory) {
        self.update(|status| status.arrived(memory.version.clone(), now()));
    }

    /// The same in a watch, which works once it has brought something.
    pub(super) fn watch_activity(&self, memory: &Memory, events: u64) {
        self.update(|status| {
            status.arrived(memory.version.clone(), now());
            if events > 0 {
                status.proved();
            }
        });
    }

    pub(super) fn list_began(&self, phase: Phase) {
        self.update(|status| {
            status.lists += 1;
            status.enter(phase, now());
        });
    }

    pub(super) fn list_taken(&self, memory: &Memory, items: u64, began: Instant) {
        debug!(reflector = %self.name, items, version = %memory.version, "caches populated");
        self.metrics.list_completed(&self.name, items, now().duration_since(began));
        self.update(|status| {
            status.version = memory.version.clone();
            status.synced = true;
        });
    }

    pub(super) fn watch_ended(&self, events: u64, began: Instant) {
        let duration = now().duration_since(began);
        trace!(reflector = %self.name, events, ?duration, "a watch ended");
        self.metrics.watch_ended(&self.name, events, duration);
    }

    pub(super) fn undecodable(&self, undecodable: &Undecodable) {
        warn!(reflector = %self.name, error = undecodable.error() as &dyn std::error::Error, "{undecodable}");
        self.metrics.undecodable(&self.name);
        self.update(|status| status.undecodable += 1);
        call(&self.hooks.undecodable, undecodable);
    }

    /// The sink refused something. If it takes nothing any more, that is the end.
    pub(super) fn refused(&self, error: &SinkError) -> Result<(), Stop> {
        if error.is_closed() {
            debug!(reflector = %self.name, "the sink is closed");
            return Err(Stop);
        }
        warn!(reflector = %self.name, error = error as &dyn std::error::Error, "the sink refused");
        self.metrics.refused(&self.name);
        self.update(|status| status.refused += 1);
        call(&self.hooks.refused, error);
        Ok(())
    }

    pub(super) fn unknown_event(&self, event_type: &str) {
        warn!(reflector = %self.name, event_type, "passed over an event of an unknown type");
    }

    pub(super) fn failed(&self, error: &Error) {
        warn!(reflector = %self.name, error = error as &dyn std::error::Error, "failed");
        self.update(|status| status.last_error = Some(error.clone()));
        call(&self.hooks.error, error);
    }

    /// Passes on what the machine has to tell.
    pub(super) fn tell(&self, memory: &mut Memory) {
        for notice in memory.take_notices() {
            match notice {
                Notice::Failed(error) => self.failed(&error),
                Notice::Overcome(error) => {
                    debug!(reflector = %self.name, error = &error as &dyn std::error::Error, "going on");
                    self.update(|status| status.last_error = Some(error));
                }
                Notice::Remark(remark) => warn!(reflector = %self.name, "{remark}"),
                Notice::Recovered(news) => info!(reflector = %self.name, "{news}"),
            }
        }
    }
}
