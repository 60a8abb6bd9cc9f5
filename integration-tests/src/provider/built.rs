//! The control plane that was built from Go modules, as a provider.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use tokio::sync::OnceCell;

use super::{Capability, Cluster, Provider};
use crate::admin::AdminClient;
use crate::control_plane::ControlPlane;

/// `required`: no binaries is a failure; `off`: skip; unset: run where there are binaries.
const POLICY: &str = "INFORMERS_TEST_CONTROL_PLANE";

/// The folder of the programs that are built here.
const BINARIES: &str = "INFORMERS_CONTROL_PLANE_BIN";

/// The folder where envtest keeps `etcd` and `kube-apiserver`; used where there are no built ones.
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// A control plane, or why it cannot be had.
pub(super) async fn acquire(own: bool, needs: &[Capability]) -> Result<Result<Arc<ControlPlane>, String>> {
    // Statics are never dropped: the control plane's guard process cleans up after this one.
    static BARE: OnceCell<Arc<ControlPlane>> = OnceCell::const_new();
    static WITH_CONTROLLERS: OnceCell<Arc<ControlPlane>> = OnceCell::const_new();
    let folder = |variable| std::env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_dir());
    let policy = std::env::var(POLICY).unwrap_or_default();
    let Some((provider, binaries)) = decide(&policy, folder(BINARIES), folder(ASSETS))? else {
        return Ok(Err("no control plane (cargo xtask test --control-plane)".into()));
    };
    // Controllers cost time and write objects of their own, so only those who need them have them.
    let controllers =
        needs.iter().any(|need| matches!(need, Capability::NamespaceGc | Capability::Schedules));
    if controllers && !ControlPlane::has_controllers(&binaries) {
        return Ok(match provider {
            // It is there for everything else, and says so when it is asked.
            Provider::Envtest => Ok(share(&BARE, provider, &binaries, false).await?),
            _ => bail!(
                "there is no controller-manager in {}; run `cargo xtask control-plane build --full`",
                binaries.display()
            ),
        });
    }
    Ok(Ok(match (own, controllers) {
        (true, _) => start(provider, &binaries, controllers).await?,
        (false, false) => share(&BARE, provider, &binaries, false).await?,
        (false, true) => share(&WITH_CONTROLLERS, provider, &binaries, true).await?,
    }))
}

async fn share(
    cell: &OnceCell<Arc<ControlPlane>>,
    provider: Provider,
    binaries: &Path,
    controllers: bool,
) -> Result<Arc<ControlPlane>> {
    cell.get_or_try_init(|| start(provider, binaries, controllers)).await.cloned()
}

async fn start(provider: Provider, binaries: &Path, controllers: bool) -> Result<Arc<ControlPlane>> {
    let control_plane = ControlPlane::start(binaries).await?.called(provider);
    if controllers {
        control_plane.start_controllers().await?;
    }
    Ok(Arc::new(control_plane))
}

/// Which programs may be used, and where they are.
fn decide(
    policy: &str,
    built: Option<PathBuf>,
    assets: Option<PathBuf>,
) -> Result<Option<(Provider, PathBuf)>> {
    let built = built.map(|folder| (Provider::ControlPlane, folder));
    let found = built.or(assets.map(|folder| (Provider::Envtest, folder)));
    match (policy, found) {
        ("off", _) | ("", None) => Ok(None),
        ("required" | "", Some(found)) => Ok(Some(found)),
        ("required", None) => bail!(
            "{POLICY}=required, but neither {BINARIES} nor {ASSETS} names a folder; run `cargo xtask test \
             --control-plane`, or `export {BINARIES}=$(cargo xtask control-plane path)`"
        ),
        (other, _) => bail!("{POLICY}={other}: only `required` and `off` are known"),
    }
}

#[async_trait]
impl Cluster for ControlPlane {
    fn provider(&self) -> Provider {
        ControlPlane::provider(self)
    }

    fn capabilities(&self) -> &[Capability] {
        match self.runs_controllers() {
            true => &[Capability::Compact, Capability::Stop, Capability::NamespaceGc, Capability::Schedules],
            false => &[Capability::Compact, Capability::Stop],
        }
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
        let bin = || Some(PathBuf::from("bin"));
        assert_eq!(decide("required", bin(), None).unwrap(), Some((Provider::ControlPlane, "bin".into())));
        assert!(decide("required", None, None).unwrap_err().to_string().contains(BINARIES));
    }

    #[test]
    fn without_a_policy_it_runs_where_there_is_one() {
        let bin = || Some(PathBuf::from("bin"));
        assert_eq!(decide("", bin(), None).unwrap(), Some((Provider::ControlPlane, "bin".into())));
        assert_eq!(decide("", None, None).unwrap(), None);
        assert_eq!(decide("off", bin(), bin()).unwrap(), None);
        assert!(decide("yes", None, None).unwrap_err().to_string().contains("yes"));
    }

    #[test]
    fn envtest_stands_in_for_what_was_not_built() {
        let (bin, assets) = (|| Some(PathBuf::from("bin")), || Some(PathBuf::from("assets")));
        assert_eq!(decide("", None, assets()).unwrap(), Some((Provider::Envtest, "assets".into())));
        assert_eq!(decide("", bin(), assets()).unwrap(), Some((Provider::ControlPlane, "bin".into())));
    }
}
