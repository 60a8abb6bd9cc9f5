//! Credentials that change.

use std::sync::Arc;

use informers_client::{Client, ClientError, Credentials, ExecApiVersion, ExecPlugin, InteractiveMode};
use parking_lot::Mutex;

use crate::server::{Answer, Server, status};

const VERSION: &str = r#"{"major":"1","minor":"37","gitVersion":"v1.37.2","platform":"linux/amd64"}"#;

/// A server that accepts one token, which can be changed.
async fn guarded(token: &str) -> (Server, Arc<Mutex<String>>) {
    let accepted = Arc::new(Mutex::new(token.to_owned()));
    let now = Arc::clone(&accepted);
    let server = Server::start(move |seen| {
        let good = format!("Bearer {}", now.lock());
        if seen.header("authorization") == Some(&good) {
            Answer::json(VERSION)
        } else {
            Answer::json(status(401, "Unauthorized", "Unauthorized")).status(401)
        }
    })
    .await;
    (server, accepted)
}

fn client(server: &Server, credentials: Credentials) -> Client {
    Client::new(server.config().with_credentials(credentials)).unwrap()
}

#[tokio::test]
async fn fixed_credentials_are_shown_and_not_tried_twice() {
    let (server, _) = guarded("one").await;
    client(&server, Credentials::Token("one\n".into())).server_version().await.unwrap();
    let error = client(&server, Credentials::Token("two".into())).server_version().await.unwrap_err();
    assert!(error.is_unauthorized());
    let basic = Credentials::Basic { username: "bob".into(), password: "s3cret".into() };
    assert!(client(&server, basic).server_version().await.unwrap_err().is_unauthorized());
    assert_eq!(server.count(), 3);
    assert_eq!(server.seen.lock()[2].header("authorization"), Some("Basic Ym9iOnMzY3JldA=="));
    assert_eq!(server.seen.lock()[0].header("authorization"), Some("Bearer one"));
}

#[cfg(unix)]
#[tokio::test]
async fn a27_a_rotated_token_is_read_again_after_the_first_401() {
    let folder = tempfile::tempdir().unwrap();
    let swap = |version: &str, token: &str| {
        // As the kubelet does it: a new folder, then the link is moved in one step.
        let data = folder.path().join(version);
        std::fs::create_dir(&data).unwrap();
        std::fs::write(data.join("token"), token).unwrap();
        let (new, link) = (folder.path().join("..data_tmp"), folder.path().join("..data"));
        std::os::unix::fs::symlink(&data, &new).unwrap();
        std::fs::rename(new, link).unwrap();
    };
    swap("1", "one\n");
    std::os::unix::fs::symlink("..data/token", folder.path().join("token")).unwrap();
    let (server, accepted) = guarded("one").await;
    let client = client(&server, Credentials::TokenFile(folder.path().join("token")));
    client.server_version().await.unwrap();
    *accepted.lock() = "two".into();
    swap("2", "two\n");
    client.server_version().await.unwrap();
    client.server_version().await.unwrap();
    assert_eq!(server.count(), 4, "one request fails per rotation, no more");
}

#[tokio::test]
async fn a27_a_file_that_is_empty_or_missing_for_a_moment_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "one").unwrap();
    let (server, accepted) = guarded("one").await;
    let client = client(&server, Credentials::TokenFile(path.clone()));
    client.server_version().await.unwrap();
    *accepted.lock() = "two".into();
    std::fs::write(&path, "").unwrap();
    assert!(client.server_version().await.unwrap_err().is_unauthorized());
    std::fs::remove_file(&path).unwrap();
    assert!(client.server_version().await.unwrap_err().is_unauthorized());
    assert_eq!(server.count(), 3, "the same token is not tried twice");
    std::fs::write(&path, "two").unwrap();
    client.server_version().await.unwrap();
}

#[tokio::test]
async fn a27_a_persistent_401_is_reported_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "one").unwrap();
    let (server, _) = guarded("another").await;
    let client = client(&server, Credentials::TokenFile(path));
    for _ in 0..3 {
        assert!(client.server_version().await.unwrap_err().is_unauthorized());
    }
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn a_token_file_that_was_never_there_is_named() {
    let (server, _) = guarded("one").await;
    let client = client(&server, Credentials::TokenFile("/no/such/token".into()));
    let error = client.server_version().await.unwrap_err();
    assert!(matches!(error, ClientError::Credentials { .. }));
    assert_eq!(error.to_string(), "cannot get credentials: the token file /no/such/token cannot be read");
    assert_eq!(server.count(), 0);
}

