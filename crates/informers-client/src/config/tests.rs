//! URLs, the environment, pods.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use super::*;

fn environment(variables: &[(&str, &str)], service_account: &Path) -> Environment {
    let variables: BTreeMap<String, OsString> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect();
    Environment::Fixed { variables, service_account: service_account.to_owned() }
}

#[test]
fn server_urls_are_read_as_client_go_reads_them() {
    for (url, expected) in [
        ("https://host", Ok("https://host/")),
        ("https://host:6443/prefix/", Ok("https://host:6443/prefix/")),
        ("host:8080", Ok("http://host:8080/")),
        ("localhost", Ok("http://localhost/")),
        ("https://[::1]:6443", Ok("https://[::1]:6443/")),
        (" https://host/a?b=c#d ", Ok("https://host/a")),
        ("", Err("it is empty")),
        ("ftp://host", Err("the scheme must be http or https")),
        ("https://bob:x@host", Err("it must not have a user name or password")),
        ("https://host:", Ok("https://host:/")),
        ("https://host:65536", Err("the port must be a number up to 65535")),
        ("https://bob:p/w@host", Err("the port must be a number up to 65535")),
        ("https://", Err("it is not a URL")),
        ("https://a b", Err("it is not a URL")),
    ] {
        match (Config::for_url(url), expected) {
            (Ok(config), Ok(expected)) => assert_eq!(config.server().to_string(), expected, "{url}"),
            (Err(error), Err(expected)) => assert!(error.to_string().ends_with(expected), "{url}: {error}"),
            (found, _) => panic!("{url}: {found:?}"),
        }
    }
}

#[test]
fn errors_of_server_urls_show_no_password() {
    for (url, shown) in [
        ("https://bob:s3cret@host", "https://***@host"),
        ("https://bob:s3/cr3t@host:6443/x", "https://***@host:6443/x"),
        ("bob:s3cret@host", "***@host"),
        ("ftp://s3cret@host", "ftp://***@host"),
        ("https://bob:s3@cret@a b", "https://***@a b"),
        ("ftp://host", "ftp://host"),
    ] {
        let error = Config::for_url(url).unwrap_err();
        assert!(error.to_string().starts_with(&format!("server URL `{shown}`: ")), "{error}");
        assert!(!format!("{error:?}").contains("s3"), "{error:?}");
    }
}

#[test]
fn a_pod_finds_its_service_account() {
    let folder = tempfile::tempdir().unwrap();
    let variables = [("KUBERNETES_SERVICE_HOST", "fd00::1"), ("KUBERNETES_SERVICE_PORT", "443")];
    let surroundings = environment(&variables, folder.path());
    let error = in_cluster::in_cluster(&Overrides::new(), &surroundings).unwrap_err().to_string();
    assert!(error.contains("token: the service account's token cannot be read"), "{error}");
    for (name, text) in [("token", "t"), ("ca.crt", "pem"), ("namespace", "shop\n")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let config = in_cluster::in_cluster(&Overrides::new(), &surroundings).unwrap();
    assert_eq!(config.server().to_string(), "https://[fd00::1]:443/");
    assert_eq!(config.namespace(), "shop");
    assert_eq!(config.credentials(), &Credentials::TokenFile(folder.path().join("token")));
    assert_eq!(config.tls().ca, Some(Pem::File(folder.path().join("ca.crt"))));
    let named = [&variables[..], &[("POD_NAMESPACE", "other")]].concat();
    assert_eq!(
        in_cluster::in_cluster(&Overrides::new(), &environment(&named, folder.path())).unwrap().namespace(),
        "other"
    );
    let error =
        in_cluster::in_cluster(&Overrides::new(), &environment(&[], folder.path())).unwrap_err().to_string();
    assert_eq!(
        error,
        "in-cluster configuration: $KUBERNETES_SERVICE_HOST is not set, so this is no pod; use a kubeconfig"
    );
}

#[test]
fn the_surroundings_are_asked_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir_all(home.join(".kube")).unwrap();
    let kubeconfig = |server: &str| {
        format!(
            "current-context: c\ncontexts: [{{name: c, context: {{cluster: k}}}}]\n\
             clusters: [{{name: k, cluster: {{server: 'https://{server}'}}}}]\n"
        )
    };
    std::fs::write(folder.path().join("token"), "t").unwrap();
    let (named, home_text) = (folder.path().join("named"), home.to_str().unwrap());
    let pod = [("KUBERNETES_SERVICE_HOST", "pod"), ("KUBERNETES_SERVICE_PORT", "443")];
    let list = format!("{}:{}:", named.display(), named.display());
    let server = |variables: &[(&str, &str)]| {
        in_cluster::from_environment(&Overrides::new(), &environment(variables, folder.path()))
            .map(|config| config.server().host().unwrap().to_owned())
            .map_err(|error| error.to_string())
    };
    let nothing = server(&[("HOME", home_text)]).unwrap_err();
    assert!(
        nothing.starts_with("no Kubernetes configuration found: no kubeconfig with contents ("),
        "{nothing}"
    );
    assert!(nothing.contains(".kube/config") && nothing.contains("set $KUBECONFIG"), "{nothing}");
    assert_eq!(server(&[&[("HOME", home_text)], &pod[..]].concat()).unwrap(), "pod");
    std::fs::write(home.join(".kube/config"), kubeconfig("home")).unwrap();
    assert_eq!(server(&[&[("HOME", home_text)], &pod[..]].concat()).unwrap(), "home");
    // The named file is not there: what it should say is not taken from elsewhere but from the pod.
    let with_list = [&[("HOME", home_text), ("KUBECONFIG", &list)], &pod[..]].concat();
    assert_eq!(server(&with_list).unwrap(), "pod");
    std::fs::write(&named, kubeconfig("named")).unwrap();
    assert_eq!(server(&with_list).unwrap(), "named");
}

