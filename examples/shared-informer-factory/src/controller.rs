//! A small controller: it keeps count of the pods of each app, and looks again while they are not settled.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use informers::prelude::*;
use informers::workqueue::rate_limiter::ItemExponentialFailure;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use tokio_util::task::AbortOnDropHandle;

use crate::observer::Observer;
use crate::view::Row;
use crate::watched::{Watched, app_of, node_of};

type App = Arc<str>;

/// How often an app that is not settled is looked at again, before it is left until its next event.
const MAX_RETRIES: usize = 5;
const WORKERS: usize = 2;
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(10);

/// The controller while it runs. Dropping it ends it.
pub(crate) struct Controller {
    queue: WorkQueue<App>,
    state: Arc<Reconciler>,
    _handlers: (HandlerGuard<Pod>, HandlerGuard<Deployment>),
    _workers: Vec<AbortOnDropHandle<()>>,
}

/// What the workers share.
struct Reconciler {
    pods: Index<Pod, String>,
    deployments: Index<Deployment, String>,
    observer: Observer,
    reported: Mutex<BTreeMap<App, String>>,
}

/// Some pods of the app have no node yet.
struct Unsettled {
    pods: usize,
}

impl Controller {
    /// Starts it: events of pods and deployments name the apps to look at.
    pub(crate) fn start(watched: &Watched, observer: &Observer) -> Self {
        let back_off = ItemExponentialFailure::new(FIRST_RETRY, LAST_RETRY);
        let queue: WorkQueue<App> = WorkQueue::builder().name("apps").rate_limiter(back_off).build();
        let state = Arc::new(Reconciler {
            pods: watched.pods_by_app.clone(),
            deployments: watched.deployments_by_app.clone(),
            observer: observer.clone(),
            reported: Mutex::default(),
        });
        let (pod_apps, deployment_apps) = (queue.clone(), queue.clone());
        let pods = watched.pods.handler().name("controller").on_event(move |event| {
            enqueue(&pod_apps, &event, |pod: &Pod| app_of(&pod.metadata));
        });
        let deployments = watched.deployments.handler().name("controller").on_event(move |event| {
            enqueue(&deployment_apps, &event, |deployment: &Deployment| app_of(&deployment.metadata));
        });
        let workers = (0..WORKERS)
            .map(|_| AbortOnDropHandle::new(tokio::spawn(work(queue.clone(), Arc::clone(&state)))))
            .collect();
        Self { queue, state, _handlers: (pods, deployments), _workers: workers }
    }

    /// What was found of each app.
    pub(crate) fn findings(&self) -> BTreeMap<App, String> {
        self.state.reported.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.queue.shut_down();
    }
}

/// An object that changes its label concerns two apps.
fn enqueue<K>(queue: &WorkQueue<App>, event: &Event<K>, app: impl Fn(&K) -> Option<String>) {
    let old = match event {
        Event::Updated { old, .. } => app(old),
        _ => None,
    };
    for app in old.into_iter().chain(app(event.entry())) {
        // Refused only at the end, when nobody works on it any more.
        let _ = queue.add(app.into());
    }
}

async fn work(queue: WorkQueue<App>, state: Arc<Reconciler>) {
    while let Some(app) = queue.get().await {
        match state.reconcile(&app) {
            Ok(()) => queue.forget(&app),
            Err(Unsettled { pods }) if queue.num_requeues(&app) < MAX_RETRIES => {
                if let Ok(pause) = queue.add_rate_limited(app.key().clone()) {
                    let retry = queue.num_requeues(&app);
                    state.say(
                        &app,
                        "retry",
                        format!("pods without a node: {pods}; retry {retry} in {pause:?}"),
                    );
                }
            }
            Err(Unsettled { pods }) => {
                queue.forget(&app);
                state.say(
                    &app,
                    "left",
                    format!("pods still without a node: {pods}; waiting for its next event"),
                );
            }
        }
    }
}

impl Reconciler {
    /// Compares the pods of an app with its deployments, by look-ups in the indexes, and reports what changed.
    fn reconcile(&self, app: &App) -> Result<(), Unsettled> {
        let pods = self.pods.get(&**app);
        let mut nodes: Vec<_> = pods.iter().filter_map(node_of).collect();
        let placed = nodes.len();
        nodes.sort();
        nodes.dedup();
        let wanted: i32 = self.deployments.get(&**app).iter().map(replicas).sum();
        let finding = format!("pods={} nodes={} wanted={wanted}", pods.len(), nodes.len());
        if self.is_news(app, &finding) {
            self.say(app, "counted", finding);
        }
        match pods.len() - placed {
            0 => Ok(()),
            pods => Err(Unsettled { pods }),
        }
    }

    fn is_news(&self, app: &App, finding: &str) -> bool {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        reported.insert(Arc::clone(app), finding.to_owned()).as_deref() != Some(finding)
    }

    fn say(&self, app: &str, what: &'static str, detail: String) {
        self.observer.row(Row::new("controller", what, app, detail));
    }
}

fn replicas(deployment: &Entry<Deployment>) -> i32 {
    deployment.spec.replicas.unwrap_or(1)
}
