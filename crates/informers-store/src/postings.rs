//! The inverted side of an index: for each value the entries that have it.

use std::any::Any;
use std::borrow::Borrow;
use std::hash::Hash;

use hashbrown::HashTable;
use informers_core::Entry;

use crate::blocks::{Blocks, Snapshot};
use crate::primary::spread;

/// A value computed outside the lock, with its hash. Taken only if it opens a new posting.
pub(crate) type Staged<V> = (u32, Option<V>);

/// The postings of one index.
///
/// An object is named by its place in the primary map. Its [`Places`] say where it stands in which posting,
/// so that an update with unchanged values exchanges one pointer per value, and no operation depends on the
/// length of a posting.
pub(crate) struct Postings<T, V> {
    table: HashTable<u32>,
    postings: Vec<Posting<T, V>>,
    free: Vec<u32>,
    places: Vec<Places>,
}

struct Posting<T, V> {
    /// None while the posting is on the free list.
    value: Option<V>,
    hash: u32,
    members: Members<T>,
}

/// The objects of one value, each with its place in the primary map.
enum Members<T> {
    None,
    /// Most postings of an index by a unique value stay like this, without an allocation.
    One(Entry<T>, u32),
    Many(Many<T>),
}

struct Many<T> {
    entries: Blocks<T>,
    objects: Vec<u32>,
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

/// Postings of any value type.
pub(crate) trait AnyPostings<T>: Any + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<T: Send + Sync + 'static, V: Send + Sync + 'static> AnyPostings<T> for Postings<T, V> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

impl<T, V> Postings<T, V> {
    pub(crate) fn with_capacity(objects: usize) -> Self {
        Self {
            table: HashTable::new(),
            postings: Vec::new(),
            free: Vec::new(),
            places: Vec::with_capacity(objects),
        }
    }
}

impl<T, V: Eq> Postings<T, V> {
    fn find<Q: Eq + Hash + ?Sized>(&self, hash: u32, value: &Q) -> Option<&Posting<T, V>>
    where
        V: Borrow<Q>,
    {
        let at = self.table.find(spread(hash), |&at| {
            let posting = &self.postings[at as usize];
            posting.hash == hash && posting.value.as_ref().is_some_and(|own| own.borrow() == value)
        })?;
        self.postings.get(*at as usize)
    }

    pub(crate) fn snapshot<Q: Eq + Hash + ?Sized>(&self, hash: u32, value: &Q) -> Snapshot<T>
    where
        V: Borrow<Q>,
    {
        match self.find(hash, value).map(|posting| &posting.members) {
            None | Some(Members::None) => Snapshot::Empty,
            Some(Members::One(entry, _)) => Snapshot::One(entry.clone()),
            Some(Members::Many(many)) => many.entries.snapshot(),
        }
    }

    pub(crate) fn count<Q: Eq + Hash + ?Sized>(&self, hash: u32, value: &Q) -> usize
    where
        V: Borrow<Q>,
    {
        self.find(hash, value).map_or(0, |posting| posting.members.len())
    }

    /// The values that at least one object has.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.postings.iter().filter_map(|posting| posting.value.as_ref())
    }

    /// Indexes the object at place `object`, new or not, under these values and no other. Values that no
    /// object has any more go to `trash`, to be dropped without the lock.
    pub(crate) fn put(
        &mut self,
        object: u32,
        entry: &Entry<T>,
        values: &mut [Staged<V>],
        trash: &mut Vec<V>,
    ) {
        if object as usize == self.places.len() {
            self.places.push(Places::None);
        }
        // The one case that matters for speed: one value before, the same one now.
        if let (Places::One(place), [(hash, Some(value))]) = (&self.places[object as usize], &*values) {
            let posting = &mut self.postings[place.posting as usize];
            if posting.hash == *hash && posting.value.as_ref() == Some(value) {
                posting.members.set(place.at, entry.clone());
                return;
            }
        }
        let old = std::mem::replace(&mut self.places[object as usize], Places::None).into_vec();
        let mut new: Vec<Place> = Vec::with_capacity(values.len());
        for staged in values {
            let Some(posting) = self.posting_of(staged) else { continue };
            if new.iter().any(|place| place.posting == posting) {
                continue;
            }
            let members = &mut self.postings[posting as usize].members;
            let at = match old.iter().find(|place| place.posting == posting) {
                Some(place) => {
                    members.set(place.at, entry.clone());
                    place.at
                }
                None => members.push(entry.clone(), object),
            };
            new.push(Place { posting, at });
        }
        self.places[object as usize] = Places::from(&new);
        for place in old {
            if !new.iter().any(|kept| kept.posting == place.posting) {
                self.leave(place, trash);
            }
        }
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
        let posting = Posting { value: Some(value.take()?), hash, members: Members::None };
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
            let last = posting.members.len() as u32;
            self.places[moved as usize].renumber(Place { posting: place.posting, at: last }, place.at);
        }
        if posting.members.len() == 0 {
            posting.members = Members::None;
            trash.extend(posting.value.take());
            if let Ok(found) = self.table.find_entry(spread(posting.hash), |&at| at == place.posting) {
                found.remove();
            }
            self.free.push(place.posting);
        }
    }
}

impl<T> Members<T> {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(..) => 1,
            Self::Many(many) => many.objects.len(),
        }
    }

    fn set(&mut self, at: u32, entry: Entry<T>) {
        match self {
            Self::None => {}
            Self::One(own, _) => *own = entry,
            Self::Many(many) => drop(many.entries.set(at as usize, entry)),
        }
    }

    fn push(&mut self, entry: Entry<T>, object: u32) -> u32 {
        match std::mem::replace(self, Self::None) {
            Self::None => *self = Self::One(entry, object),
            Self::One(first, first_object) => {
                let mut entries = Blocks::with_capacity(2);
                entries.push(first);
                entries.push(entry);
                *self = Self::Many(Many { entries, objects: vec![first_object, object] });
            }
            Self::Many(mut many) => {
                many.entries.push(entry);
                many.objects.push(object);
                *self = Self::Many(many);
            }
        }
        (self.len() - 1) as u32
    }

    /// Gives the object that moved into the gap, if one did.
    fn swap_remove(&mut self, at: u32) -> Option<u32> {
        match self {
            Self::None => None,
            Self::One(..) => {
                *self = Self::None;
                None
            }
            Self::Many(many) => {
                many.entries.swap_remove(at as usize);
                many.objects.swap_remove(at as usize);
                many.objects.get(at as usize).copied()
            }
        }
    }

    fn renumber(&mut self, at: u32, object: u32) {
        match self {
            Self::None => {}
            Self::One(_, own) => *own = object,
            Self::Many(many) => many.objects[at as usize] = object,
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
