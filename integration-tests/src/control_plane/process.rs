//! One server process with its log.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

use super::guard::Guard;

const LINES_SHOWN: usize = 20;

/// A running program.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts `program` with its output appended to `log`, under the guard's eyes.
    pub(super) fn start(program: &Path, arguments: &[String], log: &Path, guard: &mut Guard) -> Result<Self> {
        let output = File::options().create(true).append(true).open(log);
        let output = output.with_context(|| format!("opening {}", log.display()))?;
        let errors = output.try_clone().with_context(|| format!("opening {}", log.display()))?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        guard.watch(child.id())?;
        Ok(Self { child, log: log.to_owned() })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once, also while it is stalled.
    pub(super) fn kill(&mut self) -> Result<()> {
        self.child.kill().context("killing a server")?;
        self.child.wait().context("waiting for a killed server")?;
        Ok(())
    }

    pub(super) fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    pub(super) fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        kill_process(Pid::from_child(&self.child), signal)
            .with_context(|| format!("sending {signal:?} to a server"))
    }

    pub(super) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait().context("asking for a server's state")?.is_some())
    }

    /// The end of the log, for a message about a failure.
    pub(super) fn last_lines(&self) -> String {
        let text = match std::fs::read(&self.log) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => return format!("{}: {error}", self.log.display()),
        };
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
    }
}
