//! A program that prints credentials.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use tokio::process::Command;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;

use super::look_up::look_up;
use super::program::{self, Failure};
use super::{ClientCertificate, Identity, bearer};
use crate::config::clean;
use crate::{ClientError, ExecPlugin, ExecPolicy, InteractiveMode, Secret, timestamp};

/// How long a program that does not talk to the user may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// A credential that was fetched because the server rejected the one before, and is the same, is not fetched
/// again for so long: a thousand watches that are rejected must not start a thousand programs.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// How many programs are remembered though no client uses them at present.
const MAX_REMEMBERED: usize = 64;

/// The programs of this process: clients with the same one share what it printed, and so do those that come
/// one after the other.
static PROGRAMS: parking_lot::Mutex<Vec<Arc<Exec>>> = parking_lot::Mutex::new(Vec::new());

pub(crate) struct Exec {
    plugin: ExecPlugin,
    policy: ExecPolicy,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    held: Option<Held>,
    /// What went wrong last, for those who had asked before it did.
    failure: Option<(Instant, Arc<ClientError>)>,
    last_retry: Option<Instant>,
    versions: u64,
}

struct Held {
    identity: Identity,
    expires: Option<SystemTime>,
}

impl Exec {
    fn new(plugin: ExecPlugin, policy: ExecPolicy) -> Self {
        Self { plugin, policy, state: Arc::default() }
    }

    /// The one for this program in this process.
    pub(crate) fn shared(plugin: &ExecPlugin, policy: &ExecPolicy) -> Arc<Self> {
        let mut programs = PROGRAMS.lock();
        if let Some(known) = programs.iter().find(|known| known.plugin == *plugin && known.policy == *policy)
        {
            return Arc::clone(known);
        }
        if programs.len() >= MAX_REMEMBERED {
            programs.retain(|known| Arc::strong_count(known) > 1);
        }
        let made = Arc::new(Self::new(plugin.clone(), policy.clone()));
        programs.push(Arc::clone(&made));
        made
    }

    /// The certificate that was printed last. The program is not run for it.
    pub(crate) async fn held_certificate(&self) -> Option<Arc<ClientCertificate>> {
        self.state.lock().await.held.as_ref()?.identity.certificate.clone()
    }

    pub(crate) async fn current(self: &Arc<Self>) -> Result<Identity, ClientError> {
        let asked = Instant::now();
        let state = Arc::clone(&self.state).lock_owned().await;
        match &state.held {
            Some(held) if held.expires.is_none_or(|expires| expires > SystemTime::now()) => {
                Ok(held.identity.clone())
            }
            _ => self.fetch(state, asked, None).await,
        }
    }

    pub(crate) async fn after_rejection(
        self: &Arc<Self>,
        rejected: &Identity,
    ) -> Result<Option<Identity>, ClientError> {
        let asked = Instant::now();
        let state = Arc::clone(&self.state).lock_owned().await;
        if let Some(held) = &state.held
            && held.identity.version != rejected.version
        {
            return Ok(Some(held.identity.clone()));
        }
        if state.last_retry.is_some_and(|retry| retry.elapsed() < RETRY_INTERVAL) {
            return Ok(None);
        }
        let identity = self.fetch(state, asked, Some(rejected.version)).await?;
        Ok((identity.version != rejected.version).then_some(identity))
    }

    /// Runs the program in a task of its own: a request that is given up does not stop a program for which others
    /// wait, or with which somebody is logging in.
    async fn fetch(
        self: &Arc<Self>,
        mut state: OwnedMutexGuard<State>,
        asked: Instant,
        rejected: Option<u64>,
    ) -> Result<Identity, ClientError> {
        // One run answers all who waited for it, also if it fails: a hundred watches must not wait for a hundred.
        if let Some((_, error)) = state.failure.as_ref().filter(|(failed, _)| *failed >= asked) {
            return Err(again(error));
        }
        let exec = Arc::clone(self);
        let fetching = tokio::spawn(async move {
            let fetched = exec.fetch_with(&mut state).await.map_err(Arc::new);
            state.failure = fetched.as_ref().err().map(|error| (Instant::now(), Arc::clone(error)));
            if let (Some(rejected), Ok(identity)) = (rejected, &fetched) {
                state.last_retry = (identity.version == rejected).then(Instant::now);
            }
            fetched
        });
        match fetching.await {
            Ok(fetched) => {
                fetched.map_err(|error| Arc::try_unwrap(error).unwrap_or_else(|error| again(&error)))
            }
            Err(stopped) => Err(self.error("was not waited for, as the runtime ends").because(stopped)),
        }
    }

