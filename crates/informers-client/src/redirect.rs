//! Where a redirect leads.

use http::{Response, StatusCode, Uri, header};

/// How many redirects are followed, as in Go.
pub(crate) const MAX: u32 = 10;

/// The target of a redirect, as a whole URL; none if this is no redirect that can be followed.
pub(crate) fn location<B>(
    response: &Response<B>,
    server: &Uri,
    other_host: Option<&Uri>,
    path: &str,
) -> Option<Uri> {
    let is_redirect = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    if !is_redirect {
        return None;
    }
    let place = response.headers().get(header::LOCATION)?.to_str().ok()?;
    let place = place.split('#').next().unwrap_or_default();
    let current = other_host.unwrap_or(server);
    let scheme = current.scheme_str().unwrap_or("http");
    let authority = current.authority()?.as_str();
    let whole = if place.contains("://") {
        place.to_owned()
    } else if let Some(rest) = place.strip_prefix("//") {
        format!("{scheme}://{rest}")
    } else if place.starts_with('/') {
        format!("{scheme}://{authority}{place}")
    } else {
        let path = path.split('?').next().unwrap_or_default();
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{place}")
    };
    let uri = without_user(whole.parse().ok()?)?;
    matches!(uri.scheme_str(), Some("http" | "https")).then_some(uri)
}

/// The URL without user name and password, which have no place in a `Host` header.
fn without_user(uri: Uri) -> Option<Uri> {
    let mut parts = uri.into_parts();
    let authority = parts.authority.take()?;
    parts.authority = Some(match authority.as_str().rsplit_once('@') {
        Some((_, host)) => host.parse().ok()?,
        None => authority,
    });
    Uri::from_parts(parts).ok()
}

/// Is this the same server: scheme, host and port?
pub(crate) fn same_host(a: &Uri, b: &Uri) -> bool {
    let port = |uri: &Uri| uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    a.scheme_str() == b.scheme_str() && host(a) == host(b) && port(a) == port(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(place: &str) -> Option<String> {
        let response = Response::builder().status(307).header("location", place).body(()).unwrap();
        let server = Uri::from_static("https://one:6443/prefix");
        location(&response, &server, None, "/prefix/api/v1/pods?limit=5").map(|uri| uri.to_string())
    }

    #[test]
    fn every_form_of_location_is_understood() {
        for (place, expected) in [
            ("/moved/pods?limit=5", Some("https://one:6443/moved/pods?limit=5")),
            ("//two/x", Some("https://two/x")),
            ("http://two:80/x#y", Some("http://two:80/x")),
            ("other?limit=5", Some("https://one:6443/prefix/api/v1/other?limit=5")),
            ("ftp://two/x", None),
        ] {
            assert_eq!(followed(place).as_deref(), expected, "{place}");
        }
    }

    #[test]
    fn a_user_in_a_location_is_dropped() {
        for (place, expected) in [
            ("https://bob:s3cret@two:6443/x?limit=5", Some("https://two:6443/x?limit=5")),
            ("//bob@two/x", Some("https://two/x")),
            ("https://bob@/x", None),
        ] {
            assert_eq!(followed(place).as_deref(), expected, "{place}");
        }
    }

    #[test]
    fn the_same_host_may_be_written_in_several_ways() {
        let same = |a: &'static str, b: &'static str| same_host(&Uri::from_static(a), &Uri::from_static(b));
        assert!(same("https://One/x", "https://one:443/y"));
        assert!(!same("https://one/x", "http://one/x"));
        assert!(!same("https://one:1/x", "https://one:2/x"));
        assert!(!same("https://one/x", "https://two/x"));
    }
}