/// A plugin that prints what the file says and counts its runs.
#[cfg(unix)]
struct Plugin {
    folder: tempfile::TempDir,
}

#[cfg(unix)]
impl Plugin {
    fn new(output: &str) -> Self {
        let plugin = Self { folder: tempfile::tempdir().unwrap() };
        plugin.prints(output);
        plugin
    }

    fn prints(&self, output: &str) {
        std::fs::write(self.folder.path().join("output"), output).unwrap();
    }

    fn token(token: &str, rest: &str) -> String {
        format!(
            r#"{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{{"token":"{token}"{rest}}}}}"#
        )
    }

    fn exec(&self) -> ExecPlugin {
        let script = r#"cd "$DIR" || exit 9; echo run >> runs; printf '%s' "$KUBERNETES_EXEC_INFO" > info; while [ -e wait ]; do sleep 0.02; done; cat output; exit "${CODE:-0}""#;
        ExecPlugin::new("/bin/sh")
            .with_args(["-c", script])
            .with_env("DIR", self.folder.path().to_str().unwrap())
            .with_interactive_mode(InteractiveMode::Never)
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("runs")).unwrap_or_default().lines().count()
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_plugin_is_run_once_and_again_after_a_401() {
    let plugin = Plugin::new(&Plugin::token("one", ""));
    let (server, accepted) = guarded("one").await;
    let client = client(&server, Credentials::Exec(Box::new(plugin.exec())));
    client.server_version().await.unwrap();
    client.server_version().await.unwrap();
    assert_eq!(plugin.runs(), 1);
    let info: serde_json::Value =
        serde_json::from_slice(&std::fs::read(plugin.folder.path().join("info")).unwrap()).unwrap();
    assert_eq!(
        info,
        serde_json::json!({
            "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "spec": { "interactive": false }
        })
    );
    plugin.prints(&Plugin::token("two", ""));
    *accepted.lock() = "two".into();
    // All who are refused at once share one run.
    let requests = (0..20).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.server_version().await })
    });
    for request in requests.collect::<Vec<_>>() {
        request.await.unwrap().unwrap();
    }
    assert_eq!(plugin.runs(), 2);
    *accepted.lock() = "three".into();
    for _ in 0..5 {
        assert!(client.server_version().await.unwrap_err().is_unauthorized());
    }
    assert_eq!(plugin.runs(), 3, "a plugin that has nothing newer is not run for every request");
}

