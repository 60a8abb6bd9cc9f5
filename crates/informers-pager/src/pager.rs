//! The entry points.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{Either, poll_fn, select};
use informers_core::{Item, ListParams, ListWatch, ResourceVersion};
use tokio_util::sync::CancellationToken;

use crate::walk::WalkRules;
use crate::{Advance, Page, PagerError, Pages, Parity, Recovery, Walk};

/// Reads lists in pages; client-go's `ListPager`.
///
/// ```
/// # use std::sync::Arc;
/// # use informers_core::*;
/// # use informers_pager::Pager;
/// # use tokio_util::sync::CancellationToken;
/// # async fn f(list_watch: Arc<dyn ListWatch<String>>) -> Result<(), informers_pager::PagerError> {
/// let pager = Pager::new().page_size(100);
/// let list = pager.list(&list_watch, ListParams::first("0".into()), &CancellationToken::new()).await?;
/// println!("{} objects at {}", list.items.len(), list.version);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Pager {
    page_size: u32,
    full_list_if_expired: bool,
    page_buffer_size: usize,
    parity: Parity,
}

impl Default for Pager {
    fn default() -> Self {
        Self::new()
    }
}

/// A whole list, as [`Pager::list`] gives it.
#[derive(Debug)]
#[non_exhaustive]
pub struct List<T> {
    /// All items, in the server's order.
    pub items: Vec<Item<T>>,
    /// The version of the list: the first page's.
    pub version: ResourceVersion,
    /// Whether a continue token was followed, be it that a full list was read in the end.
    pub paginated: bool,
    /// How many pages the list is made of.
    pub pages: u32,
    /// A token that was not followed; only under
    /// [`Parity::full_list_is_one_page`](crate::Parity::full_list_is_one_page).
    pub continue_token: Option<String>,
    /// What a list of a single page says about items after it.
    pub remaining: Option<u64>,
}

impl Pager {
    /// Pages of 500, the full list if a token expires, 10 pages read ahead at most.
    #[must_use]
    pub fn new() -> Self {
        Self { page_size: 500, full_list_if_expired: true, page_buffer_size: 10, parity: Parity::default() }
    }

    /// How many items are asked for in one page, where the parameters of a list name no limit. Default 500;
    /// 0 is no limit.
    #[must_use]
    pub fn page_size(mut self, items: u32) -> Self {
        self.page_size = items;
        self
    }

    /// Whether a list whose continue token has expired is read anew in one page. Default `true`. Not for
    /// [`each_item`](Self::each_item) and [`pages`](Self::pages), which have handed out items already.
    #[must_use]
    pub fn full_list_if_expired(mut self, full: bool) -> Self {
        self.full_list_if_expired = full;
        self
    }

    /// How many pages [`each_item`](Self::each_item) and [`pages`](Self::pages) read ahead. Default 10.
    /// While `n` pages were taken, at most `n` + this + 1 were asked for.
    #[must_use]
    pub fn page_buffer_size(mut self, pages: usize) -> Self {
        self.page_buffer_size = pages;
        self
    }

    /// Switches deliberate differences from client-go back.
    #[must_use]
    pub fn parity(mut self, parity: Parity) -> Self {
        self.parity = parity;
        self
    }

    /// The walk through the list of `params`, for those who read pages themselves.
    #[must_use]
    pub fn walk(&self, params: ListParams) -> Walk {
        self.walk_with(params, self.full_list_if_expired, false)
    }

    fn walk_with(&self, mut params: ListParams, full_list_if_expired: bool, keep_version: bool) -> Walk {
        if params.limit == 0 {
            params.limit = self.page_size;
        }
        let full_list_is_one_page = self.parity.full_list_is_one_page;
        Walk::new(params, WalkRules { full_list_if_expired, keep_version, full_list_is_one_page })
    }

