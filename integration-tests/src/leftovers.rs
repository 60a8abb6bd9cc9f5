//! What a test made, to be deleted when it ends, however it ends.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Result, bail};

use crate::admin::AdminClient;

/// Deleting a few thousand objects takes a loaded server seconds.
const PATIENCE: Duration = Duration::from_secs(60);

tokio::task_local! {
    static CURRENT: Leftovers;
}

/// Paths of objects and of whole collections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leftovers(Arc<Mutex<Vec<String>>>);

/// Has the object, or every object of the collection, at `path` deleted when the running test ends:
/// by success, failure or panic. What was named last goes first.
///
/// # Panics
/// Outside of a test's own task.
pub fn delete_afterwards(path: impl Into<String>) {
    let path = path.into();
    CURRENT.with(|leftovers| {
        let mut paths = leftovers.0.lock().expect("nothing panics while it holds the paths");
        if !paths.contains(&path) {
            paths.push(path);
        }
    });
}

impl Leftovers {
    /// Runs a test in whose task [`delete_afterwards`] adds to these.
    pub(crate) fn of<F: Future>(&self, test: F) -> impl Future<Output = F::Output> + use<F> {
        CURRENT.scope(self.clone(), test)
    }

    /// Deletes everything, and says what could not be deleted.
    pub(crate) async fn delete(self, admin: &AdminClient) -> Result<()> {
        let paths = std::mem::take(&mut *self.0.lock().expect("nothing panics while it holds the paths"));
        let mut problems = Vec::new();
        for path in paths.into_iter().rev() {
            match tokio::time::timeout(PATIENCE, admin.delete(&path)).await {
                Ok(Ok(answer)) if answer.status.is_success() || answer.status == 404 => {}
                Ok(Ok(answer)) => problems.push(format!("{path}: {}", answer.status)),
                Ok(Err(error)) => problems.push(format!("{path}: {error:#}")),
                Err(_) => problems.push(format!("{path}: no answer in {} s", PATIENCE.as_secs())),
            }
        }
        if !problems.is_empty() {
            bail!("objects of the test could not be deleted: {}", problems.join(", "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use informers_testkit::ApiServer;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn objects_and_collections_go_also_after_a_panic() {
        let server = ApiServer::start().await.unwrap();
        let admin = AdminClient::plain(format!("127.0.0.1:{}", server.port()));
        let leftovers = Leftovers::default();
        let making = admin.clone();
        let test = tokio::spawn(leftovers.of(async move {
            for (path, name) in [
                ("/api/v1/namespaces", "left"),
                ("/api/v1/namespaces/left/configmaps", "a"),
                ("/api/v1/namespaces/left/configmaps", "b"),
            ] {
                let object = match path.ends_with("maps") {
                    true => json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}),
                    false => json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
                };
                making.create(path, &object).await.unwrap().ok().unwrap();
            }
            delete_afterwards("/api/v1/namespaces/left");
            delete_afterwards("/api/v1/namespaces/left/configmaps");
            delete_afterwards("/api/v1/namespaces/never-made");
            panic!("as told by the test");
        }));
        assert!(test.await.unwrap_err().is_panic());
        leftovers.delete(&admin).await.unwrap();
        assert_eq!(admin.get("/api/v1/namespaces/left").await.unwrap().status, 404);
        let left = admin.get("/api/v1/configmaps").await.unwrap().ok().unwrap();
        assert_eq!(left["items"], json!([]));
    }

    #[tokio::test]
    async fn what_cannot_be_deleted_is_named() {
        let leftovers = Leftovers::default();
        leftovers.of(async { delete_afterwards("/api/v1/namespaces/x") }).await;
        let nowhere = AdminClient::plain("127.0.0.1:1");
        let error = leftovers.delete(&nowhere).await.unwrap_err();
        assert!(error.to_string().contains("/api/v1/namespaces/x"), "{error}");
    }
}