#[cfg(unix)]
#[tokio::test]
async fn a_plugin_is_run_again_when_its_credential_has_expired() {
    let expired = r#","expirationTimestamp":"2020-01-01T00:00:00Z""#;
    let plugin = Plugin::new(&Plugin::token("one", expired));
    let (server, _) = guarded("one").await;
    let client = client(&server, Credentials::Exec(Box::new(plugin.exec())));
    client.server_version().await.unwrap();
    client.server_version().await.unwrap();
    assert_eq!(plugin.runs(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn clients_of_one_kubeconfig_run_its_plugin_once() {
    let plugin = Plugin::new(&Plugin::token("one", ""));
    let (server, accepted) = guarded("one").await;
    let of = || client(&server, Credentials::Exec(Box::new(plugin.exec())));
    let (first, second) = (of(), of());
    let requests = [first.clone(), second, first]
        .map(|client| tokio::spawn(async move { client.server_version().await }));
    for request in requests {
        request.await.unwrap().unwrap();
    }
    of().server_version().await.unwrap();
    assert_eq!(plugin.runs(), 1);
    // What one client learns, all know.
    plugin.prints(&Plugin::token("two", ""));
    *accepted.lock() = "two".into();
    of().server_version().await.unwrap();
    of().server_version().await.unwrap();
    assert_eq!(plugin.runs(), 2);
    let other = plugin.exec().with_env("OTHER", "x");
    client(&server, Credentials::Exec(Box::new(other))).server_version().await.unwrap();
    assert_eq!(plugin.runs(), 3, "another environment may give another credential");
}

#[cfg(unix)]
#[tokio::test]
async fn a_request_with_an_authorization_of_its_own_runs_no_plugin() {
    let plugin = Plugin::new(&Plugin::token("wrong", ""));
    let (server, _) = guarded("one").await;
    let client = client(&server, Credentials::Exec(Box::new(plugin.exec())));
    let raw = |token: &str| {
        let request = http::Request::get("/version").header("authorization", format!("Bearer {token}"));
        client.raw(request.body(bytes::Bytes::new()).unwrap())
    };
    raw("one").await.unwrap();
    assert!(raw("two").await.unwrap_err().is_unauthorized());
    assert_eq!((plugin.runs(), server.count()), (0, 2));
}

#[cfg(unix)]
#[tokio::test]
async fn a_plugin_that_is_not_allowed_is_not_run() {
    use informers_client::ExecPolicy;

    let (server, _) = guarded("one").await;
    let plugin = Plugin::new(&Plugin::token("one", ""));
    let with = |exec: ExecPlugin, policy: ExecPolicy| {
        let config = server.config().with_credentials(Credentials::Exec(Box::new(exec)));
        Client::new(config.with_exec_policy(policy)).unwrap()
    };
    let error = with(plugin.exec(), ExecPolicy::deny_all()).server_version().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot get credentials: the plugin `/bin/sh` is not allowed: no exec plugin is (ExecPolicy)"
    );
    let cat = ExecPolicy::allowlist(["cat", "/bin/cat"]).unwrap();
    let error = with(plugin.exec(), cat).server_version().await.unwrap_err().to_string();
    assert!(error.ends_with("is /bin/sh, which is not in the allowlist (ExecPolicy)"), "{error}");
    assert_eq!((plugin.runs(), server.count()), (0, 0));
    let sh = ExecPolicy::allowlist(["/bin/sh"]).unwrap();
    with(plugin.exec(), sh).server_version().await.unwrap();
    assert_eq!(plugin.runs(), 1);

    // A program of that name in a folder that the configuration puts into $PATH is not the one that is allowed.
    let evil = tempfile::tempdir().unwrap();
    let run = evil.path().join("was-run");
    std::fs::write(evil.path().join("sh"), format!("#!/bin/sh\ntouch {}\n", run.display())).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(evil.path().join("sh"), mode).unwrap();
    let named =
        ExecPlugin::new("sh").with_args(["-c", "exit 3"]).with_interactive_mode(InteractiveMode::Never);
    let named = named.with_env("PATH", evil.path().to_str().unwrap());
    let allowed = ExecPolicy::allowlist(["sh"]).unwrap();
    let error = with(named, allowed).server_version().await.unwrap_err().to_string();
    assert!(error.contains("failed (exit status: 3)"), "{error}");
    // Nor if the one that is allowed is not installed.
    std::fs::rename(evil.path().join("sh"), evil.path().join("not-installed")).unwrap();
    let absent = ExecPlugin::new("not-installed").with_env("PATH", evil.path().to_str().unwrap());
    let allowed = ExecPolicy::allowlist(["not-installed"]).unwrap();
    let error = with(absent, allowed).server_version().await.unwrap_err().to_string();
    assert!(error.ends_with("the plugin `not-installed` is not installed, or not in $PATH"), "{error}");
    assert!(!run.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn a_plugin_that_fails_is_run_once_for_all_who_waited() {
    let plugin = Plugin::new("");
    let (server, _) = guarded("one").await;
    let failing = plugin.exec().with_env("CODE", "3");
    let client = client(&server, Credentials::Exec(Box::new(failing)));
    let request = || async { client.server_version().await.unwrap_err().to_string() };
    let errors = futures_util::future::join_all((0..20).map(|_| request())).await;
    assert!(errors.iter().all(|error| error.contains("failed (exit status: 3)")), "{errors:?}");
    assert_eq!(plugin.runs(), 1);
    assert!(request().await.contains("failed (exit status: 3)"));
    assert_eq!(plugin.runs(), 2, "whoever asks later tries again");
}

#[cfg(unix)]
#[tokio::test]
async fn a_plugin_goes_on_for_others_when_a_request_is_given_up() {
    let plugin = Plugin::new(&Plugin::token("one", ""));
    let wait = plugin.folder.path().join("wait");
    std::fs::write(&wait, "").unwrap();
    let (server, _) = guarded("one").await;
    let client = client(&server, Credentials::Exec(Box::new(plugin.exec())));
    let given_up = tokio::spawn({
        let client = client.clone();
        async move { client.server_version().await }
    });
    while plugin.runs() == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());
    let other = tokio::spawn(async move { client.server_version().await });
    std::fs::remove_file(&wait).unwrap();
    other.await.unwrap().unwrap();
    assert_eq!(plugin.runs(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn a_plugin_of_the_older_contract_is_told_of_its_cluster() {
    use informers_client::{Config, Kubeconfig};

    let plugin = Plugin::new(&Plugin::token("one", "").replace("/v1\"", "/v1beta1\""));
    let (server, _) = guarded("one").await;
    let text = format!(
        "current-context: c\n\
         contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
         clusters: [{{name: k, cluster: {{server: 'https://secure.test', extensions: [\
            {{name: client.authentication.k8s.io/exec, extension: {{audience: x}}}}]}}}}]\n\
         users: [{{name: u, user: {{exec: {{apiVersion: client.authentication.k8s.io/v1beta1, \
            provideClusterInfo: true, command: /bin/sh, interactiveMode: Never, \
            args: [-c, 'cd \"$DIR\"; echo run >> runs; printf %s \"$KUBERNETES_EXEC_INFO\" > info; cat output'], \
            env: [{{name: DIR, value: '{}'}}]}}}}}}]\n",
        plugin.folder.path().display()
    );
    let config = Config::from_kubeconfig(&Kubeconfig::from_text(&text, "x").unwrap(), None).unwrap();
    let client = Client::new(config.with_server(&server.url).unwrap()).unwrap();
    client.server_version().await.unwrap();
    let info: serde_json::Value =
        serde_json::from_slice(&std::fs::read(plugin.folder.path().join("info")).unwrap()).unwrap();
    assert_eq!(
        info,
        serde_json::json!({
            "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1",
            "spec": {
                "interactive": false,
                "cluster": { "server": "https://secure.test", "config": { "audience": "x" } },
            },
        })
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_plugin_that_fails_says_why_and_shows_no_secret() {
    let good = Plugin::token("s3cret", "");
    let cases = [
        (good.replace("s3cret", ""), "printed neither a token nor a certificate"),
        (
            r#"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"","clientCertificateData":"","clientKeyData":""}}"#.to_owned(),
            "printed neither a token nor a certificate",
        ),
        (
            good.replace("\"token\"", "\"clientKeyData\""),
            "printed a certificate without its key, or the other way round",
        ),
        (
            good.replace("/v1\"", "/v1beta1\""),
            "printed ExecCredential client.authentication.k8s.io/v1beta1 where",
        ),
        ("s3cret".to_owned(), "printed no ExecCredential (line 1)"),
        (good.replace("status", "spec"), "printed an ExecCredential without status"),
        (
            Plugin::token("s3cret", r#","expirationTimestamp":"soon""#),
            "printed an expirationTimestamp that is no time",
        ),
    ];
    let (server, _) = guarded("one").await;
    for (output, expected) in cases {
        let plugin = Plugin::new(&output);
        let client = client(&server, Credentials::Exec(Box::new(plugin.exec())));
        let error = client.server_version().await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!format!("{error:?}{client:?}").contains("s3cret"), "{error:?}");
    }
    let plugin = Plugin::new("");
    let failing = plugin.exec().with_env("CODE", "3");
    let error = client(&server, Credentials::Exec(Box::new(failing))).server_version().await.unwrap_err();
    assert!(error.to_string().contains("failed (exit status: 3)"), "{error}");
    let missing = ExecPlugin::new("no-such-plugin").with_api_version(ExecApiVersion::V1Beta1);
    let error = client(&server, Credentials::Exec(Box::new(missing))).server_version().await.unwrap_err();
    assert!(
        error.to_string().contains("the plugin `no-such-plugin` is not installed, or not in $PATH"),
        "{error}"
    );
    assert_eq!(server.count(), 0);
}

#[cfg(unix)]
#[tokio::test]
async fn a_plugin_may_give_a_certificate() {
    use informers_client::Tls;

    use crate::server::Options;
    use crate::tls::{Authority, server_tls};

    let authority = Authority::new();
    let issued = authority.issue("client");
    let tls = server_tls(&authority.issue("127.0.0.1"), Some(&authority), &["h2"]);
    let server =
        Server::start_with(Options { tls: Some(tls), max_streams: 100 }, |_| Answer::json(VERSION)).await;
    let output = serde_json::json!({
        "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
        "status": { "clientCertificateData": issued.certificate, "clientKeyData": issued.key },
    });
    let plugin = Plugin::new(&output.to_string());
    let config = server
        .config()
        .with_tls(Tls::new().with_ca_pem(authority.pem))
        .with_credentials(Credentials::Exec(Box::new(plugin.exec())));
    let client = Client::new(config).unwrap();
    assert_eq!(client.server_version().await.unwrap().minor, "37");
    client.server_version().await.unwrap();
    assert_eq!(server.connections.load(std::sync::atomic::Ordering::SeqCst), 1);
}
