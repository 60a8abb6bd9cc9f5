//! Reading one page.

use futures_util::StreamExt;
use informers_core::{Error, ErrorKind, Item, ListParams, ListPart, ListTrailer, ListWatch};

/// One page of a list.
#[derive(Debug)]
#[non_exhaustive]
pub struct Page<T> {
    /// Its items, in the server's order.
    pub items: Vec<Item<T>>,
    /// What belongs to the page as a whole.
    pub trailer: ListTrailer,
}

impl<T: 'static> Page<T> {
    /// Asks for one page and reads it to its end.
    ///
    /// # Errors
    /// If the request fails, or the answer ends before its trailer.
    ///
    /// # Cancel safety
    /// Dropping the future abandons the request.
    pub async fn read(list_watch: &dyn ListWatch<T>, params: ListParams) -> Result<Self, Error> {
        let mut parts = list_watch.list(params).await?;
        let mut items = Vec::new();
        while let Some(part) = parts.next().await {
            match part? {
                ListPart::Items(batch) if items.is_empty() => items = batch,
                ListPart::Items(batch) => items.extend(batch),
                ListPart::Trailer(trailer) => return Ok(Self { items, trailer }),
            }
        }
        Err(ended_early(list_watch))
    }
}

/// The error of a page that ended without its trailer; it may be cut short.
pub(crate) fn ended_early<T: 'static>(list_watch: &dyn ListWatch<T>) -> Error {
    Error::new(ErrorKind::UnexpectedAnswer, format!("list {}", list_watch.description()))
        .with_message("the answer ended before the metadata of the list")
}
