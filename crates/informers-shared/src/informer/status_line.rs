//! An informer's status in one line, for the engineer who reads a log at three in the morning.

use std::error::Error as _;
use std::fmt;
use std::time::{Duration, Instant};

use informers_core::{Error, Scope};
use informers_reflector::ReflectorStatus;

use super::InformerStatus;
use crate::delivery::HandlerStatus;

/// In one line: what the store holds and whether that is all, what each reader does, and what is not as it should be.
///
/// ```text
/// pods: 120 objects at version 4711; watching, last heard of the server 4s ago
/// pods: not synced, no objects; not permitted to read the resource, failing for 3m20s, next try in 12s, nothing
/// heard yet: cannot list pods: … (403 Forbidden)
/// ```
impl fmt::Display for InformerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        match (self.stopped, self.started, self.synced) {
            (true, ..) => f.write_str("stopped, ")?,
            (_, false, _) => f.write_str("not started, ")?,
            (_, _, false) => f.write_str("not synced, ")?,
            (_, _, true) => {}
        }
        match self.objects {
            0 => f.write_str("no objects")?,
            1 => f.write_str("1 object")?,
            objects => write!(f, "{objects} objects")?,
        }
        if !self.version.is_empty() {
            write!(f, " at version {}", self.version)?;
        }
        if self.started && !self.stopped {
            self.write_readers(f)?;
        }
        if self.undecodable > 0 {
            write!(f, "; {} cannot be decoded", self.undecodable)?;
        }
        self.handlers.iter().try_for_each(|handler| write_handler(f, handler))
    }
}

impl InformerStatus {
    fn write_readers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(_, only)] = &self.reflectors[..] {
            f.write_str("; ")?;
            return write_reader(f, only, self.at);
        }
        let in_order = |reader: &ReflectorStatus| reader.synced && reader.phase.is_watching();
        let (good, bad): (Vec<_>, Vec<&(Scope, _)>) =
            self.reflectors.iter().partition(|(_, reader)| in_order(reader));
        if !good.is_empty() {
            write!(f, "; watching {} of {} scopes", good.len(), self.reflectors.len())?;
        }
        for (scope, reader) in bad {
            write!(f, "; {scope}: ")?;
            write_reader(f, reader, self.at)?;
        }
        Ok(())
    }
}

fn write_reader(f: &mut fmt::Formatter<'_>, reader: &ReflectorStatus, at: Instant) -> fmt::Result {
    write!(f, "{}", reader.phase)?;
    if let Some(failing) = reader.failing_for(at) {
        write!(f, ", failing for {}", Span(failing))?;
    }
    if let Some(until) = reader.phase.until() {
        write!(f, ", next try in {}", Span(until.saturating_duration_since(at)))?;
    }
    match reader.last_activity {
        Some(last) => {
            write!(f, ", last heard of the server {} ago", Span(at.saturating_duration_since(last)))?;
        }
        None => f.write_str(", nothing heard yet")?,
    }
    match reader.phase.reason() {
        Some(reason) => write_error(f, reason),
        None => Ok(()),
    }
}

/// The error and what caused it, without line breaks.
fn write_error(f: &mut fmt::Formatter<'_>, error: &Error) -> fmt::Result {
    write!(f, ": {}", one_line(error))?;
    let mut cause = error.source();
    while let Some(error) = cause {
        write!(f, ": {}", one_line(error))?;
        cause = error.source();
    }
    Ok(())
}

fn one_line(text: impl fmt::Display) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Nothing of a handler that is up to date.
fn write_handler(f: &mut fmt::Formatter<'_>, handler: &HandlerStatus) -> fmt::Result {
    if let Some(waiting_for) = handler.waiting_for {
        let HandlerStatus { name, waiting, .. } = handler;
        write!(f, "; {waiting} events wait for handler {name}, the oldest for {}", Span(waiting_for))?;
    }
    match handler.panics {
        0 => {}
        1 => write!(f, "; handler {} panicked once", handler.name)?,
        panics => write!(f, "; handler {} panicked {panics} times", handler.name)?,
    }
    match handler.dropped {
        0 => Ok(()),
        dropped => write!(f, "; {dropped} events of handler {} were dropped", handler.name),
    }
}

/// A duration for people: its two largest units, nothing below a second.
struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
        match (days, hours, minutes, seconds % 60) {
            (0, 0, 0, 0) => f.write_str("less than 1s"),
            (0, 0, 0, seconds) => write!(f, "{seconds}s"),
            (0, 0, minutes, seconds) => write!(f, "{minutes}m{seconds}s"),
            (0, hours, minutes, _) => write!(f, "{hours}h{minutes}m"),
            (days, hours, ..) => write!(f, "{days}d{hours}h"),
        }
    }
}