#[test]
fn in_a_pod_overrides_hold_too() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "t").unwrap();
    let pod =
        [("KUBERNETES_SERVICE_HOST", "pod"), ("KUBERNETES_SERVICE_PORT", "443"), ("POD_NAMESPACE", "shop")];
    let of = |overrides: &Overrides| {
        in_cluster::from_environment(overrides, &environment(&pod, folder.path())).unwrap()
    };
    let settings = ClusterSettings::new()
        .with_ca_file("mine.crt")
        .with_tls_server_name("kubernetes.default")
        .with_proxy_url("http://proxy:3128")
        .without_compression();
    let config = of(&Overrides::new()
        .with_namespace("test")
        .with_credentials(Credentials::Token("mine".into()))
        .with_client_certificate_files("c", "k")
        .with_impersonation(Impersonation::user("bob"))
        .with_cluster_settings(settings)
        .with_timeout(Duration::from_secs(7)));
    assert_eq!((config.server().host(), config.namespace()), (Some("pod"), "test"));
    assert_eq!(config.credentials(), &Credentials::Token("mine".into()));
    assert_eq!(config.tls.ca, Some(Pem::File("mine.crt".into())));
    assert_eq!(config.tls.client, Some((Pem::File("c".into()), Pem::File("k".into()))));
    assert_eq!(config.tls.server_name.as_deref(), Some("kubernetes.default"));
    assert_eq!((config.gzip, config.timeouts.request), (Gzip::Never, Some(Duration::from_secs(7))));
    assert!(matches!(&config.proxy, Proxy::Url(url) if url.host() == Some("proxy")));
    assert_eq!(config.impersonation, Some(Impersonation::user("bob")));
    let defaults = ClusterSettings::new().with_server("http://localhost:8080");
    let with_defaults = of(&Overrides::new().with_cluster_defaults(defaults.clone()));
    assert_eq!(with_defaults.server().host(), Some("pod"), "defaults come last");
    let elsewhere = of(&Overrides::new().with_cluster_settings(defaults.clone()));
    assert_eq!(elsewhere.server().host(), Some("localhost"));
    assert_eq!(elsewhere.credentials(), &Credentials::None, "the pod's token is not for another server");
    // A user or context that is meant to be in a kubeconfig is not the service account.
    for (overrides, expected) in [
        (Overrides::new().with_user("readonly"), "kubeconfig: there is no user `readonly`; there are none"),
        (Overrides::new().with_context("prod"), "kubeconfig: there is no context `prod`; there are none"),
        (Overrides::new().with_cluster("prod"), "kubeconfig: there is no cluster `prod`; there are none"),
    ] {
        let error = in_cluster::from_environment(&overrides, &environment(&pod, folder.path())).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let nowhere = environment(&[], folder.path());
    let config = in_cluster::from_environment(&Overrides::new().with_cluster_defaults(defaults), &nowhere);
    assert_eq!(config.unwrap().server().host(), Some("localhost"));
}

