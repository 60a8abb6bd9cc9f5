//! Ending in good order.

use std::io;

/// Ctrl-C and SIGTERM, caught from [`new`](Self::new) on.
#[derive(Debug)]
pub struct StopSignal {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl StopSignal {
    /// Catches the signals.
    ///
    /// # Errors
    /// If the system does not let it.
    ///
    /// # Panics
    /// If called outside of a Tokio runtime.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            interrupt: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?,
            #[cfg(unix)]
            terminate: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?,
        })
    }

    /// Waits for one of them.
    ///
    /// # Cancel safety
    /// Dropping the future loses no signal.
    #[cfg(unix)]
    pub async fn received(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits for Ctrl-C.
    ///
    /// # Cancel safety
    /// A signal between two calls is lost.
    #[cfg(not(unix))]
    pub async fn received(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
