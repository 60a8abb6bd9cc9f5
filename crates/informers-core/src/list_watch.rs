//! The seam between those who read collections and those who serve them.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_core::Stream;

use crate::{Error, Item, ListParams, Resource, ResourceVersion, Scope, WatchEvent, WatchParams};

/// The parts of one page of a list; the trailer comes last, exactly once.
pub type ListStream<T> = Pin<Box<dyn Stream<Item = Result<ListPart<T>, Error>> + Send>>;

/// The events of a watch, in batches as they arrived. Its end is the end of the watch; an error ends it too.
pub type WatchStream<T> = Pin<Box<dyn Stream<Item = Result<Vec<WatchEvent<T>>, Error>> + Send>>;

/// Lists and watches one collection: a resource within a [`Scope`].
///
/// Takes the place of client-go's `ListerWatcher`. No body is ever held whole: both answers are streams of
/// batches. Dropping a stream closes its request.
#[async_trait]
pub trait ListWatch<T>: Send + Sync + 'static {
    /// Asks for one page.
    ///
    /// # Errors
    /// If the request fails or is refused; later failures are items of the stream.
    ///
    /// # Cancel safety
    /// Dropping the future abandons the request.
    async fn list(&self, params: ListParams) -> Result<ListStream<T>, Error>;

    /// Opens a watch.
    ///
    /// # Errors
    /// If the request fails or is refused; later failures are items of the stream.
    ///
    /// # Cancel safety
    /// Dropping the future abandons the request.
    async fn watch(&self, params: WatchParams) -> Result<WatchStream<T>, Error>;

    /// Whether a streaming list may be asked for. False for sources that know they cannot serve one, as
    /// client-go's `IsWatchListSemanticsUnSupported`.
    fn supports_streaming_list(&self) -> bool {
        true
    }

    /// What is read, for errors and logs, such as `pods in namespace shop`.
    fn description(&self) -> String;
}

/// A part of one page of a list.
#[derive(Debug)]
#[allow(clippy::exhaustive_enums, reason = "every source makes both, every reader needs both")]
pub enum ListPart<T> {
    /// Some items, in the server's order.
    Items(Vec<Item<T>>),
    /// What belongs to the page as a whole; the last part.
    Trailer(ListTrailer),
}

/// The metadata of one page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListTrailer {
    /// The version of the list, from which a watch can go on.
    pub version: ResourceVersion,
    /// The token for the next page, or none on the last one.
    pub continue_token: Option<String>,
    /// How many items follow this page, where the server says so.
    pub remaining: Option<u64>,
}

impl ListTrailer {
    /// The trailer of a last page.
    #[must_use]
    pub fn new(version: ResourceVersion) -> Self {
        Self { version, ..Self::default() }
    }

    /// With the token for the next page; an empty one is none.
    #[must_use]
    pub fn with_continue(mut self, token: impl Into<String>) -> Self {
        self.continue_token = Some(token.into()).filter(|token| !token.is_empty());
        self
    }

    /// With the number of items that follow.
    #[must_use]
    pub fn with_remaining(mut self, remaining: u64) -> Self {
        self.remaining = Some(remaining);
        self
    }
}

/// Gives a [`ListWatch`] for a resource and a scope: a client, or what plays one.
///
/// The shared informer factory is generic over it.
pub trait Source: Send + Sync + 'static {
    /// The collection of `resource` in `scope`. No request is made.
    ///
    /// # Errors
    /// If this source cannot serve such a collection.
    fn list_watch<T: Send + Sync + 'static>(
        &self,
        resource: &Resource<T>,
        scope: &Scope,
    ) -> Result<Arc<dyn ListWatch<T>>, Error>;
}

impl<S: Source> Source for Arc<S> {
    fn list_watch<T: Send + Sync + 'static>(
        &self,
        resource: &Resource<T>,
        scope: &Scope,
    ) -> Result<Arc<dyn ListWatch<T>>, Error> {
        S::list_watch(self, resource, scope)
    }
}
