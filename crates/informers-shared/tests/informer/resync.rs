//! Being shown everything again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informers_shared::{HandlerGuard, SharedInformer};
use informers_testkit::settle;
use tokio::time::Instant;

use crate::world::{Config, builder, put, server_with};

/// The whole seconds at which a handler is shown its object again.
fn watch_resyncs(
    informer: &SharedInformer<Config>,
    period: Option<u64>,
    start: Instant,
) -> (HandlerGuard<Config>, Arc<Mutex<Vec<u64>>>) {
    let times = Arc::new(Mutex::new(Vec::new()));
    let recording = Arc::clone(&times);
    let mut handler = informer.handler();
    if let Some(seconds) = period {
        handler = handler.resync(Duration::from_secs(seconds));
    }
    let guard = handler.on_event(move |event| {
        if event.is_resync() {
            recording.lock().unwrap().push(start.elapsed().as_secs());
        }
    });
    (guard, times)
}

#[tokio::test(start_paused = true)]
async fn a22_each_handler_resyncs_exactly_when_it_wants() {
    let start = Instant::now();
    let server = server_with(["a"]);
    let informer = builder(&server).resync(Duration::from_secs(20)).build();
    let (_inherits, inherited) = watch_resyncs(&informer, None, start);
    let (seven, sevens) = watch_resyncs(&informer, Some(7), start);
    let (never, nevers) = watch_resyncs(&informer, Some(0), start);
    assert_eq!((seven.resync(), never.resync()), (Some(Duration::from_secs(7)), None));
    informer.start().unwrap();
    informer.synced().await.unwrap();
    let requests = server.requests().len();
    tokio::time::sleep(Duration::from_millis(30_500)).await;
    let (_late, lates) = watch_resyncs(&informer, Some(5), start);
    tokio::time::sleep(Duration::from_millis(30_000)).await;
    assert_eq!(*inherited.lock().unwrap(), [20, 40, 60]);
    assert_eq!(*sevens.lock().unwrap(), [7, 14, 21, 28, 35, 42, 49, 56]);
    assert_eq!(*nevers.lock().unwrap(), [0; 0]);
    assert_eq!(
        *lates.lock().unwrap(),
        [35, 40, 45, 50, 55],
        "a handler may come late and want a shorter period"
    );
    assert_eq!(server.requests().len(), requests, "a resync asks the server nothing");
}

#[tokio::test(start_paused = true)]
async fn a_handler_without_resync_hears_nothing_of_others_resyncs() {
    let server = server_with(["a"]);
    let informer = builder(&server).resync(Duration::from_secs(10)).build();
    let heard = Arc::new(Mutex::new(0));
    let counting = Arc::clone(&heard);
    let guard = informer.handler().without_resync().on_event(move |_| *counting.lock().unwrap() += 1);
    let (_other, times) = watch_resyncs(&informer, None, Instant::now());
    informer.start().unwrap();
    tokio::time::sleep(Duration::from_secs(35)).await;
    assert_eq!((*heard.lock().unwrap(), times.lock().unwrap().len()), (1, 3));
    assert_eq!(guard.resync(), None);
}

#[tokio::test(start_paused = true)]
async fn a_removed_handler_is_resynced_no_more() {
    let server = server_with(["a"]);
    let informer = builder(&server).build();
    let (guard, times) = watch_resyncs(&informer, Some(10), Instant::now());
    informer.start().unwrap();
    tokio::time::sleep(Duration::from_secs(15)).await;
    guard.close().await;
    put(&server, "a", "1");
    tokio::time::sleep(Duration::from_secs(60)).await;
    settle().await;
    assert_eq!(*times.lock().unwrap(), [10]);
}
