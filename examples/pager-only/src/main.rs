//! The pager used alone: a list read in pages, without an informer.
//!
//! It reads ConfigMaps into a struct with the one field that is wanted; no Kubernetes types are compiled.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use demo_cluster::{ClusterArgs, Output, exit_code};
use informers_core::{
    Item, JsonDecoder, ListParams, Resource, ResourceScope, ResourceType, ResourceVersion, Scope, Source,
};
use informers_pager::Pager;
use tokio_util::sync::CancellationToken;

/// Counts the ConfigMaps of a cluster and the keys in them, reading the list in pages.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,

    /// Objects in one page
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    page_size: u32,

    /// Objects made beforehand, on the embedded server only
    #[arg(long, value_name = "N", default_value_t = 1203)]
    objects: usize,
}

#[derive(serde::Deserialize)]
struct ConfigMap {
    #[serde(default)]
    data: BTreeMap<String, serde_json::Value>,
}

#[tokio::main]
async fn main() -> ExitCode {
    exit_code(run(&Args::parse()).await)
}

async fn run(args: &Args) -> Result<()> {
    let output = Output::default();
    let cluster = args.cluster.connect().await?;
    output.line(&cluster.to_string());
    if let Some(server) = &cluster.server {
        for number in 0..args.objects {
            server
                .create(serde_json::json!({
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": format!("settings-{number:04}")}, "data": {"number": number.to_string()},
                }))
                .context("the embedded server refuses an object")?;
        }
    }

    let kind = ResourceType::new("", "v1", "ConfigMap", "configmaps", ResourceScope::Namespaced);
    let resource = Resource::new(kind, JsonDecoder::<ConfigMap>::new());
    let config_maps = cluster.client.list_watch(&resource, &Scope::all())?;
    // No version: the most recent state, which servers give in pages.
    let most_recent = ListParams::first(ResourceVersion::default());
    let never = CancellationToken::new();

    // The whole list in memory.
    let pager = Pager::new().page_size(args.page_size);
    let list = pager.list(&config_maps, most_recent.clone(), &never).await?;
    let (objects, version, pages) = (list.items.len(), &list.version, list.pages);
    output.line(&format!("list:      {objects} objects at version {version}, pages: {pages}"));

    // One object at a time, while later pages are read.
    let mut keys = 0;
    let each = pager.each_item(&config_maps, most_recent, &never, |item| {
        if let Item::Decoded(config_map) = item {
            keys += config_map.data.len();
        }
        std::future::ready(Ok::<_, std::convert::Infallible>(()))
    });
    each.await?;
    output.line(&format!("each item: {keys} keys in them"));
    output.finish()
}
