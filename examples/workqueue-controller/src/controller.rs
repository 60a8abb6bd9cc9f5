//! Workers between queue and store.

use std::sync::Arc;

use demo_cluster::{Output, warning};
use informers::prelude::*;
use informers::workqueue::Taken;
use k8s_openapi::api::core::v1::Pod;
use tokio::task::JoinSet;

/// How often a key that fails comes back before it is given up.
const MAX_RETRIES: usize = 5;

/// Takes keys from a queue and looks their pods up in a store.
pub(crate) struct Controller {
    queue: WorkQueue<ObjectKey>,
    store: Store<Pod>,
    fail_on: Option<String>,
    output: Output,
}

/// Why the work on a pod failed.
#[derive(Debug)]
struct Failed(&'static str);

impl Controller {
    pub(crate) fn new(
        queue: WorkQueue<ObjectKey>,
        store: Store<Pod>,
        fail_on: Option<String>,
        output: Output,
    ) -> Arc<Self> {
        Arc::new(Self { queue, store, fail_on, output })
    }

    /// Runs this many workers until the queue is shut down. Dropping the future ends them.
    pub(crate) async fn work(self: &Arc<Self>, workers: usize) {
        let mut running = JoinSet::new();
        for _ in 0..workers {
            let controller = Arc::clone(self);
            running.spawn(async move {
                while let Some(key) = controller.queue.get().await {
                    controller.process(&key);
                } // dropping the guard lets the key be taken again
            });
        }
        while running.join_next().await.is_some() {}
    }

    fn process(&self, key: &Taken<ObjectKey>) {
        match self.sync(key) {
            // Forgetting ends the back-off of the key, so that a later failure begins with short pauses again.
            Ok(()) => self.queue.forget(key),
            Err(Failed(problem)) if self.queue.num_requeues(key) < MAX_RETRIES => {
                match self.queue.add_rate_limited(key.key().clone()) {
                    Ok(pause) => {
                        let attempt = self.queue.num_requeues(key);
                        self.output.line(&format!(
                            "Pod {} failed: {problem}; retry {attempt} of {MAX_RETRIES} in {pause:?}",
                            **key
                        ));
                    }
                    Err(error) => warning(&error.to_string()),
                }
            }
            Err(Failed(problem)) => {
                self.queue.forget(key);
                warning(&format!("pod {} is given up after {MAX_RETRIES} retries: {problem}", **key));
            }
        }
    }

    /// What a controller would do about one pod; this one prints it.
    fn sync(&self, key: &ObjectKey) -> Result<(), Failed> {
        let Some(pod) = self.store.get(key.as_str()) else {
            self.output.line(&format!("Pod {key} does not exist anymore"));
            return Ok(());
        };
        if self.fail_on.as_deref() == Some(key.name()) {
            return Err(Failed("it was told to fail for this name"));
        }
        // One of the name may have been deleted and made anew meanwhile; the uid tells.
        let (name, version, uid) = (key.name(), pod.version(), pod.uid());
        self.output.line(&format!("Sync/Add/Update for Pod {name} (version {version}, uid {uid})"));
        Ok(())
    }
}
