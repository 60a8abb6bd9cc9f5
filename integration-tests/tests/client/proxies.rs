//! Informers whose kubeconfig names a proxy.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use integration_tests::gate::Gate;
use integration_tests::harness::eventually;
use integration_tests::provider::Cluster;
use integration_tests::proxy::{Language, Proxy};
use integration_tests::world::{World, client};
use tempfile::TempPath;

integration_tests::cluster_tests! {
    an_http_proxy_that_dies_and_comes_back;
    a_socks_proxy_that_dies_and_comes_back;
}

async fn an_http_proxy_that_dies_and_comes_back(cluster: Arc<dyn Cluster>) -> Result<()> {
    follow_through(cluster, Language::Http).await
}

async fn a_socks_proxy_that_dies_and_comes_back(cluster: Arc<dyn Cluster>) -> Result<()> {
    follow_through(cluster, Language::Socks5).await
}

/// A copy of a kubeconfig in which every cluster is behind a proxy.
fn with_proxy(original: &Path, url: &str) -> Result<TempPath> {
    let text = std::fs::read_to_string(original)?;
    let mut copy = tempfile::Builder::new().prefix("kubeconfig-").tempfile()?;
    // In a line of its own, or in braces.
    let proxied = match text.contains("{server: ") {
        true => text.replace("{server: ", &format!("{{proxy-url: \"{url}\", server: ")),
        false => text.replace("server: ", &format!("proxy-url: \"{url}\"\n    server: ")),
    };
    std::io::Write::write_all(&mut copy, proxied.as_bytes())?;
    Ok(copy.into_temp_path())
}

async fn follow_through(cluster: Arc<dyn Cluster>, language: Language) -> Result<()> {
    let world = World::new(&cluster, "proxied").await?;
    world.create("c0", "web", 0).await?;
    let proxy = Proxy::start(language).await?;
    // What the client sees of a proxy that dies: connections that break, then none that are taken.
    let gate = Gate::before(proxy.address().to_string()).await?;
    let kubeconfig = with_proxy(cluster.kubeconfig(), &proxy.url(gate.address()))?;
    let follower = world.follow(&kubeconfig)?.start().await?;
    follower.converges(&world.truth()).await?;
    let server = cluster.address().context("no address")?;
    let asked = || proxy.passed();
    ensure!(!asked().is_empty() && asked().iter().all(|target| *target == server), "{:?}", asked());
    let lists = follower.informer.status().reflectors[0].1.lists;

    for round in 1..=2 {
        gate.close().await?;
        world.update("c0", round).await?;
        world.create(&format!("c{round}"), "web", round).await?;
        eventually("the informer says what is wrong", || async {
            let phase = follower.informer.status().reflectors[0].1.phase.clone();
            let text = phase.reason().map(|reason| format!("{:#}", anyhow::Error::from(reason.clone())));
            let named = text.as_ref().is_some_and(|text| text.contains(&gate.address().to_string()));
            Ok((!named).then(|| format!("{phase:?}: {text:?}")))
        })
        .await?;
        ensure!(follower.informer.get(&world.key(&format!("c{round}"))).is_none(), "there is a way round it");
        gate.open().await?;
        follower.converges(&world.truth()).await?;
    }
    let status = follower.informer.status().reflectors[0].1.clone();
    ensure!(status.lists == lists, "a proxy that dies costs no list: {status:?}");

    let wrong = proxy.url(gate.address()).replace("somebody:", "nobody:");
    let stranger = client(&with_proxy(cluster.kubeconfig(), &wrong)?)?;
    let version = http::Request::get("/version").body(bytes::Bytes::new())?;
    let refused = stranger.raw(version).await.err().context("a wrong name passed")?;
    let refused = format!("{:#}", anyhow::Error::from(refused));
    let address = gate.address().to_string();
    ensure!(refused.contains("does not accept the user name and password in its URL"), "{refused}");
    ensure!(refused.contains(&address), "{refused}");
    ensure!(!refused.contains("let:me") && !refused.contains("let%3Ame"), "the password is told: {refused}");
    follower.stop().await;
    Ok(())
}
