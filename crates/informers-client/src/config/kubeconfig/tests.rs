//! Kubeconfigs from the wild.

mod overrides;

use std::path::Path;

use super::*;
use crate::config::{Pem, Proxy};
use crate::{Credentials, ExecApiVersion, Gzip, InteractiveMode};

fn environment() -> Environment {
    Environment::Fixed { variables: Default::default(), service_account: PathBuf::new() }
}

fn config(text: &str, context: Option<&str>) -> Result<Config, ClientError> {
    let overrides = Overrides::new().with_context(context.unwrap_or_default());
    Kubeconfig::from_text(text, "dir/config")?.config(&overrides, &environment())
}

fn error(text: &str) -> String {
    config(text, None).unwrap_err().to_string()
}

/// A kubeconfig with one context, cluster and user.
fn one(cluster: &str, user: &str) -> String {
    format!(
        "current-context: c\n\
         contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
         clusters: [{{name: k, cluster: {{server: 'https://host:6443'{cluster}}}}}]\n\
         users: [{{name: u, user: {{{user}}}}}]\n"
    )
}

#[test]
fn a28_of_several_files_the_first_to_name_a_thing_wins() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let write = |path: PathBuf, text: &str| {
        std::fs::write(&path, text).unwrap();
        path
    };
    let paths = [
        folder.path().join("missing"),
        write(folder.path().join("empty"), ""),
        write(folder.path().join("blank"), "# nothing\n---\n"),
        write(folder.path().join("current"), "apiVersion: v1\nkind: Config\ncurrent-context: two\n"),
        write(
            other.join("first"),
            "current-context: one\n\
             contexts: [{name: one, context: {cluster: k, user: u}}]\n\
             clusters: [{name: k, cluster: {server: 'https://first', certificate-authority: ca.crt}}]\n\
             users: [{name: u, user: {client-certificate: certs/c.crt, client-key: /abs/c.key}}]\n",
        ),
        write(
            folder.path().join("second"),
            "contexts: [{name: one, context: {cluster: lost}}, {name: two, context: {cluster: k, namespace: shop, user: v}}]\n\
             clusters: [{name: k, cluster: {server: 'https://second', insecure-skip-tls-verify: true}}]\n\
             users: [{name: u, user: {token: lost}}, {name: v, user: {tokenFile: ../token}}]\n",
        ),
    ];
    let merged = Kubeconfig::read_all(&paths).unwrap();
    assert_eq!(merged.current_context(), Some("two"));
    assert_eq!(merged.context_names(), ["one", "two"]);

    let two = merged.config(&Overrides::new(), &environment()).unwrap();
    assert_eq!((two.server.to_string().as_str(), two.namespace()), ("https://first/", "shop"));
    assert_eq!(two.credentials, Credentials::TokenFile(folder.path().join("../token")));
    assert_eq!(two.tls.ca, Some(Pem::File(other.join("ca.crt"))));
    assert!(!two.tls.insecure, "an entry wins as a whole");

    let one = merged.config(&Overrides::new().with_context("one"), &environment()).unwrap();
    assert_eq!(one.namespace(), "default");
    assert_eq!(
        one.tls.client,
        Some((Pem::File(other.join("certs/c.crt")), Pem::File(PathBuf::from("/abs/c.key"))))
    );
    assert_eq!(one.credentials, Credentials::None);
}

