//! One random history.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use informers::core::Source;
use informers::kube::{DynamicObject, PartialObjectMeta, dynamic_metadata};
use informers::prelude::{BacklogPolicy, Entry, InformerOptions, Scope, Transform};
use informers::shared::{Factory, QueueKind, ReflectorSettings};
use informers_testkit::{SimulatedServer, settle};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::informers_of::{Checked, Gadget, Watched, gadgets, of_collection, resource};
use crate::unreliable::Unreliable;

/// Where the steps of a history are told.
pub(crate) enum Trace {
    Nowhere,
    /// With what the informers told, after the last step.
    Print,
    Keep(Vec<String>),
}

impl Trace {
    fn tell(&mut self, line: impl FnOnce() -> String) {
        match self {
            Self::Nowhere => {}
            Self::Print => println!("{}", line()),
            Self::Keep(lines) => lines.push(line()),
        }
    }
}

const STEPS: usize = 80;

const NAMESPACES: [&str; 3] = ["a", "b", "c"];

/// Longer than the longest pause of a reader that was denied, and than a watch that went silent is waited for.
const REST: Duration = Duration::from_secs(700);

/// The server is asked to end watches after one to two of these.
const WATCH_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn run(seed: u64, trace: &mut Trace) -> Result<()> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let server = SimulatedServer::builder()
        .seed(seed)
        .resource(gadgets())
        .bookmark_interval(Duration::from_secs(rng.u64(10..60)))
        .history_limit(if rng.bool() { 1 << 15 } else { rng.usize(5..40) })
        .build();
    for _ in 0..rng.usize(..12) {
        change(&server, &mut rng);
    }
    // Half of the histories; those that are kept from before there were any are others.
    let several_servers = matches!(seed % 4, 0 | 3);
    let network = Unreliable::new(server.clone());
    let factory = Factory::new(network.clone());
    let mut informers = start(&network, &factory, seed, &mut rng)?;
    for _ in 0..STEPS {
        sleep(Duration::from_millis(if rng.u8(..4) == 0 { 0 } else { rng.u64(..6_000) })).await;
        let told = match several_servers && rng.u8(..10) == 0 {
            true => network.lead_elsewhere(&mut rng),
            false => step(&network, &mut informers, &mut rng),
        };
        trace.tell(|| told);
    }
    network.mend();
    sleep(REST).await;
    let objects = server.list(&gadgets(), None);
    if matches!(trace, Trace::Print) {
        informers.iter().flat_map(|informer| informer.log()).for_each(|line| println!("{line}"));
    }
    trace.tell(|| format!("at rest: {} objects", objects.len()));
    for informer in &informers {
        informer.check(&objects)?;
    }
    factory.shutdown().await;
    for informer in informers {
        informer.stop().await;
    }
    settle().await;
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    ensure!(tasks == 0, "{tasks} tasks are left");
    Ok(())
}

fn group_of(gadget: &Entry<Gadget>) -> Option<String> {
    Some(gadget.spec.group.clone())
}

fn is_good(object: &Value) -> bool {
    object["spec"]["size"].is_number()
}