#[cfg(test)]
mod tests {
    use informers_core::ErrorKind;
    use informers_reflector::Phase;

    use super::*;

    fn status(at: Instant, reflectors: Vec<(Scope, ReflectorStatus)>) -> InformerStatus {
        InformerStatus {
            name: "pods".to_owned(),
            at,
            started: true,
            stopped: false,
            synced: true,
            objects: 120,
            version: "4711".into(),
            undecodable: 0,
            reflectors,
            handlers: Vec::new(),
        }
    }

    fn reader(phase: Phase, last_activity: Option<Instant>) -> ReflectorStatus {
        let mut reader = ReflectorStatus::default();
        (reader.synced, reader.phase, reader.last_activity) = (last_activity.is_some(), phase, last_activity);
        reader
    }

    fn forbidden(until: Instant) -> Phase {
        let reason = Error::new(ErrorKind::Forbidden, "list pods")
            .with_message("User \"bob\" cannot list\n resource \"pods\"")
            .with_status(403, "Forbidden");
        Phase::Forbidden { reason, until }
    }

    #[test]
    fn one_line_says_what_an_informer_does_and_what_is_wrong() {
        let began = Instant::now();
        let at = began + Duration::from_secs(3_600);
        let ago = |seconds| Some(at.checked_sub(Duration::from_secs(seconds)).unwrap());
        let all = |reader| vec![(Scope::all(), reader)];
        assert_eq!(
            status(at, all(reader(Phase::Watching, ago(4)))).to_string(),
            "pods: 120 objects at version 4711; watching, last heard of the server 4s ago"
        );

        let mut denied = reader(forbidden(at + Duration::from_millis(12_500)), None);
        denied.failing_since = ago(3_540);
        let mut fresh = status(at, all(denied.clone()));
        (fresh.synced, fresh.objects, fresh.version) = (false, 0, "".into());
        assert_eq!(
            fresh.to_string(),
            "pods: not synced, no objects; not permitted to read the resource, failing for 59m0s, next try in 12s, nothing \
             heard yet: cannot list pods: User \"bob\" cannot list resource \"pods\" (403 Forbidden)"
        );

        let refused = Error::new(ErrorKind::ConnectionRefused, "watch pods")
            .with_source(std::io::Error::other("no route to host"));
        let mut failing = reader(Phase::Waiting { reason: refused, until: at }, ago(200));
        failing.failing_since = ago(190);
        let mut parts = status(
            at,
            vec![
                (Scope::namespace("a"), reader(Phase::Watching, ago(1))),
                (Scope::namespace("b"), failing),
                (Scope::namespace("c"), denied),
            ],
        );
        (parts.undecodable, parts.objects) = (2, 1);
        assert_eq!(
            parts.to_string(),
            "pods: 1 object at version 4711; watching 1 of 3 scopes; namespace b: the server cannot be \
             reached, failing for 3m10s, next try in less than 1s, last heard of the server 3m20s ago: cannot watch \
             pods: no route to host; namespace c: not permitted to read the resource, failing for 59m0s, next try in 12s, nothing heard yet: cannot list pods: User \"bob\" cannot list resource \"pods\" \
             (403 Forbidden); 2 cannot be decoded"
        );
        assert_eq!(
            parts.failing_for(),
            Some(Duration::from_secs(3_540)),
            "the one that has been failing longest"
        );
        let mut tries = reader(Phase::Streaming, None);
        tries.failing_since = ago(61);
        parts.reflectors = all(tries);
        assert_eq!(
            parts.to_string(),
            "pods: 1 object at version 4711; reading the streaming list, failing for 1m1s, nothing heard yet; \
             2 cannot be decoded"
        );
        (parts.stopped, parts.undecodable) = (true, 0);
        assert_eq!(parts.to_string(), "pods: stopped, 1 object at version 4711");
    }

    #[test]
    fn a_handler_that_lags_is_named() {
        let mut status = status(Instant::now(), Vec::new());
        status.started = false;
        status.handlers.push(HandlerStatus {
            name: "src/main.rs:7:3".to_owned(),
            resync: None,
            synced: false,
            waiting: 12,
            waiting_for: Some(Duration::from_secs(90_000)),
            delivered: 3,
            panics: 2,
            dropped: 5,
        });
        assert_eq!(
            status.to_string(),
            "pods: not started, 120 objects at version 4711; 12 events wait for handler src/main.rs:7:3, the oldest \
             for 1d1h; handler src/main.rs:7:3 panicked 2 times; 5 events of handler src/main.rs:7:3 were dropped"
        );
    }
}
