//! A sink as a user may write one, which keeps versions alone, and which a test can hold up.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use informers::core::{Change, ChangeKind, ResourceVersion, Scope, Sink, SinkError, Stage};
use parking_lot::Mutex;
use tokio::sync::watch;

/// Keeps what a reflector reads. Clones share everything.
#[derive(Clone, Debug)]
pub struct Versions {
    kept: Arc<Mutex<Kept>>,
    held_up: watch::Sender<bool>,
}

/// What came of it so far.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Keys with versions.
    pub versions: BTreeMap<String, String>,
    /// How many changes came, those in lists not included.
    pub changes: u64,
    /// How many lists were put in place.
    pub replacements: u64,
}

impl Default for Versions {
    fn default() -> Self {
        Self { kept: Arc::default(), held_up: watch::Sender::new(false) }
    }
}

impl Versions {
    /// What is kept now.
    #[must_use]
    pub fn kept(&self) -> Kept {
        self.kept.lock().clone()
    }

    /// From now on nothing more is read, until it is [let go](Self::let_go): bytes stay where they are.
    pub fn hold_up(&self) {
        self.held_up.send_replace(true);
    }

    /// Reads on.
    pub fn let_go(&self) {
        self.held_up.send_replace(false);
    }

    /// The sink itself.
    #[must_use]
    pub fn sink<T>(&self) -> impl Sink<T> + use<T> {
        Writing { of: self.clone(), waiting: None }
    }
}

struct Writing {
    of: Versions,
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

fn put<T>(versions: &mut BTreeMap<String, String>, change: &Change<T>) {
    let Some(key) = change.item.key() else { return };
    match change.kind {
        ChangeKind::Deleted => versions.remove(key.as_str()),
        _ => versions.insert(key.to_string(), change.item.version().to_string()),
    };
}

impl<T> Sink<T> for Writing {
    fn apply(&mut self, change: Change<T>) -> Result<(), SinkError> {
        let mut kept = self.of.kept.lock();
        kept.changes += 1;
        put(&mut kept.versions, &change);
        Ok(())
    }

    fn begin(&mut self, _: &Scope) -> Box<dyn Stage<T> + '_> {
        Box::new(Replacement { of: &self.of, staged: BTreeMap::new() })
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let held_up = &self.of.held_up;
        let waiting = self.waiting.get_or_insert_with(|| {
            let mut held_up = held_up.subscribe();
            // Its sender is in `self`, so it cannot be gone.
            Box::pin(async move { drop(held_up.wait_for(|held_up| !held_up).await.map(drop)) })
        });
        ready!(waiting.as_mut().poll(cx));
        self.waiting = None;
        Poll::Ready(())
    }
}

struct Replacement<'a> {
    of: &'a Versions,
    staged: BTreeMap<String, String>,
}

impl<T> Stage<T> for Replacement<'_> {
    fn offer(&mut self, change: Change<T>) -> Result<(), SinkError> {
        put(&mut self.staged, &change);
        Ok(())
    }

    fn commit(self: Box<Self>, _: &ResourceVersion) -> Result<(), SinkError> {
        let mut kept = self.of.kept.lock();
        kept.replacements += 1;
        kept.versions = self.staged;
        Ok(())
    }
}
