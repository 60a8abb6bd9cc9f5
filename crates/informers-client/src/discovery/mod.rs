//! Which resources the server has.

mod established;
mod suggest;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use informers_core::{ResourceScope, ResourceType};
use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use self::suggest::suggestions;
use crate::client::Call;
use crate::encode::segment;
use crate::list_watch::{form::JSON, is_segment};
use crate::{Client, ClientError};

/// What a server says of itself under `/version`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerVersion {
    /// The major version, such as `1`.
    #[serde(default)]
    pub major: String,
    /// The minor version, such as `37` or `37+`.
    #[serde(default)]
    pub minor: String,
    /// The whole version, such as `v1.37.2`.
    #[serde(default)]
    pub git_version: String,
    /// Operating system and processor of the server, such as `linux/amd64`.
    #[serde(default)]
    pub platform: String,
}

impl Client {
    /// Which version the server has: also a cheap way to learn whether it is there and who we are to it.
    ///
    /// # Errors
    /// If the server is not reached or refuses.
    pub async fn server_version(&self) -> Result<ServerVersion, ClientError> {
        let (path, action) = ("/version", "ask for the server's version");
        parse(&self.read_bytes(path, action).await?, path, action)
    }

    /// Finds a resource by name: `pods`, `deployments.apps`, `widgets.v1.example.com`; singular and short
    /// names (`po`) and kinds (`Pod`) do as well. Of several versions it is the one that the server prefers;
    /// without a group the core API comes first.
    ///
    /// # Errors
    /// [`ClientError::UnknownResource`] if there is none, with names that may have been meant; otherwise if a
    /// request fails.
    ///
    /// ```no_run
    /// # async fn example(client: informers_client::Client) -> Result<(), informers_client::ClientError> {
    /// let widgets = client.discover("widgets.example.com").await?;
    /// println!("{} are objects of kind {}", widgets.plural(), widgets.kind());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn discover(&self, name: &str) -> Result<ResourceType, ClientError> {
        Catalog { client: self, memory: None }.find(name).await
    }

    /// As [`discover`](Self::discover) for many names: what the server said is remembered.
    #[must_use]
    pub fn discovery(&self) -> Discovery {
        Discovery { client: self.clone(), memory: Arc::default() }
    }
}

/// Finds resources by name, and remembers what the server said; it is made by [`Client::discovery`]. A clone
/// shares the memory.
///
/// A name that is not found is asked for anew, once, as a resource may have been added since; what was found
/// stays as it was until [`forget`](Self::forget). client-go's deferred REST mapper does the same.
///
/// ```no_run
/// # async fn example(client: informers_client::Client) -> Result<(), informers_client::ClientError> {
/// let discovery = client.discovery();
/// for name in ["pods", "deployments.apps", "widgets.example.com"] {
///     println!("{name}: {}", discovery.find(name).await?.api_version());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Discovery {
    client: Client,
    memory: Arc<Memory>,
}

/// Answers by path.
type Memory = Mutex<HashMap<String, Bytes>>;

impl Discovery {
    /// Finds a resource by a name as [`Client::discover`] takes it.
    ///
    /// # Errors
    /// As [`Client::discover`].
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing but the request that runs.
    pub async fn find(&self, name: &str) -> Result<ResourceType, ClientError> {
        let remembered = !self.memory.lock().is_empty();
        let catalog = Catalog { client: &self.client, memory: Some(&self.memory) };
        match catalog.find(name).await {
            Err(ClientError::UnknownResource { .. }) if remembered => {
                self.forget();
                catalog.find(name).await
            }
            found => found,
        }
    }

    /// Forgets what the server said.
    pub fn forget(&self) {
        self.memory.lock().clear();
    }
}

/// What the server says of its resources, asked or remembered.
struct Catalog<'a> {
    client: &'a Client,
    memory: Option<&'a Memory>,
}

