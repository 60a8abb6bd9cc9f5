//! The flags that choose a cluster.

use std::path::PathBuf;

use anyhow::{Result, bail};
use informers_client::{Config, Kubeconfig};
use informers_testkit::{ApiServer, ApiServerBuilder};

use crate::Cluster;

/// Where the cluster is. Without any of these: `$KUBECONFIG`, `~/.kube/config`, the service account of the pod that
/// this runs in; and an API server embedded in the program where there is nothing of the kind.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ClusterArgs {
    /// Kubeconfig file of a real cluster [default: the files in $KUBECONFIG, else ~/.kube/config, else the service
    /// account inside a pod, else an API server embedded in this program]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME", conflicts_with = "embedded")]
    pub context: Option<String>,

    /// Use the embedded API server, whatever else there is; no cluster is needed or touched
    #[arg(long, conflicts_with = "kubeconfig")]
    pub embedded: bool,
}

/// Where a configuration was found.
enum Found {
    Nothing,
    File(PathBuf),
    /// Files that are merged, by the name of the place that names them.
    Files(&'static str, Vec<PathBuf>),
    ServiceAccount,
}

impl ClusterArgs {
    /// Connects to what the flags and the surroundings say; the embedded server has the built-in resources.
    ///
    /// # Errors
    /// If there is a configuration and it cannot be used: it is never replaced by the embedded server then.
    pub async fn connect(&self) -> Result<Cluster> {
        self.connect_or_embed(ApiServer::builder()).await
    }

    /// As [`connect`](Self::connect), with settings for the embedded server.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_or_embed(&self, server: ApiServerBuilder) -> Result<Cluster> {
        match self.config()? {
            Some((config, found)) => Cluster::connect(config, &found).await,
            None if self.embedded => Cluster::embed(server, "by --embedded").await,
            None => Cluster::embed(server, "no kubeconfig and no service account found").await,
        }
    }

    /// The configuration of a real cluster and where it was found; none if the embedded server is to be used.
    ///
    /// # Errors
    /// If there is a configuration and it cannot be used.
    pub fn config(&self) -> Result<Option<(Config, String)>> {
        let context = self.context.as_deref();
        let (config, found) = match self.find() {
            Found::Nothing if context.is_some() => {
                bail!("--context: there is no kubeconfig; name one with --kubeconfig or $KUBECONFIG")
            }
            Found::Nothing => return Ok(None),
            Found::File(path) => {
                (Config::from_kubeconfig_file(&path, context)?, format!("from {}", path.display()))
            }
            Found::Files(place, paths) => {
                let config = match context {
                    None => Config::from_env()?,
                    Some(_) => Config::from_kubeconfig(&Kubeconfig::read_all(&paths)?, context)?,
                };
                (config, format!("from {place}"))
            }
            Found::ServiceAccount => {
                (Config::in_cluster()?, "from the service account of this pod".to_owned())
            }
        };
        Ok(Some((config, found)))
    }

    fn find(&self) -> Found {
        if self.embedded {
            return Found::Nothing;
        }
        if let Some(path) = &self.kubeconfig {
            return Found::File(path.clone());
        }
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(paths) = variable("KUBECONFIG") {
            return Found::Files("$KUBECONFIG", std::env::split_paths(&paths).collect());
        }
        if let Some(path) = std::env::home_dir().map(|home| home.join(".kube/config"))
            && path.exists()
        {
            return Found::Files("~/.kube/config", vec![path]);
        }
        match variable("KUBERNETES_SERVICE_HOST") {
            Some(_) => Found::ServiceAccount,
            None => Found::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn with_file(path: &Path) -> ClusterArgs {
        ClusterArgs { kubeconfig: Some(path.to_owned()), ..ClusterArgs::default() }
    }

    async fn problem(args: &ClusterArgs) -> String {
        format!("{:#}", args.connect().await.unwrap_err())
    }

    #[tokio::test]
    async fn the_embedded_server_answers() {
        let args = ClusterArgs { embedded: true, ..ClusterArgs::default() };
        let cluster = args.connect().await.unwrap();
        assert!(cluster.to_string().starts_with("embedded API server at http://127.0.0.1:"), "{cluster}");
        assert!(cluster.client.server_version().await.is_ok());
    }

    #[tokio::test]
    async fn a_kubeconfig_leads_to_its_server() {
        let server = ApiServer::start().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        server.write_kubeconfig(&path).unwrap();
        let cluster = with_file(&path).connect().await.unwrap();
        assert!(cluster.server.is_none());
        assert!(cluster.to_string().contains(&server.url()), "{cluster}");
        assert!(cluster.to_string().contains(&path.display().to_string()), "{cluster}");
    }

    #[tokio::test]
    async fn errors_name_file_context_and_address() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let text = problem(&with_file(&missing)).await;
        assert!(text.contains("missing") && text.contains("no such"), "{text}");

        let server = ApiServer::builder().token("let-me-in").start().await.unwrap();
        let path = folder.path().join("config");
        server.write_kubeconfig(&path).unwrap();
        let unknown = ClusterArgs { context: Some("prod".into()), ..with_file(&path) };
        let text = problem(&unknown).await;
        assert!(text.contains("`prod`") && text.contains("embedded"), "{text}");

        // Tokens are not sent without TLS, so the server refuses.
        let text = problem(&with_file(&path)).await;
        assert!(
            text.contains("401") && text.contains(&server.url()) && !text.contains("let-me-in"),
            "{text}"
        );

        let url = server.url();
        server.stop_listening().await;
        let text = problem(&with_file(&path)).await;
        assert!(text.contains(&url) && text.contains("refused"), "{text}");
    }
}
