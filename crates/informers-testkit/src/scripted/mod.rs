//! A list-watch that follows a script.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use informers_core::{
    Entry, Error, ErrorKind, Item, ListParams, ListPart, ListStream, ListTrailer, ListWatch, Resource,
    ResourceVersion, Scope, Source, WatchEvent, WatchParams, WatchStream,
};
use tokio::sync::{mpsc, watch};

use crate::world::lock;

/// A [`ListWatch`] whose answers are written down beforehand, and which records what it is asked.
///
/// Each list takes the next list answer, each watch the next watch answer. Where the script has none, the
/// request waits: an answer that is added later is given to those who wait. A clone is another handle to the
/// same script.
///
/// ```
/// use futures_util::StreamExt;
/// use informers_core::{Entry, ListParams, ListWatch, ObjectKey, WatchParams};
/// use informers_testkit::{Call, FakeListWatch, ListAnswer, Status, WatchAnswer};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pod = Entry::new(ObjectKey::new("shop", "cart"), "u".into(), "4".into(), "a pod");
/// let fake = FakeListWatch::new();
/// fake.on_list(ListAnswer::page("7", [pod]));
/// fake.on_watch(WatchAnswer::refused(Status::new(410, "too old").to_error("watch pods")));
///
/// let parts = fake.list(ListParams::first("0".into())).await?;
/// assert_eq!(parts.count().await, 2);
/// let error = fake.watch(WatchParams::from_version("7".into(), std::time::Duration::MAX)).await.err();
/// assert!(error.unwrap().is_expired());
/// assert!(matches!(&fake.calls()[0], Call::List(params) if params.version().is_any()));
/// # Ok(())
/// # }
/// ```
pub struct FakeListWatch<T>(Arc<Inner<T>>);

struct Inner<T> {
    script: Mutex<Script<T>>,
    /// Counts answers and calls, to wake those who wait for them.
    version: watch::Sender<u64>,
}

struct Script<T> {
    lists: VecDeque<ListAnswer<T>>,
    watches: VecDeque<WatchAnswer<T>>,
    calls: Vec<Call>,
    streaming: bool,
}

/// A request that a [`FakeListWatch`] received.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Call {
    /// A list, or a page of it.
    List(ListParams),
    /// A watch, or a streaming list.
    Watch(WatchParams),
}

/// How a list request is answered.
#[derive(Debug)]
pub struct ListAnswer<T>(Result<Vec<ListStep<T>>, Error>);

#[derive(Debug)]
enum ListStep<T> {
    Part(ListPart<T>),
    Wait(Duration),
    Fail(Error),
    Stall,
}

impl<T> ListAnswer<T> {
    /// One page, the last one, at this version.
    pub fn page(version: impl Into<ResourceVersion>, objects: impl IntoIterator<Item = Entry<T>>) -> Self {
        let items = objects.into_iter().map(Item::from).collect();
        Self::items(items, ListTrailer::new(version.into()))
    }

    /// Any items, with any trailer.
    #[must_use]
    pub fn items(items: Vec<Item<T>>, trailer: ListTrailer) -> Self {
        let parts = [ListPart::Items(items), ListPart::Trailer(trailer)];
        Self(Ok(parts.into_iter().map(ListStep::Part).collect()))
    }

    /// The request itself fails.
    #[must_use]
    pub fn refused(error: Error) -> Self {
        Self(Err(error))
    }

    /// The request is taken, and then no byte comes.
    #[must_use]
    pub fn stalled() -> Self {
        Self(Ok(vec![ListStep::Stall]))
    }

    /// These items come, then the answer breaks off.
    #[must_use]
    pub fn broken(items: Vec<Item<T>>, error: Error) -> Self {
        Self(Ok(vec![ListStep::Part(ListPart::Items(items)), ListStep::Fail(error)]))
    }

    /// With a token, so that more pages follow. Does nothing to answers without a trailer.
    #[must_use]
    pub fn with_continue(mut self, token: &str) -> Self {
        for step in self.0.iter_mut().flatten() {
            if let ListStep::Part(ListPart::Trailer(trailer)) = step {
                *trailer = trailer.clone().with_continue(token);
            }
        }
        self
    }

    /// With a wait before the first part.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        if let Ok(steps) = &mut self.0 {
            steps.insert(0, ListStep::Wait(wait));
        }
        self
    }
}

/// How a watch request is answered.
#[derive(Debug)]
pub struct WatchAnswer<T>(Result<Vec<WatchStep<T>>, Error>);

#[derive(Debug)]
enum WatchStep<T> {
    Events(Vec<WatchEvent<T>>),
    Wait(Duration),
    Fail(Error),
    End,
    Live(mpsc::UnboundedReceiver<Result<WatchEvent<T>, Error>>),
}

