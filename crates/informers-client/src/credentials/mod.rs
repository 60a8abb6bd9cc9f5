//! Where credentials come from, and when they are fetched again.

mod exec;
mod look_up;
mod program;
mod token_file;

use std::sync::Arc;

use base64::Engine as _;
use http::HeaderValue;

use crate::{ClientError, Credentials, ExecPolicy, Secret};

/// What one request shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Identity {
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) certificate: Option<Arc<ClientCertificate>>,
    /// Changes whenever the credential does.
    version: u64,
}

/// A certificate that a plugin gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClientCertificate {
    pub(crate) certificate: String,
    pub(crate) key: Secret,
}

pub(crate) enum CredentialSource {
    Fixed(Identity),
    TokenFile(token_file::TokenFile),
    Exec(Arc<exec::Exec>),
}

impl CredentialSource {
    pub(crate) fn new(credentials: &Credentials, policy: &ExecPolicy) -> Result<Self, ClientError> {
        let fixed = |authorization| Self::Fixed(Identity { authorization, ..Identity::default() });
        Ok(match credentials {
            Credentials::None => fixed(None),
            Credentials::Token(token) => fixed(Some(bearer(token.expose().trim())?)),
            Credentials::Basic { username, password } => {
                let pair = format!("{username}:{}", password.expose());
                let packed = base64::engine::general_purpose::STANDARD.encode(pair);
                fixed(Some(header(&format!("Basic {packed}"))?))
            }
            Credentials::TokenFile(path) => Self::TokenFile(token_file::TokenFile::new(path.clone(), None)),
            Credentials::TokenAndFile { token, file } => {
                let first = bearer(token.expose().trim())?;
                Self::TokenFile(token_file::TokenFile::new(file.clone(), Some(first)))
            }
            Credentials::Exec(plugin) => Self::Exec(exec::Exec::shared(plugin, policy)),
        })
    }

    /// What to show now.
    pub(crate) async fn current(&self) -> Result<Identity, ClientError> {
        match self {
            Self::Fixed(identity) => Ok(identity.clone()),
            Self::TokenFile(file) => file.current().await,
            Self::Exec(exec) => exec.current().await,
        }
    }

    /// For a request that says itself who asks: nothing is fetched for it, yet it goes over the same connections.
    pub(crate) async fn silent(&self) -> Identity {
        match self {
            Self::Fixed(_) | Self::TokenFile(_) => Identity::default(),
            Self::Exec(exec) => {
                Identity { certificate: exec.held_certificate().await, ..Identity::default() }
            }
        }
    }

    /// The server did not accept `rejected`: another credential, if the source has one.
    pub(crate) async fn after_rejection(&self, rejected: &Identity) -> Result<Option<Identity>, ClientError> {
        match self {
            Self::Fixed(_) => Ok(None),
            Self::TokenFile(file) => Ok(file.after_rejection(rejected).await),
            Self::Exec(exec) => exec.after_rejection(rejected).await,
        }
    }
}

fn bearer(token: &str) -> Result<HeaderValue, ClientError> {
    header(&format!("Bearer {token}"))
}

fn header(text: &str) -> Result<HeaderValue, ClientError> {
    let mut value = HeaderValue::from_str(text).map_err(|error| {
        ClientError::credentials("the token or password has characters that HTTP cannot carry").because(error)
    })?;
    value.set_sensitive(true);
    Ok(value)
}
