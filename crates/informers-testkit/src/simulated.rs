//! A simulated server without HTTP.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream;
use informers_core::{
    Change, Error, ErrorKind, Item, ListParams, ListPart, ListStream, ListTrailer, ListWatch, ObjectKey,
    Representation, Resource, ResourceType, Scope, Source, Undecodable, WatchEvent, WatchParams, WatchStream,
};

use crate::fault::Fault;
use crate::http::encode::{Encoder, Form};
use crate::http::path::{ResourcePath, encode};
use crate::http::query::Query;
use crate::request_log::{RequestRecord, Verb};
use crate::store::{Frame, ResourceDef, Stored};
use crate::world::{Watching, WorldConfig};
use crate::{Status, World};

/// How many items are in one batch of a list.
const BATCH: usize = 100;

/// An API server without sockets: the same objects, rules and faults as [`ApiServer`](crate::ApiServer), given
/// directly as a [`Source`].
///
/// Lists and watches are decoded by the resource's own decoder from the bytes that the server would send.
/// There is no IO, so it works under a paused clock, and thousands of runs fit into a second; with the same
/// seed and the same calls it does the same.
///
/// ```
/// use futures_util::StreamExt;
/// use informers_core::{
///     JsonDecoder, ListParams, ListPart, ListWatch, Resource, ResourceScope, ResourceType, Scope, Source,
/// };
/// use informers_testkit::SimulatedServer;
/// use serde_json::json;
///
/// #[derive(serde::Deserialize)]
/// struct Node {}
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = SimulatedServer::new();
/// server.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}))?;
///
/// let nodes = ResourceType::new("", "v1", "Node", "nodes", ResourceScope::Cluster);
/// let nodes: Resource<Node> = Resource::new(nodes, JsonDecoder::new());
/// let nodes = server.list_watch(&nodes, &Scope::all())?;
/// let mut parts = nodes.list(ListParams::first("0".into())).await?;
/// let Some(Ok(ListPart::Items(items))) = parts.next().await else { panic!("a node is there") };
/// assert_eq!(items[0].key().unwrap(), "node-1");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SimulatedServer {
    world: World,
}

/// Sets up a [`SimulatedServer`].
#[derive(Clone, Debug)]
#[must_use = "it does nothing until it is built"]
pub struct SimulatedServerBuilder(WorldConfig);

impl Default for SimulatedServerBuilder {
    fn default() -> Self {
        Self(WorldConfig::new(false))
    }
}

impl SimulatedServerBuilder {
    /// Where uids and generated names come from. Default: 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.0.store.seed = seed;
        self
    }

    /// Serves this resource too; see [`ApiServerBuilder::resource`](crate::ApiServerBuilder::resource).
    pub fn resource(mut self, resource: ResourceType) -> Self {
        self.0.resources.push(resource);
        self
    }

    /// How often a watch gets a bookmark. Default: a minute.
    pub fn bookmark_interval(mut self, interval: Duration) -> Self {
        self.0.bookmark_interval = interval;
        self
    }

    /// How many past events of one resource are kept. Default: 32 768.
    pub fn history_limit(mut self, events: usize) -> Self {
        self.0.store.history_limit = events;
        self
    }

    /// Answers with 404 when an object is created in a namespace that does not exist. Default: such objects
    /// are taken.
    pub fn with_namespace_check(mut self) -> Self {
        self.0.store.check_namespaces = true;
        self
    }

    /// The server, with the built-in resources.
    #[must_use]
    pub fn build(self) -> SimulatedServer {
        SimulatedServer { world: self.0.build() }
    }
}

impl Default for SimulatedServer {
    fn default() -> Self {
        Self::new()
    }
}

impl SimulatedServer {
    /// A server with the built-in resources and seed 0.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A server that is set up before it is used.
    pub fn builder() -> SimulatedServerBuilder {
        SimulatedServerBuilder::default()
    }

    /// Its objects; the server derefs to it.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }
}

