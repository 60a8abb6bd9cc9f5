//! The configuration that a pod finds, and which of several configurations is taken.

use std::path::PathBuf;

use super::{Config, Credentials, Environment, Kubeconfig, Tls};
use crate::ClientError;

pub(super) fn in_cluster(environment: &Environment) -> Result<Config, ClientError> {
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
    Ok(config)
}

pub(super) fn from_environment(environment: &Environment) -> Result<Config, ClientError> {
    let paths = kubeconfig_paths(environment);
    let kubeconfig = Kubeconfig::read_all(&paths)?;
    if !kubeconfig.is_empty() {
        return kubeconfig.config(None, environment);
    }
    if environment.var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return in_cluster(environment);
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
