//! Single operations of a store of 100 000 objects with two indexes. `cargo bench -p informers-store`
#![allow(missing_docs, reason = "criterion's macro makes a public function")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use informers_core::{Entry, ObjectKey};
use informers_store::{Index, StoreWriter, Write};

const OBJECTS: usize = 100_000;
const NODES: usize = 5_000;

struct Pod {
    node: String,
}

fn pods(version: u64) -> Vec<Entry<Pod>> {
    let pod = |n: usize| {
        let key = ObjectKey::new(&format!("team-{:03}", n % 100), &format!("pod-{n:06}"));
        let node = format!("node-{:04}", n % NODES);
        Entry::new(key, format!("uid-{n}").into(), version.into(), Pod { node })
    };
    (0..OBJECTS).map(pod).collect()
}

fn filled(pods: &[Entry<Pod>]) -> (StoreWriter<Pod>, Index<Pod, String>) {
    let mut writer = StoreWriter::new();
    let store = writer.reader();
    let namespace = |pod: &Entry<Pod>| pod.key().namespace().map(str::to_owned);
    let by_namespace = store.define_index(Some("namespace"), namespace);
    let by_node = store.define_index(Some("node"), |pod: &Entry<Pod>| Some(pod.node.clone()));
    let (Ok((_, first)), Ok((index, second))) = (by_namespace, by_node) else {
        unreachable!("a new store has no index of these names")
    };
    for pending in [first, second] {
        assert!(writer.install(pending).is_ok(), "it is of this store");
    }
    writer.replace(pods.to_vec(), "1".into());
    (writer, index)
}

fn operations(c: &mut Criterion) {
    let (old, new) = (pods(1), pods(2));
    let keys: Vec<ObjectKey> = old
        .iter()
        .map(|pod| ObjectKey::new(pod.key().namespace().unwrap_or_default(), pod.key().name()))
        .collect();
    let nodes: Vec<String> = (0..NODES).map(|n| format!("node-{n:04}")).collect();
    let (mut writer, by_node) = filled(&old);
    let store = writer.reader();

    let mut at = 0;
    c.bench_function("store/get", |b| {
        b.iter(|| {
            at = (at + 7) % OBJECTS;
            black_box(store.get(keys[at].as_str()))
        });
    });
    c.bench_function("store/index get of 20", |b| {
        b.iter(|| {
            at = (at + 1) % NODES;
            black_box(by_node.get(nodes[at].as_str()))
        });
    });
    c.bench_function("store/update", |b| {
        b.iter(|| {
            at = (at + 1) % OBJECTS;
            black_box(writer.insert(new[at].clone()))
        });
    });
    c.bench_function("store/update in batches of 100", |b| {
        let batch = || old[..100].iter().cloned().map(Write::Insert).collect();
        b.iter_batched(batch, |writes| black_box(writer.apply(writes)), BatchSize::SmallInput);
    });
    c.bench_function("store/remove and add", |b| {
        b.iter(|| {
            at = (at + 7) % OBJECTS;
            black_box(writer.remove(keys[at].as_str()));
            black_box(writer.insert(old[at].clone()))
        });
    });
    let mut slow = c.benchmark_group("store");
    slow.sample_size(10);
    slow.bench_function("replace of 100 000", |b| {
        b.iter_batched(|| new.clone(), |pods| writer.replace(pods, "2".into()), BatchSize::PerIteration);
    });
    slow.finish();
}

criterion_group!(benches, operations);
criterion_main!(benches);