    /// Reads the whole list into memory; client-go's `List` and `ListWithAlloc`.
    ///
    /// # Errors
    /// If a request fails for good, or `cancel` is cancelled.
    ///
    /// # Cancel safety
    /// Dropping the future abandons the request; nothing else is held.
    pub async fn list<T: Send + Sync + 'static>(
        &self,
        list_watch: &Arc<dyn ListWatch<T>>,
        params: ListParams,
        cancel: &CancellationToken,
    ) -> Result<List<T>, PagerError> {
        let mut walk = self.walk(params);
        let mut items = Vec::new();
        loop {
            let (number, paginated) = (walk.page(), walk.is_paginated());
            let canceled = PagerError::Canceled { page: number, paginated };
            // The full list belongs to the page before it, between which client-go does not look.
            if cancel.is_cancelled() && !(walk.is_full_list() && self.parity.cancel_between_pages_only) {
                return Err(canceled);
            }
            let page = Page::read(&**list_watch, walk.request().clone());
            let page = if self.parity.cancel_between_pages_only {
                page.await
            } else {
                match unless_canceled(cancel, page).await {
                    Some(page) => page,
                    None => return Err(canceled),
                }
            };
            match page {
                Ok(Page { items: more, trailer }) => {
                    if items.is_empty() {
                        items = more;
                    } else {
                        items.extend(more);
                    }
                    match walk.page_ended(&trailer) {
                        Advance::NextPage(next) => walk = next,
                        Advance::Complete(list) => {
                            return Ok(List {
                                items,
                                version: list.version,
                                paginated: list.paginated,
                                pages: list.pages,
                                continue_token: trailer.continue_token,
                                remaining: trailer.remaining.filter(|_| list.pages == 1),
                            });
                        }
                    }
                }
                Err(source) => match walk.failed(&source) {
                    Recovery::FullList(full) => {
                        walk = full;
                        items.clear();
                    }
                    Recovery::Failed { paginated } => {
                        return Err(PagerError::Request { page: number, paginated, source });
                    }
                },
            }
        }
    }

    /// The pages of the list as a stream, some of them read ahead. An expired token is an error.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use futures_util::StreamExt;
    /// # use informers_core::*;
    /// # use informers_pager::{Pager, PagerError};
    /// # async fn f(list_watch: Arc<dyn ListWatch<String>>) -> Result<(), PagerError> {
    /// let mut pages = Pager::new().page_buffer_size(2).pages(list_watch, ListParams::first("0".into()));
    /// while let Some(page) = pages.next().await {
    ///     println!("{} more objects", page?.items.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn pages<T: Send + Sync + 'static>(
        &self,
        list_watch: Arc<dyn ListWatch<T>>,
        params: ListParams,
    ) -> Pages<T> {
        let keep_version = self.parity.each_item_keeps_version;
        Pages::new(list_watch, self.walk_with(params, false, keep_version), self.page_buffer_size)
    }

    /// Calls `callback` with each item, in order, while later pages are read; client-go's `EachListItem`.
    ///
    /// No task is started: pages are read while the callback's future waits. An expired token is an error.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use informers_core::*;
    /// # use informers_pager::{Pager, PagerError};
    /// # use tokio_util::sync::CancellationToken;
    /// # async fn store(_: Item<String>) -> std::io::Result<()> { Ok(()) }
    /// # async fn f(list_watch: Arc<dyn ListWatch<String>>) -> Result<(), PagerError<std::io::Error>> {
    /// let all = ListParams::first("0".into());
    /// Pager::new().each_item(&list_watch, all, &CancellationToken::new(), |item| store(item)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// At once with the callback's first error. With the error of a request after all items before it were
    /// handed out. If `cancel` is cancelled.
    ///
    /// # Cancel safety
    /// Dropping the future abandons the request that runs; items that were not handed out are lost.
    pub async fn each_item<T, E, F, Fut>(
        &self,
        list_watch: &Arc<dyn ListWatch<T>>,
        params: ListParams,
        cancel: &CancellationToken,
        mut callback: F,
    ) -> Result<(), PagerError<E>>
    where
        T: Send + Sync + 'static,
        F: FnMut(Item<T>) -> Fut,
        Fut: Future<Output = Result<(), E>>,
    {
        let between_pages_only = self.parity.cancel_between_pages_only;
        let mut pages = self.pages(Arc::clone(list_watch), params);
        if between_pages_only {
            pages = pages.cancel_before_request(cancel.clone());
        }
        let mut number = 1;
        loop {
            let canceled = PagerError::Canceled { page: number, paginated: number > 1 };
            let next = if between_pages_only {
                pages.next().await
            } else {
                match unless_canceled(cancel, pages.next()).await {
                    Some(next) => next,
                    None => return Err(canceled),
                }
            };
            let page = match next {
                None => return Ok(()),
                Some(Err(error)) => return Err(error.into_callback()),
                Some(Ok(_)) if between_pages_only && cancel.is_cancelled() => return Err(canceled),
                Some(Ok(page)) => page,
            };
            for item in page.items {
                if !between_pages_only && cancel.is_cancelled() {
                    return Err(canceled);
                }
                let mut outcome = pin!(callback(item));
                let outcome = poll_fn(|cx| {
                    pages.poll_read_ahead(cx);
                    outcome.as_mut().poll(cx)
                });
                outcome.await.map_err(PagerError::Callback)?;
            }
            number += 1;
        }
    }
}

/// The outcome of `future`, or none if `cancel` comes first.
async fn unless_canceled<F: Future>(cancel: &CancellationToken, future: F) -> Option<F::Output> {
    match select(pin!(cancel.cancelled()), pin!(future)).await {
        Either::Left(_) => None,
        Either::Right((output, _)) => Some(output),
    }
}
