//! Subresources, such as `scale`, `eviction`, `token`.

use http::{HeaderValue, Method, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Api, Patch, invalid};
use crate::ClientError;
use crate::client::Call;
use crate::encode::Query;

/// Requests to one subresource of one object; it is made by [`Api::subresource`].
///
/// What comes back is of a type of the caller's, since most subresources have objects of a kind of their own.
#[derive(Debug)]
pub struct Subresource<'a, T> {
    api: &'a Api<T>,
    name: String,
    subresource: String,
}

impl<T: Send + Sync + 'static> Subresource<'_, T> {
    /// Reads it.
    ///
    /// # Errors
    /// If the object or the subresource is not there, or the request fails.
    pub async fn get<R: DeserializeOwned>(&self) -> Result<R, ClientError> {
        self.send(self.call(Method::GET, "get", &Query::default())?).await
    }

    /// Creates it: what an eviction or a token request does. `apiVersion` and `kind` stand in the body.
    ///
    /// # Errors
    /// If the server refuses the contents, or the request fails; for an eviction
    /// [`is_too_many_requests`](ClientError::is_too_many_requests) where a disruption budget forbids it.
    pub async fn create<R: DeserializeOwned>(&self, body: &impl Serialize) -> Result<R, ClientError> {
        self.write(Method::POST, "create", body).await
    }

    /// Replaces it.
    ///
    /// # Errors
    /// If it was changed meanwhile ([`is_conflict`](ClientError::is_conflict)), the server refuses the
    /// contents, or the request fails.
    pub async fn update<R: DeserializeOwned>(&self, body: &impl Serialize) -> Result<R, ClientError> {
        self.write(Method::PUT, "update", body).await
    }

    /// Changes parts of it.
    ///
    /// # Errors
    /// If the patch does not fit, the server refuses the result, or the request fails.
    pub async fn patch<R: DeserializeOwned>(&self, patch: &Patch) -> Result<R, ClientError> {
        self.send(self.api.patch_call(&self.name, &self.subresource, patch)?).await
    }

    async fn write<R: DeserializeOwned>(
        &self,
        method: Method,
        verb: &str,
        body: &impl Serialize,
    ) -> Result<R, ClientError> {
        let mut call = self.call(method, verb, &self.api.write_query())?;
        call.body = serde_json::to_vec(body)
            .map_err(|error| invalid(&call.action, "the object cannot be written as JSON").because(error))?
            .into();
        call.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.send(call).await
    }

    fn call(&self, method: Method, verb: &str, query: &Query) -> Result<Call, ClientError> {
        self.api.call(method, verb, Some(&self.name), &self.subresource, query)
    }

    async fn send<R: DeserializeOwned>(&self, call: Call) -> Result<R, ClientError> {
        let answer = self.api.client.call(&call).await?;
        serde_json::from_slice(answer.body()).map_err(|error| ClientError::UnexpectedAnswer {
            action: call.action,
            problem: "the answer is not of the type that was asked for".to_owned(),
            source: crate::error::cause(error),
        })
    }
}

/// How many of something there are to be and are: the `scale` of a deployment and its like
/// (`autoscaling/v1` `Scale`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scale {
    /// How many there are to be.
    pub wanted: u32,
    /// How many there are.
    pub present: u32,
    /// The label selector of what is counted, as text; empty if the resource has none.
    pub selector: String,
}

#[derive(Deserialize)]
struct RawScale {
    #[serde(default)]
    spec: RawSpec,
    #[serde(default)]
    status: RawStatus,
}

#[derive(Default, Deserialize)]
struct RawSpec {
    #[serde(default)]
    replicas: u32,
}

#[derive(Default, Deserialize)]
struct RawStatus {
    #[serde(default)]
    replicas: u32,
    #[serde(default)]
    selector: String,
}

impl From<RawScale> for Scale {
    fn from(raw: RawScale) -> Self {
        Self { wanted: raw.spec.replicas, present: raw.status.replicas, selector: raw.status.selector }
    }
}

impl<T: Send + Sync + 'static> Api<T> {
    /// Requests to a subresource of an object, by the name it has in the path: `scale`, `eviction`, `token`.
    ///
    /// ```no_run
    /// # async fn example(pods: informers_client::Api<()>) -> Result<(), informers_client::ClientError> {
    /// use serde_json::{Value, json};
    ///
    /// let eviction = json!({
    ///     "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "cart-0", "namespace": "shop" },
    /// });
    /// pods.subresource("cart-0", "eviction").create::<Value>(&eviction).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn subresource(&self, name: impl Into<String>, subresource: impl Into<String>) -> Subresource<'_, T> {
        Subresource { api: self, name: name.into(), subresource: subresource.into() }
    }

    /// How many of an object's parts there are to be and are.
    ///
    /// # Errors
    /// If there is no such object, it has no scale, or the request fails.
    pub async fn scale(&self, name: &str) -> Result<Scale, ClientError> {
        self.subresource(name, "scale").get::<RawScale>().await.map(Scale::from)
    }

    /// Sets how many of an object's parts there are to be.
    ///
    /// # Errors
    /// As [`scale`](Self::scale).
    pub async fn set_scale(&self, name: &str, wanted: u32) -> Result<Scale, ClientError> {
        let patch = Patch::merge(&json!({ "spec": { "replicas": wanted } }))?;
        self.subresource(name, "scale").patch::<RawScale>(&patch).await.map(Scale::from)
    }
}
