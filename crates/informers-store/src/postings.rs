//! The inverted side of an index: for each value the entries that have it.

use std::any::Any;
use std::borrow::Borrow;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hashbrown::HashTable;

/// A value computed outside the lock, with its hash. Taken only if it opens a new posting.
pub(crate) type Staged<V> = (u32, Option<V>);

/// What the `Eq` of a value panicked with.
pub(crate) type EqPanic = Box<dyn Any + Send>;

/// The postings of one index.
///
/// An object is named by its place in the primary map. Its [`Places`] say where it stands in which posting, so
/// that no operation depends on the length of a posting, and an update with unchanged values changes nothing
/// here.
pub(crate) struct Postings<V> {
    table: HashTable<u32>,
    postings: Vec<Posting<V>>,
    free: Vec<u32>,
    places: Vec<Places>,
}

struct Posting<V> {
    /// None while the posting is on the free list.
    value: Option<V>,
    hash: u32,
    members: Members,
}

/// The objects of one value.
enum Members {
    /// Most postings of an index by a unique value stay like this, without an allocation.
    One(u32),
    Many(Vec<u32>),
}

/// Where an object stands: in posting `posting`, as its member number `at`.
#[derive(Clone, Copy)]
struct Place {
    posting: u32,
    at: u32,
}

enum Places {
    None,
    One(Place),
    #[allow(clippy::box_collection, reason = "16 bytes per object and index instead of 24")]
    Many(Box<Vec<Place>>),
}

/// Tables take their bucket from the low bits and their tag from the high ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Postings of any value type.
pub(crate) trait AnyPostings: Any + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<V: Send + Sync + 'static> AnyPostings for Postings<V> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl<V> Postings<V> {
    pub(crate) fn with_capacity(objects: usize) -> Self {
        Self {
            table: HashTable::new(),
            postings: Vec::new(),
            free: Vec::new(),
            places: Vec::with_capacity(objects),
        }
    }
}

impl<V: Eq> Postings<V> {
    /// The objects with this value, in any order.
    pub(crate) fn find<Q: Eq + Hash + ?Sized>(&self, hash: u32, value: &Q) -> &[u32]
    where
        V: Borrow<Q>,
    {
        let found = self.table.find(spread(hash), |&at| {
            let posting = &self.postings[at as usize];
            posting.hash == hash && posting.value.as_ref().is_some_and(|own| own.borrow() == value)
        });
        found.map_or(&[], |&at| self.postings[at as usize].members.as_slice())
    }

