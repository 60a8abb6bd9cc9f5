//! An open watch and what ends it.

use std::time::Duration;

use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until};

use super::World;
use crate::Status;
use crate::store::{Frame, ResourceDef, Watch, WatchOptions};

/// How many frames are given at once, at most.
const BATCH: usize = 256;
/// How long a watch lasts that asks for nothing else; kube-apiserver takes 30 to 60 minutes.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// A watch with its clock. It costs a position in the history, and no task.
pub(crate) struct Watching {
    world: World,
    watch: Watch,
    /// The store's revision.
    changed: Receiver<u64>,
    /// Changes when all watches are told to end.
    closing: Receiver<u64>,
    deadline: Instant,
    next_bookmark: Instant,
    /// After how many frames it breaks off, if a fault says so.
    frames_left: Option<usize>,
    ended: bool,
}

impl Watching {
    pub(crate) fn open(
        world: World,
        def: &ResourceDef,
        options: &WatchOptions,
        frames_left: Option<usize>,
    ) -> Result<Self, Status> {
        // Taken before the watch is opened, so that nothing that happens after is missed.
        let (changed, closing) = (world.0.changes.subscribe(), world.0.closing.subscribe());
        let watch = world.read(|store| store.watch(def, options))?;
        let now = Instant::now();
        Ok(Self {
            watch,
            changed,
            closing,
            deadline: now + options.timeout.unwrap_or(TIMEOUT),
            next_bookmark: now + world.0.bookmark_interval,
            frames_left,
            ended: frames_left == Some(0),
            world,
        })
    }

    /// The next frames, at least one; none at the end.
    ///
    /// Cancel safe: what was not given is given next time.
    pub(crate) async fn next(&mut self) -> Option<Vec<Frame>> {
        loop {
            if self.ended {
                return None;
            }
            // Seen before the store is read, so that what happens in between wakes again.
            self.changed.borrow_and_update();
            let mut batch = self.world.read(|store| store.poll_watch(&mut self.watch, BATCH));
            self.ended = batch.ended;
            if let Some(left) = &mut self.frames_left {
                batch.frames.truncate(*left);
                *left -= batch.frames.len();
                self.ended |= *left == 0;
            }
            if !batch.frames.is_empty() {
                return Some(batch.frames);
            }
            if self.ended {
                return None;
            }
            if batch.more {
                continue;
            }
            tokio::select! {
                biased;
                _ = self.closing.changed() => return None,
                _ = self.changed.changed() => {}
                () = sleep_until(self.deadline) => {
                    self.ended = true;
                    return self.watch.bookmark().map(|frame| vec![frame]);
                }
                () = sleep_until(self.next_bookmark) => {
                    self.next_bookmark = Instant::now() + self.world.0.bookmark_interval;
                    if let Some(frame) = self.watch.bookmark() {
                        return Some(vec![frame]);
                    }
                }
            }
        }
    }
}
