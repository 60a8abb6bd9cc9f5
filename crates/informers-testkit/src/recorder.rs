//! A handler that remembers what it hears.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use informers_core::{Entry, Event, Handler, ObjectKey};
use tokio::sync::watch;

use crate::world::lock;

/// Records the events that an informer delivers.
///
/// A clone is another handle to the same record: give one to the informer, keep the other.
///
/// ```
/// use informers_core::{Entry, Event, Handler, ObjectKey};
/// use informers_testkit::EventRecorder;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let recorder = EventRecorder::new();
/// let mut handler = recorder.clone();
/// let pod = Entry::new(ObjectKey::new("shop", "cart"), "u".into(), "1".into(), ());
/// handler.on_event(Event::Added { object: pod, initial: true });
///
/// recorder.wait_for(|events| events.len() == 1).await;
/// assert!(recorder.replay().unwrap().contains_key("shop/cart"));
/// # }
/// ```
pub struct EventRecorder<T>(Arc<Record<T>>);

struct Record<T> {
    events: Mutex<Vec<Event<T>>>,
    count: watch::Sender<usize>,
}

impl<T> EventRecorder<T> {
    /// An empty record.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Record { events: Mutex::new(Vec::new()), count: watch::Sender::new(0) }))
    }

    /// Adds an event, for those who take events from a stream.
    pub fn record(&self, event: Event<T>) {
        let count = {
            let mut events = lock(&self.0.events);
            events.push(event);
            events.len()
        };
        self.0.count.send_replace(count);
    }

    /// All events so far, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Event<T>> {
        lock(&self.0.events).clone()
    }

    /// How many events there are so far.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.0.events).len()
    }

    /// Whether nothing was heard yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the events out. A later [`replay`](Self::replay) begins after them.
    #[must_use]
    pub fn take(&self) -> Vec<Event<T>> {
        let events = std::mem::take(&mut *lock(&self.0.events));
        self.0.count.send_replace(0);
        events
    }

    /// Waits until the events so far are as `wanted` says, and gives them. It is asked at once and after each
    /// event, and runs on a copy, so it may use the recorder. There is no deadline; put a timeout around it.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub async fn wait_for(&self, mut wanted: impl FnMut(&[Event<T>]) -> bool) -> Vec<Event<T>> {
        let mut count = self.0.count.subscribe();
        loop {
            count.borrow_and_update();
            let events = self.events();
            if wanted(&events) {
                return events;
            }
            // The sender lives as long as this borrow.
            if count.changed().await.is_err() {
                return events;
            }
        }
    }

    /// Applies the events in order and gives the objects that should be in the store now.
    ///
    /// # Errors
    /// At the first event that contradicts those before it: something is added that is there, changed or
    /// deleted that is not, or changed from another version than the last one that was told.
    pub fn replay(&self) -> Result<BTreeMap<ObjectKey, Entry<T>>, ReplayError> {
        replay(&self.events())
    }
}

/// Applies events in order, as [`EventRecorder::replay`].
///
/// # Errors
/// At the first event that contradicts those before it.
///
/// ```
/// use informers_core::{Deletion, Entry, Event, ObjectKey};
///
/// let gone = Event::Deleted { last: Entry::keyed(ObjectKey::cluster("a"), ()), how: Deletion::Observed };
/// let error = informers_testkit::replay(&[gone]).unwrap_err();
/// assert_eq!(error.to_string(), "event 0 deletes a, which was never added");
/// ```
pub fn replay<T>(events: &[Event<T>]) -> Result<BTreeMap<ObjectKey, Entry<T>>, ReplayError> {
    let mut objects: BTreeMap<ObjectKey, Entry<T>> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let key = event.key().clone();
        let error = |problem| ReplayError { at, key: key.clone(), problem };
        match event {
            Event::Added { object, .. } => {
                if objects.insert(key.clone(), object.clone()).is_some() {
                    return Err(error(Problem::AddedTwice));
                }
            }
            Event::Updated { old, new } => {
                let known =
                    objects.insert(key.clone(), new.clone()).ok_or_else(|| error(Problem::ChangedUnknown))?;
                if !known.ptr_eq(old) && !known.same_version(old) {
                    return Err(error(Problem::ChangedFromAnother {
                        old: old.version().to_string(),
                        known: known.version().to_string(),
                    }));
                }
            }
            Event::Deleted { .. } => {
                objects.remove(&key).ok_or_else(|| error(Problem::DeletedUnknown))?;
            }
        }
    }
    Ok(objects)
}

