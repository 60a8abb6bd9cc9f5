//! What can go wrong with an informer.

use std::panic::Location;
use std::time::Duration;

/// Why an informer, a handler or a factory could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It was waited for an informer that nobody has started.
    #[error("informer {informer} was not started; call start() before waiting for it")]
    NotStarted {
        /// The informer's name.
        informer: String,
    },
    /// The informer has stopped; ask the factory for a fresh one.
    #[error("informer {informer} has stopped")]
    Stopped {
        /// The informer's name.
        informer: String,
    },
    /// A handler was removed before it had returned from its initial objects.
    #[error("a handler of informer {informer} was removed before it was synced")]
    HandlerRemoved {
        /// The informer's name.
        informer: String,
    },
    /// A deadline passed before the initial contents were there.
    #[error("informer {informer} has not synced within {limit:?}: {doing}{}", nor_have(others))]
    NotSynced {
        /// The informer's name; where several were waited for, the first that lags behind.
        informer: String,
        /// The names of the others that lag behind too, sorted.
        others: Vec<String>,
        /// The deadline that was given.
        limit: Duration,
        /// What the informer is doing instead.
        doing: String,
        /// The last failure, if there was one.
        source: Option<informers_core::Error>,
    },
    /// What must be set before the start was set after it.
    #[error("{what} of informer {informer} must be set before it is started")]
    AlreadyStarted {
        /// What was set.
        what: &'static str,
        /// The informer's name.
        informer: String,
    },
    /// What belongs to the informer as a whole was set twice.
    #[error("{what} of informer {informer} is set at {second}, but was set at {first} before")]
    SetTwice {
        /// What was set.
        what: &'static str,
        /// The informer's name.
        informer: String,
        /// Where it was set first.
        first: &'static Location<'static>,
        /// Where it was set again.
        second: &'static Location<'static>,
    },
    /// A start while the store is lent out for warming up.
    #[error("informer {informer} cannot start while its warm-up guard is held; drop the guard first")]
    WarmingUp {
        /// The informer's name.
        informer: String,
    },
    /// A start outside a Tokio runtime, where no task can be spawned.
    #[error("informer {informer} must be started inside a Tokio runtime")]
    NoRuntime {
        /// The informer's name.
        informer: String,
    },
    /// There is no part of the resource to read.
    #[error(
        "informer {informer} has nothing to read; give it a scope, or leave namespaces unset for all of them"
    )]
    NoScope {
        /// The informer's name.
        informer: String,
    },
    /// Two parts of one view share a namespace. Each list of the one would delete the objects of the other,
    /// since an object's key tells its namespace and nothing of selectors.
    #[error(
        "informer {informer} cannot join {first} and {second}, which share a namespace; make an informer for each"
    )]
    OverlappingScopes {
        /// The informer's name.
        informer: String,
        /// One of the two.
        first: informers_core::Scope,
        /// The other one.
        second: informers_core::Scope,
    },
    /// The source cannot serve this collection.
    #[error("the source cannot serve informer {informer}")]
    Source {
        /// The informer's name.
        informer: String,
        /// What the source said.
        source: informers_core::Error,
    },
    /// An index of this name exists already.
    #[error("informer {informer} cannot have this index")]
    Index {
        /// The informer's name.
        informer: String,
        /// Which name it is.
        source: informers_store::IndexConflict,
    },
    /// The factory was shut down and makes no informers any more.
    #[error("the factory was shut down")]
    FactoryShutDown,
}

fn nor_have(others: &[String]) -> String {
    match others {
        [] => String::new(),
        others => format!("; nor have {}", others.join(", ")),
    }
}

impl Error {
    /// Whether a deadline passed.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::NotSynced { .. })
    }

    /// Whether the informer, or the factory, has stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Stopped { .. } | Self::FactoryShutDown)
    }
}