/// Everything that can be done to the server's objects and requests.
impl Deref for SimulatedServer {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl fmt::Debug for SimulatedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedServer").field("world", &self.world).finish()
    }
}

impl Source for SimulatedServer {
    fn list_watch<T: Send + Sync + 'static>(
        &self,
        resource: &Resource<T>,
        scope: &Scope,
    ) -> Result<Arc<dyn ListWatch<T>>, Error> {
        Ok(Arc::new(Collection {
            world: self.world.clone(),
            resource: resource.clone(),
            scope: scope.clone(),
        }))
    }
}

struct Collection<T> {
    world: World,
    resource: Resource<T>,
    scope: Scope,
}

impl<T: Send + Sync + 'static> Collection<T> {
    fn namespace(&self) -> &str {
        self.scope.namespace_name().unwrap_or_default()
    }

    /// Notes the request, commits the faults that meet it, and finds the resource. The number is after how
    /// many frames a watch is cut.
    async fn begin(
        &self,
        verb: Verb,
        action: &str,
        query: &str,
    ) -> Result<(Arc<ResourceDef>, Option<usize>), Error> {
        let resource = self.resource.resource_type();
        let path = ResourcePath {
            group: resource.group().to_owned(),
            version: resource.version().to_owned(),
            namespace: self.namespace().to_owned(),
            plural: resource.plural().to_owned(),
            ..ResourcePath::default()
        };
        let url = resource.collection_path(self.scope.namespace_name());
        let record = RequestRecord::in_process(verb, url, query.to_owned(), &path);
        let mut frames_left = None;
        for fault in self.world.note_request(record) {
            match fault {
                Fault::Status(status) => return Err(status.to_error(action)),
                Fault::Delay(time) => tokio::time::sleep(time).await,
                Fault::CutAfter(frames) => frames_left = Some(frames),
                Fault::DropConnection => {
                    let problem = "the connection was dropped, as a test asked";
                    return Err(Error::new(ErrorKind::ConnectionLost, action).with_message(problem));
                }
            }
        }
        let found = self.world.read(|store| store.resource(&path.group, &path.version, &path.plural));
        let missing =
            || Status::new(404, "the server could not find the requested resource").to_error(action);
        Ok((found.ok_or_else(missing)?, frames_left))
    }

    fn decoder(&self, def: &Arc<ResourceDef>) -> Result<Decoding<T>, Error> {
        let form = match self.resource.decoder().representation() {
            Representation::Json => Form::Whole,
            Representation::PartialObjectMetadata => Form::Metadata,
            other => {
                let problem = format!("a simulated server cannot represent objects as {other:?}");
                let action = format!("read {}", self.description());
                return Err(Error::new(ErrorKind::Configuration, action).with_message(problem));
            }
        };
        let encoder = Encoder::new(Arc::clone(def), self.resource.resource_type().version(), form);
        Ok(Decoding { encoder, resource: self.resource.clone() })
    }

    /// The query that a client would send.
    fn query(&self, parameters: &[(&str, String)]) -> String {
        let selectors = [
            ("labelSelector", self.scope.labels().to_string()),
            ("fieldSelector", self.scope.fields().to_string()),
        ];
        let all = selectors.iter().chain(parameters).filter(|(_, value)| !value.is_empty());
        all.map(|(name, value)| format!("{name}={}", encode(value))).collect::<Vec<_>>().join("&")
    }
}