    async fn fetch_with(&self, state: &mut State) -> Result<Identity, ClientError> {
        let status = self.run().await?;
        let mut identity = Identity::default();
        if let Some(token) = status.token.filter(|token| !token.is_empty()) {
            identity.authorization = Some(bearer(token.trim())?);
        }
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        identity.certificate = match (given(status.client_certificate_data), given(status.client_key_data)) {
            (Some(certificate), Some(key)) => {
                Some(Arc::new(ClientCertificate { certificate, key: Secret::from(key) }))
            }
            (None, None) => None,
            _ => return Err(self.error("printed a certificate without its key, or the other way round")),
        };
        if identity.authorization.is_none() && identity.certificate.is_none() {
            return Err(self.error("printed neither a token nor a certificate"));
        }
        let same = state.held.as_ref().filter(|held| {
            held.identity.authorization == identity.authorization
                && held.identity.certificate == identity.certificate
        });
        identity.version = match same {
            Some(held) => held.identity.version,
            None => {
                state.versions += 1;
                state.versions
            }
        };
        let expires = match status.expiration_timestamp {
            None => None,
            Some(text) => Some(timestamp::parse(&text).ok_or_else(|| {
                self.error(format!("printed an expirationTimestamp that is no time: `{text}`"))
            })?),
        };
        state.held = Some(Held { identity: identity.clone(), expires });
        Ok(identity)
    }

    fn error(&self, problem: impl AsRef<str>) -> ClientError {
        ClientError::credentials(format!("the plugin `{}` {}", self.plugin.command, problem.as_ref()))
    }

    /// May the program ask the user?
    fn is_interactive(&self, is_terminal: bool) -> Result<bool, ClientError> {
        let used_for = self.plugin.stdin_used_for.as_deref();
        match (self.plugin.interactive_mode, used_for) {
            (InteractiveMode::Never, _) | (InteractiveMode::IfAvailable, Some(_)) => Ok(false),
            (InteractiveMode::IfAvailable, None) => Ok(is_terminal),
            (InteractiveMode::Always, None) if is_terminal => Ok(true),
            (InteractiveMode::Always, Some(what)) => {
                Err(self.error(format!("needs standard input, which is used for {what}")))
            }
            (InteractiveMode::Always, None) => {
                Err(self.error("needs a terminal, and standard input is none"))
            }
        }
    }