#[test]
fn a_kubeconfig_without_a_current_context_leaves_the_choice_to_the_pod() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let text = "contexts: [{name: c, context: {cluster: k}}]\nclusters: [{name: k, cluster: {server: 'https://named'}}]";
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("token"), "t").unwrap();
    let kubeconfig = [("KUBECONFIG", path.to_str().unwrap())];
    let pod =
        [&kubeconfig[..], &[("KUBERNETES_SERVICE_HOST", "pod"), ("KUBERNETES_SERVICE_PORT", "443")]].concat();
    let of = |variables: &[(&str, &str)], context: &str| {
        let overrides = Overrides::new().with_context(context);
        in_cluster::from_environment(&overrides, &environment(variables, folder.path()))
            .map(|config| config.server().host().unwrap().to_owned())
            .map_err(|error| error.to_string())
    };
    assert_eq!(of(&pod, "").unwrap(), "pod");
    assert_eq!(of(&pod, "c").unwrap(), "named");
    assert!(of(&pod, "other").unwrap_err().contains("there is no context `other`"));
    assert!(of(&kubeconfig, "").unwrap_err().contains("current-context is not set; there are: c"));
}

#[test]
fn in_a_pod_a_home_folder_that_cannot_be_read_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "t").unwrap();
    // Below a file nothing can be looked for, not even by root.
    let home = folder.path().join("token").display().to_string();
    let pod = [("KUBERNETES_SERVICE_HOST", "pod"), ("KUBERNETES_SERVICE_PORT", "443")];
    let of = |overrides: &Overrides, variables: &[&[(&str, &str)]]| {
        in_cluster::from_environment(overrides, &environment(&variables.concat(), folder.path()))
            .map(|config| config.server().host().unwrap().to_owned())
            .map_err(|error| error.to_string())
    };
    let log = Log::default();
    // With a single subscriber, tracing asks that of the thread which happens to come first to a log line.
    let _second = tracing::Dispatch::new(Log::default());
    let _guard = tracing::subscriber::set_default(log.clone());
    let in_home = [("HOME", home.as_str())];
    assert_eq!(of(&Overrides::new(), &[&pod, &in_home]).unwrap(), "pod");
    assert_eq!(
        log.0.lock().iter().filter(|said| said.contains("cannot be read; going on without it")).count(),
        1
    );
    let file = format!("{home}/.kube/config");
    let named = [("KUBECONFIG", file.as_str())];
    let context = Overrides::new().with_context("prod");
    for (overrides, variables) in [
        (&Overrides::new(), [&pod[..], &named]),
        (&context, [&pod[..], &in_home]),
        (&Overrides::new(), [&[], &in_home]),
    ] {
        let error = of(overrides, &variables).unwrap_err();
        assert_eq!(error, format!("{file}: the kubeconfig file cannot be read"), "{variables:?}");
    }
}

#[test]
fn files_that_are_all_missing_are_worth_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there");
    std::fs::write(&there, "").unwrap();
    let (missing, there) = (folder.path().join("missing"), there.display().to_string());
    let both = format!("{}:{there}", missing.display());
    let log = Log::default();
    // With a single subscriber, tracing asks that of the thread which happens to come first to a log line.
    let _second = tracing::Dispatch::new(Log::default());
    let _guard = tracing::subscriber::set_default(log.clone());
    for (kubeconfig, expected) in [(both.as_str(), 0), (missing.to_str().unwrap(), 1), ("", 0)] {
        log.0.lock().clear();
        let variables = [("KUBECONFIG", kubeconfig), ("HOME", "/nowhere")];
        let _ = in_cluster::from_environment(&Overrides::new(), &environment(&variables, folder.path()));
        let warnings =
            log.0.lock().iter().filter(|said| said.contains("none of the files in $KUBECONFIG")).count();
        assert_eq!(warnings, expected, "{kubeconfig}");
    }
}

/// Keeps the messages of the log.
#[derive(Clone, Debug, Default)]
struct Log(std::sync::Arc<parking_lot::Mutex<Vec<String>>>);

impl tracing::field::Visit for Log {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0.lock().push(format!("{value:?}"));
        }
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn the_variables_of_client_go_mean_the_same() {
    let of = |variables: &[(&str, &str)]| Http2::from_environment(&environment(variables, Path::new("")));
    assert_eq!(of(&[]), Http2::default());
    assert!(!of(&[("DISABLE_HTTP2", "false")]).enabled, "any value turns it off");
    let set = of(&[("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "2"), ("HTTP2_PING_TIMEOUT_SECONDS", "1")]);
    assert_eq!((set.ping_interval, set.ping_timeout), (Some(Duration::from_secs(2)), Duration::from_secs(1)));
    assert_eq!(of(&[("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "0")]).ping_interval, None);
    assert_eq!(of(&[("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "soon")]), Http2::default());
}
