//! Helpers for tests under virtual time.

use std::time::Duration;

/// Lets everything run that can run, and returns when all tasks wait for time or for the caller.
///
/// Needs a current-thread runtime whose clock is paused (`#[tokio::test(start_paused = true)]`): tokio moves
/// such a clock only when nothing else can be done, so waiting for a moment waits for everybody. The clock
/// moves by a millisecond. With a running clock it merely sleeps that long. Blocking tasks and sockets are
/// not waited for.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
/// use std::sync::Arc;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let done = Arc::new(AtomicBool::new(false));
/// let flag = Arc::clone(&done);
/// tokio::spawn(async move {
///     for _ in 0..100 {
///         tokio::task::yield_now().await;
///     }
///     flag.store(true, SeqCst);
/// });
/// informers_testkit::settle().await;
/// assert!(done.load(SeqCst));
/// # }
/// ```
pub async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Waits until `condition` holds, for at most `patience`; gives whether it came to hold.
///
/// It is looked at every few milliseconds of tokio's time, so under a paused clock this costs no real time.
///
/// # Cancel safety
/// Nothing is lost if the future is dropped.
///
/// ```
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let start = tokio::time::Instant::now();
/// let reached = informers_testkit::eventually(Duration::from_secs(10), || start.elapsed() > Duration::from_secs(1));
/// assert!(reached.await);
/// assert!(!informers_testkit::eventually(Duration::from_secs(10), || false).await);
/// # }
/// ```
pub async fn eventually(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    const PAUSE: Duration = Duration::from_millis(5);
    let deadline = tokio::time::Instant::now() + patience;
    loop {
        if condition() {
            return true;
        }
        if tokio::time::Instant::now() >= deadline {
            return false;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
