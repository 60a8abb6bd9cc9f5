//! A cluster that was there before the tests, known by its kubeconfig.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::{Capability, Cluster, Provider};
use crate::admin::{AdminClient, Login};
use crate::harness::unique_name;

const VARIABLE: &str = "INFORMERS_TEST_KUBECONFIG";

/// Longer than a controller takes to empty a namespace in which nothing was made.
const NAMESPACE_PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
struct Foreign {
    kubeconfig: PathBuf,
    address: String,
    admin: AdminClient,
    capabilities: Vec<Capability>,
}

/// The cluster that `$INFORMERS_TEST_KUBECONFIG` names, or why it cannot be used.
pub(super) async fn acquire(own: bool, needs: &[Capability]) -> Result<Result<Arc<dyn Cluster>, String>> {
    let Some(kubeconfig) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
        return Ok(Err("no kubeconfig (cargo xtask test --kubeconfig FILE)".into()));
    };
    if own {
        return Ok(Err("a cluster that is there already cannot be had alone".into()));
    }
    let used = || format!("using {VARIABLE}={}", kubeconfig.display());
    let text = std::fs::read_to_string(&kubeconfig).with_context(used)?;
    let (address, admin) = connect(&text, kubeconfig.parent().unwrap_or(Path::new(""))).with_context(used)?;
    let capabilities = capabilities(&admin, needs).await.with_context(used)?;
    Ok(Ok(Arc::new(Foreign { kubeconfig, address, admin, capabilities })))
}

/// Those of `needs` that the cluster shows to have; that it could be stopped or compacted is not ours to try.
async fn capabilities(admin: &AdminClient, needs: &[Capability]) -> Result<Vec<Capability>> {
    // There is one foreign cluster in a process, and the answer may take half a minute.
    static GOES: OnceCell<bool> = OnceCell::const_new();
    let mut found = Vec::new();
    for need in needs {
        let has = match need {
            Capability::Compact | Capability::Stop => false,
            Capability::NamespaceGc => *GOES.get_or_try_init(|| namespaces_go(admin)).await?,
            Capability::Schedules => {
                let nodes = admin.get("/api/v1/nodes").await?.ok()?;
                nodes["items"].as_array().is_some_and(|nodes| nodes.iter().any(is_usable))
            }
        };
        if has {
            found.push(*need);
        }
    }
    Ok(found)
}

/// Whether a deleted namespace goes: without its controller it stays for ever, to be finalized.
async fn namespaces_go(admin: &AdminClient) -> Result<bool> {
    let name = unique_name("goes");
    let path = format!("/api/v1/namespaces/{name}");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    admin.create("/api/v1/namespaces", &namespace).await?.ok()?;
    admin.delete(&path).await?.ok()?;
    let deadline = Instant::now() + NAMESPACE_PATIENCE;
    while Instant::now() < deadline {
        if admin.get(&path).await?.status == StatusCode::NOT_FOUND {
            return Ok(true);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let finalized = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": []}});
    let json = "application/json";
    let answer = admin.send(Method::PUT, &format!("{path}/finalize"), json, Some(&finalized)).await?;
    if answer.status == StatusCode::NOT_FOUND {
        return Ok(true);
    }
    answer.ok()?;
    Ok(false)
}

fn is_usable(node: &serde_json::Value) -> bool {
    let ready = |condition: &serde_json::Value| condition["type"] == "Ready" && condition["status"] == "True";
    let repels =
        |taint: &serde_json::Value| taint["effect"] == "NoSchedule" || taint["effect"] == "NoExecute";
    let some = |list: &serde_json::Value, property: &dyn Fn(&serde_json::Value) -> bool| {
        list.as_array().is_some_and(|all| all.iter().any(property))
    };
    node["spec"]["unschedulable"] != true
        && some(&node["status"]["conditions"], &ready)
        && !some(&node["spec"]["taints"], &repels)
}

#[async_trait]
impl Cluster for Foreign {
    fn provider(&self) -> Provider {
        Provider::Kubeconfig
    }

    fn capabilities(&self) -> &[Capability] {
        &self.capabilities
    }

    fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    fn address(&self) -> Option<String> {
        Some(self.address.clone())
    }

    fn admin(&self) -> AdminClient {
        self.admin.clone()
    }
}

/// As much of a kubeconfig as kind and its like write.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kubeconfig {
    current_context: String,
    clusters: Vec<HashMap<String, Fields>>,
    contexts: Vec<HashMap<String, Fields>>,
    users: Vec<HashMap<String, Fields>>,
}

/// An entry is a list's `name` beside a map of fields; other fields are not read.
#[derive(Deserialize)]
#[serde(untagged)]
enum Fields {
    Name(String),
    Map(HashMap<String, serde_json::Value>),
}

fn entry<'k>(
    list: &'k [HashMap<String, Fields>],
    kind: &str,
    name: &str,
) -> Result<&'k HashMap<String, serde_json::Value>> {
    let named =
        |entry: &&HashMap<String, Fields>| matches!(entry.get("name"), Some(Fields::Name(n)) if n == name);
    match list.iter().find(named).and_then(|entry| entry.get(kind)) {
        Some(Fields::Map(fields)) => Ok(fields),
        _ => bail!("there is no {kind} named `{name}`"),
    }
}

