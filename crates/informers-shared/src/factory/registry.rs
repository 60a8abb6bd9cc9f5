//! Which informers of a factory are in use.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use informers_core::{Resource, ResourceType, Scope};
use parking_lot::Mutex;

use crate::Error;
use crate::informer::{Hold, StopMode};
use crate::sync::SyncWait;

/// What makes two informers the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    resource: ResourceType,
    /// The types of object and decoder.
    representation: (TypeId, TypeId),
    scopes: Vec<Scope>,
    variant: Option<String>,
}

impl Key {
    pub(super) fn new<T: 'static>(
        resource: &Resource<T>,
        scopes: Vec<Scope>,
        variant: Option<String>,
    ) -> Self {
        let representation = resource.representation_type();
        Self { resource: resource.resource_type().clone(), representation, scopes, variant }
    }

    /// What makes two informers the same one for client-go: the type of object.
    pub(super) fn of_type<T: 'static>(resource: &Resource<T>) -> Self {
        let representation = (TypeId::of::<T>(), TypeId::of::<T>());
        Self { resource: resource.resource_type().clone(), representation, scopes: Vec::new(), variant: None }
    }
}

/// The name of the informer.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.resource)?;
        let narrowed: Vec<_> =
            self.scopes.iter().filter(|scope| **scope != Scope::all()).map(ToString::to_string).collect();
        if !narrowed.is_empty() {
            write!(f, " in {}", narrowed.join(" and "))?;
        }
        match &self.variant {
            Some(variant) => write!(f, " ({variant})"),
            None => Ok(()),
        }
    }
}

/// An informer of any type.
pub(super) trait AnyInformer: Send + Sync {
    fn name(&self) -> String;
    fn start(&self) -> Result<(), Error>;
    fn is_stopped(&self) -> bool;
    /// Its own and those of its handlers.
    fn sync_waits(&self) -> Vec<SyncWait>;
    fn request_stop(&self);
    fn ended(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl<T: Send + Sync + 'static> AnyInformer for Hold<T> {
    fn name(&self) -> String {
        self.core().name.to_string()
    }

    fn start(&self) -> Result<(), Error> {
        self.core().start()
    }

    fn is_stopped(&self) -> bool {
        self.core().is_stopped()
    }

    fn sync_waits(&self) -> Vec<SyncWait> {
        let mut waits = vec![self.wait_for(self.core().sync_state())];
        // The last hold on a delivery may be the one that is made here, so it goes after the lock is released.
        let handlers: Vec<_> = self.core().deliveries.lock().values().filter_map(Weak::upgrade).collect();
        let present = handlers.iter().filter(|delivery| !delivery.is_removed());
        waits.extend(present.map(|delivery| self.wait_for(delivery.sync_state())));
        waits
    }

    fn request_stop(&self) {
        self.core().request_stop(StopMode::AtOnce);
    }

    fn ended(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.core().ended())
    }
}

/// The informers that somebody holds. The registry itself keeps none alive.
#[derive(Default)]
pub(super) struct Registry(Mutex<State>);

#[derive(Default)]
struct State {
    slots: HashMap<Key, Slot>,
    shut_down: bool,
}

struct Slot {
    /// A `Weak<Hold<T>>` of the key's object type.
    typed: Box<dyn Any + Send + Sync>,
    untyped: Weak<dyn AnyInformer>,
    resync: ResyncChoice,
}

/// The resync period of an informer, and where it was asked for first: also where that left it to the default.
pub(super) type ResyncChoice = (Duration, &'static Location<'static>);

pub(super) enum Found<T: Send + Sync + 'static> {
    Informer(Arc<Hold<T>>),
    Nothing,
    ShutDown,
}

impl Registry {
    /// The informer of this key, if it is in use and has not stopped.
    pub(super) fn find<T: Send + Sync + 'static>(
        &self,
        key: &Key,
        wanted: Option<ResyncChoice>,
    ) -> Result<Found<T>, Error> {
        // A hold that is made here may be the last one by the time it goes, and with it goes what is the user's: not under
        // the lock.
        let (hold, set) = {
            let state = self.0.lock();
            if state.shut_down {
                return Ok(Found::ShutDown);
            }
            let Some(slot) = state.slots.get(key) else { return Ok(Found::Nothing) };
            (slot.upgrade::<T>(), slot.resync)
        };
        match hold.filter(|hold| !hold.core().is_stopped()) {
            None => Ok(Found::Nothing),
            Some(hold) => {
                agree_on(set, key, wanted)?;
                Ok(Found::Informer(hold))
            }
        }
    }

    /// Keeps a fresh informer; if another came first, gives that one.
    pub(super) fn insert<T: Send + Sync + 'static>(
        &self,
        key: &Key,
        fresh: &Arc<Hold<T>>,
        resync: ResyncChoice,
        wanted: Option<ResyncChoice>,
    ) -> Result<Arc<Hold<T>>, Error> {
        let (present, in_use) = {
            let mut state = self.0.lock();
            if state.shut_down {
                return Err(Error::FactoryShutDown);
            }
            let present =
                state.slots.get(key).and_then(|slot| slot.upgrade::<T>().map(|hold| (hold, slot.resync)));
            let in_use = present.as_ref().is_some_and(|(hold, _)| !hold.core().is_stopped());
            if !in_use {
                state.slots.retain(|_, slot| slot.untyped.strong_count() > 0);
                let weak = Arc::downgrade(fresh);
                let untyped: Weak<dyn AnyInformer> = weak.clone();
                state.slots.insert(key.clone(), Slot { typed: Box::new(weak), untyped, resync });
            }
            (present, in_use)
        };
        match present {
            Some((first, set)) if in_use => {
                agree_on(set, key, wanted)?;
                Ok(first)
            }
            _ => Ok(Arc::clone(fresh)),
        }
    }

    /// The informers in use that have not stopped.
    pub(super) fn live(&self) -> Vec<Arc<dyn AnyInformer>> {
        let held: Vec<_> = self.0.lock().slots.values().filter_map(|slot| slot.untyped.upgrade()).collect();
        held.into_iter().filter(|informer| !informer.is_stopped()).collect()
    }

    pub(super) fn is_shut_down(&self) -> bool {
        self.0.lock().shut_down
    }

    /// Refuses new informers from now on, and gives those that are in use.
    pub(super) fn shut_down(&self) -> Vec<Arc<dyn AnyInformer>> {
        let mut state = self.0.lock();
        state.shut_down = true;
        state.slots.values().filter_map(|slot| slot.untyped.upgrade()).collect()
    }
}

impl Slot {
    fn upgrade<T: Send + Sync + 'static>(&self) -> Option<Arc<Hold<T>>> {
        self.typed.downcast_ref::<Weak<Hold<T>>>()?.upgrade()
    }
}

/// A resync period is set once; whoever asks for another is told where it was set.
fn agree_on((set, first): ResyncChoice, key: &Key, wanted: Option<ResyncChoice>) -> Result<(), Error> {
    match wanted {
        Some((period, second)) if set != period => {
            Err(Error::SetTwice { what: "the resync period", informer: key.to_string(), first, second })
        }
        _ => Ok(()),
    }
}
