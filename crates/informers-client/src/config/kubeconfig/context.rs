//! From a context to a configuration.

use super::{Field, Kubeconfig};
use crate::ClientError;
use crate::config::{
    Config, Credentials, Environment, ExecApiVersion, ExecPlugin, Impersonation, InteractiveMode, Pem, Proxy,
    Secret, Tls, parse_proxy,
};

pub(super) fn config(
    kubeconfig: &Kubeconfig,
    wanted: Option<&str>,
    environment: &Environment,
) -> Result<Config, ClientError> {
    let there_are = || match kubeconfig.context_names() {
        names if names.is_empty() => "there are none".to_owned(),
        names => format!("there are: {}", names.join(", ")),
    };
    let name =
        wanted.filter(|name| !name.is_empty()).or_else(|| kubeconfig.current_context()).ok_or_else(|| {
            let problem =
                format!("no context was asked for, and current-context is not set; {}", there_are());
            ClientError::configuration(kubeconfig.place(), problem)
        })?;
    let entry = kubeconfig.entry("contexts", name)?.ok_or_else(|| {
        let problem = format!("there is no context `{name}`; {}", there_are());
        ClientError::configuration(kubeconfig.place(), problem)
    })?;
    let context = entry.get_or_empty("context");

    let cluster_name = context
        .string("cluster")?
        .ok_or_else(|| context.error(format!("context `{name}` names no cluster")))?;
    let cluster_entry = kubeconfig.entry("clusters", &cluster_name)?.ok_or_else(|| {
        context.get_or_empty("cluster").error(format!("there is no cluster `{cluster_name}`"))
    })?;
    let cluster = cluster_entry.get_or_empty("cluster");

    let user = match context.string("user")? {
        None => None,
        Some(user) => Some(
            kubeconfig
                .entry("users", &user)?
                .ok_or_else(|| context.get_or_empty("user").error(format!("there is no user `{user}`")))?,
        ),
    };
    let user = user.map(|entry| entry.get_or_empty("user"));

    let server = cluster
        .string("server")?
        .ok_or_else(|| cluster.get_or_empty("server").error("the cluster has no server"))?;
    let mut config = Config::new(&server, environment).map_err(|error| match error {
        ClientError::Configuration { place, problem, source } => ClientError::Configuration {
            place: cluster.get_or_empty("server").place(),
            problem: format!("{place}: {problem}"),
            source,
        },
        other => other,
    })?;
    if let Some(namespace) = context.string("namespace")? {
        config.namespace = namespace;
    }
    if let Some(url) = cluster.string("proxy-url")? {
        config.proxy = Proxy::Url(parse_proxy(&url, &cluster.get_or_empty("proxy-url").place())?);
    }
    if cluster.bool("disable-compression")? {
        config.gzip = crate::Gzip::Never;
    }
    if let Some(user) = &user {
        config.impersonation = impersonation(user)?;
    }
    // As in client-go: nothing secret is sent over a connection that anybody can read.
    if config.server.scheme_str() == Some("https") {
        config.tls = tls(&cluster, user.as_ref())?;
        if let Some(user) = &user {
            config.credentials = credentials(user, &cluster)?;
        }
    } else if let Some(user) = &user
        && credentials(user, &cluster)? != Credentials::None
    {
        tracing::warn!(server, "the server's URL is not https: the user's credentials are not sent");
    }
    Ok(config)
}

/// Inline data beats a path.
fn pem(field: &Field<'_>, data: &str, path: &str) -> Result<Option<Pem>, ClientError> {
    if let Some(data) = field.base64(data)? {
        return Ok(Some(Pem::Data(data)));
    }
    Ok(field.path(path)?.map(Pem::File))
}

fn tls(cluster: &Field<'_>, user: Option<&Field<'_>>) -> Result<Tls, ClientError> {
    let ca = pem(cluster, "certificate-authority-data", "certificate-authority")?;
    let insecure = cluster.bool("insecure-skip-tls-verify")?;
    if insecure && ca.is_some() {
        let problem = "excludes a certificate authority; remove one of the two";
        return Err(cluster.get_or_empty("insecure-skip-tls-verify").error(problem));
    }
    let client = match user {
        None => None,
        Some(user) => {
            let certificate = pem(user, "client-certificate-data", "client-certificate")?;
            let key = pem(user, "client-key-data", "client-key")?;
            match (certificate, key) {
                (Some(certificate), Some(key)) => Some((certificate, key)),
                (None, None) => None,
                (Some(_), None) => {
                    return Err(user
                        .get_or_empty("client-key")
                        .error("is missing beside client-certificate"));
                }
                (None, Some(_)) => {
                    return Err(user
                        .get_or_empty("client-certificate")
                        .error("is missing beside client-key"));
                }
            }
        }
    };
    Ok(Tls {
        ca,
        client,
        insecure,
        server_name: cluster.string("tls-server-name")?,
        origin: Some(cluster.place()),
    })
}

