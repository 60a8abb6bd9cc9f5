//! From a context to a configuration.

use super::cluster::{Cluster, Placed};
use super::{Field, Kubeconfig, user};
use crate::ClientError;
use crate::config::{Config, Credentials, Environment, Overrides, Proxy, Tls, parse_proxy};

pub(super) fn config(
    kubeconfig: &Kubeconfig,
    overrides: &Overrides,
    environment: &Environment,
) -> Result<Config, ClientError> {
    let name = context_name(kubeconfig, overrides)?;
    let context = match name {
        Some(name) => named(kubeconfig, "contexts", "context", name)?,
        None => Field::nothing(),
    };
    let cluster = Cluster::new(cluster_entry(kubeconfig, overrides, name, &context)?, overrides);
    let user = user_entry(kubeconfig, overrides, &context)?;

    let Placed { text: server, place } = cluster.server()?;
    let mut config = Config::new(&server, environment).map_err(|error| match error {
        ClientError::Configuration { place: url, problem, source } => {
            ClientError::Configuration { place, problem: format!("{url}: {problem}"), source }
        }
        other => other,
    })?;
    if let Some(namespace) = context.string("namespace")? {
        config.namespace = namespace;
    }
    if let Some(Placed { text, place }) = cluster.proxy_url()? {
        config.proxy = Proxy::Url(parse_proxy(&text, &place)?);
    }
    if cluster.disable_compression()? {
        config.gzip = crate::Gzip::Never;
    }
    if let Some(user) = user.as_ref().filter(|_| overrides.impersonation.is_none()) {
        config.impersonation = user::impersonation(user)?;
    }
    overrides.finish(&mut config);

    let client = match (&overrides.client_certificate, &user) {
        (Some(certificate), _) => Some(certificate.clone()),
        (None, Some(user)) => user::client_certificate(user)?,
        (None, None) => None,
    };
    let credentials = match (&overrides.credentials, &user) {
        (Some(credentials), _) => credentials.clone(),
        (None, Some(user)) => user::credentials(user, &cluster, client.is_some())?,
        (None, None) => Credentials::None,
    };
    // As in client-go: nothing secret is sent over a connection that anybody can read.
    if config.server.scheme_str() == Some("https") {
        let (ca, insecure) = cluster.trust()?;
        let server_name = cluster.tls_server_name()?;
        config.tls = Tls { ca, client, insecure, server_name, origin: Some(cluster.place()) };
        config.credentials = credentials;
    } else if credentials != Credentials::None {
        tracing::warn!(server, "the server's URL is not https: the user's credentials are not sent");
    }
    Ok(config)
}

/// The context that is asked for, or the current one. Where neither is named, the overrides must say enough.
fn context_name<'a>(
    kubeconfig: &'a Kubeconfig,
    overrides: &'a Overrides,
) -> Result<Option<&'a str>, ClientError> {
    let name = overrides.context.as_deref().or_else(|| kubeconfig.current_context());
    if name.is_none() && !overrides.name_a_server() && overrides.cluster_defaults.server.is_none() {
        if let Some(user) = &overrides.user {
            named(kubeconfig, "users", "user", user)?;
        }
        let there_are = there_are(&kubeconfig.context_names());
        let problem = format!("no context was asked for, and current-context is not set; {there_are}");
        return Err(ClientError::configuration(kubeconfig.place(), problem));
    }
    Ok(name)
}

fn cluster_entry<'a>(
    kubeconfig: &'a Kubeconfig,
    overrides: &Overrides,
    context_name: Option<&str>,
    context: &Field<'a>,
) -> Result<Field<'a>, ClientError> {
    if let Some(name) = &overrides.cluster {
        return named(kubeconfig, "clusters", "cluster", name);
    }
    match (context.string("cluster")?, context_name) {
        (Some(name), _) => {
            let field = context.get_or_empty("cluster");
            match kubeconfig.entry("clusters", &name)? {
                Some(entry) => Ok(entry.get_or_empty("cluster")),
                None if overrides.name_a_server() => {
                    let place = field.place();
                    tracing::warn!(
                        place,
                        "there is no cluster `{name}`; what is said of the server must be enough"
                    );
                    Ok(Field::nothing())
                }
                None => Err(field.error(format!("there is no cluster `{name}`"))),
            }
        }
        (None, Some(name)) if !overrides.name_a_server() && overrides.cluster_defaults.server.is_none() => {
            Err(context.error(format!("context `{name}` names no cluster")))
        }
        (None, _) => Ok(Field::nothing()),
    }
}

fn user_entry<'a>(
    kubeconfig: &'a Kubeconfig,
    overrides: &Overrides,
    context: &Field<'a>,
) -> Result<Option<Field<'a>>, ClientError> {
    if let Some(name) = &overrides.user {
        return named(kubeconfig, "users", "user", name).map(Some);
    }
    let Some(name) = context.string("user")? else { return Ok(None) };
    let entry = kubeconfig
        .entry("users", &name)?
        .ok_or_else(|| context.get_or_empty("user").error(format!("there is no user `{name}`")))?;
    Ok(Some(entry.get_or_empty("user")))
}

/// What is under `kind` in the entry of this name: there must be one.
fn named<'a>(
    kubeconfig: &'a Kubeconfig,
    list: &'static str,
    kind: &str,
    name: &str,
) -> Result<Field<'a>, ClientError> {
    let entry = kubeconfig.entry(list, name)?.ok_or_else(|| {
        let there_are = there_are(&kubeconfig.names(list));
        ClientError::configuration(kubeconfig.place(), format!("there is no {kind} `{name}`; {there_are}"))
    })?;
    Ok(entry.get_or_empty(kind))
}

fn there_are(names: &[String]) -> String {
    match names {
        [] => "there are none".to_owned(),
        names => format!("there are: {}", names.join(", ")),
    }
}
