//! The three informers and the indexes over them.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use informers::core::{Entry, Metrics};
use informers::prelude::*;
use informers::shared::ReflectorSettings;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::observer::Observer;
use crate::widget::Widget;

/// The label by which objects of an app are known.
pub(crate) const APP: &str = "app";

/// What is followed. All of it comes from one factory, so there is one list and one watch for each resource.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) factory: Factory,
    pub(crate) pods: SharedInformer<Pod>,
    pub(crate) deployments: SharedInformer<Deployment>,
    pub(crate) widgets: SharedInformer<Widget>,
    pub(crate) pods_by_node: Index<Pod, String>,
    pub(crate) pods_by_app: Index<Pod, String>,
    pub(crate) deployments_by_app: Index<Deployment, String>,
}

impl Watched {
    pub(crate) fn new(client: Client, namespaces: &[String], observer: &Observer) -> Result<Self> {
        let failures = observer.clone();
        let mut factory = Factory::builder(client)
            .reflector(ReflectorSettings::new().watch_error_handler(move |error| failures.failed(error)))
            .metrics(Arc::new(observer.clone()) as Arc<dyn Metrics>);
        if !namespaces.is_empty() {
            factory = factory.namespaces(namespaces);
        }
        let factory = factory.build();
        let pods = factory.informer::<Pod>()?;
        let deployments = factory.informer::<Deployment>()?;
        let widgets = factory.informer::<Widget>()?;
        Ok(Self {
            pods_by_node: pods.index(node_of),
            pods_by_app: pods.index(|pod| app_of(&pod.metadata)),
            deployments_by_app: deployments.index(|deployment| app_of(&deployment.metadata)),
            factory,
            pods,
            deployments,
            widgets,
        })
    }

    /// The pods of each node, by look-ups in the index.
    pub(crate) fn nodes(&self) -> BTreeMap<String, Vec<String>> {
        let mut nodes = BTreeMap::new();
        for node in self.pods_by_node.values() {
            let mut pods: Vec<_> = self.pods_by_node.keys(&node).iter().map(ToString::to_string).collect();
            pods.sort();
            nodes.insert(node, pods);
        }
        nodes
    }
}

pub(crate) fn node_of(pod: &Entry<Pod>) -> Option<String> {
    pod.spec.as_ref()?.node_name.clone().filter(|node| !node.is_empty())
}

pub(crate) fn app_of(metadata: &ObjectMeta) -> Option<String> {
    metadata.labels.as_ref()?.get(APP).cloned()
}