fn credentials(user: &Field<'_>, cluster: &Field<'_>) -> Result<Credentials, ClientError> {
    let exec = user.get("exec");
    if let Some(provider) = user.get("auth-provider") {
        if exec.is_some() {
            return Err(provider.error("excludes exec; remove one of the two"));
        }
        return Err(provider.error(removed_provider(&provider.string("name")?.unwrap_or_default())));
    }
    let token = user.string("token")?;
    let username = user.string("username")?;
    if token.is_some() && username.is_some() {
        return Err(user
            .get_or_empty("token")
            .error("excludes username and password; remove one of the two"));
    }
    if let Some(path) = user.path("tokenFile")? {
        return Ok(Credentials::TokenFile(path));
    }
    if let Some(token) = token {
        return Ok(Credentials::Token(token.into()));
    }
    if let Some(username) = username {
        let password = user.string("password")?.unwrap_or_default();
        return Ok(Credentials::Basic { username, password: password.into() });
    }
    match exec {
        Some(exec) => Ok(Credentials::Exec(Box::new(exec_plugin(&exec, cluster)?))),
        None => Ok(Credentials::None),
    }
}

fn removed_provider(name: &str) -> String {
    let instead = match name {
        "gcp" => "install gke-gcloud-auth-plugin and run `gcloud container clusters get-credentials` again",
        "azure" => "install kubelogin and run `kubelogin convert-kubeconfig`",
        "oidc" => "use an exec plugin such as kubelogin (`kubectl oidc-login`)",
        _ => "use an exec plugin",
    };
    format!("auth provider `{name}` was removed from Kubernetes clients; {instead}")
}

fn exec_plugin(exec: &Field<'_>, cluster: &Field<'_>) -> Result<ExecPlugin, ClientError> {
    let command = exec.string("command")?.ok_or_else(|| exec.get_or_empty("command").error("is missing"))?;
    let command = if command.contains(['/', std::path::MAIN_SEPARATOR]) {
        exec.resolve(&command).to_string_lossy().into_owned()
    } else {
        command
    };
    let version_field = exec.get_or_empty("apiVersion");
    let version = exec.string("apiVersion")?.ok_or_else(|| version_field.error("is missing"))?;
    let api_version = ExecApiVersion::parse(&version).ok_or_else(|| {
        version_field.error(format!(
            "`{version}` is not supported; client.authentication.k8s.io/v1 and /v1beta1 are: update the plugin"
        ))
    })?;
    let mode_field = exec.get_or_empty("interactiveMode");
    let interactive_mode = match exec.string("interactiveMode")?.as_deref() {
        Some("Never") => InteractiveMode::Never,
        Some("IfAvailable") => InteractiveMode::IfAvailable,
        Some("Always") => InteractiveMode::Always,
        // The v1 contract asks for it, yet a plugin without it works all the same.
        None => InteractiveMode::IfAvailable,
        Some(_) => return Err(mode_field.error("must be Never, IfAvailable or Always")),
    };
    let mut env = Vec::new();
    for variable in exec.list("env")? {
        let name =
            variable.string("name")?.ok_or_else(|| variable.get_or_empty("name").error("is missing"))?;
        env.push((name, Secret::from(variable.string("value")?.unwrap_or_default())));
    }
    let cluster = if exec.bool("provideClusterInfo")? { Some(cluster_info(cluster)?) } else { None };
    Ok(ExecPlugin {
        command,
        args: exec.strings("args")?,
        env,
        api_version,
        interactive_mode,
        install_hint: exec.string("installHint")?,
        cluster,
    })
}

/// What a plugin is told of the cluster, in the names of its own contract.
fn cluster_info(cluster: &Field<'_>) -> Result<serde_json::Value, ClientError> {
    use base64::Engine as _;
    let mut info = serde_json::Map::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            info.insert(name.to_owned(), value.into());
        }
    };
    put("server", cluster.string("server")?);
    put("tls-server-name", cluster.string("tls-server-name")?);
    put("proxy-url", cluster.string("proxy-url")?);
    let ca = match pem(cluster, "certificate-authority-data", "certificate-authority")? {
        None => None,
        Some(Pem::Data(data)) => Some(data),
        Some(Pem::File(path)) => Some(std::fs::read(&path).map_err(|error| {
            let problem = format!("{} cannot be read", path.display());
            cluster.get_or_empty("certificate-authority").error(problem).because(error)
        })?),
    };
    put("certificate-authority-data", ca.map(|ca| base64::engine::general_purpose::STANDARD.encode(ca)));
    for (key, field) in [
        ("insecure-skip-tls-verify", "insecure-skip-tls-verify"),
        ("disable-compression", "disable-compression"),
    ] {
        if cluster.bool(field)? {
            info.insert(key.to_owned(), true.into());
        }
    }
    for extension in cluster.list("extensions")? {
        if extension.string("name")?.as_deref() == Some("client.authentication.k8s.io/exec")
            && let Some(config) = extension.get("extension")
        {
            info.insert("config".to_owned(), config.value().clone());
        }
    }
    Ok(info.into())
}

fn impersonation(user: &Field<'_>) -> Result<Option<Impersonation>, ClientError> {
    let name = user.string("as")?;
    let uid = user.string("as-uid")?;
    let groups = user.strings("as-groups")?;
    let extra = user.string_lists("as-user-extra")?;
    let extra: Vec<_> = extra
        .into_iter()
        .flat_map(|(key, values)| values.into_iter().map(move |value| (key.clone(), value)))
        .collect();
    match name {
        Some(user) => Ok(Some(Impersonation { user, uid, groups, extra })),
        None if uid.is_none() && groups.is_empty() && extra.is_empty() => Ok(None),
        None => Err(user.get_or_empty("as").error("is missing: a uid, groups or extra need a user")),
    }
}
