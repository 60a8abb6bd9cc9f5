//! Which proxy stands between client and server.

use std::fmt;

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use super::Environment;
use super::no_proxy::NoProxy;
use crate::ClientError;

/// The proxy to go through.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proxy {
    /// As `HTTPS_PROXY` (or `HTTP_PROXY` for servers without TLS), `ALL_PROXY` and `NO_PROXY` say, in upper or
    /// lower case; `NO_PROXY` may have domains, addresses (both with a port, if only that is meant) and CIDR
    /// ranges, which mean what they mean to client-go. A server on this machine is never reached through it.
    #[default]
    Environment,
    /// None.
    None,
    /// This one: scheme `http`, `https`, `socks5` or `socks5h`, with user and password if it wants them. To one
    /// with `https` the certificate authority of [`Tls`](crate::Tls) is trusted as well as the system's, and so
    /// is [`Tls::insecure`](crate::Tls::insecure) for both; it is never shown a client certificate.
    Url(Uri),
}

/// Shows the proxy's host, never its password.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => f.write_str("Environment"),
            Self::None => f.write_str("None"),
            Self::Url(uri) => write!(
                f,
                "Url({}://{})",
                uri.scheme_str().unwrap_or_default(),
                uri.host().unwrap_or_default()
            ),
        }
    }
}

/// The proxy that the environment names for a server, if it names one.
pub(crate) fn from_environment(environment: &Environment, server: &Uri) -> Option<Intercept> {
    let first = |names: [&str; 2]| names.iter().find_map(|name| environment.var(name)).unwrap_or_default();
    let default_port = if server.scheme_str() == Some("https") { 443 } else { 80 };
    let (host, port) = (server.host().unwrap_or_default(), server.port_u16().unwrap_or(default_port));
    if NoProxy::parse(&first(["NO_PROXY", "no_proxy"])).excepts(host, port) {
        return None;
    }
    // In a CGI program HTTP_PROXY may be a request's `Proxy` header; client-go does not take it there either.
    let http = match environment.var_os("REQUEST_METHOD") {
        Some(_) => environment.var("http_proxy").unwrap_or_default(),
        None => first(["HTTP_PROXY", "http_proxy"]),
    };
    let matcher = Matcher::builder()
        .all(first(["ALL_PROXY", "all_proxy"]))
        .http(http)
        .https(first(["HTTPS_PROXY", "https_proxy"]));
    matcher.build().intercept(server)
}

/// Reads a proxy's URL; `place` says where it stands.
pub(crate) fn parse(url: &str, place: &str) -> Result<Uri, ClientError> {
    let wrong = |problem| ClientError::configuration(place, problem);
    let uri: Uri = url
        .trim()
        .parse()
        .map_err(|error: http::uri::InvalidUri| wrong("the proxy's URL cannot be read").because(error))?;
    match uri.scheme_str() {
        Some("http" | "https" | "socks5" | "socks5h") if uri.host().is_some_and(|host| !host.is_empty()) => {
            Ok(uri)
        }
        Some("http" | "https" | "socks5" | "socks5h") => Err(wrong("the proxy's URL has no host")),
        _ => Err(wrong("the proxy's URL must begin with http://, https:// or socks5://")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], server: &str) -> Option<String> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        let environment =
            Environment::Fixed { variables: variables.collect(), service_account: Default::default() };
        let found = from_environment(&environment, &server.parse().unwrap());
        found.map(|found| found.uri().to_string())
    }

    #[test]
    fn the_environment_names_a_proxy_for_each_scheme() {
        let both = [("HTTPS_PROXY", "http://secure:3128"), ("http_proxy", "http://plain:3128")];
        assert_eq!(found(&both, "https://cluster:6443").as_deref(), Some("http://secure:3128/"));
        assert_eq!(found(&both, "http://cluster:8080").as_deref(), Some("http://plain:3128/"));
        assert_eq!(found(&both[..1], "http://cluster:8080"), None);
        let all = [("ALL_PROXY", "socks5://any:1080")];
        assert_eq!(found(&all, "https://cluster:6443").as_deref(), Some("socks5://any:1080/"));
        assert_eq!(found(&[], "https://cluster:6443"), None);
        let cgi = [("HTTP_PROXY", "http://attacker:1"), ("REQUEST_METHOD", "GET")];
        assert_eq!(found(&cgi, "http://cluster"), None);
    }

    #[test]
    fn no_proxy_has_domains_addresses_and_ranges() {
        let excluded = "10.0.0.0/8, fd00::/16,192.168.1.7:6443,.internal.example, exact.example";
        let variables = [("https_proxy", "http://proxy:3128"), ("no_proxy", excluded)];
        for (server, through_proxy) in [
            ("https://10.96.0.1:443", false),
            ("https://11.96.0.1:443", true),
            ("https://[fd00::1]:6443", false),
            ("https://192.168.1.7:6443", false),
            ("https://192.168.1.7", true),
            ("https://api.internal.example:6443", false),
            ("https://internal.example:6443", true),
            ("https://api.exact.example", false),
        ] {
            assert_eq!(found(&variables, server).is_some(), through_proxy, "{server}");
        }
        let none_at_all = [("HTTPS_PROXY", "http://proxy:3128"), ("NO_PROXY", "*")];
        assert_eq!(found(&none_at_all, "https://cluster:6443"), None);
    }
}