/// The other end of a [live watch](WatchAnswer::live). Dropping it ends the watch in good order.
///
/// ```
/// use futures_util::StreamExt;
/// use informers_core::{Change, Entry, ListWatch, ObjectKey, WatchParams};
/// use informers_testkit::{FakeListWatch, WatchAnswer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let fake = FakeListWatch::new();
/// let (answer, live) = WatchAnswer::live();
/// fake.on_watch(answer);
/// let mut watch = fake.watch(WatchParams::from_version("7".into(), std::time::Duration::MAX)).await?;
/// live.send(Change::added(Entry::new(ObjectKey::cluster("a"), "u".into(), "8".into(), ())));
/// assert_eq!(watch.next().await.unwrap()?.len(), 1);
/// drop(live);
/// assert!(watch.next().await.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "dropping it ends the watch"]
pub struct LiveWatch<T>(mpsc::UnboundedSender<Result<WatchEvent<T>, Error>>);

impl<T> LiveWatch<T> {
    /// Sends one event, in a batch of its own. Nobody gets it if the watch was given up or has failed.
    pub fn send(&self, event: impl Into<WatchEvent<T>>) {
        let _ = self.0.send(Ok(event.into()));
    }

    /// Fails the watch.
    pub fn fail(&self, error: Error) {
        let _ = self.0.send(Err(error));
    }
}

impl<T> WatchAnswer<T> {
    /// A watch whose events are sent as the test goes along.
    pub fn live() -> (Self, LiveWatch<T>) {
        let (events, receiver) = mpsc::unbounded_channel();
        (Self(Ok(vec![WatchStep::Live(receiver)])), LiveWatch(events))
    }

    /// A watch that is open and silent. More can be appended to it.
    #[must_use]
    pub fn open() -> Self {
        Self(Ok(Vec::new()))
    }

    /// The request itself fails.
    #[must_use]
    pub fn refused(error: Error) -> Self {
        Self(Err(error))
    }

    /// Then these events come, in one batch.
    #[must_use]
    pub fn events<E: Into<WatchEvent<T>>>(self, events: impl IntoIterator<Item = E>) -> Self {
        let events = events.into_iter().map(Into::into).collect();
        self.step(WatchStep::Events(events))
    }

    /// Then a bookmark comes.
    #[must_use]
    pub fn bookmark(self, version: impl Into<ResourceVersion>) -> Self {
        let bookmark = WatchEvent::Bookmark { version: version.into(), initial_events_end: false };
        self.step(WatchStep::Events(vec![bookmark]))
    }

    /// Then the bookmark comes that ends the initial events of a streaming list.
    #[must_use]
    pub fn initial_events_end(self, version: impl Into<ResourceVersion>) -> Self {
        let bookmark = WatchEvent::Bookmark { version: version.into(), initial_events_end: true };
        self.step(WatchStep::Events(vec![bookmark]))
    }

    /// Then nothing comes for a while.
    #[must_use]
    pub fn wait(self, time: Duration) -> Self {
        self.step(WatchStep::Wait(time))
    }

    /// Then the watch fails.
    #[must_use]
    pub fn fail(self, error: Error) -> Self {
        self.step(WatchStep::Fail(error))
    }

    /// Then the watch ends in good order. Without it, the watch stays open and silent.
    #[must_use]
    pub fn end(self) -> Self {
        self.step(WatchStep::End)
    }

    fn step(mut self, step: WatchStep<T>) -> Self {
        if let Ok(steps) = &mut self.0 {
            steps.push(step);
        }
        self
    }
}

