//! The pager against a server that pages by itself.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures_util::{StreamExt, TryStreamExt};
use informers_core::{
    Entry, Error, ErrorKind, Item, ListParams, ListPart, ListStream, ListTrailer, ListWatch, ObjectKey,
    VersionMatch, WatchParams, WatchStream,
};
use informers_pager::{Page, Pager, PagerError, Parity};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Serves the numbers below `total`, at most `server_page` at a time.
struct Numbers {
    total: usize,
    server_page: usize,
    /// Every n-th page is empty, with a token.
    empty_page: Option<usize>,
    /// From this page on every token is expired.
    expired_from: Option<usize>,
    requests: Mutex<Vec<ListParams>>,
    hold: AtomicBool,
    reached: Notify,
}

impl Numbers {
    fn new(total: usize, server_page: usize) -> Self {
        Self {
            total,
            server_page,
            empty_page: None,
            expired_from: None,
            requests: Mutex::default(),
            hold: AtomicBool::new(false),
            reached: Notify::new(),
        }
    }

    fn requests(&self) -> Vec<ListParams> {
        self.requests.lock().unwrap().clone()
    }
}

#[async_trait::async_trait]
impl ListWatch<usize> for Numbers {
    async fn list(&self, params: ListParams) -> Result<ListStream<usize>, Error> {
        let page = {
            let mut requests = self.requests.lock().unwrap();
            requests.push(params.clone());
            requests.len()
        };
        self.reached.notify_one();
        if self.hold.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        let token = params.continue_token();
        if token.is_some() && self.expired_from.is_some_and(|from| page >= from) {
            return Err(Error::new(ErrorKind::Expired, "list numbers"));
        }
        let start: usize = token.map_or(0, |token| token.parse().unwrap());
        let wanted = match params.limit {
            0 => self.total,
            limit => self.server_page.min(limit as usize),
        };
        let wanted = if self.empty_page.is_some_and(|nth| page % nth == 0) { 0 } else { wanted };
        let end = self.total.min(start + wanted);
        let item = |n: usize| Item::from(Entry::keyed(ObjectKey::cluster(&n.to_string()), n));
        let batches: Vec<_> = (start..end).map(item).collect();
        let mut trailer = ListTrailer::new((100 + page as u64).into());
        if end < self.total {
            trailer = trailer.with_continue(end.to_string());
        }
        let mut parts = Vec::new();
        let mut batches = batches.into_iter().peekable();
        while batches.peek().is_some() {
            parts.push(Ok(ListPart::Items(batches.by_ref().take(7).collect())));
        }
        parts.push(Ok(ListPart::Trailer(trailer)));
        Ok(Box::pin(futures_util::stream::iter(parts)))
    }

    async fn watch(&self, _: WatchParams) -> Result<WatchStream<usize>, Error> {
        Err(Error::new(ErrorKind::Other, "watch numbers"))
    }

    fn description(&self) -> String {
        "numbers".into()
    }
}

fn shared(numbers: Numbers) -> (Arc<Numbers>, Arc<dyn ListWatch<usize>>) {
    let numbers = Arc::new(numbers);
    (numbers.clone(), numbers)
}

fn number(item: &Item<usize>) -> usize {
    match item {
        Item::Decoded(entry) => **entry,
        Item::Undecodable(bad) => panic!("{bad}"),
    }
}

fn from_any() -> ListParams {
    ListParams::first("0".into())
}

#[tokio::test]
async fn a09_every_page_is_read_and_later_ones_carry_token_and_limit_only() {
    for (server_page, empty_page) in [(500, None), (120, None), (500, Some(2)), (1, Some(3))] {
        let (server, list_watch) = shared(Numbers { empty_page, ..Numbers::new(1203, server_page) });
        let list = Pager::new().list(&list_watch, from_any(), &CancellationToken::new()).await.unwrap();
        let numbers: Vec<_> = list.items.iter().map(number).collect();
        assert_eq!(numbers, (0..1203).collect::<Vec<_>>());
        assert_eq!((list.version, list.paginated), (101.into(), true), "the first page's version");
        let requests = server.requests();
        assert!(requests.len() >= 3);
        assert_eq!(requests[0], from_any().with_limit(500));
        for request in &requests[1..] {
            assert!(request.continue_token().is_some());
            assert!(request.version().is_empty() && request.version_match().is_none());
            assert_eq!(request.limit, 500);
        }
    }
}