    /// The values that at least one object has.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.postings.iter().filter_map(|posting| posting.value.as_ref())
    }

    /// Indexes the object at place `object`, new or not, under these values and no other. Values that no
    /// object has any more go to `trash`, to be dropped without the lock.
    ///
    /// # Errors
    /// The panic of a comparison, the only user code here. The object then has no values, and all is in order.
    pub(crate) fn put(
        &mut self,
        object: u32,
        values: &mut [Staged<V>],
        trash: &mut Vec<V>,
    ) -> Result<(), EqPanic> {
        if object as usize == self.places.len() {
            self.places.push(Places::None);
        }
        let mut joined = Ok(());
        // The case that matters for speed: one value before, the same one now.
        if let (Places::One(place), [(hash, Some(value))]) = (&self.places[object as usize], &*values) {
            let posting = &self.postings[place.posting as usize];
            let is_equal = || posting.hash == *hash && posting.value.as_ref() == Some(value);
            match catch_unwind(AssertUnwindSafe(is_equal)) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(panic) => joined = Err(panic),
            }
        }
        let mut old = std::mem::replace(&mut self.places[object as usize], Places::None).into_vec();
        let mut new: Vec<Place> = Vec::with_capacity(values.len());
        let join = || {
            for staged in values {
                let Some(posting) = self.posting_of(staged) else { continue };
                if new.iter().any(|place| place.posting == posting) {
                    continue;
                }
                let at = match old.iter().find(|place| place.posting == posting) {
                    Some(place) => place.at,
                    None => self.postings[posting as usize].members.push(object),
                };
                new.push(Place { posting, at });
            }
        };
        if joined.is_ok() {
            joined = catch_unwind(AssertUnwindSafe(join));
        }
        if joined.is_err() {
            new.retain(|place| !old.iter().any(|kept| kept.posting == place.posting));
            old.append(&mut new);
        }
        self.places[object as usize] = Places::from(&new);
        for place in old {
            if !new.iter().any(|kept| kept.posting == place.posting) {
                self.leave(place, trash);
            }
        }
        joined
    }

    /// Forgets the object at place `object`; the one at the last place takes its number.
    pub(crate) fn remove(&mut self, object: u32, trash: &mut Vec<V>) {
        let Some(places) = self.places.get_mut(object as usize) else { return };
        for place in std::mem::replace(places, Places::None).into_vec() {
            self.leave(place, trash);
        }
        self.places.swap_remove(object as usize);
        if let Some(moved) = self.places.get(object as usize) {
            for place in moved.as_slice() {
                self.postings[place.posting as usize].members.renumber(place.at, object);
            }
        }
    }

    /// The posting of a value, opened if there is none.
    fn posting_of(&mut self, (hash, value): &mut Staged<V>) -> Option<u32> {
        let hash = *hash;
        let postings = &self.postings;
        let found = self.table.find(spread(hash), |&at| {
            let posting = &postings[at as usize];
            posting.hash == hash && posting.value == *value
        });
        if let Some(&at) = found {
            return Some(at);
        }
        let posting = Posting { value: Some(value.take()?), hash, members: Members::Many(Vec::new()) };
        let at = match self.free.pop() {
            Some(at) => {
                self.postings[at as usize] = posting;
                at
            }
            None => {
                self.postings.push(posting);
                (self.postings.len() - 1) as u32
            }
        };
        let postings = &self.postings;
        self.table.insert_unique(spread(hash), at, |&at| spread(postings[at as usize].hash));
        Some(at)
    }

    /// Takes one member out of its posting. The posting's last member takes its number; an empty posting is
    /// closed.
    fn leave(&mut self, place: Place, trash: &mut Vec<V>) {
        let posting = &mut self.postings[place.posting as usize];
        if let Some(moved) = posting.members.swap_remove(place.at) {
            let last = posting.members.as_slice().len() as u32;
            self.places[moved as usize].renumber(Place { posting: place.posting, at: last }, place.at);
        }
        if posting.members.as_slice().is_empty() {
            posting.members = Members::Many(Vec::new());
            trash.extend(posting.value.take());
            if let Ok(found) = self.table.find_entry(spread(posting.hash), |&at| at == place.posting) {
                found.remove();
            }
            self.free.push(place.posting);
        }
    }
}

impl Members {
    fn as_slice(&self) -> &[u32] {
        match self {
            Self::One(object) => std::slice::from_ref(object),
            Self::Many(objects) => objects,
        }
    }

    /// Gives its number.
    fn push(&mut self, object: u32) -> u32 {
        match self {
            Self::One(first) => *self = Self::Many(vec![*first, object]),
            Self::Many(objects) if objects.is_empty() => *self = Self::One(object),
            Self::Many(objects) => objects.push(object),
        }
        (self.as_slice().len() - 1) as u32
    }

    /// Gives the object that moved into the gap, if one did.
    fn swap_remove(&mut self, at: u32) -> Option<u32> {
        match self {
            Self::One(_) => {
                *self = Self::Many(Vec::new());
                None
            }
            Self::Many(objects) => {
                objects.swap_remove(at as usize);
                objects.get(at as usize).copied()
            }
        }
    }

    fn renumber(&mut self, at: u32, object: u32) {
        match self {
            Self::One(own) => *own = object,
            Self::Many(objects) => objects[at as usize] = object,
        }
    }
}

impl Places {
    fn from(places: &[Place]) -> Self {
        match places {
            [] => Self::None,
            [place] => Self::One(*place),
            many => Self::Many(Box::new(many.to_vec())),
        }
    }

    fn as_slice(&self) -> &[Place] {
        match self {
            Self::None => &[],
            Self::One(place) => std::slice::from_ref(place),
            Self::Many(places) => places,
        }
    }

    fn into_vec(self) -> Vec<Place> {
        match self {
            Self::None => Vec::new(),
            Self::One(place) => vec![place],
            Self::Many(places) => *places,
        }
    }

    fn renumber(&mut self, from: Place, at: u32) {
        let places = match self {
            Self::None => return,
            Self::One(place) => std::slice::from_mut(place),
            Self::Many(places) => places.as_mut_slice(),
        };
        for place in places {
            if place.posting == from.posting && place.at == from.at {
                place.at = at;
            }
        }
    }
}
