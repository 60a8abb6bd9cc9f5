//! Events in words.

use informers::core::{Deletion, Entry, Event};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;

use crate::view::Row;
use crate::watched::{app_of, node_of};
use crate::widget::Widget;

/// A type whose objects can be told in a few words.
pub(crate) trait Describe: Sized {
    /// The name of the resource.
    const RESOURCE: &'static str;

    fn describe(entry: &Entry<Self>) -> String;
}

impl Describe for Pod {
    const RESOURCE: &'static str = "pods";

    fn describe(pod: &Entry<Self>) -> String {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("-");
        let node = node_of(pod).unwrap_or_else(|| "-".to_owned());
        format!("app={} node={node} {phase}", app_of(&pod.metadata).as_deref().unwrap_or("-"))
    }
}

impl Describe for Deployment {
    const RESOURCE: &'static str = "deployments";

    fn describe(deployment: &Entry<Self>) -> String {
        let replicas = deployment.spec.replicas.unwrap_or(1);
        format!("app={} replicas={replicas}", app_of(&deployment.metadata).as_deref().unwrap_or("-"))
    }
}

impl Describe for Widget {
    const RESOURCE: &'static str = "widgets";

    fn describe(widget: &Entry<Self>) -> String {
        format!("size={} colour={}", widget.spec.size, widget.spec.colour)
    }
}

/// The line of one event.
pub(crate) fn row<K: Describe>(event: &Event<K>) -> Row {
    let (what, detail) = match event {
        Event::Added { object, initial: true } => ("added", format!("{} (first list)", K::describe(object))),
        Event::Added { object, .. } => ("added", K::describe(object)),
        Event::Updated { old, new } => ("updated", change(&K::describe(old), &K::describe(new))),
        Event::Deleted { last, how: Deletion::Observed } => ("deleted", K::describe(last)),
        Event::Deleted { last, .. } => ("deleted", format!("{} (noticed by the relist)", K::describe(last))),
    };
    Row::new(K::RESOURCE, what, event.key().as_str(), detail)
}

fn change(old: &str, new: &str) -> String {
    if old == new { new.to_owned() } else { format!("{new} (was {old})") }
}
