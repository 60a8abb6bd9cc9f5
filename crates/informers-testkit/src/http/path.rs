//! What a request is about.

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Health,
    Version,
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/GROUP`
    Group(String),
    /// `/api/v1` or `/apis/GROUP/VERSION`
    Resources {
        group: String,
        version: String,
    },
    Resource(ResourcePath),
    /// `/openapi/v2`
    OpenApiV2,
    /// `/openapi/v3`
    OpenApiV3,
    /// `/openapi/v3/api/v1` or `/openapi/v3/apis/GROUP/VERSION`
    OpenApiDocument {
        group: String,
        version: String,
    },
    Unknown,
}

/// The parts of the path of a collection or an object; what is not there is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) plural: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
}

impl Route {
    pub(crate) fn parse(path: &str) -> Self {
        let segments: Vec<_> = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| decode(segment, false))
            .collect();
        let segments: Vec<_> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["healthz" | "livez" | "readyz", ..] => Self::Health,
            ["version"] => Self::Version,
            ["openapi", "v2"] => Self::OpenApiV2,
            ["openapi", "v3"] => Self::OpenApiV3,
            ["openapi", "v3", "api", version] => {
                Self::OpenApiDocument { group: String::new(), version: (*version).to_owned() }
            }
            ["openapi", "v3", "apis", group, version] => {
                Self::OpenApiDocument { group: (*group).to_owned(), version: (*version).to_owned() }
            }
            ["api"] => Self::CoreVersions,
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group((*group).to_owned()),
            ["api", version] => Self::Resources { group: String::new(), version: (*version).to_owned() },
            ["apis", group, version] => {
                Self::Resources { group: (*group).to_owned(), version: (*version).to_owned() }
            }
            ["api", version, rest @ ..] => Self::resource("", version, rest),
            ["apis", group, version, rest @ ..] => Self::resource(group, version, rest),
            _ => Self::Unknown,
        }
    }

    fn resource(group: &str, version: &str, rest: &[&str]) -> Self {
        let (namespace, rest) = match rest {
            // A namespace is an object itself, with subresources of its own.
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] if group.is_empty() => ("", rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            _ => ("", rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (*plural, "", String::new()),
            [plural, name] => (*plural, *name, String::new()),
            [plural, name, subresource @ ..] => (*plural, *name, subresource.join("/")),
            [] => return Self::Unknown,
        };
        Self::Resource(ResourcePath {
            group: group.to_owned(),
            version: version.to_owned(),
            namespace: namespace.to_owned(),
            plural: plural.to_owned(),
            name: name.to_owned(),
            subresource,
        })
    }
}

/// The parameters of a query, decoded.
pub(crate) fn query_pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name, true), decode(value, true))
    })
}

/// Percent-encodes all but what is safe in every part of a query.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Undoes percent encoding; what is not well-formed stays as it is.
fn decode(text: &str, plus_is_space: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    let digit = |byte: Option<&u8>| byte.and_then(|&byte| char::from(byte).to_digit(16));
    while let Some((&first, after)) = rest.split_first() {
        let escaped =
            (first == b'%').then(|| Some(digit(after.first())? * 16 + digit(after.get(1))?)).flatten();
        match escaped.and_then(|byte| u8::try_from(byte).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(if first == b'+' && plus_is_space { b' ' } else { first });
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str) -> [String; 6] {
        match Route::parse(path) {
            Route::Resource(r) => [r.group, r.version, r.namespace, r.plural, r.name, r.subresource],
            other => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn paths_of_resources() {
        for (path, parts) in [
            ("/api/v1/pods", ["", "v1", "", "pods", "", ""]),
            ("/api/v1/namespaces", ["", "v1", "", "namespaces", "", ""]),
            ("/api/v1/namespaces/shop", ["", "v1", "", "namespaces", "shop", ""]),
            ("/api/v1/namespaces/shop/status", ["", "v1", "", "namespaces", "shop", "status"]),
            ("/api/v1/namespaces/shop/pods", ["", "v1", "shop", "pods", "", ""]),
            ("/api/v1/namespaces/shop/pods/a/status", ["", "v1", "shop", "pods", "a", "status"]),
            ("/apis/apps/v1/namespaces/shop/deployments/a", ["apps", "v1", "shop", "deployments", "a", ""]),
            ("/apis/x.io/v1/namespaces/shop/status", ["x.io", "v1", "shop", "status", "", ""]),
            ("/api/v1/nodes/a%2Fb", ["", "v1", "", "nodes", "a/b", ""]),
        ] {
            assert_eq!(resource(path), parts, "{path}");
        }
    }

    #[test]
    fn queries_are_decoded() {
        let pairs: Vec<_> = query_pairs("labelSelector=a+in+%28b%2Cc%29&watch&x=%zz%").collect();
        let text: Vec<_> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(text, [("labelSelector", "a in (b,c)"), ("watch", ""), ("x", "%zz%")]);
    }
}
