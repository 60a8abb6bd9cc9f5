//! Many watches of one client, over few connections.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use informers::core::Source;
use informers::kube::resource_type;
use informers::prelude::*;
use informers::reflector::Reflector;
use integration_tests::follower::{Follower, difference};
use integration_tests::gate::Gate;
use integration_tests::harness::{PATIENCE, eventually, eventually_within, length};
use integration_tests::load::Load;
use integration_tests::provider::{Cluster, Provider};
use integration_tests::versions::Versions;
use integration_tests::world::{World, client, factory};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use tokio_util::sync::CancellationToken;

integration_tests::cluster_tests! {
    two_hundred_watches_outlive_restarts: own, needs [Stop];
    stalled_consumers_of_eight_watches_hold_up_no_ninth;
}

async fn two_hundred_watches_outlive_restarts(cluster: Arc<dyn Cluster>) -> Result<()> {
    const WATCHES: usize = 200;
    let restarts = 2 * length() as usize;
    let world = World::new(&cluster, "watches").await?;
    let gate = Gate::before(cluster.address().context("no address")?).await?;
    let kubeconfig = gate.kubeconfig(cluster.kubeconfig())?;
    let factory = factory(&kubeconfig)?;
    let load = Load::start(&world, 20, 16);
    let mut followers = Vec::new();
    for number in 0..WATCHES {
        let informer = factory.informer_with::<ConfigMap>(world.options().variant(&format!("v{number}")))?;
        followers.push(Follower::of_config_maps(informer)?);
    }
    factory.start()?;
    factory.synced().within(2 * PATIENCE).await?;
    let of_each = |what: fn(&informers::shared::ReflectorStatus) -> u64| {
        followers.iter().map(move |each| what(&each.informer.status().reflectors[0].1)).collect::<Vec<_>>()
    };
    for _ in 0..restarts {
        load.goes_on(30).await?;
        let watches = of_each(|status| status.watches);
        cluster.kill().await?;
        cluster.restart().await?;
        eventually_within(2 * PATIENCE, "every informer watches again", || async {
            let again = followers.iter().zip(&watches).filter(|(follower, watches)| {
                let status = follower.informer.status().reflectors[0].1.clone();
                status.phase.is_watching() && status.watches > **watches
            });
            let again = again.count();
            Ok((again < WATCHES).then(|| format!("{again} of {WATCHES}")))
        })
        .await?;
    }
    load.end().await?;
    eventually_within(2 * PATIENCE, "every store and handler equals a fresh list", || async {
        let truth = world.truth().versions().await?;
        let wrong = followers.iter().find_map(|follower| {
            let (stored, told) = (follower.stored(), follower.history.lock().told.clone());
            let found = if stored == truth { told } else { stored };
            (found != truth).then(|| difference(&found, &truth))
        });
        Ok(wrong)
    })
    .await?;
    for follower in &followers {
        follower.check_index()?;
        ensure!(follower.history.lock().violations.is_empty(), "{:?}", follower.history.lock().violations);
    }
    // Pauses that double make eight attempts of two minutes. A server whose memory starts anew may want a list
    // to be read, and be asked for it again while it gets ready.
    let (lists, watches) = (of_each(|status| status.lists), of_each(|status| status.watches));
    let (most_lists, most_watches) = (3 * (1 + restarts as u64), 8 * restarts as u64);
    ensure!(lists.iter().all(|lists| *lists <= most_lists), "lists: {lists:?}");
    ensure!(watches.iter().all(|watches| *watches <= most_watches), "watches: {watches:?}");
    let (asked, accepted) = (lists.iter().chain(&watches).sum::<u64>(), gate.accepted() as u64);
    // A request that met a connection which had died unused is sent again over another one.
    ensure!(accepted <= 2 * asked, "{accepted} connections for {asked} requests");
    if cluster.provider() != Provider::Embedded {
        // A plain server speaks HTTP/1.1, which has one connection for each watch.
        ensure!(gate.connections() <= 4, "{} connections for {WATCHES} watches", gate.connections());
    }
    factory.shutdown().await;
    Ok(())
}

/// The one field that is held of objects that are large.
#[derive(serde::Deserialize)]
struct Slim {
    data: Small,
}

#[derive(serde::Deserialize)]
struct Small {
    value: String,
}

async fn stalled_consumers_of_eight_watches_hold_up_no_ninth(cluster: Arc<dyn Cluster>) -> Result<()> {
    /// In all four times as much as the client takes of a stream that nobody reads.
    const UPDATES: u32 = 16;
    const SIZE: usize = 512 << 10;
    let world = World::new(&cluster, "stalled").await?;
    world.create("large", "web", 0).await?;
    let gate = Gate::before(cluster.address().context("no address")?).await?;
    let client = client(&gate.kubeconfig(cluster.kubeconfig())?)?;
    let slim: Resource<Slim> = Resource::new(resource_type::<ConfigMap>(), JsonDecoder::new());
    let cancel = CancellationToken::new();
    let (mut stalled, mut running) = (Vec::new(), Vec::new());
    for _ in 0..8 {
        let sink = Versions::default();
        let collection = client.list_watch(&slim, &world.scope())?;
        let reflector = Reflector::builder(collection, sink.sink()).scope(world.scope()).build();
        let mut status = reflector.status();
        running.push(tokio::spawn(reflector.run(cancel.clone())));
        status.wait_for(|status| status.synced && status.phase.is_watching()).await;
        stalled.push((sink, status));
    }
    let ninth = Factory::new(client).informer_for_with(&slim, world.options())?;
    let ninth = Follower::new(ninth, |entry| Some(entry.data.value.clone()))?.start().await?;
    let seen =
        |stalled: &[(Versions, _)]| stalled.iter().map(|(sink, _)| sink.kept().changes).collect::<Vec<_>>();
    let before = seen(&stalled);
    stalled.iter().for_each(|(sink, _)| sink.hold_up());

    let mut rng = fastrand::Rng::with_seed(17);
    for value in 1..=UPDATES {
        // Compression on the way would make it small.
        let large: String = (0..SIZE).map(|_| rng.alphanumeric()).collect();
        let data = json!({"data": {"value": value.to_string(), "large": large}});
        world.admin.merge(&format!("{}/large", world.config_maps()), &data).await?.ok()?;
    }
    world.create("small", "web", UPDATES).await?;
    ninth.converges(&world.truth()).await?;
    ensure!(
        ninth.informer.get(&world.key("large")).is_some_and(|large| large.data.value == UPDATES.to_string())
    );
    let status = ninth.informer.status().reflectors[0].1.clone();
    ensure!(status.lists == 1, "it read everything from its watch: {status:?}");
    let after = seen(&stalled);
    // What was on its way to a sink when it was held up is still taken.
    let taken: Vec<_> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    ensure!(taken.iter().all(|taken| *taken < u64::from(UPDATES / 2)), "they were held up: {taken:?}");
    if cluster.provider() != Provider::Embedded {
        ensure!(gate.connections() == 1, "{} connections for nine watches over HTTP/2", gate.connections());
    }

    stalled.iter().for_each(|(sink, _)| sink.let_go());
    for (sink, status) in &stalled {
        eventually("those that stalled go on and lose nothing", || async {
            let truth = world.truth().versions().await?;
            let kept = sink.kept().versions;
            Ok((kept != truth).then(|| format!("{}; {:?}", difference(&kept, &truth), status.current())))
        })
        .await?;
    }
    cancel.cancel();
    for reflector in running {
        reflector.await.context("a reflector panicked")?;
    }
    ninth.stop().await;
    Ok(())
}