/// An event that contradicts those before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    at: usize,
    key: ObjectKey,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    AddedTwice,
    ChangedUnknown,
    ChangedFromAnother { old: String, known: String },
    DeletedUnknown,
}

impl ReplayError {
    /// The position of the event, from 0.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The object of the event.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, key, problem } = self;
        match problem {
            Problem::AddedTwice => write!(f, "event {at} adds {key}, which is there already"),
            Problem::ChangedUnknown => write!(f, "event {at} changes {key}, which was never added"),
            Problem::ChangedFromAnother { old, known } => {
                write!(
                    f,
                    "event {at} changes {key} from version {old:?}, but the last one told was {known:?}"
                )
            }
            Problem::DeletedUnknown => write!(f, "event {at} deletes {key}, which was never added"),
        }
    }
}

impl std::error::Error for ReplayError {}

impl<T: Send + Sync + 'static> Handler<T> for EventRecorder<T> {
    fn on_event(&mut self, event: Event<T>) {
        self.record(event);
    }
}

impl<T> Clone for EventRecorder<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for EventRecorder<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for EventRecorder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(lock(&self.0.events).iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use informers_core::Deletion;

    use super::*;

    fn entry(name: &str, version: &str) -> Entry<()> {
        Entry::new(ObjectKey::cluster(name), "u".into(), version.into(), ())
    }

    fn added(name: &str, version: &str) -> Event<()> {
        Event::Added { object: entry(name, version), initial: false }
    }

    fn updated(name: &str, old: &str, new: &str) -> Event<()> {
        Event::Updated { old: entry(name, old), new: entry(name, new) }
    }

    fn deleted(name: &str, version: &str) -> Event<()> {
        Event::Deleted { last: entry(name, version), how: Deletion::Observed }
    }

    #[test]
    fn a_replay_ends_in_the_last_state() {
        let events =
            [added("a", "1"), added("b", "2"), updated("a", "1", "3"), deleted("b", "4"), added("b", "5")];
        let objects = replay(&events).unwrap();
        let versions: Vec<_> = objects.values().map(|entry| format!("{entry:?}")).collect();
        assert_eq!(versions, ["a@3", "b@5"]);
    }

    #[test]
    fn a_replay_finds_contradictions() {
        for (events, problem) in [
            (vec![added("a", "1"), added("a", "2")], "event 1 adds a, which is there already"),
            (vec![updated("a", "1", "2")], "event 0 changes a, which was never added"),
            (
                vec![added("a", "1"), updated("a", "2", "3")],
                "event 1 changes a from version \"2\", but the last one told was \"1\"",
            ),
            (
                vec![added("a", "1"), deleted("a", "1"), deleted("a", "1")],
                "event 2 deletes a, which was never added",
            ),
        ] {
            assert_eq!(replay(&events).unwrap_err().to_string(), problem);
        }
    }

    #[tokio::test]
    async fn every_waiter_wakes() {
        let recorder = EventRecorder::new();
        let wait = |count: usize| {
            let recorder: EventRecorder<()> = recorder.clone();
            tokio::spawn(async move { recorder.wait_for(|events| events.len() >= count).await.len() })
        };
        let (one, two, again) = (wait(1), wait(2), wait(2));
        tokio::task::yield_now().await;
        recorder.record(added("a", "1"));
        tokio::task::yield_now().await;
        recorder.record(added("b", "2"));
        assert!(one.await.unwrap() >= 1);
        assert_eq!((two.await.unwrap(), again.await.unwrap()), (2, 2));
    }
}