#[test]
fn a28_only_what_the_context_needs_must_be_complete() {
    let text = "
current-context: good
contexts:
- name: good
  context: {cluster: k, user: null}
- name: empty
  context:
- name: nothing
- {}
- null
- name: lost
  context: {cluster: nowhere}
- name: stranger
  context: {cluster: k, user: nobody}
clusters:
- name: broken
  cluster: null
- name: k
  cluster: {server: https://host, surprise: [1, 2]}
users:
- name: u
  user:
preferences: {}
extensions: null
";
    assert_eq!(config(text, None).unwrap().credentials, Credentials::None);
    for (context, expected) in [
        ("empty", "dir/config: contexts[1].context: context `empty` names no cluster"),
        ("nothing", "dir/config: contexts[2].context: context `nothing` names no cluster"),
        ("lost", "dir/config: contexts[5].context.cluster: there is no cluster `nowhere`"),
        ("stranger", "dir/config: contexts[6].context.user: there is no user `nobody`"),
        (
            "absent",
            "dir/config: there is no context `absent`; there are: good, empty, nothing, lost, stranger",
        ),
    ] {
        assert_eq!(config(text, Some(context)).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a28_errors_name_file_and_field() {
    for (text, expected) in [
        ("", "dir/config: no context was asked for, and current-context is not set; there are none"),
        (
            "contexts: [{name: a}, {name: b}]",
            "dir/config: no context was asked for, and current-context is not set; there are: a, b",
        ),
        (
            "[1, 2]",
            "dir/config: the file is no kubeconfig: it must be a map with `clusters`, `contexts`, `users`",
        ),
        ("{a: [}", "dir/config: the kubeconfig file is no valid YAML"),
        (
            "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\nclusters: [{name: k}]",
            "dir/config: clusters[0].cluster.server: the cluster has no server",
        ),
        (
            "current-context: c\ncontexts: [{name: c, context: {cluster: k}}, {name: c}]",
            "dir/config: contexts[1]: the name `c` is there twice",
        ),
        (
            &one(", certificate-authority-data: '%'", ""),
            "dir/config: clusters[0].cluster.certificate-authority-data: is no valid base64",
        ),
        (
            &one(", insecure-skip-tls-verify: perhaps", ""),
            "dir/config: clusters[0].cluster.insecure-skip-tls-verify: must be true or false",
        ),
        (
            &one(", insecure-skip-tls-verify: true, certificate-authority: x", ""),
            "dir/config: clusters[0].cluster.insecure-skip-tls-verify: excludes a certificate authority; remove one of the two",
        ),
        (
            &one(", proxy-url: 'ftp://x'", ""),
            "dir/config: clusters[0].cluster.proxy-url: the proxy's URL must begin with http://, https:// or socks5://",
        ),
        (
            &one("", "client-key: x"),
            "dir/config: users[0].user.client-certificate: is missing beside client-key",
        ),
        (
            &one("", "client-certificate: x"),
            "dir/config: users[0].user.client-key: is missing beside client-certificate",
        ),
        (
            &one("", "token: t, username: n"),
            "dir/config: users[0].user.token: excludes username and password; remove one of the two",
        ),
        (
            &one("", "token: t, password: p"),
            "dir/config: users[0].user.token: excludes username and password; remove one of the two",
        ),
        (&one("", "token: [1]"), "dir/config: users[0].user.token: must be text"),
        (
            &one("", "as-groups: [g]"),
            "dir/config: users[0].user.as: is missing: a uid, groups or extra need a user",
        ),
        (
            &one("", "auth-provider: {name: gcp}"),
            "dir/config: users[0].user.auth-provider: auth provider `gcp` was removed from Kubernetes clients; \
             install gke-gcloud-auth-plugin and run `gcloud container clusters get-credentials` again",
        ),
        (
            &one("", "exec: {apiVersion: client.authentication.k8s.io/v1}"),
            "dir/config: users[0].user.exec.command: is missing",
        ),
        (&one("", "exec: {command: x}"), "dir/config: users[0].user.exec.apiVersion: is missing"),
        (
            &one("", "exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}"),
            "dir/config: users[0].user.exec.apiVersion: `client.authentication.k8s.io/v1alpha1` is not supported; \
             client.authentication.k8s.io/v1 and /v1beta1 are: update the plugin",
        ),
        (
            &one(
                "",
                "exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Sometimes}",
            ),
            "dir/config: users[0].user.exec.interactiveMode: must be Never, IfAvailable or Always",
        ),
        (
            &one("", "exec: {command: x, apiVersion: client.authentication.k8s.io/v1, env: [{value: x}]}"),
            "dir/config: users[0].user.exec.env[0].name: is missing",
        ),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
    let server = one("", "").replace("https://host:6443", "ftp://host");
    assert_eq!(
        error(&server),
        "dir/config: clusters[0].cluster.server: server URL `ftp://host`: the scheme must be http or https"
    );
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let text = one(
        ", certificate-authority-data: '%%%', proxy-url: 'ftp://proxy'",
        "token: [1], client-key: k, as-uid: u, exec: {command: run, apiVersion: client.authentication.k8s.io/v1}",
    );
    assert_eq!(
        error(&text),
        "dir/config: clusters[0].cluster.proxy-url: the proxy's URL must begin with http://, https:// or socks5://; \
         and dir/config: users[0].user.as: is missing: a uid, groups or extra need a user; \
         and dir/config: users[0].user.client-certificate: is missing beside client-key; \
         and dir/config: clusters[0].cluster.certificate-authority-data: is no valid base64 (Invalid symbol 37, offset \
         0.); and dir/config: users[0].user.token: must be text"
    );
    // A plugin that is to be told of the cluster does not say it twice.
    let told = "exec: {command: run, apiVersion: client.authentication.k8s.io/v1, provideClusterInfo: true}";
    let error = error(&one(", certificate-authority-data: '%%%'", told));
    assert_eq!(error, "dir/config: clusters[0].cluster.certificate-authority-data: is no valid base64");
}

#[test]
fn a28_files_that_cannot_be_read_are_named() {
    let missing = Kubeconfig::read("/no/such/kubeconfig").unwrap_err();
    assert_eq!(missing.to_string(), "/no/such/kubeconfig: there is no such kubeconfig file");
    let folder = tempfile::tempdir().unwrap();
    let folder_error = Kubeconfig::read(folder.path()).unwrap_err().to_string();
    assert_eq!(folder_error, format!("{}: the kubeconfig file cannot be read", folder.path().display()));
    let binary = folder.path().join("binary");
    // Of several, one that cannot be looked for is not one that is missing.
    std::fs::write(&binary, "").unwrap();
    let beneath = Kubeconfig::read_all(&[binary.join("x"), binary.clone()]).unwrap_err().to_string();
    assert_eq!(beneath, format!("{}: the kubeconfig file cannot be read", binary.join("x").display()));
    std::fs::write(&binary, [0xC3, 0x28, 0xFF]).unwrap();
    let text = Kubeconfig::read(&binary).unwrap_err().to_string();
    assert_eq!(text, format!("{}: the kubeconfig file is neither UTF-8 nor UTF-16 text", binary.display()));
}

#[test]
fn a28_texts_of_every_encoding_are_read() {
    let text = one("", "token: tök😀");
    let utf16 = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
    for bytes in [
        text.as_bytes().to_vec(),
        [&[0xEF, 0xBB, 0xBF], text.as_bytes()].concat(),
        [&[0xFF, 0xFE][..], &utf16(u16::to_le_bytes)].concat(),
        [&[0xFE, 0xFF][..], &utf16(u16::to_be_bytes)].concat(),
        utf16(u16::to_le_bytes),
        utf16(u16::to_be_bytes),
    ] {
        assert_eq!(text::decode(&bytes, Path::new("x")).unwrap(), text);
    }
    assert!(text::decode(&[0xFF, 0xFE, 0x00], Path::new("x")).is_err());
}

#[test]
fn inline_data_beats_a_path() {
    let text = one(
        ", certificate-authority-data: aGk=, certificate-authority: ca.crt, tls-server-name: inner",
        "client-certificate-data: Y2VydA==, client-certificate: x, client-key-data: 'a2\n V5', client-key: y",
    );
    let config = config(&text, None).unwrap();
    assert_eq!(config.tls.ca, Some(Pem::Data(b"hi".to_vec())));
    assert_eq!(config.tls.client, Some((Pem::Data(b"cert".to_vec()), Pem::Data(b"key".to_vec()))));
    assert_eq!(config.tls.server_name.as_deref(), Some("inner"));
}

#[test]
fn values_without_quotes_are_text() {
    let text = "current-context: 007\n\
         contexts: [{name: 007, context: {cluster: on, user: 1_0, namespace: yes}}]\n\
         clusters: [{name: on, cluster: {server: host:6443, disable-compression: yes}}]\n\
         users: [{name: 1_0, user: {token: 12345}}]\n";
    let config = config(text, None).unwrap();
    assert_eq!((config.server.to_string().as_str(), config.namespace()), ("http://host:6443/", "yes"));
    assert_eq!(config.gzip, Gzip::Never);
    assert_eq!(config.credentials, Credentials::None, "nothing secret is sent without TLS");
    let text = one("", "token: 12345");
    assert_eq!(super::tests::config(&text, None).unwrap().credentials, Credentials::Token("12345".into()));
}

#[test]
fn every_way_to_say_who_one_is_is_understood() {
    let of = |user: &str| config(&one("", user), None).unwrap();
    assert_eq!(of("").credentials, Credentials::None);
    assert_eq!(
        of("username: bob, password: x").credentials,
        Credentials::Basic { username: "bob".into(), password: "x".into() }
    );
    assert_eq!(of("tokenFile: f").credentials, Credentials::TokenFile("dir/f".into()));
    assert_eq!(
        of("token: t, tokenFile: f").credentials,
        Credentials::TokenAndFile { token: "t".into(), file: "dir/f".into() }
    );
    let user = of("as: bob, as-uid: u, as-groups: [a, b], as-user-extra: {k: [x, y]}").impersonation.unwrap();
    assert_eq!(
        (user.user.as_str(), user.uid.as_deref(), user.groups.len(), user.extra.len()),
        ("bob", Some("u"), 2, 2)
    );
    let exec = "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./bin/get, args: [a, 1], \
                env: [{name: N, value: v}], provideClusterInfo: true, installHint: get it, interactiveMode: Never}";
    let cluster = ", certificate-authority-data: aGk=, extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]";
    let Credentials::Exec(plugin) = config(&one(cluster, exec), None).unwrap().credentials else { panic!() };
    assert_eq!(std::path::Path::new(&plugin.command), std::path::absolute("dir/bin/get").unwrap());
    assert_eq!(plugin.args, ["a", "1"]);
    assert_eq!(
        (plugin.api_version, plugin.interactive_mode),
        (ExecApiVersion::V1Beta1, InteractiveMode::Never)
    );
    assert_eq!(
        plugin.cluster,
        Some(serde_json::json!({
            "server": "https://host:6443", "certificate-authority-data": "aGk=", "config": { "audience": "x" }
        }))
    );
    let Credentials::Exec(plugin) =
        of("exec: {apiVersion: client.authentication.k8s.io/v1, command: aws}").credentials
    else {
        panic!()
    };
    assert_eq!((plugin.command.as_str(), plugin.cluster), ("aws", None));
}

#[test]
fn a_plugin_is_not_run_beside_a_certificate() {
    let exec = "exec: {apiVersion: client.authentication.k8s.io/v1, command: x}";
    let text = one("", &format!("client-certificate: c, client-key: k, {exec}"));
    let config = super::tests::config(&text, None).unwrap();
    assert_eq!(config.credentials, Credentials::None);
    assert!(config.tls.client.is_some());
    for (user, expected) in [
        ("token: t", Credentials::Token("t".into())),
        ("username: u", Credentials::Basic { username: "u".into(), password: "".into() }),
    ] {
        let text = one("", &format!("{user}, {exec}"));
        assert_eq!(super::tests::config(&text, None).unwrap().credentials, expected);
    }
}

#[test]
fn a_context_whose_name_is_a_number_can_be_the_current_one() {
    for name in ["12", "1.5", "true", "007", "yes"] {
        let text = one("", "").replace("context: c\n", &format!("context: {name}\n"));
        let text = text.replace("name: c,", &format!("name: {name},"));
        assert_eq!(Kubeconfig::from_text(&text, "x").unwrap().current_context(), Some(name));
        assert!(super::tests::config(&text, None).is_ok(), "{text}");
    }
}

#[test]
fn every_removed_provider_names_what_replaces_it() {
    for (name, expected) in [
        ("gcp", "install gke-gcloud-auth-plugin"),
        ("azure", "install kubelogin and run `kubelogin convert-kubeconfig`"),
        ("oidc", "use an exec plugin such as kubelogin (`kubectl oidc-login`)"),
        ("openstack", "use an exec plugin"),
    ] {
        let error = error(&one("", &format!("auth-provider: {{name: {name}, config: {{a: b}}}}")));
        let problem = format!("auth provider `{name}` was removed from Kubernetes clients; {expected}");
        assert!(error.contains(&problem), "{error}");
    }
    let both = one("", "auth-provider: {name: gcp}, exec: {command: x}");
    assert!(error(&both).ends_with("users[0].user.auth-provider: excludes exec; remove one of the two"));
}

#[test]
fn impersonation_holds_without_tls_too_and_nothing_secret_does() {
    let text = one("", "as: bob, token: s3cret").replace("https://", "http://");
    let config = super::tests::config(&text, None).unwrap();
    assert_eq!(config.impersonation, Some(crate::Impersonation::user("bob")));
    assert_eq!(config.credentials, Credentials::None);
}

#[test]
fn ipv6_servers_are_understood() {
    let text = one("", "").replace("https://host:6443", "https://[fd00::1]:6443");
    let config = super::tests::config(&text, None).unwrap();
    assert_eq!((config.server.host(), config.server.port_u16()), (Some("[fd00::1]"), Some(6443)));
}

#[test]
fn a_proxy_is_taken_over_without_its_password_in_debug() {
    let config = config(&one(", proxy-url: 'socks5://bob:s3cret@proxy:1080'", ""), None).unwrap();
    assert!(matches!(&config.proxy, Proxy::Url(url) if url.host() == Some("proxy")));
    assert!(!format!("{config:?}").contains("s3cret"));
}

#[test]
fn no_secret_is_in_debug_or_in_errors() {
    let secrets = [
        "token: s3cret",
        "username: bob, password: s3cret",
        "client-certificate-data: Y2VydA==, client-key-data: czNjcmV0",
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, args: [s3cret], env: [{name: N, value: s3cret}]}",
    ];
    for user in secrets {
        let text = one("", user);
        let kubeconfig = Kubeconfig::from_text(&text, "x").unwrap();
        let config = kubeconfig.config(&Overrides::new(), &environment()).unwrap();
        let shown = format!("{kubeconfig:?} {config:?} {config:#?}");
        assert!(!shown.contains("s3cret") && !shown.contains("czNjcmV0"), "{shown}");
        // The same file, damaged behind the secret.
        for damage in ["\n  }{", "\nusers: [", "\n\t- x"] {
            if let Err(error) = Kubeconfig::from_text(&format!("{text}{damage}"), "x") {
                let shown = format!("{error:?} {}", std::error::Error::source(&error).unwrap());
                assert!(!shown.contains("s3cret") && !shown.contains("czNjcmV0"), "{shown}");
            }
        }
    }
}
