//! The work queue used alone: two workers fetch pages, one of which fails twice.
//!
//! Nothing here knows of Kubernetes: keys are texts, and the queue merges, retries and drains.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use informers_workqueue::rate_limiter::ItemExponentialFailure;
use informers_workqueue::{Taken, WorkQueue};

type Key = Arc<str>;

const WORKERS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let back_off = ItemExponentialFailure::new(Duration::from_millis(20), Duration::from_secs(5));
    let queue: WorkQueue<Key> = WorkQueue::builder().name("pages").rate_limiter(back_off).build();

    // Added before any worker runs: the second wish for `home` is merged into the first.
    for page in ["home", "news", "home", "flaky"] {
        queue.add(page.into())?;
    }
    print(format_args!("4 adds, {} keys queued", queue.len()));

    let workers: Vec<_> = (0..WORKERS).map(|number| tokio::spawn(work(queue.clone(), number))).collect();

    // A drain lets queued keys finish, but not those that wait for a retry; so these are waited for first.
    let settled = tokio::time::timeout(PATIENCE, async {
        while !is_settled(&queue) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    settled.await.map_err(|_| "the work was not done in time")?;
    queue.shut_down_with_drain().within(PATIENCE).await?;
    for worker in workers {
        worker.await?;
    }
    print(format_args!("drained"));
    Ok(())
}

/// One look at the whole queue: a key that moves on between several looks could be missed by all of them.
fn is_settled(queue: &WorkQueue<Key>) -> bool {
    let now = queue.snapshot();
    now.queued.is_empty() && now.processing.is_empty() && now.waiting.is_empty()
}

async fn work(queue: WorkQueue<Key>, number: usize) {
    while let Some(page) = queue.get().await {
        match fetch(&page, queue.num_requeues(&page)) {
            Ok(()) => {
                print(format_args!(
                    "worker {number}: {} is done after {} failures",
                    *page,
                    queue.num_requeues(&page)
                ));
                queue.forget(&page);
            }
            Err(problem) => retry(&queue, &page, problem),
        }
    } // dropping the guard tells the queue that the key is done
}

fn retry(queue: &WorkQueue<Key>, page: &Taken<Key>, problem: &str) {
    match queue.add_rate_limited(page.key().clone()) {
        Ok(delay) => print(format_args!("{} failed ({problem}); it comes back in {delay:?}", **page)),
        Err(error) => print(format_args!("{} failed ({problem}) and is given up: {error}", **page)),
    }
}

/// Stands for real work; `flaky` succeeds at the third attempt.
fn fetch(page: &str, failures: usize) -> Result<(), &'static str> {
    if page == "flaky" && failures < 2 { Err("connection reset") } else { Ok(()) }
}

/// Prints a line. Behind `| head -1` nobody may read it any more, which is no reason to panic as `println!` does.
fn print(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}
