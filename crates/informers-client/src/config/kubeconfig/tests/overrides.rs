//! What a program says against a kubeconfig.

use std::time::Duration;

use super::*;
use crate::{ClusterSettings, Impersonation};

const TWO: &str = "
current-context: dev
contexts:
- {name: dev, context: {cluster: dev, user: bob, namespace: shop}}
- {name: prod, context: {cluster: prod, user: eve}}
clusters:
- {name: dev, cluster: {server: 'https://dev', tls-server-name: inner, certificate-authority-data: aGk=, certificate-authority: ca.crt}}
- {name: prod, cluster: {server: 'https://prod', insecure-skip-tls-verify: true, proxy-url: 'http://proxy:3128'}}
- {name: bare, cluster: {}}
users:
- {name: bob, user: {token: b, as: carol, as-groups: [admins]}}
- {name: eve, user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}}
- {name: file, user: {tokenFile: f}}
";

fn with(overrides: &Overrides) -> Result<Config, ClientError> {
    Kubeconfig::from_text(TWO, "dir/config")?.config(overrides, &environment())
}

fn server(config: &Config) -> &str {
    config.server.host().unwrap()
}

#[test]
fn context_cluster_and_user_are_chosen_by_name() {
    let prod = with(&Overrides::new().with_context("prod")).unwrap();
    assert_eq!((server(&prod), prod.namespace()), ("prod", "default"));
    assert!(prod.tls.insecure && prod.tls.client.is_some());
    let mixed = with(&Overrides::new().with_cluster("prod").with_user("file")).unwrap();
    assert_eq!((server(&mixed), mixed.namespace()), ("prod", "shop"));
    assert_eq!(mixed.credentials, Credentials::TokenFile("dir/f".into()));
    // A flag that is not given is empty.
    let same =
        with(&Overrides::new().with_context("").with_cluster("").with_user("").with_namespace("")).unwrap();
    assert_eq!((server(&same), same.namespace()), ("dev", "shop"));
    for (overrides, expected) in [
        (Overrides::new().with_context("x"), "dir/config: there is no context `x`; there are: dev, prod"),
        (
            Overrides::new().with_cluster("x"),
            "dir/config: there is no cluster `x`; there are: dev, prod, bare",
        ),
        (Overrides::new().with_user("x"), "dir/config: there is no user `x`; there are: bob, eve, file"),
        (
            Overrides::new().with_cluster("bare"),
            "dir/config: clusters[2].cluster.server: the cluster has no server",
        ),
    ] {
        assert_eq!(with(&overrides).unwrap_err().to_string(), expected);
    }
}

#[test]
fn another_server_takes_the_name_in_its_certificate_along() {
    let there = ClusterSettings::new().with_server("https://there:6443");
    let config = with(&Overrides::new().with_cluster_settings(there.clone())).unwrap();
    assert_eq!((server(&config), config.tls.server_name.as_deref()), ("there", None));
    assert_eq!(config.tls.ca, Some(Pem::Data(b"hi".to_vec())), "the rest of the cluster stays");
    let both = there.with_tls_server_name("outer");
    let config = with(&Overrides::new().with_cluster_settings(both)).unwrap();
    assert_eq!(config.tls.server_name.as_deref(), Some("outer"));
    let name = ClusterSettings::new().with_tls_server_name("outer");
    let config = with(&Overrides::new().with_cluster_settings(name)).unwrap();
    assert_eq!((server(&config), config.tls.server_name.as_deref()), ("dev", Some("outer")));
    let wrong = ClusterSettings::new().with_server("ftp://there");
    assert_eq!(
        with(&Overrides::new().with_cluster_settings(wrong)).unwrap_err().to_string(),
        "overrides: server: server URL `ftp://there`: the scheme must be http or https"
    );
}

#[test]
fn trust_that_is_said_outdoes_all_that_the_entry_says_of_it() {
    let of = |settings: ClusterSettings, context: &str| {
        with(&Overrides::new().with_context(context).with_cluster_settings(settings)).map(|config| config.tls)
    };
    let insecure = of(ClusterSettings::new().insecure(), "dev").unwrap();
    assert!(insecure.insecure && insecure.ca.is_none());
    let file = of(ClusterSettings::new().with_ca_file("mine.crt"), "dev").unwrap();
    assert_eq!(file.ca, Some(Pem::File("mine.crt".into())), "it beats data, and lies in the working folder");
    let pem = of(ClusterSettings::new().with_ca_pem("pem"), "prod").unwrap();
    assert!(!pem.insecure && pem.ca == Some(Pem::Data(b"pem".to_vec())));
    let both = of(ClusterSettings::new().with_ca_pem("pem").insecure(), "dev").unwrap_err().to_string();
    assert_eq!(
        both,
        "overrides: insecure-skip-tls-verify: excludes a certificate authority; remove one of the two"
    );
}

#[test]
fn credentials_and_impersonation_are_replaced_as_a_whole() {
    let token = Overrides::new().with_user("file").with_credentials(Credentials::Token("mine".into()));
    assert_eq!(with(&token).unwrap().credentials, Credentials::Token("mine".into()));
    let dave = Overrides::new().with_impersonation(Impersonation::user("dave"));
    assert_eq!(with(&dave).unwrap().impersonation, Some(Impersonation::user("dave")), "without bob's groups");
    let certificate = Overrides::new().with_context("prod").with_client_certificate_files("c", "k");
    let config = with(&certificate).unwrap();
    assert_eq!(config.tls.client, Some((Pem::File("c".into()), Pem::File("k".into()))));
}

