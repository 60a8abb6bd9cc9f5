//! What a recorder of Events leaves on a server, as a list shows it.

mod unentitled;

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use informers::client::Client;
use informers::client::recorder::{Counts, ObjectReference, Recorder};
use integration_tests::harness::{eventually, unique_name};
use integration_tests::provider::Cluster;
use integration_tests::world::{World, client};
use serde_json::{Value, json};

integration_tests::cluster_tests! {
    a_list_shows_what_was_recorded;
    a_namespace_that_is_gone_takes_no_event_and_holds_up_none;
}

/// Who records.
const COMPONENT: &str = "recorder-test";

/// A ConfigMap as the subject of Events.
async fn subject(world: &World, name: &str) -> Result<ObjectReference> {
    let made = world.create(name, "web", 0).await?;
    let uid = made["metadata"]["uid"].as_str().context("a uid")?;
    Ok(ObjectReference::new("v1", "ConfigMap", &world.namespace, name, uid))
}

/// The Events of this test in a world: object, type, reason, count and message of each, sorted.
async fn listed(world: &World) -> Result<Vec<(String, String, String, u64, String)>> {
    let items = world.collection("/api/v1", "events").items().await?;
    let mut events = Vec::new();
    for event in items.iter().filter(|event| event["source"]["component"] == COMPONENT) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        ensure!(event["reportingComponent"] == COMPONENT && event["source"]["host"] == "node-1", "{event}");
        ensure!(event["involvedObject"]["namespace"] == json!(world.namespace), "{event}");
        let (first, last) = (text(&event["firstTimestamp"]), text(&event["lastTimestamp"]));
        ensure!(!first.is_empty() && first <= last, "{event}");
        let count = event["count"].as_u64().with_context(|| format!("a count: {event}"))?;
        events.push((
            text(&event["involvedObject"]["name"]),
            text(&event["type"]),
            text(&event["reason"]),
            count,
            text(&event["message"]),
        ));
    }
    events.sort();
    Ok(events)
}

fn event(
    name: &str,
    kind: &str,
    reason: &str,
    count: u64,
    message: &str,
) -> (String, String, String, u64, String) {
    (name.to_owned(), kind.to_owned(), reason.to_owned(), count, message.to_owned())
}

fn recorder(client: Client) -> Result<Recorder> {
    Ok(Recorder::builder(client, COMPONENT).host("node-1").start()?)
}

/// Waits until the recorder is through with so many occurrences, and gives what became of them.
async fn settled(recorder: &Recorder, occurrences: u64) -> Result<Counts> {
    eventually(&format!("{occurrences} occurrences are through"), || async {
        let counts = recorder.counts();
        let Counts { written, spam, overflow, rejected, lost, .. } = counts;
        let through = written + spam + overflow + rejected + lost;
        Ok((through != occurrences).then(|| format!("{counts:?}")))
    })
    .await?;
    Ok(recorder.counts())
}

async fn a_list_shows_what_was_recorded(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "recorded").await?;
    let recorder = recorder(client(cluster.kubeconfig())?)?;
    let (web, noisy) = (subject(&world, "web").await?, subject(&world, "noisy").await?);

    recorder.normal(&web, "Pulled", "image cart:7");
    for _ in 0..5 {
        recorder.warning(&web, "Unhealthy", "no answer on port 80");
    }
    for attempt in 1..=12 {
        recorder.warning(&web, "Flapping", format!("attempt {attempt}"));
    }
    for _ in 0..30 {
        recorder.warning(&noisy, "Crashed", "exit 1");
    }
    let counts = settled(&recorder, 48).await?;
    ensure!((counts.written, counts.spam) == (43, 5), "{counts:?}");

    let mut expected = vec![
        event("web", "Normal", "Pulled", 1, "image cart:7"),
        event("web", "Warning", "Unhealthy", 5, "no answer on port 80"),
        event("web", "Warning", "Flapping", 3, "(combined from similar events): attempt 12"),
        event("noisy", "Warning", "Crashed", 25, "exit 1"),
    ];
    expected
        .extend((1..10).map(|attempt| event("web", "Warning", "Flapping", 1, &format!("attempt {attempt}"))));
    expected.sort();
    let there = listed(&world).await?;
    ensure!(there == expected, "{there:#?}");

    // An Event that expired, or was deleted, is made anew with all that was counted.
    let events = world.collection("/api/v1", "events");
    let items = events.items().await?;
    let unhealthy = items.iter().find(|event| event["reason"] == "Unhealthy").context("the Event")?;
    let name = unhealthy["metadata"]["name"].as_str().context("its name")?;
    world.admin.delete(&format!("{}/{name}", events.path)).await?.ok()?;
    recorder.warning(&web, "Unhealthy", "no answer on port 80");
    recorder.close().await;
    let counts = recorder.counts();
    ensure!((counts.written, counts.rejected, counts.lost) == (44, 0, 0), "{counts:?}");
    let there = listed(&world).await?;
    ensure!(there.contains(&event("web", "Warning", "Unhealthy", 6, "no answer on port 80")), "{there:#?}");
    ensure!(there.len() == expected.len(), "{there:#?}");
    Ok(())
}

async fn a_namespace_that_is_gone_takes_no_event_and_holds_up_none(cluster: Arc<dyn Cluster>) -> Result<()> {
    let (world, leaving) = (World::new(&cluster, "stays").await?, World::new(&cluster, "leaving").await?);
    let recorder = recorder(client(cluster.kubeconfig())?)?;
    let (here, there) = (subject(&world, "here").await?, subject(&leaving, "there").await?);
    let nowhere = ObjectReference::new("v1", "ConfigMap", unique_name("never-made"), "nobody", "u");
    // Some servers have it end at once, others have it wait for a controller: they say 404 or 403.
    leaving.admin.delete(&format!("/api/v1/namespaces/{}", leaving.namespace)).await?.ok()?;

    recorder.warning(&there, "Lost", "its namespace is going");
    recorder.warning(&nowhere, "Lost", "it never had one");
    recorder.normal(&here, "Found", "all is well");
    let counts = settled(&recorder, 3).await?;
    ensure!((counts.written, counts.rejected) == (1, 2), "refused, and not tried again: {counts:?}");
    let listed = listed(&world).await?;
    ensure!(listed == [event("here", "Normal", "Found", 1, "all is well")], "{listed:?}");
    recorder.close().await;
    Ok(())
}
