//! The control plane that was built from Go modules, as a provider.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use tokio::sync::OnceCell;

use super::{Acquired, Capability, Cluster, Provider};
use crate::admin::AdminClient;
use crate::control_plane::ControlPlane;

/// `required`: no binaries is a failure; `off`: skip; unset: run where there are binaries.
const POLICY: &str = "INFORMERS_TEST_CONTROL_PLANE";

/// The folder that holds `etcd` and `kube-apiserver`.
const BINARIES: &str = "INFORMERS_CONTROL_PLANE_BIN";

pub(super) async fn acquire(own: bool) -> Result<Acquired> {
    // Statics are never dropped: the control plane's guard process cleans up after this one.
    static SHARED: OnceCell<Arc<ControlPlane>> = OnceCell::const_new();
    let Some(binaries) = binaries()? else {
        return Ok(Acquired::Skip("no control plane (cargo xtask test --control-plane)".into()));
    };
    let start = || async { ControlPlane::start(&binaries).await.map(Arc::new) };
    let control_plane = match own {
        true => start().await?,
        false => Arc::clone(SHARED.get_or_try_init(start).await?),
    };
    Ok(Acquired::Cluster(control_plane))
}

/// Where the binaries are, if they may be used.
fn binaries() -> Result<Option<PathBuf>> {
    let policy = std::env::var(POLICY).unwrap_or_default();
    decide(&policy, std::env::var_os(BINARIES).map(PathBuf::from))
}

fn decide(policy: &str, folder: Option<PathBuf>) -> Result<Option<PathBuf>> {
    match (policy, folder.filter(|folder| !folder.as_os_str().is_empty())) {
        ("off", _) | ("", None) => Ok(None),
        ("required" | "", Some(folder)) => Ok(Some(folder)),
        ("required", None) => bail!(
            "{POLICY}=required, but {BINARIES} is not set; run `cargo xtask test --control-plane`, or \
             `export {BINARIES}=$(cargo xtask control-plane path)`"
        ),
        (other, _) => bail!("{POLICY}={other}: only `required` and `off` are known"),
    }
}

#[async_trait]
impl Cluster for ControlPlane {
    fn provider(&self) -> Provider {
        Provider::ControlPlane
    }

    fn capabilities(&self) -> &[Capability] {
        &[Capability::Compact, Capability::Stop]
    }

    fn kubeconfig(&self) -> &Path {
        ControlPlane::kubeconfig(self)
    }

    fn address(&self) -> Option<String> {
        Some(ControlPlane::address(self))
    }

    fn admin(&self) -> AdminClient {
        ControlPlane::admin(self)
    }

    async fn compact(&self) -> Result<()> {
        self.compact_etcd().await?;
        // The watch cache would go on serving versions that etcd has forgotten.
        self.kill_apiserver()?;
        self.restart_apiserver().await.context("after compaction")
    }

    async fn kill(&self) -> Result<()> {
        self.kill_apiserver()
    }

    async fn restart(&self) -> Result<()> {
        self.restart_apiserver().await
    }

    async fn pause(&self) -> Result<()> {
        self.pause_apiserver()
    }

    async fn resume(&self) -> Result<()> {
        self.resume_apiserver()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_required_control_plane_is_never_skipped() {
        let folder = || Some(PathBuf::from("bin"));
        assert_eq!(decide("required", folder()).unwrap(), folder());
        assert!(decide("required", None).unwrap_err().to_string().contains(BINARIES));
        assert!(decide("required", Some(PathBuf::new())).is_err());
    }

    #[test]
    fn without_a_policy_it_runs_where_there_is_one() {
        assert_eq!(decide("", Some("bin".into())).unwrap(), Some(PathBuf::from("bin")));
        assert_eq!(decide("", None).unwrap(), None);
        assert_eq!(decide("off", Some("bin".into())).unwrap(), None);
        assert!(decide("yes", None).unwrap_err().to_string().contains("yes"));
    }
}
