//! Runs one test body on each provider of clusters.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::Instant;

#[cfg(unix)]
use crate::control_plane::ControlPlane;
use crate::leftovers::Leftovers;
#[cfg(unix)]
use crate::provider::acquire_control_plane;
use crate::provider::{Acquired, Capability, Cluster, Provider, acquire};
use crate::report;

/// Longer than any test takes on a loaded machine with two cores: a test that hangs fails by
/// name instead of holding up the whole run.
const TEST_PATIENCE: Duration = Duration::from_secs(300);

/// Longer than anything a test waits for takes on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How many times longer than usual tests under load go on: `$INFORMERS_TEST_LENGTH`, 1 without it.
///
/// # Panics
/// When the variable holds something else than a number of 1 or more.
#[must_use]
pub fn length() -> u32 {
    match std::env::var("INFORMERS_TEST_LENGTH") {
        Ok(text) => text
            .parse()
            .ok()
            .filter(|length| *length > 0)
            .expect("INFORMERS_TEST_LENGTH is a number of 1 or more"),
        Err(_) => 1,
    }
}

/// Waits until a condition holds, and says what it still lacked if it does not within [`PATIENCE`].
///
/// # Errors
/// That of the condition, at once; and when patience ends.
pub async fn eventually<F>(what: &str, condition: impl FnMut() -> F) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<Option<String>>>,
{
    eventually_within(PATIENCE, what, condition).await
}

/// As [`eventually`], with a patience of the caller's.
///
/// # Errors
/// As [`eventually`].
pub async fn eventually_within<F>(
    patience: Duration,
    what: &str,
    mut condition: impl FnMut() -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<Option<String>>>,
{
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(10);
    loop {
        let Some(lacking) = condition().await? else { return Ok(()) };
        if Instant::now() > deadline {
            anyhow::bail!("{what}: not within {} s: {lacking}", patience.as_secs());
        }
        tokio::time::sleep(pause).await;
        // What a condition asks of the server must not become the load.
        pause = (pause * 2).min(Duration::from_millis(500));
    }
}

/// What a test asks of its cluster.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The test's name.
    pub name: &'static str,
    /// Whether it must be the only user of its cluster.
    pub own: bool,
    /// What the cluster must be able to do.
    pub needs: &'static [Capability],
}

/// Makes `#[test]` functions of async functions, one for each provider:
/// `embedded::NAME`, `control_plane::NAME` and `kubeconfig::NAME`.
///
/// `own` asks for a cluster that no other test uses, `needs` for capabilities. Each function
/// takes an `Arc<dyn Cluster>` and returns `anyhow::Result<()>`:
///
/// ```
/// use std::sync::Arc;
/// use integration_tests::provider::Cluster;
///
/// integration_tests::cluster_tests! {
///     lists;
///     survives_a_restart: own, needs [Stop];
/// }
///
/// async fn lists(cluster: Arc<dyn Cluster>) -> anyhow::Result<()> {
///     cluster.admin().get("/api/v1/namespaces").await?.ok()?;
///     Ok(())
/// }
///
/// async fn survives_a_restart(cluster: Arc<dyn Cluster>) -> anyhow::Result<()> {
///     cluster.kill().await?;
///     cluster.restart().await?;
///     cluster.admin().get("/api/v1/namespaces").await?.ok()?;
///     Ok(())
/// }
/// ```
#[macro_export]
macro_rules! cluster_tests {
    ($($name:ident $(: $own:ident $(, needs [$($need:ident),*])?)?;)*) => {
        $crate::cluster_tests!(@on embedded Embedded $($name [$($own $($($need)*)?)?])*);
        $crate::cluster_tests!(@on control_plane ControlPlane $($name [$($own $($($need)*)?)?])*);
        $crate::cluster_tests!(@on kubeconfig Kubeconfig $($name [$($own $($($need)*)?)?])*);
    };
    (@on $module:ident $provider:ident $($name:ident $plan:tt)*) => {
        mod $module {
            $(
                #[test]
                fn $name() {
                    $crate::harness::run(
                        $crate::provider::Provider::$provider,
                        $crate::cluster_tests!(@plan $name $plan),
                        super::$name,
                    );
                }
            )*
        }
    };
    (@plan $name:ident []) => {
        $crate::harness::Plan { name: stringify!($name), own: false, needs: &[] }
    };
    (@plan $name:ident [shared $($need:ident)*]) => {
        $crate::harness::Plan {
            name: stringify!($name),
            own: false,
            needs: &[$($crate::provider::Capability::$need),*],
        }
    };
    (@plan $name:ident [own $($need:ident)*]) => {
        $crate::harness::Plan {
            name: stringify!($name),
            own: true,
            needs: &[$($crate::provider::Capability::$need),*],
        }
    };
}

