//! Lists whose continue tokens expire between two pages.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use informers::core::{
    Error, ErrorKind, ListParams, ListStream, ListWatch, Source, WatchParams, WatchStream,
};
use informers::kube::resource;
use informers::pager::Pager;
use informers::prelude::*;
use integration_tests::follower::Follower;
use integration_tests::provider::Cluster;
use integration_tests::world::{World, client, paged};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio_util::sync::CancellationToken;

integration_tests::cluster_tests! {
    a_list_whose_token_expires_is_read_whole: own, needs [Compact];
    an_informer_outlives_an_expired_token: own, needs [Compact];
}

/// Has the cluster forget its history, after another change, just before a page is asked for.
struct Forgets<T> {
    list_watch: Arc<dyn ListWatch<T>>,
    cluster: Arc<dyn Cluster>,
    world: World,
    /// The page before which it happens, counted over all lists.
    page: usize,
    asked: AtomicUsize,
}

#[async_trait]
impl<T: Send + Sync + 'static> ListWatch<T> for Forgets<T> {
    async fn list(&self, params: ListParams) -> Result<ListStream<T>, Error> {
        if self.asked.fetch_add(1, Ordering::SeqCst) + 1 == self.page {
            let forgotten = async {
                self.world.update("c0", 1_000).await?;
                self.cluster.compact().await
            };
            forgotten.await.map_err(|error| {
                Error::new(ErrorKind::Other, "compact").with_message(format!("{error:#}"))
            })?;
        }
        self.list_watch.list(params).await
    }

    async fn watch(&self, params: WatchParams) -> Result<WatchStream<T>, Error> {
        self.list_watch.watch(params).await
    }

    fn description(&self) -> String {
        self.list_watch.description()
    }
}

async fn forgetful(
    cluster: &Arc<dyn Cluster>,
    world: &World,
    page: usize,
) -> Result<Arc<dyn ListWatch<ConfigMap>>> {
    for number in 0..30 {
        world.create(&format!("c{number}"), "web", number).await?;
    }
    let list_watch = client(cluster.kubeconfig())?.list_watch(&resource::<ConfigMap>(), &world.scope())?;
    let (cluster, world) = (Arc::clone(cluster), world.clone());
    Ok(Arc::new(Forgets { list_watch, cluster, world, page, asked: AtomicUsize::new(0) }))
}

async fn a_list_whose_token_expires_is_read_whole(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "tokens").await?;
    let collection = forgetful(&cluster, &world, 3).await?;
    let cancel = CancellationToken::new();
    let newest = || ListParams::first(String::new().as_str().into());
    let list = Pager::new().page_size(10).list(&collection, newest(), &cancel).await?;
    let names: std::collections::BTreeSet<_> =
        list.items.iter().filter_map(|item| item.key().cloned()).collect();
    ensure!(names.len() == 30 && list.items.len() == 30, "each object once: {names:?}");
    let truth = world.truth().versions().await?;
    ensure!(truth[&world.key("c0")] == list.items[0].version().to_string(), "it is as new as the server");

    // What was handed out cannot be taken back, so here it is an error.
    let collection = forgetful_again(&cluster, &world).await?;
    let mut seen = 0;
    let each = Pager::new()
        .page_size(10)
        .each_item(&collection, newest(), &cancel, |_| {
            seen += 1;
            async { Ok::<_, Infallible>(()) }
        })
        .await;
    let error = each.err().and_then(|error| error.request_error().cloned());
    ensure!(error.as_ref().is_some_and(Error::is_expired), "{error:?} after {seen} items");
    ensure!(seen == 20, "two pages were handed out: {seen}");
    Ok(())
}

async fn forgetful_again(cluster: &Arc<dyn Cluster>, world: &World) -> Result<Arc<dyn ListWatch<ConfigMap>>> {
    for number in 0..30 {
        world.delete(&format!("c{number}")).await?;
    }
    forgetful(cluster, world, 3).await
}

async fn an_informer_outlives_an_expired_token(cluster: Arc<dyn Cluster>) -> Result<()> {
    let world = World::new(&cluster, "tokens").await?;
    let collection = forgetful(&cluster, &world, 2).await?;
    // From the server's cache, the first list would come in one page whatever it is asked for.
    let settings = paged(10).first_list(informers::shared::FirstList::MostRecent);
    let informer = SharedInformer::builder(collection).reflector(settings).build();
    let follower = Follower::of_config_maps(informer)?.start().await?;
    follower.converges(&world.truth()).await?;
    follower.stop().await;
    Ok(())
}