impl<T> FakeListWatch<T> {
    /// An empty script: every request waits.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            script: Mutex::new(Script {
                lists: VecDeque::new(),
                watches: VecDeque::new(),
                calls: Vec::new(),
                streaming: true,
            }),
            version: watch::Sender::new(0),
        }))
    }

    /// Says of itself that it cannot serve a streaming list.
    #[must_use]
    pub fn without_streaming_list(self) -> Self {
        lock(&self.0.script).streaming = false;
        self
    }

    /// Appends the answer to a list request.
    pub fn on_list(&self, answer: ListAnswer<T>) {
        self.change(|script| script.lists.push_back(answer));
    }

    /// Appends the answer to a watch request.
    pub fn on_watch(&self, answer: WatchAnswer<T>) {
        self.change(|script| script.watches.push_back(answer));
    }

    /// The requests so far.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.0.script).calls.clone()
    }

    /// How many answers were not asked for yet: of lists and of watches.
    #[must_use]
    pub fn left(&self) -> (usize, usize) {
        let script = lock(&self.0.script);
        (script.lists.len(), script.watches.len())
    }

    /// Waits until there were this many requests, and gives all so far.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub async fn wait_for_calls(&self, count: usize) -> Vec<Call> {
        let mut version = self.0.version.subscribe();
        loop {
            version.borrow_and_update();
            let calls = self.calls();
            // The sender lives as long as this borrow.
            if calls.len() >= count || version.changed().await.is_err() {
                return calls;
            }
        }
    }

    fn change<R>(&self, change: impl FnOnce(&mut Script<T>) -> R) -> R {
        let result = change(&mut lock(&self.0.script));
        self.0.version.send_modify(|version| *version += 1);
        result
    }

    /// The next answer that `take` finds, as soon as there is one.
    async fn answer<A>(&self, mut take: impl FnMut(&mut Script<T>) -> Option<A>) -> A {
        let mut version = self.0.version.subscribe();
        loop {
            version.borrow_and_update();
            let answer = take(&mut lock(&self.0.script));
            if let Some(answer) = answer {
                return answer;
            }
            if version.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[async_trait]
impl<T: Send + Sync + 'static> ListWatch<T> for FakeListWatch<T> {
    async fn list(&self, params: ListParams) -> Result<ListStream<T>, Error> {
        self.change(|script| script.calls.push(Call::List(params)));
        let steps = self.answer(|script| script.lists.pop_front()).await.0?;
        let parts = stream::iter(steps).then(|step| async move {
            match step {
                ListStep::Part(part) => Some(Ok(part)),
                ListStep::Fail(error) => Some(Err(error)),
                ListStep::Wait(time) => {
                    tokio::time::sleep(time).await;
                    None
                }
                ListStep::Stall => std::future::pending().await,
            }
        });
        Ok(Box::pin(parts.filter_map(std::future::ready)))
    }

    async fn watch(&self, params: WatchParams) -> Result<WatchStream<T>, Error> {
        self.change(|script| script.calls.push(Call::Watch(params)));
        let steps = self.answer(|script| script.watches.pop_front()).await.0?;
        Ok(Box::pin(stream::unfold(Some(VecDeque::from(steps)), |steps| async move {
            let mut steps = steps?;
            loop {
                match steps.pop_front() {
                    Some(WatchStep::Events(events)) => return Some((Ok(events), Some(steps))),
                    Some(WatchStep::Fail(error)) => return Some((Err(error), None)),
                    Some(WatchStep::Live(mut events)) => match events.recv().await? {
                        Ok(event) => {
                            steps.push_front(WatchStep::Live(events));
                            return Some((Ok(vec![event]), Some(steps)));
                        }
                        Err(error) => return Some((Err(error), None)),
                    },
                    Some(WatchStep::Wait(time)) => tokio::time::sleep(time).await,
                    Some(WatchStep::End) => return None,
                    None => std::future::pending().await,
                }
            }
        })))
    }

    fn supports_streaming_list(&self) -> bool {
        lock(&self.0.script).streaming
    }

    fn description(&self) -> String {
        "objects of a script".to_owned()
    }
}

impl<T> Clone for FakeListWatch<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for FakeListWatch<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for FakeListWatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = lock(&self.0.script);
        f.debug_struct("FakeListWatch")
            .field("lists_left", &script.lists.len())
            .field("watches_left", &script.watches.len())
            .field("calls", &script.calls)
            .finish()
    }
}

/// A [`Source`] that gives a list-watch of the test's own for each resource and scope.
///
/// ```
/// use informers_core::{JsonDecoder, Resource, ResourceScope, ResourceType, Scope, Source};
/// use informers_testkit::{FakeListWatch, ScriptedSource};
///
/// #[derive(serde::Deserialize)]
/// struct Node {}
///
/// let nodes = ResourceType::new("", "v1", "Node", "nodes", ResourceScope::Cluster);
/// let nodes: Resource<Node> = Resource::new(nodes, JsonDecoder::new());
/// let source = ScriptedSource::new();
/// source.serve("nodes", &Scope::all(), FakeListWatch::<Node>::new());
/// assert!(source.list_watch(&nodes, &Scope::all()).is_ok());
/// assert!(source.list_watch(&nodes, &Scope::namespace("shop")).is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedSource(Arc<Mutex<Vec<Served>>>);

struct Served {
    plural: String,
    scope: Scope,
    /// An `Arc<dyn ListWatch<T>>` for some `T`.
    list_watch: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.plural, self.scope)
    }
}

impl ScriptedSource {
    /// A source that has nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives this list-watch to those who ask for a resource, named by its plural, in exactly this scope. A
    /// later one for the same takes its place.
    pub fn serve<T: Send + Sync + 'static>(
        &self,
        plural: &str,
        scope: &Scope,
        list_watch: impl ListWatch<T>,
    ) {
        let list_watch: Arc<dyn ListWatch<T>> = Arc::new(list_watch);
        let served =
            Served { plural: plural.to_owned(), scope: scope.clone(), list_watch: Box::new(list_watch) };
        lock(&self.0).push(served);
    }
}

impl Source for ScriptedSource {
    fn list_watch<T: Send + Sync + 'static>(
        &self,
        resource: &Resource<T>,
        scope: &Scope,
    ) -> Result<Arc<dyn ListWatch<T>>, Error> {
        let plural = resource.resource_type().plural();
        let served = lock(&self.0);
        let found = served.iter().rev().filter(|served| served.plural == plural && served.scope == *scope);
        let found =
            found.filter_map(|served| served.list_watch.downcast_ref::<Arc<dyn ListWatch<T>>>()).next();
        found.cloned().ok_or_else(|| {
            Error::new(ErrorKind::Configuration, format!("read {plural} in {scope}"))
                .with_message("the scripted source was given no list-watch for these objects")
        })
    }
}