#[tokio::test]
async fn list_pages_as_client_go_does() {
    for (total, paginated, requests) in
        [(0, false, 1), (9, false, 1), (10, false, 1), (11, true, 2), (21, true, 3)]
    {
        let (server, list_watch) = shared(Numbers::new(total, usize::MAX));
        let pager = Pager::new().page_size(10);
        let list = pager.list(&list_watch, from_any(), &CancellationToken::new()).await.unwrap();
        assert_eq!((list.items.len(), list.paginated, server.requests().len()), (total, paginated, requests));
    }
}

#[tokio::test]
async fn a_rule_for_the_version_is_sent_with_the_first_page_only() {
    let (server, list_watch) = shared(Numbers::new(11, usize::MAX));
    let params = ListParams::first("10".into()).with_version_match(VersionMatch::NotOlderThan);
    let pager = Pager::new().page_size(10);
    let list = pager.list(&list_watch, params, &CancellationToken::new()).await.unwrap();
    assert_eq!((list.items.len(), list.paginated), (11, true));
    let rules: Vec<_> = server.requests().iter().map(ListParams::version_match).collect();
    assert_eq!(rules, [Some(VersionMatch::NotOlderThan), None]);
}

#[tokio::test]
async fn a_panic_of_the_callback_reaches_the_caller() {
    let (server, list_watch) = shared(Numbers::new(51, usize::MAX));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let seeing = Arc::clone(&seen);
    let walk = tokio::spawn(async move {
        let panicking = |item| {
            seeing.lock().unwrap().push(number(&item));
            std::future::ready(if number(&item) == 2 { panic!("told to") } else { Ok::<_, Error>(()) })
        };
        let pager = Pager::new().page_size(10).page_buffer_size(1);
        pager.each_item(&list_watch, from_any(), &CancellationToken::new(), panicking).await
    });
    assert!(walk.await.unwrap_err().is_panic());
    let seen = seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    assert_eq!(seen, [0, 1, 2]);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(server.requests().len() <= 3, "and nothing goes on reading");
}

#[tokio::test]
async fn an_expired_token_leads_to_the_full_list_or_to_an_error() {
    let expired = || Numbers { expired_from: Some(2), ..Numbers::new(21, usize::MAX) };
    let (server, list_watch) = shared(expired());
    let pager = Pager::new().page_size(10);
    let list = pager.list(&list_watch, from_any(), &CancellationToken::new()).await.unwrap();
    assert_eq!((list.items.len(), list.paginated, list.version), (21, true, 103.into()));
    assert_eq!(server.requests()[2], from_any());

    let (server, list_watch) = shared(expired());
    let pager = pager.full_list_if_expired(false);
    let error = pager.list(&list_watch, from_any(), &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, PagerError::Request { page: 2, paginated: true, .. }));
    assert_eq!(error.request_error().unwrap().kind(), ErrorKind::Expired);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn an_answer_without_a_trailer_is_an_error() {
    struct Cut;
    #[async_trait::async_trait]
    impl ListWatch<usize> for Cut {
        async fn list(&self, _: ListParams) -> Result<ListStream<usize>, Error> {
            Ok(Box::pin(futures_util::stream::iter([Ok(ListPart::Items(Vec::new()))])))
        }
        async fn watch(&self, _: WatchParams) -> Result<WatchStream<usize>, Error> {
            Err(Error::new(ErrorKind::Other, "watch"))
        }
        fn description(&self) -> String {
            "numbers".into()
        }
    }
    let error = Page::read(&Cut, from_any()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedAnswer);
    assert_eq!(error.to_string(), "cannot list numbers: the answer ended before the metadata of the list");
}