fn connect(text: &str, folder: &Path) -> Result<(String, AdminClient)> {
    let config: Kubeconfig = serde_saphyr::from_str(text).context("no kubeconfig in YAML")?;
    let context = entry(&config.contexts, "context", &config.current_context)?;
    let text_of = |fields: &HashMap<String, serde_json::Value>, field: &str| {
        fields.get(field).and_then(serde_json::Value::as_str).map(str::to_owned)
    };
    // Inline data, or a file relative to the kubeconfig.
    let bytes_of = |fields: &HashMap<String, serde_json::Value>, field: &str| -> Result<Option<Vec<u8>>> {
        if let Some(data) = text_of(fields, &format!("{field}-data")) {
            return STANDARD.decode(data).map(Some).with_context(|| format!("decoding {field}-data"));
        }
        let Some(file) = text_of(fields, field) else { return Ok(None) };
        std::fs::read(folder.join(&file)).map(Some).with_context(|| format!("reading {field} {file}"))
    };
    let cluster = entry(&config.clusters, "cluster", &text_of(context, "cluster").context("no cluster")?)?;
    let user = entry(&config.users, "user", &text_of(context, "user").context("no user")?)?;
    let server = text_of(cluster, "server").context("the cluster has no server")?;
    if let Some(authority) = server.strip_prefix("http://") {
        let authority = authority.trim_end_matches('/').to_owned();
        return Ok((authority.clone(), AdminClient::plain(authority)));
    }
    let authority =
        server.strip_prefix("https://").context("the server is no URL")?.trim_end_matches('/').to_owned();
    let authority = if authority.contains(':') { authority } else { format!("{authority}:443") };
    let authorities =
        bytes_of(cluster, "certificate-authority")?.context("the cluster has no CA certificate")?;
    let certificate = bytes_of(user, "client-certificate")?.zip(bytes_of(user, "client-key")?);
    let login = match (text_of(user, "token"), certificate) {
        (Some(token), _) => Login::Token(token),
        (None, Some((certificate, key))) => Login::Certificate { certificate, key },
        (None, None) => {
            bail!("the user has neither a token nor a client certificate, which is all that tests can use")
        }
    };
    let admin = AdminClient::secure(authority.clone(), &authorities, login)?;
    Ok((authority, admin))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertifiedKey, generate_simple_self_signed};

    use super::*;

    /// The form that kind writes, with `user` as given.
    fn kubeconfig(authority: &str, user: &str) -> String {
        format!(
            "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: {authority}\n    \
             server: https://127.0.0.1:35691\n  name: kind-kind\ncontexts:\n- context:\n    cluster: kind-kind\n    \
             user: kind-kind\n  name: kind-kind\ncurrent-context: kind-kind\nkind: Config\npreferences: {{}}\n\
             users:\n- name: kind-kind\n  user:\n{user}"
        )
    }

    #[test]
    fn client_certificates_tokens_and_files_beside_it_are_understood() {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".into()]).unwrap();
        let authority = STANDARD.encode(cert.pem());
        let key = STANDARD.encode(signing_key.serialize_pem());
        let inline = format!("    client-certificate-data: {authority}\n    client-key-data: {key}\n");
        let (address, _) = connect(&kubeconfig(&authority, &inline), Path::new("")).unwrap();
        assert_eq!(address, "127.0.0.1:35691");
        connect(&kubeconfig(&authority, "    token: abc\n"), Path::new("")).unwrap();

        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("c.crt"), cert.pem()).unwrap();
        std::fs::write(folder.path().join("c.key"), signing_key.serialize_pem()).unwrap();
        let files = "    client-certificate: c.crt\n    client-key: c.key\n";
        connect(&kubeconfig(&authority, files), folder.path()).unwrap();
    }

    #[tokio::test]
    async fn a_cluster_shows_what_it_can_do() {
        let server = informers_testkit::ApiServer::start().await.unwrap();
        let admin = AdminClient::plain(format!("127.0.0.1:{}", server.port()));
        let node = |name: &str, ready: &str, taints: serde_json::Value| {
            server
                .create(json!({
                    "apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"taints": taints},
                    "status": {"conditions": [{"type": "Ready", "status": ready}]},
                }))
                .unwrap();
        };
        let all = [Capability::Compact, Capability::Stop, Capability::NamespaceGc, Capability::Schedules];
        node("node-1", "False", json!(null));
        node("node-2", "True", json!([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]));
        assert_eq!(capabilities(&admin, &all).await.unwrap(), [Capability::NamespaceGc]);
        node("node-3", "True", json!([{"key": "k", "effect": "PreferNoSchedule"}]));
        assert_eq!(
            capabilities(&admin, &all).await.unwrap(),
            [Capability::NamespaceGc, Capability::Schedules]
        );
        assert_eq!(capabilities(&admin, &[Capability::Schedules]).await.unwrap(), [Capability::Schedules]);
        assert_eq!(capabilities(&admin, &[]).await.unwrap(), []);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let CertifiedKey { cert, .. } = generate_simple_self_signed(["localhost".into()]).unwrap();
        let authority = STANDARD.encode(cert.pem());
        let error = |text: &str| format!("{:#}", connect(text, Path::new("")).unwrap_err());
        let exec = "    exec:\n      command: get-token\n";
        assert!(error(&kubeconfig(&authority, exec)).contains("neither a token nor a client certificate"));
        let good = kubeconfig(&authority, "    token: abc\n");
        assert!(
            error(&good.replace("current-context: kind-kind", "current-context: other")).contains("`other`")
        );
        assert!(error(&good.replace("    user: kind-kind", "    user: gone")).contains("`gone`"));
    }
}
