//! Checks that every [`ListWatch`] must pass, whatever serves it.
//!
//! Run them against a client of your own, a fake or a decorator: implement [`Playground`] for the collection
//! that it reads, then call [`check_all`], or single checks. The same functions run here on the simulated
//! server, and elsewhere over HTTP on the embedded and on a real API server, so that a fake that lies is found
//! out.
//!
//! ```
//! use informers_testkit::SimulatedServer;
//! use informers_testkit::conformance::{WorldPlayground, check_all};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let server = SimulatedServer::new();
//! let playground = WorldPlayground::new(server.world().clone(), server);
//! check_all(&playground).await.unwrap();
//! # }
//! ```

mod checks;
mod reading;
#[cfg(test)]
mod tests;
mod world;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use informers_core::ListWatch;

pub use checks::{
    changes_arrive_in_order, expired_versions_are_refused, future_versions_are_too_large, lists_are_complete,
    pages_are_one_snapshot, selections_have_borders, streaming_lists_end_with_a_bookmark, watches_resume,
};
pub use world::{Probe, WorldPlayground};

/// The error of a playground's own operations.
pub type PlaygroundError = Box<dyn std::error::Error + Send + Sync>;

/// A collection that the checks may change, and the list-watch under test that reads it.
#[async_trait]
pub trait Playground<T>: Send + Sync {
    /// Creates the object of this name or changes it, so that in any case a new version comes about; its
    /// labels are exactly these.
    ///
    /// # Errors
    /// If it cannot be done; the check then fails.
    async fn put(&self, name: &str, labels: &[(&str, &str)]) -> Result<(), PlaygroundError>;

    /// Deletes the object of this name; that it is not there is no error.
    ///
    /// # Errors
    /// If it cannot be done; the check then fails.
    async fn delete(&self, name: &str) -> Result<(), PlaygroundError>;

    /// Makes all versions before the present one unusable; false if that cannot be brought about, so that
    /// checks which need it are left out.
    ///
    /// # Errors
    /// If it should have worked.
    async fn expire(&self) -> Result<bool, PlaygroundError>;

    /// The list-watch under test, of the objects that this label selector selects.
    ///
    /// # Errors
    /// If it cannot be made.
    fn list_watch(&self, labels: &str) -> Result<Arc<dyn ListWatch<T>>, PlaygroundError>;
}

/// What a check found.
#[derive(Debug, thiserror::Error)]
#[error("the list-watch does not conform: {check}: {problem}")]
pub struct Violation {
    check: &'static str,
    problem: String,
    #[source]
    source: Option<PlaygroundError>,
}

impl Violation {
    /// The name of the check.
    #[must_use]
    pub fn check(&self) -> &'static str {
        self.check
    }
}

/// What goes wrong inside a check, which does not know its name.
#[derive(Debug)]
struct Finding {
    problem: String,
    source: Option<PlaygroundError>,
}

impl Finding {
    fn new(problem: impl fmt::Display) -> Self {
        Self { problem: problem.to_string(), source: None }
    }

    fn of(doing: &str, source: impl Into<PlaygroundError>) -> Self {
        Self { problem: format!("cannot {doing}"), source: Some(source.into()) }
    }
}

/// Fails with what `problem` says unless `holds`.
fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Result<(), Finding> {
    if holds { Ok(()) } else { Err(Finding::new(problem())) }
}

/// Runs all checks, one after the other; gives the names of those that were left out because the playground
/// cannot expire versions.
///
/// # Errors
/// At the first check that fails.
pub async fn check_all<T: Send + Sync + 'static>(
    playground: &dyn Playground<T>,
) -> Result<Vec<&'static str>, Violation> {
    lists_are_complete(playground).await?;
    pages_are_one_snapshot(playground).await?;
    watches_resume(playground).await?;
    changes_arrive_in_order(playground).await?;
    streaming_lists_end_with_a_bookmark(playground).await?;
    selections_have_borders(playground).await?;
    future_versions_are_too_large(playground).await?;
    let mut left_out = Vec::new();
    if !expired_versions_are_refused(playground).await? {
        left_out.push("expired versions are refused");
    }
    Ok(left_out)
}
