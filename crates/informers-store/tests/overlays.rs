//! Expiring store, undelta store, mutation cache and heap: what client-go's tests of them assert.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use informers_core::{Entry, ObjectKey};
use informers_store::{Error, ExpiringStore, Heap, MutationCache, StoreWriter, UndeltaStore};

const TTL: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_nanos(1);

fn number(name: &str, n: i32) -> Entry<i32> {
    Entry::keyed(ObjectKey::cluster(name), n)
}

#[test]
fn ttl_expiration_basic() {
    let (store, start) = (ExpiringStore::new(TTL), Instant::now());
    store.insert(number("a", 1), start);
    let later = start + TTL + TICK;
    assert_eq!(store.keys().len(), 1);
    assert!(store.get("a", later).is_none());
    assert!(store.keys().is_empty(), "the read that found it expired removed it");
}

#[test]
fn re_add_expired_item() {
    let (store, start) = (ExpiringStore::new(TTL), Instant::now());
    store.insert(number("a", 1), start);
    let later = start + TTL + TICK;
    assert_eq!(*store.insert(number("a", 2), later).unwrap(), 1);
    assert_eq!(*store.get("a", later + TTL).unwrap(), 2);
}

#[test]
fn ttl_list() {
    let (store, start) = (ExpiringStore::new(TTL), Instant::now());
    store.insert(number("old", 1), start);
    store.insert(number("new", 2), start + TICK);
    let now = start + TTL + TICK;
    assert_eq!(store.keys().len(), 2, "keys include what is expired");
    assert_eq!(store.list(now).iter().map(|entry| **entry).collect::<Vec<_>>(), [2]);
    store.replace(vec![number("a", 1), number("b", 2)], now);
    assert_eq!((store.list(now + TTL).len(), store.list(now + TTL + TICK).len()), (2, 0));
    assert!(store.remove("a").is_none());
}

#[test]
fn ttl_policy() {
    for (time_to_live, age, expired) in [
        (TTL, Duration::ZERO, false),
        (TTL, TTL, false),
        (TTL, TTL + TICK, true),
        (Duration::ZERO, Duration::from_secs(1_000_000), false),
    ] {
        let (store, start) = (ExpiringStore::new(time_to_live), Instant::now());
        store.insert(number("a", 1), start);
        assert_eq!(store.get("a", start + age).is_none(), expired, "{age:?} of {time_to_live:?}");
    }
}

type States = Arc<Mutex<Vec<Vec<i32>>>>;

fn undelta() -> (UndeltaStore<i32>, States) {
    let states = States::default();
    let seen = Arc::clone(&states);
    let push = move |all: Vec<Entry<i32>>| {
        let mut state: Vec<_> = all.iter().map(|entry| **entry).collect();
        state.sort_unstable();
        seen.lock().unwrap().push(state);
    };
    (UndeltaStore::new(|n: &i32| ObjectKey::cluster(&(n % 10).to_string()), push), states)
}

#[test]
fn writes_call_push() {
    let (store, states) = undelta();
    store.add(1).unwrap();
    store.update(11).unwrap();
    store.add(2).unwrap();
    store.delete(1);
    store.replace(vec![5, 6], "1".into()).unwrap();
    let expected = [vec![1], vec![11], vec![2, 11], vec![2], vec![5, 6]];
    assert_eq!(*states.lock().unwrap(), expected);
}

#[test]
fn reads_do_not_call_push() {
    let (store, states) = undelta();
    store.add(1).unwrap();
    let _ = (store.get("1"), store.list(), store.keys(), store.len());
    assert_eq!(states.lock().unwrap().len(), 1);
}

fn entry(name: &str, uid: &str, version: &str) -> Entry<&'static str> {
    Entry::new(ObjectKey::new("ns", name), uid.into(), version.into(), "app")
}

struct Fixture {
    writer: StoreWriter<&'static str>,
    cache: MutationCache<&'static str>,
    now: Instant,
}

