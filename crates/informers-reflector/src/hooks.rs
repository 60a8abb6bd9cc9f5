//! The callbacks of a reflector.

use std::sync::Arc;

use informers_core::{Error, SinkError, Undecodable};

type Hook<E> = Option<Arc<dyn Fn(&E) + Send + Sync>>;

#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) error: Hook<Error>,
    pub(crate) undecodable: Hook<Undecodable>,
    pub(crate) refused: Hook<SinkError>,
}

pub(crate) fn call<E>(hook: &Hook<E>, about: &E) {
    if let Some(hook) = hook {
        hook(about);
    }
}