#[test]
fn the_rest_is_replaced_value_by_value() {
    let settings = ClusterSettings::new().with_proxy_url("socks5://p:1080").without_compression();
    let overrides = Overrides::new().with_namespace("test").with_cluster_settings(settings);
    let config = with(&overrides.with_timeout(Duration::from_secs(7))).unwrap();
    assert_eq!(config.namespace(), "test");
    assert_eq!((config.gzip, config.timeouts.request), (Gzip::Never, Some(Duration::from_secs(7))));
    assert!(matches!(&config.proxy, Proxy::Url(url) if url.scheme_str() == Some("socks5")));
    let none = with(&Overrides::new().with_timeout(Duration::ZERO)).unwrap();
    assert_eq!(none.timeouts.request, None);
    let wrong = Overrides::new().with_cluster_settings(ClusterSettings::new().with_proxy_url("ftp://x"));
    let error = with(&wrong).unwrap_err().to_string();
    assert!(error.starts_with("overrides: proxy-url: the proxy's URL must begin with"), "{error}");
}

#[test]
fn defaults_hold_where_nobody_says_anything() {
    let defaults = ClusterSettings::new()
        .with_server("http://localhost:8080")
        .with_tls_server_name("fallback")
        .with_proxy_url("http://default:3128")
        .with_ca_pem("pem")
        .without_compression();
    let overrides = Overrides::new().with_cluster_defaults(defaults);
    let dev = with(&overrides).unwrap();
    assert_eq!((server(&dev), dev.tls.server_name.as_deref(), dev.gzip), ("dev", Some("inner"), Gzip::Never));
    assert_eq!(dev.tls.ca, Some(Pem::Data(b"hi".to_vec())));
    assert!(matches!(&dev.proxy, Proxy::Url(url) if url.host() == Some("default")));
    let prod = with(&overrides.clone().with_context("prod")).unwrap();
    assert!(prod.tls.insecure && prod.tls.ca.is_none(), "what the entry says of trust holds as a whole");
    let bare = with(&overrides.clone().with_cluster("bare")).unwrap();
    assert_eq!((server(&bare), bare.credentials()), ("localhost", &Credentials::None));
    let empty = Kubeconfig::default().config(&overrides, &environment()).unwrap();
    assert_eq!(server(&empty), "localhost");
    let there = Overrides::new().with_cluster_settings(ClusterSettings::new().with_server("https://there"));
    assert_eq!(server(&Kubeconfig::default().config(&there, &environment()).unwrap()), "there");
}

#[test]
fn a_context_without_its_cluster_does_where_the_server_is_said() {
    let user = "users: [{name: u, user: {token: t}}]\n";
    let without = format!("current-context: c\ncontexts: [{{name: c, context: {{user: u}}}}]\n{user}");
    let dangling = without.replace("{user: u}", "{user: u, cluster: gone}");
    let there = || ClusterSettings::new().with_server("https://there");
    let of = |text: &str, overrides: &Overrides| {
        let config = Kubeconfig::from_text(text, "dir/config").unwrap().config(overrides, &environment());
        config
            .map(|config| (server(&config).to_owned(), config.credentials))
            .map_err(|error| error.to_string())
    };
    let found = ("there".to_owned(), Credentials::Token("t".into()));
    let (settings, defaults) =
        (Overrides::new().with_cluster_settings(there()), Overrides::new().with_cluster_defaults(there()));
    assert_eq!(of(&without, &settings).as_ref(), Ok(&found));
    assert_eq!(of(&without, &defaults).as_ref(), Ok(&found));
    assert_eq!(of(&dangling, &settings).as_ref(), Ok(&found));
    // Defaults are for those who name no cluster, not for those who misspell one.
    let gone = "dir/config: contexts[0].context.cluster: there is no cluster `gone`";
    for overrides in [defaults, Overrides::new()] {
        assert_eq!(of(&dangling, &overrides).unwrap_err(), gone);
    }
    assert!(of(&without, &Overrides::new()).unwrap_err().ends_with("context `c` names no cluster"));
    // A user alone does not say which server is meant.
    let nowhere = without.replace("current-context: c\n", "");
    let error = of(&nowhere, &Overrides::new().with_user("u")).unwrap_err();
    assert_eq!(error, "dir/config: no context was asked for, and current-context is not set; there are: c");
}

#[test]
fn a_plugin_is_told_of_the_cluster_that_is_asked() {
    let exec = "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, provideClusterInfo: true}";
    let kubeconfig = Kubeconfig::from_text(&one(", tls-server-name: inner", exec), "dir/config").unwrap();
    let settings =
        ClusterSettings::new().with_server("https://there").with_proxy_url("http://p:3128").insecure();
    let overrides = Overrides::new().with_cluster_settings(settings);
    let config = kubeconfig.config(&overrides, &environment()).unwrap();
    let Credentials::Exec(plugin) = config.credentials else { panic!() };
    assert_eq!(
        plugin.cluster,
        Some(serde_json::json!({
            "server": "https://there", "proxy-url": "http://p:3128", "insecure-skip-tls-verify": true,
        }))
    );
}

#[test]
fn overrides_show_no_secret() {
    let settings = ClusterSettings::new()
        .with_server("https://bob:s3cret@there")
        .with_proxy_url("http://bob:s3cret@proxy")
        .with_ca_pem("s3cret");
    let overrides = Overrides::new()
        .with_cluster_settings(settings.clone())
        .with_cluster_defaults(settings)
        .with_credentials(Credentials::TokenAndFile { token: "s3cret".into(), file: "f".into() });
    let shown = format!("{overrides:?}");
    assert!(!shown.contains("s3cret") && shown.contains("https://***@there"), "{shown}");
    assert!(!format!("{:?}", with(&overrides).unwrap_err()).contains("s3cret"));
}
