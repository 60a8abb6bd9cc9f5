//! A bearer token in a file that somebody else keeps up to date.

use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{Identity, bearer};
use crate::ClientError;

/// After how long a token is read again; client-go's minute less its leeway of ten seconds.
const MAX_AGE: Duration = Duration::from_secs(50);

pub(crate) struct TokenFile {
    path: PathBuf,
    /// What is shown until the file can be read.
    first: Option<HeaderValue>,
    state: Mutex<Option<Held>>,
}

struct Held {
    token: String,
    identity: Identity,
    read: Instant,
}

impl TokenFile {
    pub(crate) fn new(path: PathBuf, first: Option<HeaderValue>) -> Self {
        Self { path, first, state: Mutex::new(None) }
    }

    pub(crate) async fn current(&self) -> Result<Identity, ClientError> {
        let mut state = self.state.lock().await;
        match &*state {
            Some(held) if held.read.elapsed() < MAX_AGE => Ok(held.identity.clone()),
            _ => self.read(&mut state).await,
        }
    }

    pub(crate) async fn after_rejection(&self, rejected: &Identity) -> Option<Identity> {
        let mut state = self.state.lock().await;
        let already_newer = state.as_ref().is_some_and(|held| held.identity.version != rejected.version);
        if !already_newer {
            self.read(&mut state).await.ok()?;
        }
        let identity = &state.as_ref()?.identity;
        (identity.version != rejected.version).then(|| identity.clone())
    }

    /// Reads the file. While it is missing or empty, as during a swap, the last good token serves.
    async fn read(&self, state: &mut Option<Held>) -> Result<Identity, ClientError> {
        let place = self.path.display();
        let read = match tokio::fs::read_to_string(&self.path).await {
            Ok(text) if text.trim().is_empty() => {
                Err(ClientError::credentials(format!("the token file {place} is empty")))
            }
            Ok(text) => Ok(text.trim().to_owned()),
            Err(error) => {
                Err(ClientError::credentials(format!("the token file {place} cannot be read")).because(error))
            }
        };
        let now = Instant::now();
        match (read, &mut *state) {
            (Ok(token), Some(held)) if held.token == token => {
                held.read = now;
                Ok(held.identity.clone())
            }
            (Ok(token), held) => {
                let version = held.as_ref().map_or(1, |held| held.identity.version + 1);
                let identity = Identity { authorization: Some(bearer(&token)?), certificate: None, version };
                *held = Some(Held { token, identity: identity.clone(), read: now });
                Ok(identity)
            }
            (Err(error), Some(held)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the last good token is used");
                Ok(held.identity.clone())
            }
            (Err(error), None) => match &self.first {
                Some(first) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "the token beside it is used");
                    Ok(Identity { authorization: Some(first.clone()), ..Identity::default() })
                }
                None => Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(identity: &Identity) -> &str {
        identity.authorization.as_ref().unwrap().to_str().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a27_a_token_is_read_again_within_a_minute() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "one\n").unwrap();
        let file = TokenFile::new(path.clone(), None);
        assert_eq!(shown(&file.current().await.unwrap()), "Bearer one");
        std::fs::write(&path, "two").unwrap();
        tokio::time::advance(MAX_AGE - Duration::from_secs(1)).await;
        assert_eq!(shown(&file.current().await.unwrap()), "Bearer one");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(shown(&file.current().await.unwrap()), "Bearer two");
        std::fs::remove_file(&path).unwrap();
        tokio::time::advance(MAX_AGE * 100).await;
        assert_eq!(shown(&file.current().await.unwrap()), "Bearer two", "the last good one stays");
    }

    #[tokio::test]
    async fn a_token_beside_the_file_is_shown_until_the_file_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let file = TokenFile::new(path.clone(), Some(bearer("first").unwrap()));
        let first = file.current().await.unwrap();
        assert_eq!(shown(&first), "Bearer first");
        assert!(file.after_rejection(&first).await.is_none());
        std::fs::write(&path, "one").unwrap();
        assert_eq!(shown(&file.after_rejection(&first).await.unwrap()), "Bearer one");
        assert_eq!(shown(&file.current().await.unwrap()), "Bearer one");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(shown(&file.current().await.unwrap()), "Bearer one");
    }

    #[tokio::test]
    async fn a27_a_rejected_token_is_replaced_for_all_who_showed_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "one").unwrap();
        let file = std::sync::Arc::new(TokenFile::new(path.clone(), None));
        let old = file.current().await.unwrap();
        assert!(file.after_rejection(&old).await.is_none(), "there is nothing newer");
        std::fs::write(&path, "two").unwrap();
        let tasks = [old.clone(), old].map(|old| {
            let file = std::sync::Arc::clone(&file);
            tokio::spawn(async move { file.after_rejection(&old).await })
        });
        for task in tasks {
            assert_eq!(shown(&task.await.unwrap().unwrap()), "Bearer two");
        }
    }
}
