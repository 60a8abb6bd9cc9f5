//! The callbacks of a reflector.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use informers_core::{Error, SinkError, Undecodable};

type Hook<E> = Option<Arc<dyn Fn(&E) + Send + Sync>>;

#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) error: Hook<Error>,
    pub(crate) undecodable: Hook<Undecodable>,
    pub(crate) refused: Hook<SinkError>,
}

/// Calls the hook. That it panics must not stop the reflector.
pub(crate) fn call<E>(hook: &Hook<E>, about: &E) {
    if let Some(hook) = hook
        && catch_unwind(AssertUnwindSafe(|| hook(about))).is_err()
    {
        tracing::error!("a hook of a reflector panicked; going on");
    }
}
