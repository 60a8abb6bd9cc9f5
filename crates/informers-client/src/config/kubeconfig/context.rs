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

    // What is wrong in several places is told at once.
    let mut wrong = Wrong(None);
    let made =
        wrong.unless(cluster.server().and_then(|server| Ok((server_config(&server, environment)?, server))));
    let namespace = wrong.unless(context.string("namespace")).flatten();
    let proxy = wrong.unless(cluster.proxy_url().and_then(|url| match url {
        Some(Placed { text, place }) => parse_proxy(&text, &place).map(Some),
        None => Ok(None),
    }));
    let disable_compression = wrong.unless(cluster.disable_compression());
    let impersonation = match user.as_ref().filter(|_| overrides.impersonation.is_none()) {
        Some(user) => wrong.unless(user::impersonation(user)).flatten(),
        None => None,
    };
    let client = match (&overrides.client_certificate, &user) {
        (Some(certificate), _) => Some(certificate.clone()),
        (None, Some(user)) => wrong.unless(user::client_certificate(user)).flatten(),
        (None, None) => None,
    };
    let is_https = made.as_ref().is_none_or(|(config, _)| config.server.scheme_str() == Some("https"));
    let trust = if is_https { wrong.unless(cluster.trust()) } else { None };
    let server_name = if is_https { wrong.unless(cluster.tls_server_name()).flatten() } else { None };
    // A plugin that is told of the cluster would say once more what is wrong with that.
    let credentials = match (&overrides.credentials, &user) {
        (Some(credentials), _) => Some(credentials.clone()),
        (None, Some(user)) => wrong.unless(user::credentials(user, &cluster, client.is_some())),
        (None, None) => Some(Credentials::None),
    };
    wrong.end()?;
    // Nothing was wrong, so all is there.
    let (Some((mut config, server)), Some(credentials)) = (made, credentials) else {
        return Err(context.error("cannot be used"));
    };
    if let Some(namespace) = namespace {
        config.namespace = namespace;
    }
    if let Some(url) = proxy.flatten() {
        config.proxy = Proxy::Url(url);
    }
    if disable_compression.unwrap_or_default() {
        config.gzip = crate::Gzip::Never;
    }
    config.impersonation = impersonation;
    overrides.finish(&mut config);

    // As in client-go: nothing secret is sent over a connection that anybody can read.
    if is_https {
        let (ca, insecure) = trust.unwrap_or_default();
        config.tls = Tls { ca, client, insecure, server_name, origin: Some(cluster.place()) };
        config.credentials = credentials;
    } else if credentials != Credentials::None {
        tracing::warn!(
            server = server.text,
            "the server's URL is not https: the user's credentials are not sent"
        );
    }
    Ok(config)
}

fn server_config(server: &Placed, environment: &Environment) -> Result<Config, ClientError> {
    Config::new(&server.text, environment).map_err(|error| match error {
        ClientError::Configuration { place: url, problem, source } => ClientError::Configuration {
            place: server.place.clone(),
            problem: format!("{url}: {problem}"),
            source,
        },
        other => other,
    })
}

/// What is wrong with a context.
struct Wrong(Option<ClientError>);

impl Wrong {
    /// The value, or nothing where that is wrong.
    fn unless<V>(&mut self, value: Result<V, ClientError>) -> Option<V> {
        let error = match value {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        let known = self.0.as_ref().map(ToString::to_string).unwrap_or_default();
        let further = error.to_string();
        match &mut self.0 {
            None => self.0 = Some(error),
            Some(ClientError::Configuration { problem, .. }) if !known.contains(&further) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(" ({cause})"));
                *problem = format!("{problem}; and {further}{}", cause.unwrap_or_default());
            }
            Some(_) => {}
        }
        None
    }

    fn end(self) -> Result<(), ClientError> {
        self.0.map_or(Ok(()), Err)
    }
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
