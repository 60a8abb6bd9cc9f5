//! The testkit's server in this process, as a provider.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use async_trait::async_trait;
use informers_testkit::ApiServer;
use tempfile::TempPath;

use super::{Capability, Cluster, Provider};
use crate::admin::AdminClient;
use crate::gate::Gate;

/// A server and a gate before it, which stalls as a stopped process does.
#[derive(Debug)]
struct Embedded {
    server: ApiServer,
    gate: Gate,
    kubeconfig: TempPath,
}

/// A server of its own for each test: it is cheap, and lives in the test's runtime.
pub(super) async fn acquire() -> Result<Arc<dyn Cluster>> {
    let server = ApiServer::start().await.context("starting the embedded server")?;
    let gate = Gate::before(format!("127.0.0.1:{}", server.port())).await?;
    let original = tempfile::NamedTempFile::new().context("making a kubeconfig")?;
    server.write_kubeconfig(original.path()).context("writing a kubeconfig")?;
    let kubeconfig = gate.kubeconfig(original.path())?;
    Ok(Arc::new(Embedded { server, gate, kubeconfig }))
}

#[async_trait]
impl Cluster for Embedded {
    fn provider(&self) -> Provider {
        Provider::Embedded
    }

    fn capabilities(&self) -> &[Capability] {
        &[Capability::Compact, Capability::Stop, Capability::NamespaceGc]
    }

    fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    fn address(&self) -> Option<String> {
        Some(self.gate.address().to_string())
    }

    fn admin(&self) -> AdminClient {
        AdminClient::plain(self.gate.address().to_string())
    }

    async fn compact(&self) -> Result<()> {
        self.server.compact();
        Ok(())
    }

    async fn kill(&self) -> Result<()> {
        self.gate.close().await?;
        self.server.stop_listening().await;
        Ok(())
    }

    async fn restart(&self) -> Result<()> {
        self.server.start_listening().await.context("restarting the embedded server")?;
        self.gate.open().await
    }

    async fn pause(&self) -> Result<()> {
        self.gate.stall().await
    }

    async fn resume(&self) -> Result<()> {
        self.gate.open().await
    }
}