#[tokio::test]
async fn a_request_that_hangs_can_be_cancelled() {
    for each in [false, true] {
        let (server, list_watch) = shared(Numbers::new(30, 10));
        server.hold.store(true, Ordering::Relaxed);
        let cancel = CancellationToken::new();
        let call = tokio::spawn({
            let cancel = cancel.clone();
            async move {
                let pager = Pager::new();
                if each {
                    let callback = |_| std::future::ready(Ok::<_, std::convert::Infallible>(()));
                    pager.each_item(&list_watch, from_any(), &cancel, callback).await
                } else {
                    pager.list(&list_watch, from_any(), &cancel).await.map(drop)
                }
            }
        });
        server.reached.notified().await;
        cancel.cancel();
        assert!(call.await.unwrap().unwrap_err().is_canceled());
    }
}

#[tokio::test]
async fn each_item_reads_ahead_as_far_as_the_buffer_and_no_further() {
    for (buffer, ahead) in [(0, 1), (1, 2), (10, 9)] {
        let (server, list_watch) = shared(Numbers::new(100, 10));
        let pager = Pager::new().page_size(10).page_buffer_size(buffer);
        let mut seen = 0;
        let outcome = pager
            .each_item(&list_watch, from_any(), &CancellationToken::new(), |item| {
                assert_eq!(number(&item), seen);
                seen += 1;
                let taken = seen.div_ceil(10);
                let server = &server;
                async move {
                    for _ in 0..3 {
                        tokio::task::yield_now().await;
                    }
                    assert_eq!(server.requests().len(), (taken + ahead).min(10));
                    Ok::<_, std::convert::Infallible>(())
                }
            })
            .await;
        outcome.unwrap();
        assert_eq!(seen, 100);
    }
}

