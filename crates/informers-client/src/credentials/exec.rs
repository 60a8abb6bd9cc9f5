//! A program that prints credentials.

use std::io::IsTerminal as _;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{ClientCertificate, Identity, bearer, timestamp};
use crate::{ClientError, ExecPlugin, InteractiveMode, Secret};

/// How long a program that does not talk to the user may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// A credential that was fetched because the server rejected the one before, and is the same, is not fetched
/// again for so long: a thousand watches that are rejected must not start a thousand programs.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

pub(crate) struct Exec {
    plugin: ExecPlugin,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: Option<Held>,
    last_retry: Option<Instant>,
    versions: u64,
}

struct Held {
    identity: Identity,
    expires: Option<SystemTime>,
}

impl Exec {
    pub(crate) fn new(plugin: ExecPlugin) -> Self {
        Self { plugin, state: Mutex::new(State::default()) }
    }

    pub(crate) async fn current(&self) -> Result<Identity, ClientError> {
        let mut state = self.state.lock().await;
        match &state.held {
            Some(held) if held.expires.is_none_or(|expires| expires > SystemTime::now()) => {
                Ok(held.identity.clone())
            }
            _ => self.fetch(&mut state).await,
        }
    }

    pub(crate) async fn after_rejection(&self, rejected: &Identity) -> Result<Option<Identity>, ClientError> {
        let mut state = self.state.lock().await;
        if let Some(held) = &state.held
            && held.identity.version != rejected.version
        {
            return Ok(Some(held.identity.clone()));
        }
        if state.last_retry.is_some_and(|retry| retry.elapsed() < RETRY_INTERVAL) {
            return Ok(None);
        }
        let identity = self.fetch(&mut state).await?;
        state.last_retry = (identity.version == rejected.version).then(Instant::now);
        Ok((identity.version != rejected.version).then_some(identity))
    }

    async fn fetch(&self, state: &mut State) -> Result<Identity, ClientError> {
        let status = self.run().await?;
        let mut identity = Identity::default();
        if let Some(token) = status.token.filter(|token| !token.is_empty()) {
            identity.authorization = Some(bearer(token.trim())?);
        }
        identity.certificate = match (status.client_certificate_data, status.client_key_data) {
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

    async fn run(&self) -> Result<ExecStatus, ClientError> {
        let plugin = &self.plugin;
        let interactive = match plugin.interactive_mode {
            InteractiveMode::Never => false,
            InteractiveMode::IfAvailable => std::io::stdin().is_terminal(),
            InteractiveMode::Always if std::io::stdin().is_terminal() => true,
            InteractiveMode::Always => return Err(self.error("needs a terminal, and standard input is none")),
        };
        let mut spec = serde_json::json!({ "interactive": interactive });
        if let Some(cluster) = &plugin.cluster {
            spec["cluster"] = cluster.clone();
        }
        let info = serde_json::json!({
            "kind": "ExecCredential",
            "apiVersion": plugin.api_version.as_str(),
            "spec": spec,
        });
        let mut command = Command::new(&plugin.command);
        command
            .args(&plugin.args)
            .envs(plugin.env.iter().map(|(name, value)| (name, value.expose())))
            .env("KUBERNETES_EXEC_INFO", info.to_string())
            .stdin(if interactive { Stdio::inherit() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(if interactive { Stdio::inherit() } else { Stdio::piped() })
            .kill_on_drop(true);
        let running = command.output();
        let output = if interactive {
            running.await
        } else {
            tokio::time::timeout(TIME_LIMIT, running)
                .await
                .map_err(|_| self.error(format!("gave no answer in {} s", TIME_LIMIT.as_secs())))?
        };
        let output = output.map_err(|error| {
            let problem = match (error.kind(), &plugin.install_hint) {
                (std::io::ErrorKind::NotFound, Some(hint)) => format!("is not installed. {}", hint.trim()),
                (std::io::ErrorKind::NotFound, None) => "is not installed, or not in $PATH".to_owned(),
                _ => "cannot be run".to_owned(),
            };
            self.error(problem).because(error)
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said: String = said.trim().chars().take(500).collect();
            let said = if said.is_empty() { said } else { format!(": {said}") };
            return Err(self.error(format!("failed ({}){said}", output.status)));
        }
        self.parse(&output.stdout)
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
