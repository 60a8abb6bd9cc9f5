//! What becomes of an occurrence: a new Event, one more of an old one, or nothing. The rules are those of
//! client-go's `EventCorrelator`.

mod fingerprint;
mod recent;

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime};

use fingerprint::{Fingerprint, Fingerprints};
use recent::Recent;

use super::occurrence::{ObjectReference, Occurrence};
use super::options::Options;
use crate::rate_limit::Bucket;

/// An occurrence and the circumstances.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    pub(super) occurrence: Occurrence,
    /// When it happened, as the Event says.
    pub(super) at: SystemTime,
    /// For a name, where the object's cannot be the beginning of one.
    pub(super) random: u64,
}

/// What is to be done about an observation.
#[derive(Debug)]
pub(super) enum Verdict {
    /// There were too many about this object.
    Spam,
    Write(Box<Write>),
}

/// An Event as it is to be on the server.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) occurrence: Occurrence,
    pub(super) name: String,
    pub(super) first: SystemTime,
    pub(super) last: SystemTime,
    /// How often it happened; more than once means that the Event is there already.
    pub(super) count: u32,
}

#[derive(Debug)]
struct Group {
    /// Different messages, fewer than would be combined.
    messages: VecDeque<Fingerprint>,
    last: Instant,
}

#[derive(Debug)]
struct Log {
    name: String,
    first: SystemTime,
    count: u32,
}

/// Decides about one occurrence after the other.
///
/// It keeps no text of those that are past, but the names of Events, which have a limit: its size is bounded whatever
/// is recorded.
#[derive(Debug)]
pub(super) struct Correlator {
    options: Options,
    fingerprints: Fingerprints,
    /// By all but the message.
    groups: Recent<Fingerprint, Group>,
    /// By all that is equal where occurrences are counted in one Event.
    logs: Recent<Fingerprint, Log>,
    /// By object and type.
    buckets: Recent<Fingerprint, Bucket>,
    /// The time in the name of the last new Event.
    last_name: u128,
}

impl Correlator {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            fingerprints: Fingerprints::default(),
            groups: Recent::new(options.remembered),
            logs: Recent::new(options.remembered),
            buckets: Recent::new(options.remembered),
            last_name: 0,
            options: options.clone(),
        }
    }

    pub(super) fn observe(&mut self, observation: Observation, now: Instant) -> Verdict {
        let Observation { mut occurrence, at, random } = observation;
        let about = &occurrence.about;
        // Objects of one kind, name and uid are one, whatever their version.
        let object = (&about.api_version, &about.kind, &about.namespace, &about.name, &about.uid);
        let subject = self.fingerprints.of(&(object, occurrence.event_type));
        let similar = self.fingerprints.of(&(subject, &occurrence.reason));
        let exact = self.fingerprints.of(&(similar, &about.field_path, &occurrence.message));
        let message = self.fingerprints.of(&occurrence.message);
        let counted = if self.is_one_of_many(similar, message, now) {
            occurrence.message.insert_str(0, "(combined from similar events): ");
            occurrence.annotations.clear();
            similar
        } else {
            exact
        };
        let last_name = &mut self.last_name;
        let log = self.logs.get_or_insert_with(&counted, || {
            // Where the clock is coarse, or was set back, one time would make two names.
            let time = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
            *last_name = time.max(*last_name + 1);
            Log { name: event_name(&occurrence.about, *last_name, random), first: at, count: 0 }
        });
        // Spam counts too: the next one that is written says how many there were.
        log.count = log.count.saturating_add(1);
        let (name, first, count) = (log.name.clone(), log.first, log.count);
        let new_bucket = || Bucket::new(self.options.refill, self.options.burst);
        if !self.buckets.get_or_insert_with(&subject, new_bucket).try_take(now) {
            return Verdict::Spam;
        }
        Verdict::Write(Box::new(Write { occurrence, name, first, last: at, count }))
    }

    /// Have there been so many different messages of late that they become one Event?
    fn is_one_of_many(&mut self, similar: Fingerprint, message: Fingerprint, now: Instant) -> bool {
        let new = || Group { messages: VecDeque::new(), last: now };
        let group = self.groups.get_or_insert_with(&similar, new);
        if now.saturating_duration_since(group.last) > self.options.similar_within {
            group.messages.clear();
        }
        group.last = now;
        if !group.messages.contains(&message) {
            group.messages.push_back(message);
        }
        let is_many = group.messages.len() >= self.options.similar.max(1);
        if is_many {
            group.messages.pop_front();
        }
        is_many
    }
}

/// How long to wait after the `failures`-th failure to write; none if that was the last try. `random` is from 0 to
/// 1: clients must not all come back at once when a server does.
pub(super) fn pause(failures: u32, options: &Options, random: f64) -> Option<Duration> {
    match failures {
        _ if failures >= options.tries => None,
        1 => {
            let part = options.pause.as_secs_f64() * random.clamp(0.0, 1.0);
            Some(Duration::try_from_secs_f64(part).unwrap_or(options.pause))
        }
        _ => Some(options.pause),
    }
}

/// A name that no other Event has: the object's, and the time in nanoseconds.
fn event_name(about: &ObjectReference, nanoseconds: u128, random: u64) -> String {
    let name = format!("{}.{nanoseconds:x}", about.name);
    if is_dns_subdomain(&name) { name } else { format!("event-{random:016x}.{nanoseconds:x}") }
}

fn is_dns_subdomain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(|first| is_plain(*first))
            && bytes.last().is_some_and(|last| is_plain(*last))
            && bytes.iter().all(|byte| is_plain(*byte) || *byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests;
