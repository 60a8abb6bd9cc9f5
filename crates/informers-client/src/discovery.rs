//! Which resources the server has.

use http::{HeaderMap, HeaderValue, Method, header};
use informers_core::{ResourceScope, ResourceType};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::client::Call;
use crate::encode::segment;
use crate::list_watch::{JSON, is_segment};
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
        self.read("/version", "ask for the server's version").await
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
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(JSON));
        let call = Call {
            method: Method::GET,
            path: path.to_owned(),
            headers,
            body: bytes::Bytes::new(),
            gzip: true,
            action: action.to_owned(),
        };
        let answer = self.call(&call).await?;
        serde_json::from_slice(answer.body()).map_err(|error| ClientError::UnexpectedAnswer {
            action: action.to_owned(),
            problem: format!("what stands under {path} is not what API servers have there"),
            source: crate::error::cause(error),
        })
    }
}

/// The names that are most like what was asked for.
fn suggestions(wanted: &str, known: Vec<String>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let plural = wanted.split('.').next().unwrap_or_default();
    let mut scored: Vec<(usize, String)> = known
        .into_iter()
        .filter_map(|name| {
            let own = name.split('.').next().unwrap_or_default();
            let distance = distance(plural, own);
            let allowed = (plural.chars().count() / 3).max(1);
            (distance <= allowed).then_some((distance * 100 + self::distance(&wanted, &name), name))
        })
        .collect();
    scored.sort();
    scored.dedup();
    // Where the name itself is right, only the group was wrong.
    if scored.first().is_some_and(|(score, _)| *score < 100) {
        scored.retain(|(score, _)| *score < 100);
    }
    scored.into_iter().map(|(_, name)| name).take(3).collect()
}

/// How many letters must be changed, added or removed to come from one text to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_names_come_first() {
        let known = ["pods", "nodes", "podtemplates", "widgets.example.com", "widgets.other.io"];
        let known = || known.map(str::to_owned).to_vec();
        assert_eq!(suggestions("pod", known()), ["pods"]);
        assert_eq!(suggestions("wigets.example.com", known()), ["widgets.example.com", "widgets.other.io"]);
        assert_eq!(suggestions("widgets", known()), ["widgets.other.io", "widgets.example.com"]);
        assert!(suggestions("gizmos", known()).is_empty());
    }

    #[test]
    fn distances_count_single_letters() {
        for (a, b, expected) in [("", "", 0), ("a", "", 1), ("pods", "pod", 1), ("kitten", "sitting", 3)] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }
}
