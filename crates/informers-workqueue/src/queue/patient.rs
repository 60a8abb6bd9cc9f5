//! A lock for very short calls.

use std::hint::spin_loop;
use std::sync::{self, LockResult, MutexGuard, TryLockError};

/// How often to look before going to sleep, and how long to keep away at first; each time twice as long. All in all
/// less than 0.1 ms.
const LOOKS: u32 = 4;
const FIRST_SPINS: u32 = 256;

/// std's lock, from which those who find it taken keep away for a while.
///
/// Calls of the queue are so short that the time goes into moving cache lines between cores. Who tries again and again
/// takes the lock's line away from its holder, and the holder's next calls, which would cost little, are then made by
/// turns with others. With four workers on two cores that was up to half of the time (`docs/benchmarks.md`).
pub(super) struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(super) fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    pub(super) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Ok(guard),
            // Its error has the guard: waiting beside it would be waiting for oneself.
            Err(TryLockError::Poisoned(poisoned)) => Err(poisoned),
            Err(TryLockError::WouldBlock) => self.wait(),
        }
    }

    #[cold]
    fn wait(&self) -> LockResult<MutexGuard<'_, T>> {
        for look in 0..LOOKS {
            (0..FIRST_SPINS << look).for_each(|_| spin_loop());
            if let Ok(guard) = self.0.try_lock() {
                return Ok(guard);
            }
        }
        // A poisoned lock ends here too, which is rare enough.
        self.0.lock()
    }
}
