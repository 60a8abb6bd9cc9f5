//! The whole road: API server, client, reflector, queue, store with an index, handler.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use informers::prelude::*;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::args;
use crate::pods::AnyPod;
use crate::process::{cpu_seconds, resident_mb};

/// What the handler has heard.
#[derive(Default)]
struct Heard {
    added: AtomicU64,
    updated: AtomicU64,
    all_updated: Notify,
}

/// Measures an informer of all pods.
pub(crate) async fn measure<P: AnyPod>(
    road: &args::Road,
    resource: &Resource<P>,
    transform: Option<Transform<P>>,
) -> Result<Value> {
    let client = Client::new(Config::from_kubeconfig_file(&road.kubeconfig, None)?)?;
    let factory = informers::Factory::new(client);
    let pods = factory.informer_for(resource)?;
    if let Some(transform) = transform {
        pods.set_transform(transform)?;
    }
    let by_node = pods.index(|pod| pod.node().map(str::to_owned));
    let heard = Arc::new(Heard::default());
    let expected = road.events;
    let handler = pods.on_event({
        let heard = Arc::clone(&heard);
        move |event| match event {
            Event::Added { .. } => {
                heard.added.fetch_add(1, Ordering::Relaxed);
            }
            Event::Updated { .. } => {
                if heard.updated.fetch_add(1, Ordering::Relaxed) + 1 == expected {
                    heard.all_updated.notify_one();
                }
            }
            Event::Deleted { .. } => {}
        }
    });

    let (begun, cpu) = (Instant::now(), cpu_seconds());
    factory.start()?;
    handler.synced().await?;
    let (sync, sync_cpu) = (begun.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut figures = json!({
        "peer": "informers",
        "mode": road.mode.name(),
        "objects": heard.added.load(Ordering::Relaxed),
        "sync_s": sync,
        "sync_cpu_s": sync_cpu,
        "rss_mb": resident_mb()?,
    });
    if expected > 0 {
        let (begun, cpu) = (Instant::now(), cpu_seconds());
        tell_to_start(&road.control)?;
        heard.all_updated.notified().await;
        figures["events_per_s"] = (expected as f64 / begun.elapsed().as_secs_f64()).into();
        figures["event_cpu_us"] = ((cpu_seconds() - cpu) / expected as f64 * 1e6).into();
    }
    let (rate, bytes) = look_ups(&by_node);
    figures["index_lookups_per_s"] = rate.into();
    figures["lookup_bytes"] = bytes.into();
    factory.shutdown().await;
    Ok(figures)
}

/// One second of look-ups: how many, and how many bytes each of them read.
fn look_ups<P: AnyPod>(by_node: &Index<P, String>) -> (f64, usize) {
    let begun = Instant::now();
    let (mut count, mut bytes) = (0, 0);
    while begun.elapsed() < Duration::from_secs(1) {
        for _ in 0..100 {
            let node = format!("node-{:04}.cluster.local", count % 5000);
            bytes += by_node.get(node.as_str()).iter().map(|pod| pod.read()).sum::<usize>();
            count += 1;
        }
    }
    (count as f64 / begun.elapsed().as_secs_f64(), bytes / count)
}

/// Has the server send its events to every open watch.
fn tell_to_start(control: &str) -> Result<()> {
    let mut server = TcpStream::connect(control).with_context(|| format!("connecting to {control}"))?;
    let request =
        format!("POST /start HTTP/1.1\r\nHost: {control}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    server.write_all(request.as_bytes())?;
    let mut answer = String::new();
    server.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "{control} does not start: {answer}");
    Ok(())
}
