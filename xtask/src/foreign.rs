//! A control plane that outlives no test run and is known to the tests by its kubeconfig alone,
//! the way kind or any other cluster is.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process;
use crate::workspace::Workspace;

/// What the program prints before the path of the kubeconfig.
const PREFIX: &str = "export KUBECONFIG=";

#[derive(Debug)]
pub(crate) struct ForeignCluster {
    program: Child,
    kubeconfig: PathBuf,
    /// Kept open, as the program would fail to print into a closed one.
    _output: BufReader<ChildStdout>,
}

impl ForeignCluster {
    /// Starts one with controllers and simulated nodes, by the program that the tests' own build has made.
    pub(crate) fn start(workspace: &Workspace, binaries: &Path) -> Result<Self> {
        let program = workspace.target.join("debug/control-plane");
        let mut command = Command::new(&program);
        command.args(["--full", "--until-input-ends"]).env("INFORMERS_CONTROL_PLANE_BIN", binaries);
        Self::spawn(&mut command).with_context(|| format!("starting a cluster by {}", program.display()))
    }

    fn spawn(command: &mut Command) -> Result<Self> {
        eprintln!("$ {}", process::line(command));
        let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut output = BufReader::new(program.stdout.take().context("its output is not piped")?);
        let mut line = String::new();
        output.read_line(&mut line).context("reading its first line")?;
        match line.trim_end().strip_prefix(PREFIX) {
            Some(kubeconfig) => Ok(Self { program, kubeconfig: kubeconfig.into(), _output: output }),
            None => {
                drop(program.stdin.take());
                let status = program.wait().context("waiting for its end")?;
                bail!("it named no kubeconfig and ended with {status}; its message is above")
            }
        }
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

impl Drop for ForeignCluster {
    fn drop(&mut self) {
        drop(self.program.stdin.take());
        // Should it hang, its guard still ends with this process.
        let _ended = self.program.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_program_runs_until_its_input_ends() {
        let folder = tempfile::tempdir().unwrap();
        let ended = folder.path().join("ended");
        let script = format!("echo '{PREFIX}/tmp/kc'; cat; touch '{}'", ended.display());
        let cluster = ForeignCluster::spawn(&mut shell(&script)).unwrap();
        assert_eq!(cluster.kubeconfig(), Path::new("/tmp/kc"));
        assert!(!ended.exists());
        drop(cluster);
        assert!(ended.exists());
    }

    #[test]
    fn a_program_that_does_not_start_is_an_error() {
        let error = ForeignCluster::spawn(&mut shell("exit 3")).unwrap_err();
        assert!(error.to_string().contains("exit status: 3"), "{error}");
    }
}
