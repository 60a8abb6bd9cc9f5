//! The producers' end of a queue.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use informers_core::{
    Change, ChangeKind, Deletion, Entry, Item, ObjectKey, ResourceVersion, Scope, Sink, SinkError, Stage,
    Uid, Undecodable,
};

use crate::delta::{Deleted, ReplacedAll};
use crate::intake::Intake;
use crate::shared::Shared;
use crate::stage::Staged;

/// One producer's sink into a queue; from [`SharedQueue::sink`](crate::SharedQueue::sink).
///
/// Objects are transformed and lists collected here, outside the queue's lock. A list goes into the queue as
/// a whole when its stage is committed.
///
/// # Errors of its calls
/// The queue may be closed ([`SinkError::is_closed`]). An object on which the transform fails is refused, and
/// the error names it; the consumer is told that his copy of it is stale, or, where the change was a
/// deletion, that the object is gone without its final state. A [`DeltaFifo`](crate::DeltaFifo) and a
/// [`Fifo`](crate::Fifo) also refuse an undecodable object without a key.
pub struct QueueSink<T> {
    shared: Arc<Shared<T>>,
    intake: Intake<T>,
    slot: usize,
    /// What this producer lists; everything, before its first list.
    scope: Scope,
}

impl<T> QueueSink<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>) -> Self {
        let intake = Intake::new(shared.known.clone(), shared.transform.clone());
        let slot = shared.join();
        Self { shared, intake, slot, scope: Scope::all() }
    }

    fn stage(&mut self, scope: &Scope, streaming: bool) -> Box<dyn Stage<T> + '_>
    where
        T: Send + Sync,
    {
        self.intake.settle();
        self.scope = scope.clone();
        let staged = if streaming && self.shared.streams_by_key { Staged::by_key() } else { Staged::new() };
        Box::new(QueueStage { sink: self, scope: scope.clone(), staged, streaming })
    }

    /// The copy that is to take the place of a new one.
    fn known_copy(&self, key: &ObjectKey, uid: &Uid, version: &ResourceVersion) -> Option<Entry<T>> {
        let every_copy = self.intake.transforms() && self.shared.parity.transform_every_copy;
        if every_copy { None } else { self.intake.known(key, uid, version) }
    }

    fn apply_entry(&self, kind: ChangeKind, entry: Entry<T>) -> Result<(), SinkError> {
        if kind == ChangeKind::Deleted && self.intake.transforms() {
            // The deletion of an unknown object is passed over, so it is not worth a transform.
            let known = self.shared.produce(|machine, _| {
                machine.note_change();
                machine.has(entry.key())
            })?;
            if !known {
                return Ok(());
            }
        }
        let entry = match self.intake.admit(entry) {
            Ok(entry) => entry,
            Err(failed) if self.shared.parity.drop_failed_transforms => {
                self.shared.produce(|machine, _| machine.note_change())?;
                return Err(failed.error);
            }
            Err(failed) => {
                self.apply_undecodable(kind, failed.undecodable)?;
                return Err(failed.error);
            }
        };
        self.shared.produce(|machine, left| match kind {
            ChangeKind::Added => machine.add(entry, left),
            ChangeKind::Modified => machine.update(entry, left),
            ChangeKind::Deleted => machine.delete(Deleted::observed(entry), left),
        })
    }

    fn apply_undecodable(&self, kind: ChangeKind, undecodable: Undecodable) -> Result<(), SinkError> {
        if kind == ChangeKind::Deleted
            && let Some(key) = undecodable.key()
        {
            // The bytes do not matter any more: the object is gone.
            return self.delete(Deleted { key: key.clone(), last: None, how: Deletion::Observed });
        }
        self.shared
            .produce(|machine, left| machine.mark_undecodable(undecodable, left))?
            .map_err(|refused| nameless(*refused))
    }

    /// Queues a deletion that did not come as a change, such as one that somebody else found out.
    ///
    /// # Errors
    /// If the queue is closed.
    pub fn delete(&self, deleted: Deleted<T>) -> Result<(), SinkError> {
        self.shared.produce(|machine, left| machine.delete(deleted, left))
    }
}

fn nameless(undecodable: Undecodable) -> SinkError {
    SinkError::refused("an object without a readable name has no place in the queue").with_source(undecodable)
}

