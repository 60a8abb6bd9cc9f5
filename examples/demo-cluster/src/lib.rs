//! Which cluster an example talks to: a real one, or an API server embedded in the example itself.
//!
//! Examples take [`ClusterArgs`] into their command line, print to [`Output`] and end on [`StopSignal`].

mod args;
mod output;
mod stop;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use informers_client::{Client, Config};
use informers_testkit::{ApiServer, ApiServerBuilder};

pub use args::ClusterArgs;
pub use output::{Output, exit_code, warning};
pub use stop::StopSignal;

/// How long the first answer of a real cluster may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// A cluster to talk to, and its client.
#[derive(Debug)]
pub struct Cluster {
    /// The client.
    pub client: Client,
    /// The embedded server, if it is one. It lives as long as this.
    pub server: Option<Arc<ApiServer>>,
    description: String,
}

impl Cluster {
    /// A real cluster, from which one answer was had, so that a wrong address, CA or credential shows at once.
    ///
    /// # Errors
    /// If the configuration cannot be used, or the server gives no good answer within 15 seconds.
    pub async fn connect(config: Config, found: &str) -> Result<Self> {
        let server = config.server().to_string();
        let client = Client::new(config)?;
        let version = tokio::time::timeout(PATIENCE, client.server_version()).await;
        let version =
            version.with_context(|| format!("{server} ({found}) gives no answer within {PATIENCE:?}"))?;
        let version = version.with_context(|| format!("{server} ({found}) cannot be used"))?;
        let description = format!("Kubernetes {} at {server} ({found})", version.git_version);
        Ok(Self { client, server: None, description })
    }

    /// A server inside this process.
    ///
    /// # Errors
    /// If no port can be opened.
    pub async fn embed(server: ApiServerBuilder, why: &str) -> Result<Self> {
        let server = server.start().await?;
        let client = Client::new(Config::for_url(&server.url())?)?;
        let description = format!("embedded API server at {} ({why})", server.url());
        Ok(Self { client, server: Some(Arc::new(server)), description })
    }
}

/// What it is, where, and why it was chosen.
impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}
