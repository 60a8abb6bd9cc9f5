//! Read, change, write; again if somebody else was faster.

use std::time::Duration;

use http::Method;
use informers_core::{Entry, Representation};
use serde_json::Value;

use super::owner::metadata_list;
use super::{Api, invalid};
use crate::ClientError;
use crate::encode::Query;

/// How often a change is tried, as client-go's `retry.DefaultRetry`.
const TRIES: u32 = 5;
/// The first wait after a conflict; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(10);

impl<T: Send + Sync + 'static> Api<T> {
    /// Reads an object, lets `change` change it, and writes it, only if nobody changed it meanwhile. If
    /// somebody did, all of it is done again, up to five times in all; so `change` must give the same result
    /// when it is called again. An object that it leaves as it was is not written.
    ///
    /// The object is JSON, so that fields that this program does not know survive.
    ///
    /// # Errors
    /// If the object is not there, others are faster five times
    /// ([`is_conflict`](ClientError::is_conflict)), or a request fails.
    ///
    /// ```no_run
    /// # async fn example(widgets: informers_client::Api<()>) -> Result<(), informers_client::ClientError> {
    /// widgets.update_with("w", |widget| widget["spec"]["color"] = "blue".into()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn update_with(
        &self,
        name: &str,
        change: impl FnMut(&mut Value),
    ) -> Result<Entry<T>, ClientError> {
        self.change(name, "", change).await
    }

    /// As [`update_with`](Self::update_with), for the status of the object.
    ///
    /// # Errors
    /// As [`update_with`](Self::update_with).
    pub async fn update_status_with(
        &self,
        name: &str,
        change: impl FnMut(&mut Value),
    ) -> Result<Entry<T>, ClientError> {
        self.change(name, "status", change).await
    }

    /// Adds a finalizer, unless it is there: the object is not gone before it is removed again.
    ///
    /// # Errors
    /// As [`update_with`](Self::update_with); also if the object is being deleted, when the server takes no new
    /// one ([`is_invalid`](ClientError::is_invalid)).
    ///
    /// ```no_run
    /// # async fn example(widgets: informers_client::Api<()>) -> Result<(), informers_client::ClientError> {
    /// // Before anything is made outside of the cluster for the object, so that it is surely cleaned up:
    /// widgets.add_finalizer("w", "example.com/bucket").await?;
    /// // When the object is being deleted, and what was made is gone:
    /// widgets.remove_finalizer("w", "example.com/bucket").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn add_finalizer(&self, name: &str, finalizer: &str) -> Result<Entry<T>, ClientError> {
        self.change(name, "", |object| {
            if let Some(list) = metadata_list(object, "finalizers")
                && !list.iter().any(|known| known == finalizer)
            {
                list.push(finalizer.into());
            }
        })
        .await
    }

    /// Removes a finalizer, if it is there. The last one lets an object go that is being deleted.
    ///
    /// # Errors
    /// As [`update_with`](Self::update_with).
    pub async fn remove_finalizer(&self, name: &str, finalizer: &str) -> Result<Entry<T>, ClientError> {
        self.change(name, "", |object| {
            if object["metadata"]["finalizers"].is_array()
                && let Some(list) = metadata_list(object, "finalizers")
            {
                list.retain(|known| known != finalizer);
            }
        })
        .await
    }

    async fn change(
        &self,
        name: &str,
        subresource: &str,
        mut change: impl FnMut(&mut Value),
    ) -> Result<Entry<T>, ClientError> {
        let mut wait = FIRST_WAIT;
        let mut tries = 1;
        loop {
            let call = self.call(Method::GET, "get", Some(name), "", &Query::default())?;
            let answer = self.client.call(&call).await?;
            let before: Value = match serde_json::from_slice(answer.body()) {
                Ok(before) => before,
                Err(error) => {
                    let problem = "the answer is no JSON that can be changed".to_owned();
                    let source = crate::error::cause(error);
                    return Err(ClientError::UnexpectedAnswer { action: call.action, problem, source });
                }
            };
            let Some(version) = before["metadata"].get("resourceVersion").filter(|it| it.is_string()) else {
                let problem = "the answer is no object with a resourceVersion".to_owned();
                return Err(ClientError::UnexpectedAnswer { action: call.action, problem, source: None });
            };
            let mut after = before.clone();
            change(&mut after);
            if after == before {
                return match self.resource.decoder().representation() {
                    Representation::Protobuf => self.get(name).await,
                    _ => self.decode(call.action, answer.body()),
                };
            }
            // Whatever `change` did, the version says what the change was made on.
            let Some(metadata) = after.get_mut("metadata").and_then(Value::as_object_mut) else {
                return Err(invalid(&call.action, "the change left no metadata in the object"));
            };
            metadata.insert("resourceVersion".to_owned(), version.clone());
            match self.update_subresource(name, subresource, &after).await {
                Err(error) if error.is_conflict() && tries < TRIES => {
                    tries += 1;
                    tracing::debug!(name, tries, "the object was changed meanwhile; trying again");
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                }
                written => return written,
            }
        }
    }
}
