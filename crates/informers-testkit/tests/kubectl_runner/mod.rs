//! Runs kubectl with a home of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failure here fails the test")]

use std::ffi::{OsStr, OsString};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informers_testkit::ApiServer;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// A kubectl that lasts longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The kubectl to run: what `INFORMERS_TEST_KUBECTL` says, or the one in the path.
fn program() -> OsString {
    std::env::var_os("INFORMERS_TEST_KUBECTL").unwrap_or_else(|| "kubectl".into())
}

/// A server, and a kubectl whose only context is this server.
pub(crate) struct Kubectl {
    pub(crate) server: ApiServer,
    home: TempDir,
    files: AtomicUsize,
}

impl Kubectl {
    /// None if there is no kubectl on this machine.
    pub(crate) async fn start() -> Option<Self> {
        let found = Command::new(program())
            .args(["version", "--client"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .await;
        if !found.is_ok_and(|status| status.success()) {
            return None;
        }
        let home = tempfile::tempdir().unwrap();
        let server = ApiServer::start().await.unwrap();
        server.write_kubeconfig(home.path().join("kubeconfig")).unwrap();
        Some(Self { server, home, files: AtomicUsize::new(0) })
    }

    fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.home.path().join("kubeconfig"))
            .env("KUBECACHEDIR", self.home.path().join("cache"))
            .stdin(Stdio::null())
            .kill_on_drop(true);
        for proxy in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"] {
            command.env_remove(proxy);
        }
        command
    }

    async fn output<S: AsRef<OsStr>>(&self, arguments: &[S]) -> (bool, String, String) {
        let running = self.command(arguments).output();
        let output = timeout(PATIENCE, running).await.expect("kubectl ends").unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    }

    /// What it writes; it must succeed.
    pub(crate) async fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> String {
        let (success, stdout, stderr) = self.output(arguments).await;
        assert!(success, "kubectl failed: {stdout}{stderr}");
        stdout
    }

    /// What it complains about; it must fail.
    pub(crate) async fn fail<S: AsRef<OsStr>>(&self, arguments: &[S]) -> String {
        let (success, stdout, stderr) = self.output(arguments).await;
        assert!(!success, "kubectl succeeded: {stdout}");
        stderr
    }

    /// A file with a manifest.
    pub(crate) fn file(&self, manifest: &Value) -> String {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let path = self.home.path().join(format!("{number}.json"));
        std::fs::write(&path, manifest.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) async fn apply(&self, manifest: &Value) -> String {
        self.run(&["apply", "-f", &self.file(manifest)]).await
    }

    /// Starts it and leaves it running; it is killed when dropped.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Running {
        let mut child =
            self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { _child: child, lines }
    }
}

/// A kubectl that writes on.
pub(crate) struct Running {
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    pub(crate) async fn line(&mut self) -> String {
        let line = timeout(PATIENCE, self.lines.next_line()).await.expect("kubectl writes a line");
        line.unwrap().expect("kubectl goes on")
    }
}
