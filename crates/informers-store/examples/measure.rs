//! Measures the store alone: `cargo run --release -p informers-store --example measure`.
//!
//! 100 000 small objects in 100 namespaces and on 5 000 nodes, indexed by both.

use std::fmt;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use informers_core::{Entry, ObjectKey};
use informers_store::{Index, Store, StoreWriter, Write};

const OBJECTS: usize = 100_000;
const NODES: usize = 5_000;

struct Pod {
    node: String,
}

fn entry(n: usize, version: usize) -> Entry<Pod> {
    let key = ObjectKey::new(&format!("team-{:03}", n % 100), &format!("pod-{n:06}"));
    let node = format!("node-{:04}", n % NODES);
    Entry::new(key, format!("uid-{n}").as_str().into(), (version as u64).into(), Pod { node })
}

/// Prints a line. Behind `| head -1` nobody may read it any more, which is no reason to panic as `println!` does.
fn print(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}

fn rate(name: &str, operations: usize, run: impl FnOnce()) {
    let start = Instant::now();
    run();
    let seconds = start.elapsed().as_secs_f64();
    print(format_args!("{name:<36} {:>8.2} M/s", operations as f64 / seconds / 1e6));
}

fn on_threads(readers: usize, run: impl Fn(usize) + Sync) {
    std::thread::scope(|scope| {
        for reader in 0..readers {
            let run = &run;
            scope.spawn(move || run(reader));
        }
    });
}

fn indexed() -> (StoreWriter<Pod>, Index<Pod, String>) {
    let mut writer = StoreWriter::new();
    let store = writer.reader();
    let namespace = |pod: &Entry<Pod>| pod.key().namespace().map(str::to_owned);
    let node = |pod: &Entry<Pod>| Some(pod.node.clone());
    let pending =
        store.define_index(Some("namespace"), namespace).map(|(_, pending)| writer.install(pending));
    assert!(matches!(pending, Ok(Ok(()))), "a new store takes any index");
    match store.define_index(Some("node"), node).map(|(index, pending)| (index, writer.install(pending))) {
        Ok((index, Ok(()))) => (writer, index),
        _ => unreachable!("a new store takes any index"),
    }
}

fn measure_reads(store: &Store<Pod>, by_node: &Index<Pod, String>, keys: &[ObjectKey]) {
    let nodes: Vec<String> = (0..NODES).map(|n| format!("node-{n:04}")).collect();
    for readers in [1, 4] {
        rate(&format!("get, {readers} readers"), readers * 1_000_000, || {
            on_threads(readers, |reader| {
                for i in 0..1_000_000 {
                    black_box(store.get(keys[(i * 7 + reader) % OBJECTS].as_str()));
                }
            });
        });
        let read = |pod: &Entry<Pod>| pod.key().as_str().len() + pod.version().as_number().is_some() as usize;
        rate(&format!("index get of 20 hits, {readers} readers"), readers * 100_000, || {
            on_threads(readers, |reader| {
                for i in 0..100_000 {
                    let hits = by_node.get(nodes[(i + reader) % NODES].as_str());
                    black_box(hits.iter().map(read).sum::<usize>());
                }
            });
        });
        rate(&format!("index visit of 20 hits, {readers} readers"), readers * 100_000, || {
            on_threads(readers, |reader| {
                for i in 0..100_000 {
                    let mut sum = 0;
                    by_node.visit(nodes[(i + reader) % NODES].as_str(), |pod| sum += read(pod));
                    black_box(sum);
                }
            });
        });
    }
    let start = Instant::now();
    black_box(store.list().len());
    print(format_args!("{:<36} {:>8.2?}", "list of 100 000", start.elapsed()));
}

fn main() {
    let entries: Vec<_> = (0..OBJECTS).map(|n| entry(n, n + 1)).collect();
    let keys: Vec<_> = entries.iter().map(|entry| entry.key().clone()).collect();
    let (mut writer, by_node) = indexed();
    rate("add, two indexes", OBJECTS, || {
        for entry in &entries {
            writer.insert(entry.clone());
        }
    });
    rate("update by the same, two indexes", OBJECTS, || {
        for entry in &entries {
            writer.insert(entry.clone());
        }
    });
    let newer: Vec<_> = (0..OBJECTS).map(|n| entry(n, n + OBJECTS)).collect();
    rate("update by new, two indexes", OBJECTS, || {
        for entry in newer {
            writer.insert(entry);
        }
    });
    rate("update in batches of 100", OBJECTS, || {
        for batch in entries.chunks(100) {
            writer.apply(batch.iter().cloned().map(Write::Insert).collect());
        }
    });
    let store = writer.reader();
    measure_reads(&store, &by_node, &keys);
    let start = Instant::now();
    writer.replace(entries.clone(), "1".into());
    print(format_args!("{:<36} {:>8.2?}", "replace of 100 000", start.elapsed()));
    rate("remove, two indexes", OBJECTS, || {
        for key in &keys {
            writer.remove(key.as_str());
        }
    });
    crowded(&entries);
}

/// One namespace with everything in it must cost no more per update than many small ones; and the longest
/// that a write waits while the whole store is visited again and again.
fn crowded(entries: &[Entry<Pod>]) {
    let mut writer = StoreWriter::new();
    let everything =
        writer.reader().define_index(None, |_: &Entry<Pod>| Some(())).map(|(_, pending)| pending);
    assert!(everything.is_ok_and(|pending| writer.install(pending).is_ok()), "it has no name");
    writer.replace(entries.to_vec(), "1".into());
    rate("update in one posting of 100 000", OBJECTS, || {
        for entry in entries {
            writer.insert(entry.clone());
        }
    });
    let store = writer.reader();
    let mut longest = Duration::ZERO;
    std::thread::scope(|scope| {
        let visits = scope.spawn(move || {
            for _ in 0..100 {
                store.visit(|pod| assert!(!pod.node.is_empty()));
            }
        });
        while !visits.is_finished() {
            for entry in entries.iter().step_by(1000) {
                let start = Instant::now();
                writer.insert(entry.clone());
                longest = longest.max(start.elapsed());
            }
        }
    });
    print(format_args!("{:<36} {longest:>8.2?}", "longest write during visits"));
}
