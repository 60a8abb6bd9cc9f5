//! A `kube::Client` for what the command line names.

use anyhow::{Context, Result};
use demo_cluster::ClusterArgs;
use informers_testkit::ApiServer;
use kube::config::{KubeConfigOptions, Kubeconfig};

pub(crate) struct Cluster {
    pub(crate) client: kube::Client,
    /// The embedded server, if it is one. It lives as long as this.
    pub(crate) server: Option<ApiServer>,
    pub(crate) description: String,
}

impl Cluster {
    pub(crate) async fn connect(args: &ClusterArgs) -> Result<Self> {
        // This program chooses its cryptography, whichever of its dependencies brings another one too. An error
        // says that it is chosen already.
        let _ = rustls::crypto::ring::default_provider().install_default();

        // Looks where all examples look; how to connect is read by kube.
        let Some((found, place)) = args.config()? else {
            let server = ApiServer::start().await?;
            let client = client(kube::Config::new(server.url().parse()?))?;
            let description = format!("embedded API server at {}, through a kube::Client", server.url());
            return Ok(Self { client, server: Some(server), description });
        };
        let config = match &args.kubeconfig {
            Some(path) => {
                let options = KubeConfigOptions { context: args.context.clone(), ..Default::default() };
                kube::Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await?
            }
            None if args.context.is_some() => {
                let options = KubeConfigOptions { context: args.context.clone(), ..Default::default() };
                kube::Config::from_kubeconfig(&options).await?
            }
            None => kube::Config::infer().await?,
        };
        let client = client(config)?;
        let server = found.server();
        let version =
            client.apiserver_version().await.with_context(|| format!("{server} ({place}) cannot be used"))?;
        let description =
            format!("Kubernetes {} at {server} ({place}), through a kube::Client", version.git_version);
        Ok(Self { client, server: None, description })
    }
}

fn client(mut config: kube::Config) -> Result<kube::Client> {
    // Informers wait between tries themselves, and as long as the server says.
    config.default_retry = false;
    Ok(kube::Client::try_from(config)?)
}
