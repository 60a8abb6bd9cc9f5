//! Programs that print credentials.

use std::fmt;

use super::Secret;

/// A program that prints credentials, as in a kubeconfig's `exec`
/// ([client authentication](https://kubernetes.io/docs/reference/config-api/client-authentication.v1/)).
///
/// What it printed is kept until it expires, or the server no longer accepts it, for all clients in this process
/// that name the same program with the same arguments, as in client-go. Which programs may be run at all is
/// said by [`ExecPolicy`](crate::ExecPolicy).
///
/// ```
/// use informers_client::{Config, Credentials, ExecPlugin, InteractiveMode};
///
/// let plugin = ExecPlugin::new("aws")
///     .with_args(["eks", "get-token", "--cluster-name", "shop"])
///     .with_env("AWS_PROFILE", "dev")
///     .with_interactive_mode(InteractiveMode::Never);
/// let config = Config::for_url("https://shop.example")?.with_credentials(Credentials::Exec(Box::new(plugin)));
/// # Ok::<(), informers_client::ClientError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ExecPlugin {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, Secret)>,
    pub(crate) api_version: ExecApiVersion,
    pub(crate) interactive_mode: InteractiveMode,
    pub(crate) install_hint: Option<String>,
    /// For what the program itself reads standard input, if it does.
    pub(crate) stdin_used_for: Option<String>,
    /// The `cluster` that the program is told, if it asked for it.
    pub(crate) cluster: Option<serde_json::Value>,
}

/// The version of the contract with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecApiVersion {
    /// `client.authentication.k8s.io/v1beta1`
    V1Beta1,
    /// `client.authentication.k8s.io/v1`
    V1,
}

impl ExecApiVersion {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V1Beta1 => "client.authentication.k8s.io/v1beta1",
            Self::V1 => "client.authentication.k8s.io/v1",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::V1Beta1, Self::V1].into_iter().find(|version| version.as_str() == text)
    }
}

/// Whether the program may ask the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InteractiveMode {
    /// It never reads standard input.
    Never,
    /// It reads standard input if that is a terminal.
    #[default]
    IfAvailable,
    /// It needs a terminal.
    Always,
}

impl ExecPlugin {
    /// A program that is looked up in `$PATH`, unless its name has a path separator; contract `v1`, input if
    /// available.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            args: Vec::new(),
            env: Vec::new(),
            api_version: ExecApiVersion::V1,
            interactive_mode: InteractiveMode::default(),
            install_hint: None,
            stdin_used_for: None,
            cluster: None,
        }
    }

    /// With these arguments.
    #[must_use]
    pub fn with_args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// With one more variable in its environment.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// With this version of the contract.
    #[must_use]
    pub fn with_api_version(mut self, version: ExecApiVersion) -> Self {
        self.api_version = version;
        self
    }

    /// With this use of standard input.
    #[must_use]
    pub fn with_interactive_mode(mut self, mode: InteractiveMode) -> Self {
        self.interactive_mode = mode;
        self
    }

    /// Not to read standard input, since this program does so for `what`, such as `the user's answers`. A plugin
    /// that needs it is not run, and the error says why.
    #[must_use]
    pub fn with_stdin_used_for(mut self, what: impl Into<String>) -> Self {
        self.stdin_used_for = Some(what.into());
        self
    }
}

/// Arguments and values may be secrets, so only how many there are is shown.
impl fmt::Debug for ExecPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecPlugin")
            .field("command", &self.command)
            .field("args", &format_args!("[{} redacted]", self.args.len()))
            .field("env", &format_args!("[{} redacted]", self.env.len()))
            .field("api_version", &self.api_version)
            .field("interactive_mode", &self.interactive_mode)
            .finish_non_exhaustive()
    }
}
