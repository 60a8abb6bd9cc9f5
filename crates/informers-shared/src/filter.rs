//! A handler that hears of some objects only.

use std::fmt;

use hashbrown::HashSet;
use informers_core::{Deletion, Entry, Event, Handler, ObjectKey};

/// Shows a handler only the objects that pass a filter, as client-go's `FilteringResourceEventHandler`.
///
/// An object that begins to pass is an addition, one that ceases to pass is a deletion with its last passing
/// state ([`Deletion::ScopeRemoved`]). It remembers what it showed, so a deletion always follows what
/// was added, also where the final state would not pass.
///
/// ```
/// use informers_core::{Entry, Event, Handler, ObjectKey};
/// use informers_shared::Filtered;
///
/// #[derive(Default)]
/// struct Log(Vec<String>);
/// impl Handler<u32> for Log {
///     fn on_event(&mut self, event: Event<u32>) { self.0.push(format!("{event:?}")) }
/// }
///
/// let mut even = Filtered::new(|number: &Entry<u32>| **number % 2 == 0, Log::default());
/// let number = |version: u64, value| Entry::new(ObjectKey::cluster("n"), "u".into(), version.into(), value);
/// even.on_event(Event::Added { object: number(1, 1), initial: false });
/// even.on_event(Event::Updated { old: number(1, 1), new: number(2, 4) });
/// even.on_event(Event::Updated { old: number(2, 4), new: number(3, 5) });
/// assert_eq!(even.into_inner().0, ["Added(n@2)", "Deleted(n@2, ScopeRemoved)"]);
/// ```
pub struct Filtered<F, H> {
    passes: F,
    shown: HashSet<ObjectKey>,
    handler: H,
}

impl<F, H> Filtered<F, H> {
    /// Shows `handler` what passes.
    pub fn new(passes: F, handler: H) -> Self {
        Self { passes, shown: HashSet::new(), handler }
    }

    /// The handler within.
    pub fn into_inner(self) -> H {
        self.handler
    }
}

impl<T, F, H> Handler<T> for Filtered<F, H>
where
    F: FnMut(&Entry<T>) -> bool + Send + 'static,
    H: Handler<T>,
{
    fn on_event(&mut self, event: Event<T>) {
        let event = match event {
            Event::Added { object, initial } => {
                if !(self.passes)(&object) {
                    return;
                }
                self.shown.insert(object.key().clone());
                Event::Added { object, initial }
            }
            Event::Updated { old, new } => match ((self.passes)(&new), self.shown.contains(new.key())) {
                (true, true) => Event::Updated { old, new },
                (true, false) => {
                    self.shown.insert(new.key().clone());
                    Event::Added { object: new, initial: false }
                }
                (false, true) => {
                    self.shown.remove(new.key());
                    Event::Deleted { last: old, how: Deletion::ScopeRemoved }
                }
                (false, false) => return,
            },
            Event::Deleted { last, how } => {
                if !self.shown.remove(last.key()) {
                    return;
                }
                Event::Deleted { last, how }
            }
        };
        self.handler.on_event(event);
    }
}

impl<F, H: fmt::Debug> fmt::Debug for Filtered<F, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filtered").field("shown", &self.shown.len()).field("handler", &self.handler).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Vec<String>);

    impl Handler<bool> for Log {
        fn on_event(&mut self, event: Event<bool>) {
            self.0.push(format!("{event:?}"));
        }
    }

    fn object(version: u64, passes: bool) -> Entry<bool> {
        Entry::new(ObjectKey::cluster("x"), "u".into(), version.into(), passes)
    }

    /// What the handler hears of an object that is added, updated and deleted in these states.
    fn heard(initial: bool, states: [bool; 3]) -> Vec<String> {
        let mut filtered = Filtered::new(|passes: &Entry<bool>| **passes, Log::default());
        let [added, updated, deleted] = states;
        filtered.on_event(Event::Added { object: object(1, added), initial });
        filtered.on_event(Event::Updated { old: object(1, added), new: object(2, updated) });
        filtered.on_event(Event::Deleted { last: object(3, deleted), how: Deletion::Observed });
        filtered.into_inner().0
    }

    #[test]
    fn what_begins_to_pass_is_added_and_what_ceases_to_is_deleted() {
        assert_eq!(
            heard(true, [true; 3]),
            ["Added(x@1, initial)", "Updated(x@1 -> 2)", "Deleted(x@3, Observed)"]
        );
        assert_eq!(heard(true, [false, true, true]), ["Added(x@2)", "Deleted(x@3, Observed)"]);
        assert_eq!(heard(false, [true, false, false]), ["Added(x@1)", "Deleted(x@1, ScopeRemoved)"]);
        assert!(heard(false, [false; 3]).is_empty());
    }

    #[test]
    fn a_deletion_follows_what_was_shown_whatever_its_last_state() {
        assert_eq!(heard(false, [true, true, false])[2], "Deleted(x@3, Observed)");
        assert!(heard(false, [false, false, true]).is_empty());
    }
}
