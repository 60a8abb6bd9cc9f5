use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use informers_core::{Change, ErrorKind, ObjectKey};

use super::*;

fn entry(name: &str, version: &str) -> Entry<()> {
    Entry::new(ObjectKey::cluster(name), "u".into(), version.into(), ())
}

fn error() -> Error {
    Error::new(ErrorKind::ConnectionLost, "read a script")
}

#[tokio::test(start_paused = true)]
async fn answers_come_in_order() {
    let fake = FakeListWatch::new();
    fake.on_list(ListAnswer::page("1", [entry("a", "1")]).with_continue("next"));
    fake.on_list(ListAnswer::broken(vec![entry("b", "1").into()], error()));
    fake.on_list(ListAnswer::refused(error()));

    let parts: Vec<_> = fake.list(ListParams::first("0".into())).await.unwrap().collect().await;
    let Ok(ListPart::Trailer(trailer)) = &parts[1] else { panic!("{parts:?}") };
    assert_eq!(trailer.continue_token.as_deref(), Some("next"));
    let parts: Vec<_> = fake.list(ListParams::first("0".into())).await.unwrap().collect().await;
    assert!(parts[0].is_ok() && parts[1].is_err());
    assert!(fake.list(ListParams::first("0".into())).await.is_err());
    assert_eq!((fake.calls().len(), fake.left()), (3, (0, 0)));
}

#[tokio::test(start_paused = true)]
async fn a_watch_follows_its_steps() {
    let fake = FakeListWatch::new();
    let wait = Duration::from_secs(5);
    let change = || [Change::added(entry("a", "2"))];
    fake.on_watch(WatchAnswer::open().events(change()).wait(wait).bookmark("3").end());
    fake.on_watch(WatchAnswer::open().events(change()).fail(error()).events(change()));
    fake.on_watch(WatchAnswer::open());
    let params = WatchParams::from_version("1".into(), Duration::MAX);

    let start = tokio::time::Instant::now();
    let events: Vec<_> = fake.watch(params.clone()).await.unwrap().collect().await;
    assert_eq!((events.len(), start.elapsed()), (2, wait));
    let events: Vec<_> = fake.watch(params.clone()).await.unwrap().collect().await;
    assert!(events[0].is_ok() && events[1].is_err() && events.len() == 2);
    let mut open = fake.watch(params).await.unwrap();
    assert!(open.next().now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_live_watch_brings_what_is_sent_until_it_fails() {
    let fake = FakeListWatch::new();
    let (answer, live) = WatchAnswer::live();
    fake.on_watch(answer);
    let mut watch = fake.watch(WatchParams::from_version("1".into(), Duration::MAX)).await.unwrap();
    assert!(watch.next().now_or_never().is_none());
    live.send(Change::added(entry("a", "2")));
    live.fail(error());
    live.send(Change::added(entry("b", "3")));
    assert_eq!(watch.next().await.unwrap().unwrap().len(), 1);
    assert!(watch.next().await.unwrap().is_err());
    assert!(watch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_for_its_answer() {
    let fake: FakeListWatch<()> = FakeListWatch::new();
    let ask = || {
        let fake = fake.clone();
        tokio::spawn(async move { fake.list(ListParams::first("0".into())).await.is_ok() })
    };
    let (first, second) = (ask(), ask());
    assert_eq!(fake.wait_for_calls(2).await.len(), 2);
    fake.on_list(ListAnswer::page("1", []));
    fake.on_list(ListAnswer::page("1", []));
    assert!(first.await.unwrap() && second.await.unwrap());
}
