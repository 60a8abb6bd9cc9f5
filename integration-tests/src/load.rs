//! Writers that keep a namespace busy while something else is tested.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::harness::eventually;
use crate::world::World;

/// A stalled server must not hold up the writer that would notice its end.
const GIVE_UP: Duration = Duration::from_secs(5);

/// The pause between two writes: load, not a benchmark.
const PAUSE: Duration = Duration::from_millis(5);

/// One writer that creates, changes, relabels and deletes ConfigMaps named `l0`, `l1` and so on, until it is
/// [ended](Self::end). Writes that fail, because the server is down, are passed over.
#[derive(Debug)]
pub struct Load {
    ended: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Load {
    /// Starts to write `objects` objects of a world; `seed` decides what is done with which.
    #[must_use]
    pub fn start(world: &World, objects: u32, seed: u64) -> Self {
        let (ended, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let writing = write(world.clone(), objects, fastrand::Rng::with_seed(seed));
        let (stop, count) = (Arc::clone(&ended), Arc::clone(&written));
        let task = tokio::spawn(async move {
            let mut next = writing;
            while !stop.load(Ordering::SeqCst) {
                match timeout(GIVE_UP, next()).await {
                    Ok(Ok(())) => drop(count.fetch_add(1, Ordering::SeqCst)),
                    Ok(Err(_)) | Err(_) => sleep(10 * PAUSE).await,
                }
                sleep(PAUSE).await;
            }
        });
        Self { ended, written, task }
    }

    /// How many writes succeeded.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }

    /// Waits until `more` writes have succeeded since now, however long that takes as long as they go on.
    ///
    /// # Errors
    /// When one does not come within [`PATIENCE`](crate::harness::PATIENCE) of the one before.
    pub async fn goes_on(&self, more: u32) -> Result<()> {
        let wanted = self.written() + u64::from(more);
        loop {
            let reached = self.written();
            if reached >= wanted {
                return Ok(());
            }
            let stands =
                || async { Ok((self.written() == reached).then(|| format!("{reached} of {wanted}"))) };
            eventually("writes go on", stands).await?;
        }
    }

    /// Lets the writer end with what it does, and gives how many writes succeeded.
    ///
    /// # Errors
    /// When none did: then nothing was tested.
    pub async fn end(self) -> Result<u64> {
        self.ended.store(true, Ordering::SeqCst);
        self.task.await.context("the writer panicked")?;
        let written = self.written.load(Ordering::SeqCst);
        ensure!(written > 0, "no write succeeded under load");
        Ok(written)
    }
}

type Step = std::pin::Pin<Box<dyn Future<Output = Result<()>> + Send>>;

fn write(world: World, objects: u32, mut rng: fastrand::Rng) -> impl FnMut() -> Step + Send {
    let mut value = 0;
    move || {
        let (world, name) = (world.clone(), format!("l{}", rng.u32(..objects)));
        let app = ["web", "api", "db"][rng.usize(..3)];
        let what = rng.u8(..10);
        value += 1;
        let value = value;
        Box::pin(async move {
            let missing = match what {
                0 => {
                    return ignore_missing(
                        world.admin.delete(&format!("{}/{name}", world.config_maps())).await?,
                    );
                }
                1 => world.relabel(&name, app).await.is_err(),
                _ => world.update(&name, value).await.is_err(),
            };
            if missing {
                world.create(&name, app, value).await?;
            }
            Ok(())
        })
    }
}

fn ignore_missing(answer: crate::admin::Answer) -> Result<()> {
    if answer.status == 404 { Ok(()) } else { answer.ok().map(drop) }
}
