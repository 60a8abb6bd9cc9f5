//! A shell that outlives this process by a moment: it kills the servers and removes their folder.
//!
//! Servers in a `static` are never dropped, and a killed test run drops nothing. The shell reads
//! from a pipe whose other end only this process holds, so its end of file is our end.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result};

/// Set it to keep the folders with logs and etcd's data for a look.
const KEEP: &str = "INFORMERS_TEST_KEEP";

const SCRIPT: &str = r#"
pids=
while read -r what pid; do
  case $what in
    watch) pids="$pids $pid" ;;
    forget)
      left=
      for each in $pids; do [ "$each" = "$pid" ] || left="$left $each"; done
      pids=$left ;;
  esac
done
[ -z "$pids" ] || kill -9 $pids 2>/dev/null
[ -n "$2" ] || rm -rf "$1" 2>/dev/null || { sleep 1; rm -rf "$1"; }
"#;

#[derive(Debug)]
pub(super) struct Guard {
    shell: Child,
    /// None only while it is dropped.
    orders: Option<ChildStdin>,
}

impl Guard {
    pub(super) fn over(folder: &Path) -> Result<Self> {
        let keep = std::env::var_os(KEEP).unwrap_or_default();
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "guard"])
            .arg(folder)
            .arg(keep)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in a terminal goes to the whole group: the guard must see the others' end.
            .process_group(0)
            .spawn()
            .context("starting the guard of the control plane")?;
        let orders = shell.stdin.take();
        Ok(Self { shell, orders })
    }

    pub(super) fn watch(&mut self, process: u32) -> Result<()> {
        self.order("watch", process)
    }

    /// Must come before the process is waited for, while its number cannot belong to another.
    pub(super) fn forget(&mut self, process: u32) -> Result<()> {
        self.order("forget", process)
    }

    fn order(&mut self, what: &str, process: u32) -> Result<()> {
        let orders = self.orders.as_mut().context("the guard is gone")?;
        writeln!(orders, "{what} {process}").context("telling the guard")
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.orders.take());
        // Nothing can be done about a shell that cannot be waited for.
        let _ended = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_kills_what_it_watches_and_removes_the_folder() {
        let folder = tempfile::tempdir().unwrap().keep();
        std::fs::write(folder.join("log"), "x").unwrap();
        let mut guard = Guard::over(&folder).unwrap();
        let sleep = || Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let (mut watched, mut forgotten) = (sleep(), sleep());
        guard.watch(watched.id()).unwrap();
        guard.watch(forgotten.id()).unwrap();
        guard.forget(forgotten.id()).unwrap();
        drop(guard);
        assert!(!watched.wait().unwrap().success());
        assert!(forgotten.try_wait().unwrap().is_none(), "the forgotten process was killed");
        forgotten.kill().unwrap();
        forgotten.wait().unwrap();
        assert!(!folder.exists());
    }
}
