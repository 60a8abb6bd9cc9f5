//! The one place where the drivers read the clock.

use std::time::Instant;

/// Tokio's clock, so that a paused one governs everything.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