    async fn run(&self) -> Result<ExecStatus, ClientError> {
        let plugin = &self.plugin;
        let interactive = self.is_interactive(std::io::stdin().is_terminal())?;
        let mut spec = serde_json::json!({ "interactive": interactive });
        if let Some(cluster) = &plugin.cluster {
            spec["cluster"] = cluster.clone();
        }
        let info = serde_json::json!({
            "kind": "ExecCredential",
            "apiVersion": plugin.api_version.as_str(),
            "spec": spec,
        });
        let mut command = Command::new(self.program()?);
        command
            .args(&plugin.args)
            .envs(plugin.env.iter().map(|(name, value)| (name, value.expose())))
            .env("KUBERNETES_EXEC_INFO", info.to_string())
            .stdin(if interactive { Stdio::inherit() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(if interactive { Stdio::inherit() } else { Stdio::piped() });
        let limit = Some(TIME_LIMIT).filter(|_| !interactive);
        let ended = program::run(command, limit).await.map_err(|failure| match failure {
            Failure::TooSlow { stderr } => {
                let seconds = TIME_LIMIT.as_secs();
                self.error(format!("gave no answer in {seconds} s{}", said(&stderr)))
            }
            Failure::Io(error) => self.error("cannot be run").because(error),
        })?;
        if !ended.status.success() {
            return Err(self.error(format!("failed ({}){}", ended.status, said(&ended.stderr))));
        }
        self.parse(&ended.stdout)
    }

    /// The file to be run: the very one that the policy allows, whatever `$PATH` the plugin is given.
    fn program(&self) -> Result<PathBuf, ClientError> {
        let path = std::env::var_os("PATH");
        let find = |program: &Path| look_up(program, path.as_deref());
        let command = clean(Path::new(&self.plugin.command));
        let found = find(&command);
        self.policy.check(&command, found.as_deref(), find).map_err(|problem| self.error(problem))?;
        found.ok_or_else(|| match &self.plugin.install_hint {
            Some(hint) => self.error(format!("is not installed. {}", printable(hint.trim()))),
            None if command.components().nth(1).is_some() => self.error("is no file that can be run"),
            None => self.error("is not installed, or not in $PATH"),
        })
    }

    fn parse(&self, output: &[u8]) -> Result<ExecStatus, ClientError> {
        // The cause is not kept: it might quote what was printed, which is secret.
        let credential: ExecCredential = serde_json::from_slice(output)
            .map_err(|error| self.error(format!("printed no ExecCredential (line {})", error.line())))?;
        let wanted = self.plugin.api_version.as_str();
        if credential.api_version != wanted || credential.kind != "ExecCredential" {
            return Err(self.error(format!(
                "printed {} {} where ExecCredential {wanted} was asked for; apiVersion in the kubeconfig must fit the plugin",
                credential.kind, credential.api_version
            )));
        }
        credential.status.ok_or_else(|| self.error("printed an ExecCredential without status"))
    }
}

/// The same error for another request.
fn again(error: &ClientError) -> ClientError {
    match error {
        ClientError::Credentials { problem, source } => {
            let again = ClientError::credentials(problem);
            match source {
                Some(source) => again.because(std::io::Error::other(source.to_string())),
                None => again,
            }
        }
        other => ClientError::credentials(other.to_string()),
    }
}

/// What a program had to say, as the end of a message.
fn said(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    let said: String = printable(said.trim()).chars().take(500).collect();
    if said.is_empty() { said } else { format!(": {said}") }
}

/// The text without what could disarrange a terminal; such characters are named as client-go names them.
fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        let is_hidden = matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
        if is_hidden || character.is_control() && !matches!(character, '\t'..='\r') {
            printable.push_str(&format!("U+{:04X}", u32::from(character)));
        } else {
            printable.push(character);
        }
    }
    printable
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    status: Option<ExecStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecStatus {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    expiration_timestamp: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exec(plugin: ExecPlugin) -> Exec {
        Exec::new(plugin, ExecPolicy::default())
    }

    #[test]
    fn a_plugin_asks_the_user_only_where_it_may() {
        use InteractiveMode::{Always, IfAvailable, Never};
        let of = |mode, used_for: Option<&str>, terminal| {
            let mut plugin = ExecPlugin::new("x").with_interactive_mode(mode);
            if let Some(what) = used_for {
                plugin = plugin.with_stdin_used_for(what);
            }
            exec(plugin).is_interactive(terminal).map_err(|error| error.to_string())
        };
        assert_eq!(of(Never, None, true), Ok(false));
        assert_eq!(of(IfAvailable, None, true), Ok(true));
        assert_eq!(of(IfAvailable, None, false), Ok(false));
        assert_eq!(of(IfAvailable, Some("answers"), true), Ok(false));
        assert_eq!(of(Always, None, true), Ok(true));
        let error = of(Always, None, false).unwrap_err();
        assert!(error.ends_with("the plugin `x` needs a terminal, and standard input is none"), "{error}");
        let error = of(Always, Some("answers"), true).unwrap_err();
        assert!(error.ends_with("the plugin `x` needs standard input, which is used for answers"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn what_was_allowed_is_what_is_run() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["bin", "evil", "evil/inner"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        std::os::unix::fs::symlink(at("evil/inner"), at("link")).unwrap();
        for name in ["bin/plugin", "evil/plugin"] {
            std::fs::write(at(name), "").unwrap();
            std::fs::set_permissions(at(name), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let allowed = ExecPolicy::allowlist([at("bin/plugin").to_str().unwrap()]).unwrap();
        let program = |command: &Path| {
            Exec::new(ExecPlugin::new(command.to_str().unwrap()), allowed.clone()).program().ok()
        };
        assert_eq!(program(&at("bin/plugin")), Some(at("bin/plugin")));
        assert_eq!(program(&at("evil/plugin")), None);
        // The kernel would follow the link first and come to `evil/plugin`.
        std::fs::create_dir(at("link/bin")).unwrap();
        assert_eq!(program(&at("link/../bin/plugin")), Some(at("bin/plugin")));
    }

    #[test]
    fn texts_of_others_cannot_disarrange_a_terminal() {
        let text = "get\tit:\n\u{1b}[1mé漢\u{301}\u{9b}\u{202e}\u{7f}";
        assert_eq!(printable(text), "get\tit:\nU+001B[1mé漢\u{301}U+009BU+202EU+007F");
    }

    #[test]
    fn programs_are_shared_and_those_that_nobody_uses_are_forgotten() {
        let plugin = |number: usize| ExecPlugin::new("x").with_env("TEST", number.to_string());
        let policy = ExecPolicy::default();
        let first = Exec::shared(&plugin(0), &policy);
        assert!(Arc::ptr_eq(&first, &Exec::shared(&plugin(0), &policy)));
        assert!(!Arc::ptr_eq(&first, &Exec::shared(&plugin(1), &policy)));
        assert!(!Arc::ptr_eq(&first, &Exec::shared(&plugin(0), &ExecPolicy::deny_all())));
        for number in 0..3 * MAX_REMEMBERED {
            Exec::shared(&plugin(number), &policy);
        }
        assert!(PROGRAMS.lock().len() <= 2 * MAX_REMEMBERED);
        assert!(Arc::ptr_eq(&first, &Exec::shared(&plugin(0), &policy)), "one in use stays");
    }
}