impl<T: Send + Sync> Sink<T> for QueueSink<T> {
    fn apply(&mut self, change: Change<T>) -> Result<(), SinkError> {
        match change.item {
            Item::Decoded(entry) => self.apply_entry(change.kind, entry),
            Item::Undecodable(undecodable) => self.apply_undecodable(change.kind, undecodable),
        }
    }

    fn begin(&mut self, scope: &Scope) -> Box<dyn Stage<T> + '_> {
        self.stage(scope, false)
    }

    fn begin_streaming(&mut self, scope: &Scope) -> Box<dyn Stage<T> + '_> {
        self.stage(scope, true)
    }

    fn resync(&mut self) -> Result<(), SinkError> {
        self.shared.produce(|machine, _| machine.resync())
    }

    fn bookmark(&mut self, version: &ResourceVersion) -> Result<(), SinkError> {
        let scope = self.scope.clone();
        self.shared.produce(|machine, _| machine.bookmark(scope, version.clone()))
    }

    fn known(&self, key: &ObjectKey, uid: &Uid, version: &ResourceVersion) -> Option<Entry<T>> {
        self.known_copy(key, uid, version)
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.intake.settle();
        self.shared.poll_ready(self.slot, cx)
    }
}

impl<T> Drop for QueueSink<T> {
    fn drop(&mut self) {
        self.shared.leave(self.slot);
    }
}

impl<T> fmt::Debug for QueueSink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueSink").field("slot", &self.slot).finish_non_exhaustive()
    }
}

/// A list on its way into the queue. It never asks for a pause: a list that is not read on may expire, and
/// the whole of it is one delta.
struct QueueStage<'a, T> {
    sink: &'a QueueSink<T>,
    scope: Scope,
    staged: Staged<T>,
    /// A streaming list, which client-go gathers in a store of its own.
    streaming: bool,
}

impl<T: Send + Sync> Stage<T> for QueueStage<'_, T> {
    fn offer(&mut self, change: Change<T>) -> Result<(), SinkError> {
        match change.item {
            // client-go transforms a list when it is complete.
            Item::Decoded(entry) if self.sink.shared.parity.drop_failed_transforms && !self.streaming => {
                self.staged.entry(change.kind, entry);
            }
            // What is taken back need not be transformed.
            Item::Decoded(entry) if change.kind == ChangeKind::Deleted => {
                self.staged.entry(change.kind, entry);
            }
            Item::Decoded(entry) => match self.sink.intake.admit(entry) {
                Ok(entry) => self.staged.entry(change.kind, entry),
                Err(failed) => {
                    if !self.sink.shared.parity.drop_failed_transforms {
                        self.staged.undecodable(change.kind, failed.undecodable);
                    }
                    return Err(failed.error);
                }
            },
            Item::Undecodable(bad) => {
                let refusal =
                    (bad.key().is_none() && !self.sink.shared.takes_nameless).then(|| nameless(bad.clone()));
                self.staged.undecodable(change.kind, bad);
                return refusal.map_or(Ok(()), Err);
            }
        }
        Ok(())
    }

    fn commit(self: Box<Self>, version: &ResourceVersion) -> Result<(), SinkError> {
        let Self { sink, scope, staged, streaming } = *self;
        let (items, undecodable) = staged.finish();
        let mut all = ReplacedAll::new(scope, version.clone(), items).with_undecodable(undecodable);
        let parity = sink.shared.parity;
        let again = streaming && parity.transform_every_copy;
        if again || !streaming && parity.drop_failed_transforms {
            for at in 0..all.items.len() {
                match sink.intake.admit(all.items[at].clone()) {
                    Ok(entry) => all.items[at] = entry,
                    // What the first time made of it is good.
                    Err(_) if !parity.drop_failed_transforms => {}
                    Err(failed) => {
                        sink.shared.produce(|machine, left| machine.replace_cut_short(all, at, left))?;
                        return Err(failed.error);
                    }
                }
            }
        }
        sink.shared.produce(|machine, left| machine.replace(all, left))
    }

    fn known(&self, key: &ObjectKey, uid: &Uid, version: &ResourceVersion) -> Option<Entry<T>> {
        self.sink.known_copy(key, uid, version)
    }
}
