//! Kinds of clusters that a test can run on, and what each of them can do.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use async_trait::async_trait;

use crate::admin::AdminClient;
#[cfg(unix)]
use crate::control_plane::ControlPlane;

#[cfg(unix)]
mod built;
mod embedded;
mod foreign;

/// Where a test's cluster comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// The server of `informers-testkit`, in this process.
    Embedded,
    /// etcd and kube-apiserver, built from Go modules and started by the test; with controller-manager,
    /// scheduler and simulated nodes where a test needs running pods.
    ControlPlane,
    /// etcd and kube-apiserver of `$KUBEBUILDER_ASSETS`, in the place of those built here.
    Envtest,
    /// A cluster that is there already, named by `$INFORMERS_TEST_KUBECONFIG`.
    Kubeconfig,
}

impl fmt::Display for Provider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Embedded => "embedded",
            Self::ControlPlane => "control-plane",
            Self::Envtest => "envtest",
            Self::Kubeconfig => "kubeconfig",
        })
    }
}

/// Something that a test needs and not every cluster can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capability {
    /// History can be thrown away, so that older versions are `410 Gone`.
    Compact,
    /// The server can be killed, restarted, stalled and let go on.
    Stop,
    /// A deleted namespace takes its objects with it.
    NamespaceGc,
    /// Pods are scheduled and run.
    Schedules,
}

impl fmt::Display for Capability {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Compact => "compact",
            Self::Stop => "stop",
            Self::NamespaceGc => "namespace-gc",
            Self::Schedules => "schedules",
        })
    }
}

/// A running cluster as a test sees it. It stops with its last owner.
#[async_trait]
pub trait Cluster: fmt::Debug + Send + Sync {
    /// What kind of cluster this is.
    fn provider(&self) -> Provider;

    /// What it can do beyond serving the API.
    fn capabilities(&self) -> &[Capability];

    /// A kubeconfig whose current context may do everything.
    fn kubeconfig(&self) -> &Path;

    /// `host:port` of the API server, for a [`Gate`](crate::gate::Gate) before it; none when it
    /// cannot be reached through one.
    fn address(&self) -> Option<String>;

    /// A client of the same rights that shares no code with the crates under test.
    fn admin(&self) -> AdminClient;

    /// Throws history away: afterwards no older version can be watched or continued from.
    ///
    /// Connections may break on the way. Needs [`Capability::Compact`].
    ///
    /// # Errors
    /// When the cluster cannot do it or fails to.
    async fn compact(&self) -> Result<()> {
        bail!("a {} cluster cannot compact", self.provider())
    }

    /// Kills the API server, leaving its store. Needs [`Capability::Stop`].
    ///
    /// # Errors
    /// As [`compact`](Self::compact).
    async fn kill(&self) -> Result<()> {
        bail!("a {} cluster cannot be killed", self.provider())
    }

    /// Starts a killed API server again at the same address and waits until it is ready.
    ///
    /// # Errors
    /// As [`compact`](Self::compact).
    async fn restart(&self) -> Result<()> {
        bail!("a {} cluster cannot be restarted", self.provider())
    }

    /// Stalls the API server: connections stay open and nothing moves.
    ///
    /// # Errors
    /// As [`compact`](Self::compact).
    async fn pause(&self) -> Result<()> {
        bail!("a {} cluster cannot be stalled", self.provider())
    }

    /// Lets a stalled API server go on.
    ///
    /// # Errors
    /// As [`compact`](Self::compact).
    async fn resume(&self) -> Result<()> {
        bail!("a {} cluster cannot be stalled", self.provider())
    }
}

/// A cluster, or why there is none.
#[derive(Debug)]
pub enum Acquired<C: ?Sized = dyn Cluster> {
    /// To run the test on.
    Cluster(Arc<C>),
    /// This provider was not asked for, or cannot do what is needed.
    Skip {
        /// Whose cluster it would have been.
        provider: Provider,
        /// Why there is none.
        reason: String,
    },
}

/// Gets a cluster of one kind.
///
/// With `own` nobody else uses it, so that it may be killed or compacted; otherwise all tests of
/// the process may share it.
///
/// # Errors
/// When a provider was asked for and its cluster does not come up.
pub async fn acquire(provider: Provider, own: bool, needs: &[Capability]) -> Result<Acquired> {
    let cluster: Result<Arc<dyn Cluster>, String> = match provider {
        Provider::Embedded => Ok(embedded::acquire().await?),
        #[cfg(unix)]
        Provider::ControlPlane | Provider::Envtest => {
            built::acquire(own, needs).await?.map(|control_plane| control_plane as Arc<dyn Cluster>)
        }
        #[cfg(not(unix))]
        Provider::ControlPlane | Provider::Envtest => {
            Err("processes are managed on Unix systems only".into())
        }
        Provider::Kubeconfig => foreign::acquire(own, needs).await?,
    };
    Ok(check(provider, cluster, needs))
}

/// Gets a control plane that was built here, for what only its own files and rights can show.
///
/// # Errors
/// As [`acquire`].
#[cfg(unix)]
pub async fn acquire_control_plane(own: bool, needs: &[Capability]) -> Result<Acquired<ControlPlane>> {
    Ok(check(Provider::ControlPlane, built::acquire(own, needs).await?, needs))
}

/// Leaves out a cluster that cannot do what is needed.
fn check<C: Cluster + ?Sized>(
    provider: Provider,
    cluster: Result<Arc<C>, String>,
    needs: &[Capability],
) -> Acquired<C> {
    let cluster = match cluster {
        Ok(cluster) => cluster,
        Err(reason) => return Acquired::Skip { provider, reason },
    };
    let lacking: Vec<String> =
        needs.iter().filter(|need| !cluster.capabilities().contains(need)).map(ToString::to_string).collect();
    match lacking.is_empty() {
        true => Acquired::Cluster(cluster),
        false => Acquired::Skip {
            provider: cluster.provider(),
            reason: format!("cannot do {}", lacking.join(" and ")),
        },
    }
}