#[tokio::test]
async fn each_item_stops_at_the_callbacks_first_error_and_hands_out_all_before_a_failed_page() {
    let (_, list_watch) = shared(Numbers::new(30, 10));
    let pager = Pager::new().page_size(10);
    let fail = |item| std::future::ready(if number(&item) == 12 { Err("twelve") } else { Ok(()) });
    let error = pager.each_item(&list_watch, from_any(), &CancellationToken::new(), fail).await.unwrap_err();
    assert!(matches!(error, PagerError::Callback("twelve")));

    let (_, list_watch) = shared(Numbers { expired_from: Some(3), ..Numbers::new(30, 10) });
    let mut seen = Vec::new();
    let keep = |item| {
        seen.push(number(&item));
        std::future::ready(Ok::<_, std::convert::Infallible>(()))
    };
    let error = pager.each_item(&list_watch, from_any(), &CancellationToken::new(), keep).await.unwrap_err();
    assert_eq!(error.request_error().unwrap().kind(), ErrorKind::Expired);
    assert_eq!(seen, (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn each_item_notices_a_cancellation_before_the_next_item() {
    let (_, list_watch) = shared(Numbers::new(30, 10));
    let cancel = CancellationToken::new();
    let mut seen = 0;
    let outcome = Pager::new()
        .page_size(10)
        .each_item(&list_watch, from_any(), &cancel, |_| {
            seen += 1;
            if seen == 4 {
                cancel.cancel();
            }
            std::future::ready(Ok::<_, std::convert::Infallible>(()))
        })
        .await;
    assert!(outcome.unwrap_err().is_canceled());
    assert_eq!(seen, 4);
}

#[tokio::test]
async fn pages_and_items_are_streams() {
    let (_, list_watch) = shared(Numbers::new(25, 10));
    let pager = Pager::new().page_size(10);
    let sizes: Vec<_> = pager
        .pages(list_watch.clone(), from_any())
        .map_ok(|page| page.items.len())
        .try_collect()
        .await
        .unwrap();
    assert_eq!(sizes, [10, 10, 5]);
    let items: Vec<_> = pager.pages(list_watch, from_any()).into_items().collect().await;
    assert_eq!(items.len(), 25);
    assert!(items.iter().all(Result::is_ok));
}

/// A list-watch that is pending once before each answer and each part of it, so that there are many await points.
struct Hesitant(Arc<dyn ListWatch<usize>>);

#[async_trait::async_trait]
impl ListWatch<usize> for Hesitant {
    async fn list(&self, params: ListParams) -> Result<ListStream<usize>, Error> {
        tokio::task::yield_now().await;
        let parts = self.0.list(params).await?;
        Ok(Box::pin(parts.then(|part| async move {
            tokio::task::yield_now().await;
            part
        })))
    }

    async fn watch(&self, params: WatchParams) -> Result<WatchStream<usize>, Error> {
        self.0.watch(params).await
    }

    fn description(&self) -> String {
        self.0.description()
    }
}

/// Polls a future that often; none if it was not through.
fn polled<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    (0..polls).find_map(|_| match future.as_mut().poll(&mut context) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    })
}

#[test]
fn a_stream_that_is_not_waited_for_any_more_loses_no_item_and_asks_nothing_twice() {
    for polls in 1..6 {
        let (server, list_watch) = shared(Numbers::new(25, 10));
        let pager = Pager::new().page_size(10).page_buffer_size(1);
        let mut items = pager.pages(Arc::new(Hesitant(list_watch)), from_any()).into_items();
        let mut seen = Vec::new();
        for _ in 0..1000 {
            // Dropped after so many polls, and made anew.
            match polled(polls, items.next()) {
                Some(Some(item)) => seen.push(number(&item.unwrap())),
                Some(None) => break,
                None => {}
            }
        }
        assert_eq!(seen, (0..25).collect::<Vec<_>>());
        assert_eq!(server.requests().len(), 3);
    }
}

#[test]
fn a_list_that_is_dropped_at_any_await_point_leaves_nothing_behind() {
    let cancel = CancellationToken::new();
    for polls in 0.. {
        let (server, list_watch) = shared(Numbers::new(25, 10));
        let hesitant: Arc<dyn ListWatch<usize>> = Arc::new(Hesitant(list_watch));
        let pager = Pager::new().page_size(10);
        let listed = polled(polls, pager.list(&hesitant, from_any(), &cancel));
        let mut seen = Vec::new();
        let see = |item| {
            seen.push(number(&item));
            std::future::ready(Ok::<_, std::convert::Infallible>(()))
        };
        let each = polled(polls, pager.each_item(&hesitant, from_any(), &cancel, see));
        let page = polled(polls, Page::read(&*hesitant, from_any()));
        // What the callback was given is a part of the list, in order, and nobody goes on asking.
        assert_eq!(seen, (0..seen.len()).collect::<Vec<_>>());
        assert_eq!(Arc::strong_count(&server), 2, "no request is under way");
        if let (Some(list), Some(each), Some(page)) = (listed, each, page) {
            assert_eq!((list.unwrap().items.len(), seen.len(), page.unwrap().items.len()), (25, 25, 25));
            each.unwrap();
            assert!(polls > 5, "there were await points");
            break;
        }
        assert!(polls < 100);
    }
}

#[tokio::test]
async fn each_item_keeps_version_in_client_go() {
    for (keeps, second) in [(false, ""), (true, "0")] {
        let (server, list_watch) = shared(Numbers::new(20, 10));
        let mut parity = Parity::default();
        parity.each_item_keeps_version = keeps;
        let pager = Pager::new().page_size(10).parity(parity);
        let pass_over = |_| std::future::ready(Ok::<_, std::convert::Infallible>(()));
        pager.each_item(&list_watch, from_any(), &CancellationToken::new(), pass_over).await.unwrap();
        let versions: Vec<_> = server.requests().iter().map(ListParams::version).collect();
        assert_eq!(versions, ["0".into(), second.into()]);
    }
}

#[tokio::test]
async fn a_cancellation_waits_for_the_end_of_the_page_in_client_go() {
    for (only, expected) in [(false, 4), (true, 10)] {
        let (_, list_watch) = shared(Numbers::new(30, 10));
        let (cancel, mut seen) = (CancellationToken::new(), 0);
        let mut parity = Parity::default();
        parity.cancel_between_pages_only = only;
        let pager = Pager::new().page_size(10).parity(parity);
        let outcome = pager
            .each_item(&list_watch, from_any(), &cancel, |_| {
                seen += 1;
                if seen == 4 {
                    cancel.cancel();
                }
                std::future::ready(Ok::<_, std::convert::Infallible>(()))
            })
            .await;
        assert!(outcome.unwrap_err().is_canceled());
        assert_eq!(seen, expected);
    }
}
