//! Filling the store before the start.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use informers_store::StoreWriter;

use super::core::{Hold, Life, Setup};
use crate::Error;

/// The writer of an informer's store, lent before the start; see
/// [`SharedInformer::warm_up`](crate::SharedInformer::warm_up). Dropping it gives the writer back.
pub struct WarmUp<T: Send + Sync + 'static> {
    hold: Arc<Hold<T>>,
    /// None only while it is being dropped.
    setup: Option<Box<Setup<T>>>,
}

impl<T: Send + Sync + 'static> WarmUp<T> {
    pub(super) fn new(hold: Arc<Hold<T>>) -> Result<Self, Error> {
        let informer = hold.core().name.to_string();
        let setup = {
            let mut life = hold.core().life();
            match std::mem::replace(&mut *life, Life::WarmingUp) {
                Life::Ready(setup) => setup,
                other => {
                    let lent = matches!(other, Life::WarmingUp);
                    *life = other;
                    return Err(match lent {
                        true => Error::WarmingUp { informer },
                        false => Error::AlreadyStarted { what: "the store's contents", informer },
                    });
                }
            }
        };
        Ok(Self { hold, setup: Some(setup) })
    }
}

impl<T: Send + Sync + 'static> Deref for WarmUp<T> {
    type Target = StoreWriter<T>;

    fn deref(&self) -> &StoreWriter<T> {
        match &self.setup {
            Some(setup) => &setup.writer,
            None => unreachable!("a guard that is being dropped is not used"),
        }
    }
}

impl<T: Send + Sync + 'static> DerefMut for WarmUp<T> {
    fn deref_mut(&mut self) -> &mut StoreWriter<T> {
        match &mut self.setup {
            Some(setup) => &mut setup.writer,
            None => unreachable!("a guard that is being dropped is not used"),
        }
    }
}

impl<T: Send + Sync + 'static> Drop for WarmUp<T> {
    fn drop(&mut self) {
        let mut life = self.hold.core().life();
        // If it was stopped meanwhile, nobody needs the setup any more; it is dropped without the lock.
        if let Life::WarmingUp = *life
            && let Some(setup) = self.setup.take()
        {
            *life = Life::Ready(setup);
        }
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for WarmUp<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WarmUp").field(&self.hold.core().name).finish()
    }
}