impl Catalog<'_> {
    async fn find(&self, name: &str) -> Result<ResourceType, ClientError> {
        let (plural, group) = name.split_once('.').unwrap_or((name, ""));
        let mut known = Vec::new();
        if group.is_empty() {
            let resources = self.resources("", "v1").await?;
            if let Some(found) = resources.iter().find(|resource| resource.is_called(plural)) {
                return Ok(found.resource_type("", "v1"));
            }
            known.extend(resources.into_iter().map(|resource| resource.name));
        }
        let groups: GroupList = self.read("/apis", "discover API groups").await?;
        for candidate in &groups.groups {
            let version = if group.is_empty() || candidate.name == group {
                candidate.preferred()
            } else {
                // `v1.example.com`
                group.strip_suffix(&candidate.name).and_then(|version| version.strip_suffix('.'))
            };
            let Some(version) = version.filter(|version| is_segment(version)) else { continue };
            if !candidate.versions.iter().any(|known| known.version == version) {
                continue;
            }
            let resources = match self.resources(&candidate.name, version).await {
                // A server behind the server, which is away, hides no other groups.
                Err(error) if group.is_empty() && error.status().is_some() => continue,
                other => other?,
            };
            if let Some(found) = resources.iter().find(|resource| resource.is_called(plural)) {
                return Ok(found.resource_type(&candidate.name, version));
            }
            known.extend(
                resources.into_iter().map(|resource| format!("{}.{}", resource.name, candidate.name)),
            );
        }
        if !group.is_empty() {
            // The group may be what is wrong.
            known.extend(self.resources("", "v1").await?.into_iter().map(|resource| resource.name));
            for other in &groups.groups {
                if other.name != group
                    && let Some(version) = other.preferred()
                    && let Ok(resources) = self.resources(&other.name, version).await
                {
                    known.extend(resources.into_iter().map(|it| format!("{}.{}", it.name, other.name)));
                }
            }
        }
        Err(ClientError::UnknownResource { name: name.to_owned(), suggestions: suggestions(name, known) })
    }

    async fn resources(&self, group: &str, version: &str) -> Result<Vec<ApiResource>, ClientError> {
        let path = match group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{}/{}", segment(group), segment(version)),
        };
        let list: ResourceList = self.read(&path, &format!("discover resources of {path}")).await?;
        // Subresources have a slash in their names.
        Ok(list.resources.into_iter().filter(|resource| !resource.name.contains('/')).collect())
    }

    async fn read<D: DeserializeOwned>(&self, path: &str, action: &str) -> Result<D, ClientError> {
        let known = self.memory.and_then(|memory| memory.lock().get(path).cloned());
        let answer = match known {
            Some(answer) => answer,
            None => self.client.read_bytes(path, action).await?,
        };
        let parsed = parse(&answer, path, action)?;
        if let Some(memory) = self.memory {
            memory.lock().insert(path.to_owned(), answer);
        }
        Ok(parsed)
    }
}

impl Client {
    async fn read_bytes(&self, path: &str, action: &str) -> Result<Bytes, ClientError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(JSON));
        let call = Call {
            method: Method::GET,
            path: path.to_owned(),
            headers,
            body: Bytes::new(),
            gzip: true,
            action: action.to_owned(),
        };
        Ok(self.call(&call).await?.into_body())
    }
}

fn parse<D: DeserializeOwned>(answer: &[u8], path: &str, action: &str) -> Result<D, ClientError> {
    serde_json::from_slice(answer).map_err(|error| ClientError::UnexpectedAnswer {
        action: action.to_owned(),
        problem: format!("what stands under {path} is not what API servers have there"),
        source: crate::error::cause(error),
    })
}

#[derive(Deserialize)]
struct GroupList {
    #[serde(default)]
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    name: String,
    #[serde(default)]
    versions: Vec<GroupVersion>,
    preferred_version: Option<GroupVersion>,
}

impl Group {
    fn preferred(&self) -> Option<&str> {
        let preferred = self.preferred_version.as_ref().or_else(|| self.versions.first());
        preferred.map(|preferred| preferred.version.as_str())
    }
}

#[derive(Deserialize)]
struct GroupVersion {
    version: String,
}

#[derive(Deserialize)]
struct ResourceList {
    #[serde(default)]
    resources: Vec<ApiResource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApiResource {
    name: String,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    namespaced: bool,
    kind: String,
    #[serde(default)]
    short_names: Vec<String>,
}

impl ApiResource {
    fn is_called(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.name == name
            || self.singular_name == name
            || self.kind.to_lowercase() == name
            || self.short_names.contains(&name)
    }

    fn resource_type(&self, group: &str, version: &str) -> ResourceType {
        let scope = if self.namespaced { ResourceScope::Namespaced } else { ResourceScope::Cluster };
        ResourceType::new(group.to_owned(), version.to_owned(), self.kind.clone(), self.name.clone(), scope)
    }
}
