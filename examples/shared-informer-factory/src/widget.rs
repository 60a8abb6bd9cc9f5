//! The custom resource.

use std::time::Duration;

use anyhow::{Context, Result};
use informers::prelude::*;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::churn::NAMESPACE;

/// What a widget is like.
#[derive(Clone, Debug, CustomResource, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Widget", plural = "widgets", namespaced)]
pub(crate) struct WidgetSpec {
    /// How big it is.
    pub(crate) size: u32,
    /// What it looks like.
    #[serde(default)]
    pub(crate) colour: String,
}

/// How long the server may take to serve a resource that it was told of.
const ESTABLISHED: Duration = Duration::from_secs(15);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Creates the CustomResourceDefinition, unless there is one of its name, and waits until the server serves it.
pub(crate) async fn install(client: &Client) -> Result<()> {
    let definitions = client.api(&informers::kube::resource::<CustomResourceDefinition>(), None);
    match definitions.create(&Widget::crd()).await {
        Err(error) if !error.is_already_exists() => {
            return Err(error).context("the CustomResourceDefinition of widgets.example.com was not created");
        }
        _ => {}
    }
    let served = tokio::time::timeout(ESTABLISHED, async {
        let widgets = client.api(&informers::kube::resource::<Widget>(), Some(NAMESPACE));
        // Any other answer, a refusal too, shows that the server knows the resource.
        while matches!(widgets.list_all().await, Err(error) if error.is_not_found()) {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    });
    served
        .await
        .with_context(|| format!("widgets.example.com is not served {ESTABLISHED:?} after its definition"))
}
