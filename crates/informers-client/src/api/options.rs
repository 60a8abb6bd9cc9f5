//! How an object is deleted.

use serde_json::{Value, json};

/// What happens to the objects that an object owns when it is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Propagation {
    /// They are deleted afterwards.
    Background,
    /// They are deleted first.
    Foreground,
    /// They stay, without an owner.
    Orphan,
}

/// How an object is deleted; by default as its resource has it.
///
/// ```
/// use informers_client::{DeleteOptions, Propagation};
///
/// let options = DeleteOptions::new()
///     .with_propagation(Propagation::Foreground)
///     .with_uid("0190a5a2-7a3c-7d4e-9f00-3b1f0c5d2e11");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    propagation: Option<Propagation>,
    grace_period_seconds: Option<u32>,
    uid: Option<String>,
    version: Option<String>,
}

impl DeleteOptions {
    /// As the resource has it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With this fate for owned objects.
    #[must_use]
    pub fn with_propagation(mut self, propagation: Propagation) -> Self {
        self.propagation = Some(propagation);
        self
    }

    /// With so many seconds to end in good order; 0 deletes at once.
    #[must_use]
    pub fn with_grace_period_seconds(mut self, seconds: u32) -> Self {
        self.grace_period_seconds = Some(seconds);
        self
    }

    /// Only this incarnation of the object: if another has its name by now, the request is refused
    /// ([`is_conflict`](crate::ClientError::is_conflict)).
    #[must_use]
    pub fn with_uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = Some(uid.into());
        self
    }

    /// Only in this version: if it was changed since, the request is refused.
    #[must_use]
    pub fn with_resource_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// A server does not look at the query of a deletion with a body, so a dry run must be in here.
    pub(crate) fn body(&self, dry_run: bool) -> Value {
        let mut body = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
        if dry_run {
            body["dryRun"] = json!(["All"]);
        }
        if let Some(propagation) = self.propagation {
            body["propagationPolicy"] = format!("{propagation:?}").into();
        }
        if let Some(seconds) = self.grace_period_seconds {
            body["gracePeriodSeconds"] = seconds.into();
        }
        if let Some(uid) = &self.uid {
            body["preconditions"]["uid"] = uid.as_str().into();
        }
        if let Some(version) = &self.version {
            body["preconditions"]["resourceVersion"] = version.as_str().into();
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_has_what_was_asked_for_and_no_more() {
        assert_eq!(DeleteOptions::new().body(false), json!({ "apiVersion": "v1", "kind": "DeleteOptions" }));
        let options = DeleteOptions::new()
            .with_propagation(Propagation::Orphan)
            .with_grace_period_seconds(0)
            .with_uid("u")
            .with_resource_version("7");
        assert_eq!(
            options.body(true),
            json!({
                "apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"], "propagationPolicy": "Orphan",
                "gracePeriodSeconds": 0, "preconditions": { "uid": "u", "resourceVersion": "7" }
            })
        );
    }
}
