//! What a user's entry says: certificate, token, password, plugin, in whose name.

use super::Field;
use super::cluster::{Cluster, pem};
use crate::ClientError;
use crate::config::{Credentials, ExecApiVersion, ExecPlugin, Impersonation, InteractiveMode, Pem, Secret};

pub(super) fn client_certificate(user: &Field<'_>) -> Result<Option<(Pem, Pem)>, ClientError> {
    let certificate = pem(user, "client-certificate-data", "client-certificate")?;
    let key = pem(user, "client-key-data", "client-key")?;
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(user.get_or_empty("client-key").error("is missing beside client-certificate")),
        (None, Some(_)) => Err(user.get_or_empty("client-certificate").error("is missing beside client-key")),
    }
}

/// What a user shows beside a certificate; with one, a plugin is not run.
pub(super) fn credentials(
    user: &Field<'_>,
    cluster: &Cluster<'_>,
    has_certificate: bool,
) -> Result<Credentials, ClientError> {
    let exec = user.get("exec");
    if let Some(provider) = user.get("auth-provider") {
        if exec.is_some() {
            return Err(provider.error("excludes exec; remove one of the two"));
        }
        return Err(provider.error(removed_provider(&provider.string("name")?.unwrap_or_default())));
    }
    let token = user.string("token")?;
    let username = user.string("username")?;
    let password = user.string("password")?;
    if token.is_some() && (username.is_some() || password.is_some()) {
        return Err(user
            .get_or_empty("token")
            .error("excludes username and password; remove one of the two"));
    }
    match (user.path("tokenFile")?, token) {
        (Some(file), Some(token)) => return Ok(Credentials::TokenAndFile { token: token.into(), file }),
        (Some(file), None) => return Ok(Credentials::TokenFile(file)),
        (None, Some(token)) => return Ok(Credentials::Token(token.into())),
        (None, None) => {}
    }
    if let Some(username) = username {
        return Ok(Credentials::Basic { username, password: password.unwrap_or_default().into() });
    }
    match exec {
        Some(exec) => {
            let plugin = exec_plugin(&exec, cluster)?;
            Ok(if has_certificate { Credentials::None } else { Credentials::Exec(Box::new(plugin)) })
        }
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

fn exec_plugin(exec: &Field<'_>, cluster: &Cluster<'_>) -> Result<ExecPlugin, ClientError> {
    let command = exec.string("command")?.ok_or_else(|| exec.get_or_empty("command").error("is missing"))?;
    let command = if command.contains(['/', std::path::MAIN_SEPARATOR]) {
        let file = exec.resolve(&command);
        // What is run must not depend on the working folder, now or later.
        std::path::absolute(&file).unwrap_or(file).to_string_lossy().into_owned()
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
    let cluster = if exec.bool("provideClusterInfo")? { Some(cluster.info_for_plugin()?) } else { None };
    Ok(ExecPlugin {
        args: exec.strings("args")?,
        env,
        api_version,
        interactive_mode,
        install_hint: exec.string("installHint")?,
        cluster,
        ..ExecPlugin::new(command)
    })
}

pub(super) fn impersonation(user: &Field<'_>) -> Result<Option<Impersonation>, ClientError> {
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
