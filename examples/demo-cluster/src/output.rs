//! What examples print.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::sync::watch;

/// Standard output, line by line, whose reader may go away as `head -1` does. What is printed then is lost, and
/// [`closed`](Self::closed) tells, so that the program can end in good order. A clone is the same output.
#[derive(Clone, Debug, Default)]
pub struct Output {
    problem: watch::Sender<Option<Arc<io::Error>>>,
}

impl Output {
    /// Prints a line, at once.
    pub fn line(&self, text: &str) {
        let mut output = io::stdout().lock();
        if let Err(error) = writeln!(output, "{text}").and_then(|()| output.flush()) {
            self.problem.send_replace(Some(Arc::new(error)));
        }
    }

    /// Waits until a line could not be printed.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn closed(&self) {
        // It cannot fail: this owns a sender.
        let _ = self.problem.subscribe().wait_for(Option::is_some).await;
    }

    /// Whether all went well. A reader that has gone away has seen enough.
    ///
    /// # Errors
    /// If a line could not be printed for another reason, such as a full disk.
    pub fn finish(self) -> Result<()> {
        match self.problem.borrow().clone() {
            Some(problem) if problem.kind() != ErrorKind::BrokenPipe => {
                Err(problem).context("standard output")
            }
            _ => Ok(()),
        }
    }
}

/// Prints a line to standard error, if anybody reads it.
pub fn warning(text: &str) {
    // There is no place left to complain to.
    let _ = writeln!(io::stderr(), "warning: {text}");
}

/// What a program ends with; an error is one line on standard error.
#[must_use]
pub fn exit_code(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