/// Three of the kinds of informers: queues, scopes, representations, ways to list. More of them would make a
/// history slow, not better.
fn start(
    network: &Unreliable,
    factory: &Factory<Unreliable>,
    seed: u64,
    rng: &mut fastrand::Rng,
) -> Result<Vec<Box<dyn Checked>>> {
    let settings = |number: u64| {
        let seed = seed.wrapping_mul(31).wrapping_add(number);
        ReflectorSettings::new().seed(seed).min_watch_timeout(WATCH_TIMEOUT)
    };
    let options = |scope: Scope| InformerOptions::new().scope(scope);
    let collection = || network.list_watch(&resource(), &Scope::all()).context("a list-watch");
    let mut kinds = [0, 1, 2, 3, 4, 5];
    rng.shuffle(&mut kinds);
    let start = |kind: u64, rng: &mut fastrand::Rng| match kind {
        0 => {
            let informer =
                factory.informer_for_with(&resource(), options(Scope::all()).reflector(settings(0)))?;
            Watched::start("everything", informer, group_of, |_| true, is_good)
        }
        1 => {
            let pages = settings(1).streaming_list(false).page_size(rng.u32(1..5));
            let informer = of_collection(collection()?, pages).queue(QueueKind::DeltaFifo).build();
            Watched::start("delta fifo in pages", informer, group_of, |_| true, is_good)
        }
        2 => {
            let web = options(Scope::all().with_labels("tier=web".parse()?)).reflector(settings(2));
            let informer = factory.informer_for_with(&resource(), web)?;
            let selects = |object: &Value| object["metadata"]["labels"]["tier"] == "web";
            Watched::start("web", informer, group_of, selects, is_good)
        }
        3 => {
            let two = InformerOptions::new().scopes([Scope::namespace("a"), Scope::namespace("b")]);
            let informer = factory.informer_for_with(&resource(), two.reflector(settings(3)))?;
            let selects = |object: &Value| object["metadata"]["namespace"] != "c";
            Watched::start("two namespaces", informer, group_of, selects, is_good)
        }
        4 => {
            let transform = Transform::new(|gadget: &mut Gadget| {
                gadget.spec.group.insert_str(0, "group ");
                Ok::<_, Infallible>(())
            });
            let informer = of_collection(collection()?, settings(4))
                .queue(QueueKind::PlainInOrder)
                .resync(Duration::from_secs(rng.u64(15..60)))
                .transform(transform)
                .build();
            Watched::start("plain in order", informer, group_of, |_| true, is_good)
        }
        _ => {
            let metadata = dynamic_metadata(gadgets());
            let informer =
                factory.informer_for_with(&metadata, options(Scope::all()).reflector(settings(5)))?;
            let tier = |object: &Entry<PartialObjectMeta<DynamicObject>>| {
                object.metadata.labels.as_ref()?.get("tier").cloned()
            };
            Watched::start("metadata", informer, tier, |_| true, |_| true)
        }
    };
    kinds[..3].iter().map(|kind| start(*kind, rng)).collect()
}

fn step(network: &Unreliable, informers: &mut [Box<dyn Checked>], rng: &mut fastrand::Rng) -> String {
    let at = rng.usize(..informers.len());
    match rng.u8(..40) {
        0 => {
            network.server.compact();
            "the server forgets its history".into()
        }
        1 => {
            network.server.close_watches();
            "the server ends all watches".into()
        }
        2..8 => network.break_something(rng),
        8..10 => network.break_the_server(rng),
        10 => {
            let policy = if rng.bool() { BacklogPolicy::Coalesced } else { BacklogPolicy::InOrder };
            informers[at].listen(policy);
            format!("informer {at}: another handler, {policy:?}")
        }
        11 => {
            informers[at].forget(rng.usize(..));
            format!("informer {at}: a handler less")
        }
        12 => {
            informers[at].index();
            format!("informer {at}: another index")
        }
        13..16 => (0..rng.usize(2..20)).map(|_| change(&network.server, rng)).collect::<Vec<_>>().join(", "),
        _ => change(&network.server, rng),
    }
}

/// Creates, changes, moves, breaks, recreates or deletes an object.
fn change(server: &SimulatedServer, rng: &mut fastrand::Rng) -> String {
    let (namespace, name) = (NAMESPACES[rng.usize(..3)], format!("g{}", rng.u8(..5)));
    let tier = ["web", "api"][rng.usize(..2)];
    let size = if rng.u8(..12) == 0 { json!("broken") } else { json!(rng.u32(..100)) };
    let group = ["red", "green", "blue"][rng.usize(..3)];
    let object = json!({
        "apiVersion": gadgets().api_version(), "kind": "Gadget",
        "metadata": {"namespace": namespace, "name": name, "labels": {"tier": tier}},
        "spec": {"size": size, "group": group},
    });
    let there = server.get(&gadgets(), Some(namespace), &name).is_some();
    let what = match (there, rng.u8(..8)) {
        (false, _) => "created",
        (true, 0) => "deleted",
        (true, 1) => "recreated",
        (true, _) => "changed",
    };
    if matches!(what, "deleted" | "recreated") {
        server.delete(&gadgets(), Some(namespace), &name).expect("it is there");
    }
    match what {
        "changed" => drop(server.update(object).expect("it is there")),
        "deleted" => {}
        _ => drop(server.create(object).expect("it is not there")),
    }
    format!("{what} {namespace}/{name} as {tier}, {size}, {group}, {}", server.revision())
}
