//! Ends out of the ordinary: of informers that never ran, of runtimes, of handlers that fail when they go.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use informers_core::{Event, Handler, JsonDecoder, Resource, Scope, Source};
use informers_shared::{InformerBuilder, SharedInformer};
use informers_testkit::settle;
use serde_json::json;

use crate::world::{Config, config_maps, informer, server_with};

async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_subscription_to_an_informer_that_never_started_ends_with_it() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    let mut events = informer.subscribe();
    informer.stop().await;
    assert!(soon(events.next()).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_comes_to_a_stopped_informer_whose_store_is_lent_is_told_so() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    let warm_up = informer.warm_up().unwrap();
    informer.stop().await;
    let (guard, mut events) = (informer.on_event(|_| {}), informer.subscribe());
    assert!(soon(async { guard.synced().await }).await.unwrap_err().is_stopped());
    assert!(soon(events.next()).await.is_none());
    soon(guard.close()).await;
    drop(warm_up);
    assert!(informer.start().unwrap_err().is_stopped());
}

/// Looks at its informer when it is dropped.
struct Curious(SharedInformer<Config>, Arc<AtomicUsize>);

impl Handler<Config> for Curious {
    fn on_event(&mut self, _: Event<Config>) {}
}

impl Drop for Curious {
    fn drop(&mut self) {
        assert!(self.0.status().stopped);
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn no_lock_is_held_while_handlers_of_an_informer_that_never_started_are_dropped() {
    // A lock that is held would block the thread for ever.
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let server = server_with(["a"]);
        let informer = informer(&server);
        let drops = Arc::new(AtomicUsize::new(0));
        let _guard = informer.add_handler(Curious(informer.clone(), Arc::clone(&drops)));
        runtime.block_on(informer.stop());
        let _late = informer.add_handler(Curious(informer.clone(), Arc::clone(&drops)));
        tell.send(drops.load(Ordering::SeqCst)).unwrap();
    });
    assert_eq!(told.recv_timeout(Duration::from_secs(30)), Ok(2));
}

#[tokio::test(start_paused = true)]
async fn a_stop_drops_what_a_stop_after_delivery_still_waits_for() {
    let server = server_with(["a", "b", "c"]);
    let informer = informer(&server);
    let calls = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&calls);
    let _guard = informer.for_each(move |_| {
        counting.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(1000))
    });
    informer.start().unwrap();
    informer.synced().await.unwrap();
    settle().await;
    let stopping = informer.clone();
    let patient = tokio::spawn(async move { stopping.stop_after_delivery().await });
    settle().await;
    informer.stop().await;
    patient.await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1, "the running call ends, no other begins");
}

#[test]
fn an_informer_ends_with_the_runtime_it_was_started_in() {
    let build =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let server = server_with(["a"]);
    let informer = informer(&server);
    let (guard, mut events) = (informer.on_event(|_| {}), informer.subscribe());
    let first = build();
    first.block_on(async {
        informer.start().unwrap();
        informer.synced().await.unwrap();
    });
    drop(first);
    assert!(informer.is_stopped());
    build().block_on(async {
        soon(informer.stop()).await;
        soon(guard.close()).await;
        assert!(soon(events.next()).await.is_some(), "what was delivered stays");
        assert!(soon(events.next()).await.is_none());
    });
}

/// Cannot be dropped in peace.
struct Grumpy;

impl Handler<Config> for Grumpy {
    fn on_event(&mut self, _: Event<Config>) {}
}

impl Drop for Grumpy {
    fn drop(&mut self) {
        panic!("as told by the test");
    }
}

#[tokio::test(start_paused = true)]
async fn closing_a_handler_whose_destructor_panics_returns() {
    let server = server_with(["a"]);
    let informer = informer(&server);
    let guard = informer.add_handler(Grumpy);
    informer.start().unwrap();
    guard.synced().await.unwrap();
    soon(guard.close()).await;
    soon(informer.stop()).await;
}

#[derive(Debug)]
struct Explosive;

impl<'de> serde::Deserialize<'de> for Explosive {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let config = Config::deserialize(deserializer)?;
        assert_ne!(config.data["value"], "bomb", "as told by the test");
        Ok(Self)
    }
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_lost_one_of_its_readers_stops() {
    let server = server_with(["a"]);
    let resource: Resource<Explosive> = Resource::new(config_maps(), JsonDecoder::new());
    let part = |namespace: &str| {
        let scope = Scope::namespace(namespace);
        let collection = server.list_watch(&resource, &scope).unwrap();
        (scope, collection)
    };
    let informer = InformerBuilder::of_scopes(vec![part("ns"), part("other")]).build();
    informer.start().unwrap();
    informer.synced().await.unwrap();
    // This source decodes in the reader's own task.
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "other", "name": "x"}, "data": {"value": "bomb"},
    });
    server.create(object).unwrap();
    settle().await;
    assert!(informer.is_stopped(), "{:?}", informer.status());
    assert_eq!(informer.store().len(), 1, "the store stays readable");
}

/// A task that looks at the informer when it is woken.
struct Looking(SharedInformer<Config>, AtomicUsize);

impl Wake for Looking {
    fn wake(self: Arc<Self>) {
        assert!(self.0.status().stopped);
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn no_lock_is_held_while_the_end_wakes_those_who_wait() {
    // A lock that is held would block the thread for ever.
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let informer = informer(&server_with(["a"]));
        let task = Arc::new(Looking(informer.clone(), AtomicUsize::new(0)));
        let mut subscriptions = [informer.subscribe(), informer.subscribe()];
        let waker = Waker::from(Arc::clone(&task));
        for events in &mut subscriptions {
            assert!(pin!(events.next()).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert!(pin!(informer.stop()).poll(&mut Context::from_waker(Waker::noop())).is_ready());
        tell.send(task.1.load(Ordering::SeqCst)).unwrap();
    });
    assert_eq!(told.recv_timeout(Duration::from_secs(60)), Ok(2));
}
