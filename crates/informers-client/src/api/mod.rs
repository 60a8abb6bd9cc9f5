//! Typed requests for objects.

mod change;
mod collection;
mod options;
mod owner;
mod patch;
mod subresource;

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use informers_core::{
    DecodeErrorKind, Entry, Item, ListParams, ListPart, Representation, Resource, ResourceScope,
    ResourceVersion, Scope,
};
use informers_wire::protobuf;
pub use options::{DeleteOptions, Propagation};
pub use owner::{ControlledByAnother, OwnerReference};
pub use patch::Patch;
use serde::Serialize;
pub use subresource::{Scale, Subresource};

use crate::client::Call;
use crate::encode::{Query, segment};
use crate::list_watch::form::{self, JSON};
use crate::list_watch::{Collection, is_segment};
use crate::{Client, ClientError};

/// How many objects are asked for at once.
const PAGE_SIZE: u32 = 500;

/// Reads and changes single objects of one resource.
///
/// Objects that come back are decoded by the resource's decoder; those that go out may be of any type that
/// serde can write, such as a `serde_json::Value`.
///
/// # Cancel safety
/// Dropping a future abandons its request; whether the server acts on it is open.
///
/// ```no_run
/// # async fn example(client: informers_client::Client) -> Result<(), informers_client::ClientError> {
/// use informers_client::Patch;
/// use informers_core::{JsonDecoder, Resource, ResourceScope, ResourceType};
///
/// #[derive(serde::Deserialize)]
/// struct ConfigMap { #[serde(default)] data: std::collections::BTreeMap<String, String> }
///
/// let resource = ResourceType::new("", "v1", "ConfigMap", "configmaps", ResourceScope::Namespaced);
/// let config_maps = client.api::<ConfigMap>(&Resource::new(resource, JsonDecoder::new()), Some("shop"));
///
/// let map = config_maps.get("settings").await?;
/// println!("{} has {} values", map.key(), map.data.len());
/// config_maps.patch("settings", &Patch::merge(&serde_json::json!({ "data": { "color": "blue" } }))?).await?;
/// # Ok(())
/// # }
/// ```
pub struct Api<T> {
    client: Client,
    resource: Resource<T>,
    namespace: Option<String>,
    field_manager: String,
    dry_run: bool,
}

