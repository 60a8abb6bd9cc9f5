//! A sink that is a map, and writes down what it was told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use informers_core::{
    Change, ChangeKind, Entry, Item, ObjectKey, ResourceVersion, Scope, Sink, SinkError, Stage, Uid,
};
use tokio::time::Instant;

#[derive(Clone)]
pub struct MapSink(Arc<Mutex<State>>);

pub struct State {
    start: Instant,
    pub objects: BTreeMap<ObjectKey, Entry<()>>,
    pub log: Vec<String>,
    pub resyncs: Vec<Duration>,
    /// Names that are refused.
    pub refused: BTreeSet<&'static str>,
    pub refuse_commits: u32,
    pub refuse_resyncs: bool,
    pub closed: bool,
}

impl MapSink {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            start: Instant::now(),
            objects: BTreeMap::new(),
            log: Vec::new(),
            resyncs: Vec::new(),
            refused: BTreeSet::new(),
            refuse_commits: 0,
            refuse_resyncs: false,
            closed: false,
        })))
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub fn log(&self) -> Vec<String> {
        self.lock().log.clone()
    }

    /// `name@version` of all objects.
    pub fn contents(&self) -> Vec<String> {
        contents(&self.lock().objects)
    }
}

fn contents(objects: &BTreeMap<ObjectKey, Entry<()>>) -> Vec<String> {
    objects.values().map(|entry| format!("{}@{}", entry.key().name(), entry.version())).collect()
}

fn describe(change: &Change<()>) -> String {
    let sign = match change.kind {
        ChangeKind::Added => '+',
        ChangeKind::Modified => '~',
        ChangeKind::Deleted => '-',
    };
    let bad = if matches!(change.item, Item::Undecodable(_)) { "!" } else { "" };
    let name = change.item.key().map_or("?", |key| key.name());
    format!("{sign}{bad}{name}@{}", change.item.version())
}

impl State {
    fn check(&self, change: &Change<()>) -> Result<(), SinkError> {
        if self.closed {
            return Err(SinkError::closed());
        }
        match change.item.key() {
            Some(key) if self.refused.contains(key.name()) => {
                Err(SinkError::refused("not wanted").with_key(key.clone()))
            }
            _ => Ok(()),
        }
    }
}

fn keep(objects: &mut BTreeMap<ObjectKey, Entry<()>>, change: Change<()>) {
    match (change.kind, change.item) {
        (ChangeKind::Deleted, item) => {
            if let Some(key) = item.key() {
                objects.remove(key);
            }
        }
        (_, Item::Decoded(entry)) => {
            objects.insert(entry.key().clone(), entry);
        }
        (_, Item::Undecodable(_)) => {}
    }
}

impl Sink<()> for MapSink {
    fn apply(&mut self, change: Change<()>) -> Result<(), SinkError> {
        let mut state = self.lock();
        state.check(&change)?;
        state.log.push(describe(&change));
        keep(&mut state.objects, change);
        Ok(())
    }

    fn begin(&mut self, _: &Scope) -> Box<dyn Stage<()> + '_> {
        Box::new(Replacement { sink: self, staged: BTreeMap::new(), unreadable: Vec::new() })
    }

    fn resync(&mut self) -> Result<(), SinkError> {
        let mut state = self.lock();
        let at = state.start.elapsed();
        state.resyncs.push(at);
        if state.refuse_resyncs { Err(SinkError::refused("no resyncs")) } else { Ok(()) }
    }

    fn bookmark(&mut self, version: &ResourceVersion) -> Result<(), SinkError> {
        self.lock().log.push(format!("bookmark {version}"));
        Ok(())
    }

    fn known(&self, key: &ObjectKey, uid: &Uid, version: &ResourceVersion) -> Option<Entry<()>> {
        self.lock().objects.get(key).filter(|entry| entry.is_version(uid, version)).cloned()
    }
}

struct Replacement<'a> {
    sink: &'a MapSink,
    staged: BTreeMap<ObjectKey, Entry<()>>,
    /// Of objects that cannot be decoded the last good copy stays.
    unreadable: Vec<ObjectKey>,
}

impl Stage<()> for Replacement<'_> {
    fn offer(&mut self, change: Change<()>) -> Result<(), SinkError> {
        self.sink.lock().check(&change)?;
        if let Item::Undecodable(bad) = &change.item {
            self.unreadable.extend(bad.key().cloned());
        }
        keep(&mut self.staged, change);
        Ok(())
    }

    fn commit(mut self: Box<Self>, version: &ResourceVersion) -> Result<(), SinkError> {
        let mut state = self.sink.lock();
        if state.refuse_commits > 0 {
            state.refuse_commits -= 1;
            return Err(SinkError::refused("not now"));
        }
        for key in &self.unreadable {
            if let Some(entry) = state.objects.get(key) {
                self.staged.insert(key.clone(), entry.clone());
            }
        }
        state.objects = std::mem::take(&mut self.staged);
        let line = format!("={version} [{}]", contents(&state.objects).join(" "));
        state.log.push(line);
        Ok(())
    }

    fn known(&self, key: &ObjectKey, uid: &Uid, version: &ResourceVersion) -> Option<Entry<()>> {
        self.sink.known(key, uid, version)
    }
}
