//! Waiting for a custom resource to be served.

use std::time::Duration;

use informers_core::ResourceType;
use serde::Deserialize;
use tokio::time::Instant;

use super::parse;
use crate::encode::segment;
use crate::list_watch::is_segment;
use crate::{Client, ClientError};

/// The first pause between two looks; each further one is half as long again, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Default, Deserialize)]
struct Definition {
    #[serde(default)]
    status: DefinitionStatus,
}

#[derive(Default, Deserialize)]
struct DefinitionStatus {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
}

impl Definition {
    /// Why it is not served yet; none if it is.
    fn obstacle(&self) -> Option<String> {
        let is = |kind: &str| self.status.conditions.iter().find(|condition| condition.kind == kind);
        if is("Established").is_some_and(|condition| condition.status == "True") {
            return None;
        }
        Some(match is("NamesAccepted").filter(|condition| condition.status == "False") {
            Some(names) => format!("its names are not accepted: {} ({})", names.message, names.reason),
            None => "it is not established".to_owned(),
        })
    }
}

impl Client {
    /// Waits until the custom resource that a CustomResourceDefinition of this name defines
    /// (`widgets.example.com`) is established and discovery has it, so that lists and watches of it succeed.
    /// The definition may be created after the call.
    ///
    /// # Errors
    /// If it is not so within `patience`: the error says what was missing last. At once if the definition may not
    /// be read, or another request fails in a way that time does not heal.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    ///
    /// ```no_run
    /// # async fn example(client: informers_client::Client) -> Result<(), informers_client::ClientError> {
    /// use std::time::Duration;
    ///
    /// let widgets = client.wait_until_established("widgets.example.com", Duration::from_secs(30)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait_until_established(
        &self,
        definition: &str,
        patience: Duration,
    ) -> Result<ResourceType, ClientError> {
        let action = format!("wait for the custom resource {definition}");
        if !is_segment(definition) || !definition.contains('.') {
            let problem = format!("`{definition}` is no name of a definition, as `widgets.example.com` is");
            return Err(ClientError::InvalidRequest { action, problem, source: None });
        }
        // A patience longer than any clock can say has no end.
        let deadline = Instant::now().checked_add(patience);
        let mut pause = FIRST_PAUSE;
        loop {
            let (obstacle, source) = match self.established(definition, &action).await {
                Ok(Ok(found)) => return Ok(found),
                Ok(Err(obstacle)) => (obstacle, None),
                Err(error) if error.is_retryable() => {
                    ("the server does not answer as it should".to_owned(), crate::error::cause(error))
                }
                Err(error) => return Err(error),
            };
            if deadline.is_some_and(|deadline| Instant::now() + pause > deadline) {
                let failure = crate::ConnectionFailure::Timeout;
                let problem = format!("after {} s {obstacle}", patience.as_secs_f32());
                return Err(ClientError::Connection { action, failure, problem, source });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(LAST_PAUSE);
        }
    }

    /// The resource, or why it is not there yet.
    async fn established(
        &self,
        definition: &str,
        action: &str,
    ) -> Result<Result<ResourceType, String>, ClientError> {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}", segment(definition));
        let found = match self.read_bytes(&path, action).await {
            Ok(answer) => parse::<Definition>(&answer, &path, action)?,
            Err(error) if error.is_not_found() => return Ok(Err("there is no such definition".to_owned())),
            Err(error) => return Err(error),
        };
        if let Some(obstacle) = found.obstacle() {
            return Ok(Err(obstacle));
        }
        match self.discover(definition).await {
            Ok(found) => Ok(Ok(found)),
            Err(ClientError::UnknownResource { .. }) => {
                Ok(Err("it is established, and discovery does not have it".to_owned()))
            }
            // Its group is listed a moment before its resources are.
            Err(error) if error.is_not_found() => {
                Ok(Err("it is established, and discovery does not have it".to_owned()))
            }
            Err(error) => Err(error),
        }
    }
}
