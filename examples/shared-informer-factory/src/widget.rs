//! The custom resource.

use anyhow::{Context, Result};
use informers::prelude::*;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Creates the CustomResourceDefinition, unless there is one of its name.
pub(crate) async fn install(client: &Client) -> Result<()> {
    let definitions = client.api(&informers::kube::resource::<CustomResourceDefinition>(), None);
    match definitions.create(&Widget::crd()).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_already_exists() => Ok(()),
        Err(error) => {
            Err(error).context("the CustomResourceDefinition of widgets.example.com was not created")
        }
    }
}