#[async_trait]
impl<T: Send + Sync + 'static> ListWatch<T> for Collection<T> {
    async fn list(&self, params: ListParams) -> Result<ListStream<T>, Error> {
        let action = format!("list {}", self.description());
        let query = self.query(&[
            ("resourceVersion", params.version().to_string()),
            (
                "resourceVersionMatch",
                params.version_match().map(|rule| rule.as_str().to_owned()).unwrap_or_default(),
            ),
            ("continue", params.continue_token().unwrap_or_default().to_owned()),
            ("limit", if params.limit == 0 { String::new() } else { params.limit.to_string() }),
        ]);
        let (def, _) = self.begin(Verb::List, &action, &query).await?;
        let query = Query::parse(&query);
        let page = query
            .selection(&def, self.namespace(), "")
            .and_then(|selection| query.list_options(selection))
            .and_then(|options| self.world.read(|store| store.list(&def, &options)))
            .map_err(|status| status.to_error(&action))?;
        let decoding = self.decoder(&def)?;
        let mut parts: Vec<_> = page
            .items
            .chunks(BATCH)
            .map(|items| Ok(ListPart::Items(items.iter().map(|item| decoding.item(item)).collect())))
            .collect();
        let mut trailer = ListTrailer::new(page.revision.into());
        if let Some(token) = page.continue_token {
            trailer = trailer.with_continue(token);
        }
        if let Some(remaining) = page.remaining {
            trailer = trailer.with_remaining(remaining as u64);
        }
        parts.push(Ok(ListPart::Trailer(trailer)));
        Ok(Box::pin(stream::iter(parts)))
    }

    async fn watch(&self, params: WatchParams) -> Result<WatchStream<T>, Error> {
        let action = format!("watch {}", self.description());
        let flag = |set: bool, value: &str| if set { value.to_owned() } else { String::new() };
        let query = self.query(&[
            ("watch", "true".to_owned()),
            ("allowWatchBookmarks", "true".to_owned()),
            ("resourceVersion", params.version.to_string()),
            ("sendInitialEvents", flag(params.send_initial_events, "true")),
            ("resourceVersionMatch", flag(params.send_initial_events, "NotOlderThan")),
            ("timeoutSeconds", params.timeout.as_secs().to_string()),
        ]);
        let (def, frames_left) = self.begin(Verb::Watch, &action, &query).await?;
        let query = Query::parse(&query);
        let watching = query
            .selection(&def, self.namespace(), "")
            .and_then(|selection| query.watch_options(selection))
            .and_then(|options| Watching::open(self.world.clone(), &def, &options, frames_left))
            .map_err(|status| status.to_error(&action))?;
        let decoding = self.decoder(&def)?;
        let state = Some((watching, decoding, action));
        Ok(Box::pin(stream::unfold(state, |state| async move {
            let (mut watching, decoding, action) = state?;
            let frames = watching.next().await?;
            let mut events = Vec::with_capacity(frames.len());
            for frame in &frames {
                match frame {
                    // An error is the only frame of its batch.
                    Frame::Error(status) => return Some((Err(status.to_error(action)), None)),
                    frame => events.extend(decoding.event(frame)),
                }
            }
            Some((Ok(events), Some((watching, decoding, action))))
        })))
    }

    fn description(&self) -> String {
        format!("{} in {}", self.resource.resource_type(), self.scope)
    }
}

/// Makes entries of stored objects, by way of the bytes that would go over the wire.
struct Decoding<T> {
    encoder: Encoder,
    resource: Resource<T>,
}

impl<T: 'static> Decoding<T> {
    fn item(&self, object: &Stored) -> Item<T> {
        let raw = self.encoder.object(object);
        match self.resource.decoder().decode(&raw) {
            Ok(entry) => entry.into(),
            Err(error) => {
                let key = ObjectKey::new(object.namespace(), object.name());
                Undecodable::new(error)
                    .with_identity(key, object.uid().into(), object.revision.into())
                    .with_raw(raw)
                    .into()
            }
        }
    }

    fn event(&self, frame: &Frame) -> Option<WatchEvent<T>> {
        Some(match frame {
            Frame::Added(object) => Change::added(self.item(object)).into(),
            Frame::Modified(object) => Change::modified(self.item(object)).into(),
            Frame::Deleted(object) => Change::deleted(self.item(object)).into(),
            Frame::Bookmark { revision, initial_events_end } => {
                WatchEvent::Bookmark { version: (*revision).into(), initial_events_end: *initial_events_end }
            }
            Frame::Error(_) => return None,
        })
    }
}