fn fixture(change: impl Fn(MutationCache<&'static str>) -> MutationCache<&'static str>) -> Fixture {
    let mut writer = StoreWriter::new();
    let by_object = |entry: &Entry<&'static str>| Some(entry.object().to_string());
    let (_, pending) = writer.reader().define_index(Some("app"), by_object).unwrap();
    assert!(writer.install(pending).is_ok());
    let cache = change(MutationCache::new(writer.reader()));
    Fixture { writer, cache, now: Instant::now() }
}

impl Fixture {
    fn version(&self, name: &str) -> Option<String> {
        self.cache.get(&format!("ns/{name}"), self.now).map(|entry| entry.version().to_string())
    }

    fn mutate(&self, name: &str, uid: &str, version: &str) {
        self.cache.mutation(entry(name, uid, version), self.now).unwrap();
    }
}

#[test]
fn mutation_cache_gives_the_newer_object() {
    let mut f = fixture(|cache| cache);
    f.writer.insert(entry("a", "u", "9"));
    f.mutate("a", "u", "10");
    assert_eq!(f.version("a").as_deref(), Some("10"));
    f.writer.insert(entry("a", "u", "10"));
    let stored = f.writer.get("ns/a").unwrap();
    assert!(f.cache.get("ns/a", f.now).unwrap().ptr_eq(&stored), "as new: the store's own");
    f.mutate("a", "u", "8");
    assert_eq!(f.version("a").as_deref(), Some("10"), "a stale mutation does not show");
    f.mutate("gone", "u", "5");
    assert_eq!(f.version("gone"), None, "absent in the store is absent, without adds");
}

#[test]
fn mutation_cache_ignores_an_older_mutation() {
    let f = fixture(MutationCache::include_adds);
    f.mutate("a", "u", "10");
    f.mutate("a", "u", "9");
    assert_eq!(f.version("a").as_deref(), Some("10"));
    f.mutate("a", "u", "11");
    assert_eq!(f.version("a").as_deref(), Some("11"));
}

#[test]
fn mutation_cache_includes_adds_and_expires_them() {
    let mut f = fixture(MutationCache::include_adds);
    f.writer.insert(entry("stored", "s", "1"));
    f.mutate("a", "u", "5");
    f.mutate("stored", "s", "6");
    let mut hits: Vec<_> = f
        .cache
        .by_index("app", "app", f.now)
        .unwrap()
        .iter()
        .map(|entry| format!("{}@{}", entry.key().name(), entry.version()))
        .collect();
    hits.sort();
    assert_eq!(hits, ["a@5", "stored@6"]);
    assert!(f.cache.by_index("app", "other", f.now).unwrap().is_empty());
    assert!(matches!(f.cache.by_index("node", "x", f.now), Err(Error::NoSuchIndex { .. })));
    f.now += Duration::from_secs(5 * 60);
    assert_eq!(f.version("a").as_deref(), Some("5"));
    f.now += TICK;
    assert_eq!((f.version("a"), f.version("stored").as_deref()), (None, Some("1")));
}

#[test]
fn mutation_cache_keeps_the_last_used() {
    let f = fixture(|cache| cache.include_adds().with_capacity(2));
    f.mutate("a", "u", "1");
    f.mutate("b", "u", "2");
    assert!(f.version("a").is_some());
    f.mutate("c", "u", "3");
    assert_eq!(
        [f.version("a").is_some(), f.version("b").is_some(), f.version("c").is_some()],
        [true, false, true]
    );
}

#[test]
fn mutation_cache_on_add_or_update_evicts_what_is_not_newer() {
    for (seen, left) in [("9", true), ("10", false), ("11", false)] {
        let f = fixture(MutationCache::include_adds);
        f.mutate("a", "u", "10");
        f.cache.on_add_or_update(&entry("a", "u", seen), f.now);
        assert_eq!(f.version("a").is_some(), left, "seen {seen}");
    }
}

#[test]
fn mutation_cache_on_delete_leaves_a_tombstone() {
    // Of the object in the overlay: uid and version; of the deleted one: the same; what stays visible.
    for (uid, version, visible) in
        [("u", "9", false), ("u", "11", false), ("v", "11", false), ("v", "9", true)]
    {
        let f = fixture(MutationCache::include_adds);
        f.mutate("a", "u", "10");
        f.cache.on_delete(&entry("a", uid, version), f.now);
        assert_eq!(f.version("a").is_some(), visible, "deleted {uid} at {version}");
    }
    // The tombstone keeps late mutations of the deleted object out, and lets a recreated one in.
    for (uid, version, visible) in
        [("u", "9", false), ("u", "10", false), ("u", "11", false), ("v", "10", false), ("v", "11", true)]
    {
        let f = fixture(MutationCache::include_adds);
        f.cache.on_delete(&entry("a", "u", "10"), f.now);
        f.mutate("a", uid, version);
        assert_eq!(f.version("a").is_some(), visible, "mutated {uid} at {version}");
    }
}

#[test]
fn mutation_cache_update_concurrent_delete() {
    // Somebody deletes what we have just written, and we hear of it before our write has returned.
    let mut f = fixture(MutationCache::include_adds);
    f.writer.insert(entry("a", "u", "1"));
    f.writer.remove("ns/a");
    f.cache.on_add_or_update(&entry("a", "u", "2"), f.now);
    f.cache.on_delete(&entry("a", "u", "2"), f.now);
    f.mutate("a", "u", "2");
    assert_eq!(f.version("a"), None);
}

#[test]
fn mutation_cache_update_concurrent_recreate() {
    // As above, but the name is taken by another object already.
    let mut f = fixture(MutationCache::include_adds);
    f.writer.insert(entry("a", "v", "3"));
    f.cache.on_add_or_update(&entry("a", "u", "2"), f.now);
    f.cache.on_delete(&entry("a", "u", "2"), f.now);
    f.cache.on_add_or_update(&entry("a", "v", "3"), f.now);
    f.mutate("a", "u", "2");
    let stored = f.writer.get("ns/a").unwrap();
    assert!(f.cache.get("ns/a", f.now).unwrap().ptr_eq(&stored));
    f.writer.remove("ns/a");
    assert_eq!(f.version("a"), None, "the read forgot the stale mutation");
}

#[test]
fn mutation_cache_on_delete_clears_stale_mutation() {
    let f = fixture(MutationCache::include_adds);
    f.mutate("a", "u", "2");
    assert_eq!(f.cache.by_index("app", "app", f.now).unwrap().len(), 1);
    f.cache.on_delete(&entry("a", "u", "1"), f.now);
    assert!(f.cache.by_index("app", "app", f.now).unwrap().is_empty());
}

#[test]
fn mutation_cache_hides_what_is_known_to_be_deleted() {
    let mut f = fixture(|cache| cache);
    f.writer.insert(entry("a", "u", "9"));
    f.cache.on_delete(&entry("a", "u", "10"), f.now);
    assert_eq!(f.version("a"), None);
    f.writer.insert(entry("a", "v", "12"));
    assert_eq!(f.version("a").as_deref(), Some("12"));
}

#[test]
fn mutation_cache_refuses_what_it_cannot_compare() {
    let f = fixture(MutationCache::include_adds);
    f.mutate("a", "u", "10");
    let error = f.cache.mutation(entry("a", "u", "opaque"), f.now).unwrap_err();
    assert!(matches!(error, Error::Incomparable { .. }));
    assert_eq!(f.version("a").as_deref(), Some("10"));
}

fn heap() -> Heap<i32, i32> {
    Heap::new(|entry: &Entry<i32>| *entry.object())
}

fn drain(heap: &Heap<i32, i32>) -> Vec<i32> {
    std::iter::from_fn(|| heap.try_pop()).map(|entry| *entry).collect()
}

#[test]
fn heap_basic_and_add() {
    let heap = heap();
    for n in [5, 1, 11, 30, 1] {
        assert!(heap.add(number(&format!("{n}-{}", heap.len()), n)).unwrap().is_none());
    }
    assert_eq!(heap.keys().len(), 5);
    assert_eq!(heap.keys()[0], ObjectKey::cluster("1-1"), "of equal ones the first");
    assert_eq!(*heap.add(number("11-2", 0)).unwrap().unwrap(), 11, "an update gives the old one");
    assert_eq!(heap.list().iter().map(|entry| **entry).collect::<Vec<_>>(), [0, 1, 1, 5, 30]);
    assert_eq!(drain(&heap), [0, 1, 1, 5, 30]);
    assert!(heap.is_empty() && heap.try_pop().is_none());
}

#[test]
fn heap_add_if_absent_and_delete() {
    let heap = heap();
    assert!(heap.add_if_absent(number("a", 5)).unwrap());
    assert!(!heap.add_if_absent(number("a", 1)).unwrap());
    assert_eq!(*heap.get("a").unwrap(), 5);
    heap.add_all(vec![number("b", 2), number("c", 9), number("b", 7)]).unwrap();
    assert_eq!(*heap.delete(&ObjectKey::cluster("a")).unwrap(), 5);
    let error = heap.delete(&ObjectKey::cluster("a")).unwrap_err();
    assert_eq!(error.to_string(), "object a not found in the heap");
    assert_eq!(drain(&heap), [7, 9]);
}

#[tokio::test]
async fn heap_close_wakes_every_waiter_and_drains_first() {
    let heap = Arc::new(heap());
    let pop = || {
        let heap = Arc::clone(&heap);
        tokio::spawn(async move { heap.pop().await.map(|entry| *entry) })
    };
    heap.add(number("a", 1)).unwrap();
    let (first, second, third) = (pop(), pop(), pop());
    assert_eq!(first.await.unwrap().unwrap(), 1);
    tokio::task::yield_now().await;
    assert!(!second.is_finished() && !third.is_finished());
    heap.close();
    for waiter in [second, third] {
        assert_eq!(waiter.await.unwrap().unwrap_err().to_string(), "heap is closed");
    }
    assert!(heap.is_closed());
    assert!(matches!(heap.add(number("b", 1)), Err(Error::HeapClosed)));
    assert!(matches!(heap.add_all(vec![number("b", 1)]), Err(Error::HeapClosed)));
    assert!(matches!(heap.add_if_absent(number("b", 1)), Err(Error::HeapClosed)));
}

#[tokio::test]
async fn a_heap_pop_that_is_dropped_takes_nothing() {
    let heap = Arc::new(heap());
    let pop = || {
        let heap = Arc::clone(&heap);
        tokio::spawn(async move { heap.pop().await.map(|entry| *entry) })
    };
    // Never polled, dropped while it waits, dropped after it was woken.
    drop(heap.pop());
    let (gives_up, stays) = (pop(), pop());
    tokio::task::yield_now().await;
    gives_up.abort();
    assert!(gives_up.await.unwrap_err().is_cancelled());
    let woken = pop();
    tokio::task::yield_now().await;
    heap.add(number("a", 1)).unwrap();
    woken.abort();
    assert_eq!(stays.await.unwrap().unwrap(), 1);
    assert!(woken.await.unwrap_err().is_cancelled() && heap.is_empty());
}

#[tokio::test]
async fn each_addition_to_a_heap_goes_to_one_of_those_who_wait() {
    let heap = Arc::new(heap());
    let pop = |_| {
        let heap = Arc::clone(&heap);
        tokio::spawn(async move { *heap.pop().await.unwrap() })
    };
    let waiters: Vec<_> = (0..3).map(pop).collect();
    tokio::task::yield_now().await;
    // All are woken, so one that gives up then takes no addition with it.
    heap.add(number("a", 1)).unwrap();
    waiters[0].abort();
    heap.add_all(vec![number("b", 2), number("c", 3)]).unwrap();
    let mut popped = Vec::new();
    for waiter in waiters {
        popped.extend(waiter.await.ok());
    }
    popped.extend(drain(&heap));
    popped.sort_unstable();
    assert_eq!(popped, [1, 2, 3]);
}
