//! The pages of a list as a stream that reads ahead.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use informers_core::{Error, Item, ListWatch};
use tokio_util::sync::CancellationToken;

use crate::{Advance, Page, PagerError, Walk};

type Fetch<T> = Pin<Box<dyn Future<Output = (Walk, Result<Page<T>, Error>)> + Send>>;

/// The pages of a list, some of them read ahead; see [`Pager::pages`](crate::Pager::pages).
///
/// Pages are read while the stream is polled, and no task is started. After an error it ends. Dropping it
/// abandons the request that runs.
pub struct Pages<T> {
    list_watch: Arc<dyn ListWatch<T>>,
    ahead: VecDeque<Page<T>>,
    capacity: usize,
    producer: Producer<T>,
    /// Asked before each request, as client-go does.
    canceled_before_request: Option<CancellationToken>,
}

enum Producer<T> {
    Idle(Walk),
    Fetching(Fetch<T>),
    Failed(PagerError),
    Done,
}

impl<T: Send + Sync + 'static> Pages<T> {
    pub(crate) fn new(list_watch: Arc<dyn ListWatch<T>>, walk: Walk, buffer: usize) -> Self {
        Self {
            list_watch,
            ahead: VecDeque::new(),
            // One more is in the producer's hand, as it were.
            capacity: buffer.saturating_add(1),
            producer: Producer::Idle(walk),
            canceled_before_request: None,
        }
    }

    pub(crate) fn cancel_before_request(mut self, cancel: CancellationToken) -> Self {
        self.canceled_before_request = Some(cancel);
        self
    }

    /// The items of the pages, one by one.
    #[must_use]
    pub fn into_items(self) -> Items<T> {
        Items { pages: self, page: VecDeque::new() }
    }

    /// Reads ahead as far as that goes without waiting. The caller's task wakes when it goes further.
    pub(crate) fn poll_read_ahead(&mut self, cx: &mut Context<'_>) {
        while self.ahead.len() < self.capacity {
            match std::mem::replace(&mut self.producer, Producer::Done) {
                Producer::Idle(walk) => {
                    self.producer = match &self.canceled_before_request {
                        Some(cancel) if cancel.is_cancelled() => Producer::Failed(PagerError::Canceled {
                            page: walk.page(),
                            paginated: walk.is_paginated(),
                        }),
                        _ => Producer::Fetching(fetch(Arc::clone(&self.list_watch), walk)),
                    }
                }
                Producer::Fetching(mut fetch) => match fetch.as_mut().poll(cx) {
                    Poll::Pending => {
                        self.producer = Producer::Fetching(fetch);
                        return;
                    }
                    Poll::Ready((walk, Ok(page))) => {
                        if let Advance::NextPage(walk) = walk.page_ended(&page.trailer) {
                            self.producer = Producer::Idle(walk);
                        }
                        self.ahead.push_back(page);
                    }
                    Poll::Ready((walk, Err(source))) => {
                        let (page, paginated) = (walk.page(), walk.is_paginated());
                        self.producer = Producer::Failed(PagerError::Request { page, paginated, source });
                    }
                },
                settled @ (Producer::Failed(_) | Producer::Done) => {
                    self.producer = settled;
                    return;
                }
            }
        }
    }
}

fn fetch<T: Send + Sync + 'static>(list_watch: Arc<dyn ListWatch<T>>, walk: Walk) -> Fetch<T> {
    Box::pin(async move {
        let page = Page::read(&*list_watch, walk.request().clone()).await;
        (walk, page)
    })
}

impl<T: Send + Sync + 'static> Stream for Pages<T> {
    type Item = Result<Page<T>, PagerError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_read_ahead(cx);
        if let Some(page) = self.ahead.pop_front() {
            return Poll::Ready(Some(Ok(page)));
        }
        match std::mem::replace(&mut self.producer, Producer::Done) {
            Producer::Failed(error) => Poll::Ready(Some(Err(error))),
            Producer::Done => Poll::Ready(None),
            running => {
                self.producer = running;
                Poll::Pending
            }
        }
    }
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("ahead", &self.ahead.len()).finish_non_exhaustive()
    }
}

/// The items of a list, its pages read ahead; see [`Pages::into_items`].
pub struct Items<T> {
    pages: Pages<T>,
    page: VecDeque<Item<T>>,
}

impl<T: Send + Sync + 'static> Stream for Items<T> {
    type Item = Result<Item<T>, PagerError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.page.pop_front() {
                return Poll::Ready(Some(Ok(item)));
            }
            match std::task::ready!(Pin::new(&mut self.pages).poll_next(cx)) {
                Some(Ok(page)) => self.page = page.items.into(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("pages", &self.pages).finish_non_exhaustive()
    }
}