/// Makes `#[test]` functions of async functions that are about a control plane's own files, users and rights,
/// which no other kind of cluster lets a test change: `control_plane::NAME`.
///
/// As [`cluster_tests!`](crate::cluster_tests), but each function takes an `Arc<ControlPlane>`.
#[cfg(unix)]
#[macro_export]
macro_rules! control_plane_tests {
    ($($name:ident $(: $own:ident $(, needs [$($need:ident),*])?)?;)*) => {
        mod control_plane {
            $(
                #[test]
                fn $name() {
                    $crate::harness::run_on_control_plane(
                        $crate::cluster_tests!(@plan $name [$($own $($($need)*)?)?]),
                        super::$name,
                    );
                }
            )*
        }
    };
}

/// Runs one test on one provider, in a runtime of its own.
///
/// # Panics
/// When the test fails, hangs, or its cluster does not come up.
pub fn run<Test, Running>(provider: Provider, plan: Plan, test: Test)
where
    Test: FnOnce(Arc<dyn Cluster>) -> Running,
    Running: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    conduct(provider, plan, acquire(provider, plan.own, plan.needs), test);
}

/// As [`run`], on a control plane that was built here.
///
/// # Panics
/// As [`run`].
#[cfg(unix)]
pub fn run_on_control_plane<Test, Running>(plan: Plan, test: Test)
where
    Test: FnOnce(Arc<ControlPlane>) -> Running,
    Running: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    conduct(Provider::ControlPlane, plan, acquire_control_plane(plan.own, plan.needs), test);
}

#[allow(clippy::panic, reason = "this is how a test fails")]
fn conduct<C, Test, Running>(
    provider: Provider,
    plan: Plan,
    acquired: impl Future<Output = anyhow::Result<Acquired<C>>>,
    test: Test,
) where
    C: Cluster + ?Sized,
    Test: FnOnce(Arc<C>) -> Running,
    Running: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime for the test");
    let outcome = runtime.block_on(async {
        let cluster = match acquired.await? {
            Acquired::Skip { provider, reason } => {
                report::skipped(provider, plan.name, &reason);
                return Ok(());
            }
            Acquired::Cluster(cluster) => cluster,
        };
        report::ran(cluster.provider(), plan.name);
        let leftovers = Leftovers::default();
        let running = tokio::spawn(leftovers.of(test(Arc::clone(&cluster))));
        let abort = running.abort_handle();
        let ended = tokio::time::timeout(TEST_PATIENCE * length(), running).await;
        abort.abort();
        // A cluster of the test's own goes with everything in it, and may have been left killed.
        let cleaned = if plan.own { Ok(()) } else { leftovers.delete(&cluster.admin()).await };
        let outcome = match ended {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(panic)) => std::panic::resume_unwind(panic.into_panic()),
            Err(_) => Err(anyhow::anyhow!("no end after {} s", (TEST_PATIENCE * length()).as_secs())),
        };
        match (outcome, cleaned) {
            (Err(error), Err(also)) => Err(error.context(format!("{also:#}, after the failure"))),
            (outcome, cleaned) => outcome.and(cleaned),
        }
    });
    if let Err(error) = outcome {
        panic!("{} on {provider}: {error:#}", plan.name);
    }
}

/// A name that no other test, run or process uses, valid for objects and namespaces.
#[must_use]
pub fn unique_name(what: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{what}-{:x}-{:06x}-{number}", std::process::id(), fastrand::u32(..) & 0x00ff_ffff)
}
