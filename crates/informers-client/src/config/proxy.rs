//! Which proxy stands between client and server.

use std::fmt;

use http::Uri;

use crate::ClientError;

/// The proxy to go through.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proxy {
    /// As `HTTPS_PROXY` (or `HTTP_PROXY` for servers without TLS), `ALL_PROXY` and `NO_PROXY` say, in upper or
    /// lower case; `NO_PROXY` may have domains, addresses and CIDR ranges. A server on this machine is never
    /// reached through it.
    #[default]
    Environment,
    /// None.
    None,
    /// This one: scheme `http`, `https`, `socks5` or `socks5h`, with user and password if it wants them.
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
