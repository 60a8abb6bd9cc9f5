//! A value that is computed when somebody asks.

use std::fmt;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

/// A value that is computed when somebody asks for it, and anew when its basis has changed: client-go's `Lazy`.
///
/// Let a handler call [`notify`](Self::notify) for each event, and whoever needs the value [`get`](Self::get): many changes
/// cost one evaluation, and none if nobody asks.
///
/// `get` never gives a value whose evaluation began before the last `notify` that came before the `get`. At most one
/// evaluation runs for each state of the basis; who asks meanwhile waits for it. An evaluation that fails or panics is
/// not kept: the next `get` tries again.
///
/// The evaluation runs on the thread that asks, and holds up the others who ask for the same; in async code keep it short, or
/// ask from a blocking task. It must not ask for the value itself.
///
/// ```
/// use std::convert::Infallible;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use informers_shared::synctrack::Lazy;
///
/// let pods = Arc::new(AtomicU32::new(3));
/// let basis = Arc::clone(&pods);
/// let weight = Lazy::new(move || Ok::<_, Infallible>(basis.load(Ordering::Relaxed) * 10));
/// assert_eq!(weight.get(), Ok(30));
/// pods.store(4, Ordering::Relaxed);
/// assert_eq!(weight.get(), Ok(30), "nobody said that something changed");
/// weight.notify();
/// assert_eq!(weight.get(), Ok(40));
/// ```
pub struct Lazy<T, E> {
    evaluate: Box<dyn Fn() -> Result<T, E> + Send + Sync>,
    /// The place for the value of the present basis; a change puts a new one here.
    present: Mutex<Arc<Place<T>>>,
}

/// Written under its lock by whoever evaluates, so that the others wait for him.
type Place<T> = RwLock<Option<T>>;

impl<T: Clone, E> Lazy<T, E> {
    /// A value that `evaluate` computes.
    pub fn new(evaluate: impl Fn() -> Result<T, E> + Send + Sync + 'static) -> Self {
        Self { evaluate: Box::new(evaluate), present: Mutex::default() }
    }

    /// The basis has changed: the value is computed anew when somebody asks next. Returns at once, also during an
    /// evaluation; its value is then given to those who asked before, and to nobody else.
    pub fn notify(&self) {
        let former = std::mem::take(&mut *self.present.lock());
        drop(former);
    }

    /// The value, computed now if need be.
    ///
    /// # Errors
    /// If the evaluation fails; the next call tries again.
    ///
    /// # Panics
    /// If the evaluation panics; the next call tries again.
    pub fn get(&self) -> Result<T, E> {
        let place = Arc::clone(&self.present.lock());
        if let Some(value) = &*place.read() {
            return Ok(value.clone());
        }
        let mut place = place.write();
        if let Some(value) = &*place {
            return Ok(value.clone());
        }
        let value = (self.evaluate)()?;
        *place = Some(value.clone());
        Ok(value)
    }
}

impl<T: fmt::Debug, E> fmt::Debug for Lazy<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}
