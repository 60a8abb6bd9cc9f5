//! The configuration that a pod finds, and which of several configurations is taken.

use std::path::PathBuf;

use super::{Config, Credentials, Environment, Kubeconfig, Overrides, Proxy, Tls, parse_proxy};
use crate::ClientError;

pub(super) fn in_cluster(overrides: &Overrides, environment: &Environment) -> Result<Config, ClientError> {
    let variable = |name: &str| {
        environment.var(name).ok_or_else(|| {
            ClientError::configuration(
                "in-cluster configuration",
                format!("${name} is not set, so this is no pod; use a kubeconfig"),
            )
        })
    };
    let host = variable("KUBERNETES_SERVICE_HOST")?;
    let port = variable("KUBERNETES_SERVICE_PORT")?;
    let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host };
    let folder = environment.service_account();
    let token = folder.join("token");
    std::fs::read(&token).map_err(|error| {
        let problem = "the service account's token cannot be read; is automountServiceAccountToken off?";
        ClientError::configuration(token.display().to_string(), problem).because(error)
    })?;
    let ca = folder.join("ca.crt");
    let mut tls = Tls { origin: Some("in-cluster configuration".to_owned()), ..Tls::default() };
    match std::fs::metadata(&ca) {
        Ok(_) => tls = tls.with_ca_file(ca),
        Err(error) => {
            tracing::warn!(file = %ca.display(), %error, "no certificate authority here; the system's are trusted");
        }
    }
    let namespace = environment
        .var("POD_NAMESPACE")
        .or_else(|| std::fs::read_to_string(folder.join("namespace")).ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty());
    let mut config = Config::new(&format!("https://{host}:{port}"), environment)?
        .with_tls(tls)
        .with_credentials(Credentials::TokenFile(token));
    if let Some(namespace) = namespace {
        config.namespace = namespace;
    }
    apply(overrides, &mut config)?;
    Ok(config)
}

fn apply(overrides: &Overrides, config: &mut Config) -> Result<(), ClientError> {
    let cluster = &overrides.cluster_settings;
    if cluster.ca.is_some() || cluster.insecure {
        config.tls.ca.clone_from(&cluster.ca);
        config.tls.insecure = cluster.insecure;
    }
    if cluster.tls_server_name.is_some() {
        config.tls.server_name.clone_from(&cluster.tls_server_name);
    }
    if let Some(url) = &cluster.proxy_url {
        config.proxy = Proxy::Url(parse_proxy(url.expose(), "overrides: proxy-url")?);
    }
    if cluster.disable_compression {
        config.gzip = crate::Gzip::Never;
    }
    if let Some(credentials) = &overrides.credentials {
        config.credentials = credentials.clone();
    }
    if overrides.client_certificate.is_some() {
        config.tls.client.clone_from(&overrides.client_certificate);
    }
    overrides.finish(config);
    Ok(())
}

pub(super) fn from_environment(
    overrides: &Overrides,
    environment: &Environment,
) -> Result<Config, ClientError> {
    let paths = kubeconfig_paths(environment);
    let is_pod = environment.var_os("KUBERNETES_SERVICE_HOST").is_some();
    let are_named = environment.var_os("KUBECONFIG").is_some();
    let kubeconfig = if is_pod && !are_named && !overrides.select() {
        // Nobody asked for this file, and the home folder in an image may be another user's.
        Kubeconfig::read_all_readable(&paths)?
    } else {
        Kubeconfig::read_all(&paths)?
    };
    if kubeconfig.has_no_file() && are_named && !paths.is_empty() {
        let missing: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        tracing::warn!(files = missing.join(", "), "none of the files in $KUBECONFIG is there");
    }
    if overrides.select() || kubeconfig.current_context().is_some() {
        return kubeconfig.config(overrides, environment);
    }
    if is_pod {
        return in_cluster(overrides, environment);
    }
    // It says what is missing, or finds what it needs in the cluster defaults.
    if !kubeconfig.is_empty() || overrides.cluster_defaults.server.is_some() {
        return kubeconfig.config(overrides, environment);
    }
    let looked: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    let looked = if looked.is_empty() { "no home folder is known".to_owned() } else { looked.join(", ") };
    Err(ClientError::configuration(
        "no Kubernetes configuration found",
        format!(
            "no kubeconfig with contents ({looked}), and $KUBERNETES_SERVICE_HOST is not set, so this is no pod; \
             set $KUBECONFIG to the path of a kubeconfig"
        ),
    ))
}

/// The files in `$KUBECONFIG`, each once; else the one in the home folder.
fn kubeconfig_paths(environment: &Environment) -> Vec<PathBuf> {
    if let Some(list) = environment.var_os("KUBECONFIG") {
        let mut paths: Vec<PathBuf> = Vec::new();
        for path in std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        return paths;
    }
    let home = environment.var_os("HOME").or_else(|| environment.var_os("USERPROFILE"));
    home.map(|home| PathBuf::from(home).join(".kube").join("config")).into_iter().collect()
}
