//! An index without its content: function, name, and whether it is filled.

use std::any::Any;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use hashbrown::DefaultHashBuilder;
use informers_core::Entry;
use informers_core::wait::Latch;

use crate::blocks::Snapshot;
use crate::error::{IndexError, IndexFault};
use crate::postings::{AnyPostings, Postings, Staged};
use crate::staging::{AnyStaging, Staging};
use crate::values::IndexValues;

type Function<T, V> = dyn Fn(&Entry<T>, &mut Vec<V>) -> Result<(), IndexFault> + Send + Sync;

/// What the handle, the pending index and the writer share.
pub(crate) struct Definition<T, V> {
    name: Option<Arc<str>>,
    function: Box<Function<T, V>>,
    hasher: DefaultHashBuilder,
    /// The number of the index in its store, from the moment it is filled.
    number: OnceLock<usize>,
    /// How it ended.
    outcome: Latch<State>,
}

/// What becomes of an index that was defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Filled,
    /// Nobody will ever fill it.
    Abandoned,
}

impl<T, V> Definition<T, V> {
    pub(crate) fn new<R, F>(name: Option<&str>, function: F) -> Self
    where
        F: Fn(&Entry<T>) -> R + Send + Sync + 'static,
        R: IndexValues<V>,
    {
        // A panic of the function is its error: the state that it may have torn is its own.
        let function =
            move |entry: &Entry<T>, values: &mut Vec<V>| match catch_unwind(AssertUnwindSafe(|| {
                function(entry).collect_into(values)
            })) {
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) => Err(IndexFault::failed(error)),
                Err(panic) => Err(IndexFault::panicked("its function", &*panic)),
            };
        Self {
            name: name.map(Into::into),
            function: Box::new(function),
            hasher: DefaultHashBuilder::default(),
            number: OnceLock::new(),
            outcome: Latch::new(),
        }
    }

    pub(crate) fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    pub(crate) fn number(&self) -> Option<usize> {
        self.number.get().copied()
    }

    pub(crate) fn outcome(&self) -> &Latch<State> {
        &self.outcome
    }

    /// Leaves the values of an entry in `values`: none if the function fails.
    pub(crate) fn values(&self, entry: &Entry<T>, values: &mut Vec<V>) -> Result<(), IndexFault> {
        values.clear();
        (self.function)(entry, values).inspect_err(|_| values.clear())
    }
}

impl<T, V: Hash> Definition<T, V> {
    pub(crate) fn hash<Q: Hash + ?Sized>(&self, value: &Q) -> u32 {
        let hash = self.hasher.hash_one(value);
        (hash ^ (hash >> 32)) as u32
    }

    /// Adds the values of an entry, with their hashes, to `staged`: none if the function fails, or a `Hash`.
    pub(crate) fn stage(
        &self,
        entry: &Entry<T>,
        values: &mut Vec<V>,
        staged: &mut Vec<Staged<V>>,
    ) -> Result<(), IndexFault> {
        self.values(entry, values)?;
        let start = staged.len();
        let hashed = catch_unwind(AssertUnwindSafe(|| {
            let hashed = |value| (self.hash(&value), Some(value));
            match &mut **values {
                // Most indexes have one value for an object.
                [_] => staged.extend(values.pop().map(hashed)),
                _ => staged.extend(values.drain(..).map(hashed)),
            }
        }));
        hashed.map_err(|panic| {
            staged.truncate(start);
            IndexFault::panicked("the `Hash` of its value", &*panic)
        })
    }

    /// The entries of a snapshot that have this value.
    pub(crate) fn scan<Q: Eq + ?Sized>(&self, all: &Snapshot<T>, value: &Q) -> Vec<Entry<T>>
    where
        V: Borrow<Q>,
    {
        let (mut hits, mut values, mut staged) = (Vec::new(), Vec::new(), Vec::new());
        all.visit(|entry| {
            // What cannot be staged would be missing in the filled index too.
            if self.stage(entry, &mut values, &mut staged).is_ok()
                && staged.iter().filter_map(|(_, own)| own.as_ref()).any(|own| own.borrow() == value)
            {
                hits.push(entry.clone());
            }
            staged.clear();
        });
        hits
    }
}

/// Two values could not be compared.
pub(crate) fn panicking_eq(payload: &(dyn Any + Send)) -> IndexFault {
    IndexFault::panicked("the `Eq` of its value", payload)
}

/// A definition of any value type, as the writer uses it.
pub(crate) trait AnyDefinition<T>: Send + Sync {
    fn staging(self: Arc<Self>) -> Box<dyn AnyStaging<T>>;
    /// The postings of these entries, whose places are in this order.
    fn build(&self, entries: &Snapshot<T>, errors: &mut Vec<IndexError>) -> Box<dyn AnyPostings>;
    fn filled_as(&self, number: usize);
    /// Tells the waiters.
    fn announce(&self, state: State);
    fn index_name(&self) -> Option<&Arc<str>>;
}

impl<T, V> AnyDefinition<T> for Definition<T, V>
where
    T: Send + Sync + 'static,
    V: Eq + Hash + Clone + Send + Sync + 'static,
{
    fn staging(self: Arc<Self>) -> Box<dyn AnyStaging<T>> {
        Box::new(Staging::new(self))
    }

    fn build(&self, entries: &Snapshot<T>, errors: &mut Vec<IndexError>) -> Box<dyn AnyPostings> {
        let mut postings = Postings::with_capacity(entries.len());
        let (mut values, mut staged, mut trash) = (Vec::new(), Vec::new(), Vec::new());
        let mut at = 0;
        entries.visit(|entry| {
            let fault = self.stage(entry, &mut values, &mut staged).err();
            let panic = postings.put(at, &mut staged, &mut trash).err();
            let fault = fault.or_else(|| panic.map(|panic| panicking_eq(&*panic)));
            errors.extend(fault.map(|fault| IndexError::new(entry.key(), self.name.as_ref(), fault)));
            staged.clear();
            at += 1;
        });
        Box::new(postings)
    }

    fn filled_as(&self, number: usize) {
        // Set once only: a pending index is consumed by its installation.
        let _ = self.number.set(number);
    }

    fn announce(&self, state: State) {
        self.outcome.settle(state);
    }

    fn index_name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }
}