impl<T: Send + Sync + 'static> Api<T> {
    pub(crate) fn new(client: Client, resource: Resource<T>, namespace: Option<&str>) -> Self {
        let namespace = namespace.filter(|name| !name.is_empty()).map(str::to_owned);
        Self { client, resource, namespace, field_manager: String::new(), dry_run: false }
    }

    /// With this name for the owner of the fields that are written.
    #[must_use]
    pub fn with_field_manager(mut self, name: impl Into<String>) -> Self {
        self.field_manager = name.into();
        self
    }

    /// So that writes are checked and answered, but not kept.
    #[must_use]
    pub fn with_dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Reads one object.
    ///
    /// # Errors
    /// If there is no such object ([`is_not_found`](ClientError::is_not_found)), or the request fails.
    pub async fn get(&self, name: &str) -> Result<Entry<T>, ClientError> {
        let call = self.call(Method::GET, "get", Some(name), "", &Query::default())?;
        self.send(call).await
    }

    /// Creates an object. Its name stands in it, or `generateName` does.
    ///
    /// # Errors
    /// If the name is taken ([`is_already_exists`](ClientError::is_already_exists)), the server refuses the
    /// contents, or the request fails.
    pub async fn create(&self, object: &impl Serialize) -> Result<Entry<T>, ClientError> {
        let mut call = self.call(Method::POST, "create", None, "", &self.write_query())?;
        self.set_body(&mut call, object)?;
        self.send(call).await
    }

    /// Replaces an object. With `metadata.resourceVersion` in it, only if nobody changed it since.
    ///
    /// # Errors
    /// If it was changed meanwhile ([`is_conflict`](ClientError::is_conflict)), the server refuses the
    /// contents, or the request fails.
    pub async fn update(&self, name: &str, object: &impl Serialize) -> Result<Entry<T>, ClientError> {
        self.update_subresource(name, "", object).await
    }

    /// Replaces the status of an object; other changes in it are ignored by the server.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub async fn update_status(&self, name: &str, object: &impl Serialize) -> Result<Entry<T>, ClientError> {
        self.update_subresource(name, "status", object).await
    }

    async fn update_subresource(
        &self,
        name: &str,
        subresource: &str,
        object: &impl Serialize,
    ) -> Result<Entry<T>, ClientError> {
        let mut call = self.call(Method::PUT, "update", Some(name), subresource, &self.write_query())?;
        self.set_body(&mut call, object)?;
        self.send(call).await
    }

    /// Changes parts of an object.
    ///
    /// # Errors
    /// If the patch does not fit or owners of fields conflict ([`is_conflict`](ClientError::is_conflict)), the
    /// server refuses the result, or the request fails.
    ///
    /// ```no_run
    /// # async fn example(widgets: informers_client::Api<()>) -> Result<(), informers_client::ClientError> {
    /// use informers_client::Patch;
    /// use serde_json::json;
    ///
    /// let wanted = json!({
    ///     "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": { "size": 3 },
    /// });
    /// let patch = Patch::apply("shop-controller", &wanted)?;
    /// match widgets.patch("w", &patch).await {
    ///     // Somebody else owns one of the fields: this controller has the last word.
    ///     Err(error) if error.is_conflict() => widgets.patch("w", &patch.forced()).await?,
    ///     applied => applied?,
    /// };
    /// # Ok(())
    /// # }
    /// ```
    pub async fn patch(&self, name: &str, patch: &Patch) -> Result<Entry<T>, ClientError> {
        self.patch_subresource(name, "", patch).await
    }

    /// Changes parts of an object's status.
    ///
    /// # Errors
    /// As [`patch`](Self::patch).
    pub async fn patch_status(&self, name: &str, patch: &Patch) -> Result<Entry<T>, ClientError> {
        self.patch_subresource(name, "status", patch).await
    }

    async fn patch_subresource(
        &self,
        name: &str,
        subresource: &str,
        patch: &Patch,
    ) -> Result<Entry<T>, ClientError> {
        self.send(self.patch_call(name, subresource, patch)?).await
    }

    fn patch_call(&self, name: &str, subresource: &str, patch: &Patch) -> Result<Call, ClientError> {
        let mut query = Query::default();
        query.put_true("force", patch.force());
        query.put("fieldManager", patch.field_manager().unwrap_or(&self.field_manager));
        query.put("dryRun", if self.dry_run { "All" } else { "" });
        let mut call = self.call(Method::PATCH, "patch", Some(name), subresource, &query)?;
        call.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(patch.content_type()));
        call.body = patch.body().clone();
        Ok(call)
    }

    /// Deletes an object, or begins to: with finalizers or a grace period it is gone later.
    ///
    /// # Errors
    /// If there is no such object, a precondition does not hold ([`is_conflict`](ClientError::is_conflict)), or the
    /// request fails.
    ///
    /// ```no_run
    /// # async fn example(widgets: informers_client::Api<()>) -> Result<(), informers_client::ClientError> {
    /// use informers_client::DeleteOptions;
    ///
    /// let seen = widgets.get("w").await?;
    /// // Not one that was made anew under the same name meanwhile.
    /// widgets.delete("w", &DeleteOptions::new().with_uid(seen.uid().to_string())).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<(), ClientError> {
        let mut call = self.call(Method::DELETE, "delete", Some(name), "", &Query::default())?;
        self.set_body(&mut call, &options.body(self.dry_run))?;
        self.client.call(&call).await.map(drop)
    }

    /// Reads the whole collection into memory, in pages. For large ones take a list as a stream
    /// ([`ListWatch::list`](informers_core::ListWatch::list)), or an informer.
    ///
    /// # Errors
    /// If any page fails; also if the list expires while it is read ([`is_expired`](ClientError::is_expired)).
    pub async fn list_all(&self) -> Result<Vec<Item<T>>, ClientError> {
        let scope = self.namespace.as_deref().map_or_else(Scope::all, Scope::namespace);
        let action = format!("list {}", self.resource.resource_type());
        let collection = Collection::new(self.client.clone(), self.resource.clone(), &scope);
        let collection = collection.map_err(|error| invalid(&action, error.message()))?;
        let mut items = Vec::new();
        let mut params = ListParams::first(ResourceVersion::default()).with_limit(PAGE_SIZE);
        loop {
            let mut stream = collection.list_stream(params.clone()).await?;
            let mut next = None;
            while let Some(part) = stream.next_part().await {
                match part? {
                    ListPart::Items(part) => items.extend(part),
                    ListPart::Trailer(trailer) => next = trailer.continue_token,
                }
            }
            match next {
                Some(token) => params = params.following(token),
                None => return Ok(items),
            }
        }
    }

    fn write_query(&self) -> Query {
        let mut query = Query::default();
        query.put("fieldManager", &self.field_manager);
        query.put("dryRun", if self.dry_run { "All" } else { "" });
        query
    }

    fn call(
        &self,
        method: Method,
        verb: &str,
        name: Option<&str>,
        subresource: &str,
        query: &Query,
    ) -> Result<Call, ClientError> {
        let resource_type = self.resource.resource_type();
        let mut action = format!("{verb} {resource_type}");
        for part in [name.unwrap_or_default(), subresource] {
            if !part.is_empty() {
                action.push(if part == subresource { '/' } else { ' ' });
                action.push_str(part);
            }
        }
        let namespaced = resource_type.scope() == ResourceScope::Namespaced;
        match &self.namespace {
            Some(namespace) if namespaced => {
                action = format!("{action} in namespace {namespace}");
                if !is_segment(namespace) {
                    return Err(invalid(&action, &format!("`{namespace}` is no name of a namespace")));
                }
            }
            None if namespaced => {
                return Err(invalid(
                    &action,
                    "objects of this resource have a namespace; name it in Client::api",
                ));
            }
            _ => {}
        }
        let mut path = resource_type.collection_path(self.namespace.as_deref());
        if let Some(name) = name {
            if !is_segment(name) {
                return Err(invalid(&action, &format!("`{name}` is no name of an object")));
            }
            path = format!("{path}/{}", segment(name));
        }
        if !subresource.is_empty() {
            if !subresource.split('/').all(is_segment) {
                return Err(invalid(&action, &format!("`{subresource}` is no name of a subresource")));
            }
            path = format!("{path}/{subresource}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(JSON));
        let path = format!("{path}{}", query.as_str());
        Ok(Call { method, path, headers, body: Bytes::new(), gzip: true, action })
    }

    /// Puts an object into a request, with the `apiVersion` and `kind` that it must have, if it has none.
    fn set_body(&self, call: &mut Call, object: &impl Serialize) -> Result<(), ClientError> {
        let unwritable = |error: serde_json::Error| {
            invalid(&call.action, "the object cannot be written as JSON").because(error)
        };
        let mut value = serde_json::to_value(object).map_err(unwritable)?;
        if call.method != Method::DELETE
            && let Some(object) = value.as_object_mut()
        {
            let resource_type = self.resource.resource_type();
            object.entry("apiVersion").or_insert_with(|| resource_type.api_version().into());
            object.entry("kind").or_insert_with(|| resource_type.kind().into());
        }
        call.body = serde_json::to_vec(&value).map_err(unwritable)?.into();
        call.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(())
    }

    async fn send(&self, mut call: Call) -> Result<Entry<T>, ClientError> {
        let representation = self.resource.decoder().representation();
        call.headers.insert(header::ACCEPT, HeaderValue::from_static(form::of_objects(representation)));
        let answer = self.client.call(&call).await;
        let answer = answer.map_err(|error| form::refused(error, representation))?;
        form::check(&answer, representation, &call.action)?;
        let body = match representation {
            Representation::Protobuf => protobuf::object(answer.body()).map_err(|error| {
                let problem = "the answer is no object".to_owned();
                let source = crate::error::cause(error);
                ClientError::UnexpectedAnswer { action: call.action.clone(), problem, source }
            })?,
            _ => answer.into_body(),
        };
        self.decode(call.action, &body)
    }

    fn decode(&self, action: String, body: &[u8]) -> Result<Entry<T>, ClientError> {
        self.resource.decoder().decode(body).map_err(|source| {
            // A Status or anything else that is no object of this kind has no name.
            if source.kind() == DecodeErrorKind::Nameless {
                let problem = "the answer is no object".to_owned();
                return ClientError::UnexpectedAnswer {
                    action,
                    problem,
                    source: crate::error::cause(source),
                };
            }
            ClientError::Decode { action, source }
        })
    }
}

fn invalid(action: &str, problem: &str) -> ClientError {
    ClientError::InvalidRequest { action: action.to_owned(), problem: problem.to_owned(), source: None }
}

impl<T> Clone for Api<T> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            field_manager: self.field_manager.clone(),
            dry_run: self.dry_run,
        }
    }
}

impl<T> fmt::Debug for Api<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("resource", &self.resource)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}
