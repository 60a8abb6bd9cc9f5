//! What the `Accept` header asks for.

use http::HeaderMap;
use http::header::ACCEPT;

use super::encode::Form;
use crate::Status;

/// How the client wants to see what it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepted {
    Objects(Form),
    Table(IncludeObject),
}

/// What stands beside the cells of a table's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IncludeObject {
    None,
    Metadata,
    Object,
}

impl IncludeObject {
    fn parse(text: &str) -> Result<Self, Status> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "None" => Ok(Self::None),
            "Object" => Ok(Self::Object),
            other => Err(Status::new(
                400,
                format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be \
                     'Metadata', 'Object', 'None', or empty"
                ),
            )),
        }
    }
}

/// One media type with its parameters.
struct Range<'a> {
    media_type: &'a str,
    parameters: Vec<&'a str>,
}

impl<'a> Range<'a> {
    fn is_json(&self) -> bool {
        matches!(self.media_type, "application/json" | "application/*" | "*/*" | "")
    }

    fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().find_map(|parameter| parameter.strip_prefix(name)?.strip_prefix('='))
    }

    fn is(&self, kind: &str, group: &str, version: &str) -> bool {
        self.parameter("as") == Some(kind)
            && self.parameter("g") == Some(group)
            && self.parameter("v") == Some(version)
    }
}

/// The media types of the header in the client's order; without a header that of anything.
fn ranges(headers: &HeaderMap) -> impl Iterator<Item = Range<'_>> {
    let mut given = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    let nothing = if given.peek().is_none() { Some("*/*") } else { None };
    given.chain(nothing).flat_map(|value| value.split(',')).map(|range| {
        let mut parts = range.split(';').map(str::trim);
        Range { media_type: parts.next().unwrap_or_default(), parameters: parts.collect() }
    })
}

impl Accepted {
    /// The first form of resources in the header that this server knows.
    pub(super) fn negotiate(headers: &HeaderMap, include_object: &str) -> Result<Self, Status> {
        for range in ranges(headers).filter(Range::is_json) {
            match range.parameter("as") {
                None => return Ok(Self::Objects(Form::Whole)),
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") => {
                    return Ok(Self::Objects(Form::Metadata));
                }
                Some(_) if range.is("Table", "meta.k8s.io", "v1") => {
                    return IncludeObject::parse(include_object).map(Self::Table);
                }
                Some(_) => {}
            }
        }
        let problem = "406: Not Acceptable\n\nAvailable representations: application/json, \
                       application/json;stream=watch";
        Err(Status::new(406, problem).with_details())
    }
}

/// The version of aggregated discovery that is asked for, none for the plain one.
pub(super) fn aggregated_discovery(headers: &HeaderMap) -> Option<&'static str> {
    for range in ranges(headers).filter(Range::is_json) {
        for version in ["v2", "v2beta1"] {
            if range.is("APIGroupDiscoveryList", "apidiscovery.k8s.io", version) {
                return Some(version);
            }
        }
        // Plain JSON is wanted more than what comes behind it.
        range.parameter("as")?;
    }
    None
}

/// Whether a protocol buffer of OpenAPI is asked for first.
pub(super) fn wants_protobuf(headers: &HeaderMap) -> bool {
    ranges(headers).next().is_some_and(|range| range.media_type.ends_with("+protobuf"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(text: &str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT, text.parse().unwrap())])
    }

    #[test]
    fn the_first_known_form_is_taken() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        for (text, wanted) in [
            ("application/json", Some(Accepted::Objects(Form::Whole))),
            ("application/vnd.kubernetes.protobuf,application/json", Some(Accepted::Objects(Form::Whole))),
            (&format!("{table},application/json"), Some(Accepted::Table(IncludeObject::Metadata))),
            ("application/json;as=Table;v=v1beta1;g=meta.k8s.io, */*", Some(Accepted::Objects(Form::Whole))),
            (
                "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
                Some(Accepted::Objects(Form::Metadata)),
            ),
            ("text/html", None),
        ] {
            assert_eq!(Accepted::negotiate(&headers(text), "").ok(), wanted, "{text}");
        }
        assert_eq!(Accepted::negotiate(&HeaderMap::new(), "").unwrap(), Accepted::Objects(Form::Whole));
        let none = Accepted::negotiate(&headers(table), "None").unwrap();
        assert_eq!(none, Accepted::Table(IncludeObject::None));
        assert_eq!(Accepted::negotiate(&headers(table), "Nope").unwrap_err().code(), 400);
    }

    #[test]
    fn discovery_is_aggregated_for_those_who_ask() {
        let version = |version: &str| {
            format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList")
        };
        for (text, wanted) in [
            (format!("{},{},application/json", version("v2"), version("v2beta1")), Some("v2")),
            (format!("{},application/json", version("v2beta1")), Some("v2beta1")),
            (format!("{},application/json", version("v9")), None),
            (format!("application/json,{}", version("v2")), None),
        ] {
            assert_eq!(aggregated_discovery(&headers(&text)), wanted, "{text}");
        }
    }
}
