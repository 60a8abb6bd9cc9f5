//! Up to which version a store of several scopes is known.

use std::cmp::Ordering;

use informers_core::{ObjectKey, ResourceVersion, Scope};

/// The version of each scope of an informer, and what they make of the whole.
///
/// Each scope is read by itself, so one may be far behind the others. Only the oldest of their versions says
/// something of all of them.
#[derive(Debug)]
pub(super) struct ScopeVersions(Vec<(Scope, ResourceVersion)>);

impl ScopeVersions {
    pub(super) fn new(scopes: impl IntoIterator<Item = Scope>) -> Self {
        Self(scopes.into_iter().map(|scope| (scope, ResourceVersion::default())).collect())
    }

    /// Whether there is anything to tell apart.
    pub(super) fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// A list or a bookmark tells of a scope, whatever was known of it before.
    pub(super) fn set(&mut self, scope: &Scope, version: &ResourceVersion) {
        for (_, known) in self.0.iter_mut().filter(|(own, _)| own == scope) {
            known.clone_from(version);
        }
    }

    /// A change of an object tells of the scope that it is in.
    pub(super) fn follow(&mut self, key: &ObjectKey, version: &ResourceVersion) {
        let is_in = |scope: &Scope| scope.namespace_name().is_none_or(|name| key.namespace() == Some(name));
        let Some((_, known)) = self.0.iter_mut().find(|(scope, _)| is_in(scope)) else { return };
        // Before its first list nothing is known of a scope, whatever is known of some of its objects.
        let is_news = !known.is_empty() && !version.is_empty();
        if is_news && version.compare(known) != Some(Ordering::Less) {
            known.clone_from(version);
        }
    }

    /// The oldest version; none while a scope has none, or if they cannot be compared.
    pub(super) fn oldest(&self) -> ResourceVersion {
        let mut versions = self.0.iter().map(|(_, version)| version);
        let Some(mut oldest) = versions.next() else { return ResourceVersion::default() };
        for version in versions {
            match version.compare(oldest) {
                Some(Ordering::Less) => oldest = version,
                Some(Ordering::Equal | Ordering::Greater) => {}
                None if version == oldest => {}
                None => return ResourceVersion::default(),
            }
        }
        oldest.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_counts_and_none_until_every_scope_has_one() {
        let (a, b) = (Scope::namespace("a"), Scope::namespace("b"));
        let mut versions = ScopeVersions::new([a.clone(), b.clone()]);
        versions.set(&a, &"90".into());
        versions.follow(&"b/x".parse().unwrap(), &"91".into());
        assert!(versions.oldest().is_empty(), "nothing is known of b yet");
        versions.set(&b, &"100".into());
        assert_eq!(versions.oldest(), "90".into());
        versions.follow(&"a/x".parse().unwrap(), &"101".into());
        assert_eq!(versions.oldest(), "100".into());
        versions.follow(&"b/x".parse().unwrap(), &"99".into());
        assert_eq!(versions.oldest(), "100".into(), "an object's own version may be older than the list");
        versions.follow(&"elsewhere/x".parse().unwrap(), &"7".into());
        versions.set(&b, &"80".into());
        assert_eq!(versions.oldest(), "80".into(), "a server that went back is believed");
    }

    #[test]
    fn versions_without_an_order_say_nothing_of_the_whole() {
        let (a, b) = (Scope::namespace("a"), Scope::namespace("b"));
        let mut versions = ScopeVersions::new([a.clone(), b.clone()]);
        versions.set(&a, &"x-1".into());
        versions.set(&b, &"x-1".into());
        assert_eq!(versions.oldest(), "x-1".into());
        versions.set(&b, &"x-2".into());
        assert!(versions.oldest().is_empty());
    }
}
