//! Faults that the embedded server commits when told to.

use std::time::Duration;

use crate::Status;
use crate::request_log::{RequestRecord, Verb};

/// Which requests are meant. Everything that is not said matches.
///
/// ```
/// use informers_testkit::RequestMatch;
///
/// let second_pages = RequestMatch::list("pods").with_query("continue");
/// # let _ = second_pages;
/// ```
#[derive(Clone, Debug, Default)]
pub struct RequestMatch {
    verb: Option<Verb>,
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    query: Option<String>,
    path: Option<String>,
}

impl RequestMatch {
    /// Every request.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Lists of a resource, named by its plural.
    #[must_use]
    pub fn list(plural: &str) -> Self {
        Self::any().with_verb(Verb::List).with_resource(plural)
    }

    /// Watches of a resource, named by its plural.
    #[must_use]
    pub fn watch(plural: &str) -> Self {
        Self::any().with_verb(Verb::Watch).with_resource(plural)
    }

    /// Only requests of this verb.
    #[must_use]
    pub fn with_verb(mut self, verb: Verb) -> Self {
        self.verb = Some(verb);
        self
    }

    /// Only requests for a resource, named by its plural.
    #[must_use]
    pub fn with_resource(mut self, plural: &str) -> Self {
        self.resource = Some(plural.to_owned());
        self
    }

    /// Only requests for one namespace; the empty name stands for those for all namespaces.
    #[must_use]
    pub fn with_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Only requests for objects of this name.
    #[must_use]
    pub fn with_name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Only requests whose query has this text in it, such as `sendInitialEvents=true`.
    #[must_use]
    pub fn with_query(mut self, text: &str) -> Self {
        self.query = Some(text.to_owned());
        self
    }

    /// Only requests for paths that begin so, such as `/version`.
    #[must_use]
    pub fn with_path(mut self, prefix: &str) -> Self {
        self.path = Some(prefix.to_owned());
        self
    }

    pub(crate) fn matches(&self, request: &RequestRecord) -> bool {
        let same =
            |wanted: &Option<String>, given: &str| wanted.as_deref().is_none_or(|wanted| wanted == given);
        self.verb.is_none_or(|verb| request.verb() == Some(verb))
            && same(&self.resource, request.resource())
            && same(&self.namespace, request.namespace())
            && same(&self.name, request.name())
            && self.query.as_deref().is_none_or(|text| request.query().contains(text))
            && self.path.as_deref().is_none_or(|prefix| request.path().starts_with(prefix))
    }
}

/// What goes wrong with a request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// It is answered with this status, and nothing is done.
    Status(Status),
    /// It is answered later, by this much.
    Delay(Duration),
    /// Its connection is closed without an answer, together with all other requests on it.
    DropConnection,
    /// If it is a watch, it ends after this many frames, as if the server had ended it.
    CutAfter(usize),
}

impl From<Status> for Fault {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

/// The faults that wait for their requests.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Planned>);

#[derive(Debug)]
struct Planned {
    requests: RequestMatch,
    fault: Fault,
    /// How many requests it still meets.
    left: usize,
}

impl Faults {
    pub(crate) fn add(&mut self, requests: RequestMatch, fault: Fault, times: usize) {
        if times > 0 {
            self.0.push(Planned { requests, fault, left: times });
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// What goes wrong with this request: the first fault that matches, with the delays before it.
    pub(crate) fn take(&mut self, request: &RequestRecord) -> Vec<Fault> {
        let mut taken = Vec::new();
        for planned in &mut self.0 {
            if planned.requests.matches(request) {
                planned.left = planned.left.saturating_sub(1);
                taken.push(planned.fault.clone());
                if !matches!(planned.fault, Fault::Delay(_)) {
                    break;
                }
            }
        }
        self.0.retain(|planned| planned.left > 0);
        taken
    }
}
