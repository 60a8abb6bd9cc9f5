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
    let error = in_cluster::in_cluster(&surroundings).unwrap_err().to_string();
    assert!(error.contains("token: the service account's token cannot be read"), "{error}");
    for (name, text) in [("token", "t"), ("ca.crt", "pem"), ("namespace", "shop\n")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let config = in_cluster::in_cluster(&surroundings).unwrap();
    assert_eq!(config.server().to_string(), "https://[fd00::1]:443/");
    assert_eq!(config.namespace(), "shop");
    assert_eq!(config.credentials(), &Credentials::TokenFile(folder.path().join("token")));
    assert_eq!(config.tls().ca, Some(Pem::File(folder.path().join("ca.crt"))));
    let named = [&variables[..], &[("POD_NAMESPACE", "other")]].concat();
    assert_eq!(in_cluster::in_cluster(&environment(&named, folder.path())).unwrap().namespace(), "other");
    let error = in_cluster::in_cluster(&environment(&[], folder.path())).unwrap_err().to_string();
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
        in_cluster::from_environment(&environment(variables, folder.path()))
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
fn the_variables_of_client_go_mean_the_same() {
    let of = |variables: &[(&str, &str)]| Http2::from_environment(&environment(variables, Path::new("")));
    assert_eq!(of(&[]), Http2::default());
    assert!(!of(&[("DISABLE_HTTP2", "false")]).enabled, "any value turns it off");
    let set = of(&[("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "2"), ("HTTP2_PING_TIMEOUT_SECONDS", "1")]);
    assert_eq!((set.ping_interval, set.ping_timeout), (Some(Duration::from_secs(2)), Duration::from_secs(1)));
    assert_eq!(of(&[("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "0")]).ping_interval, None);
    assert_eq!(of(&[("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "soon")]), Http2::default());
}
