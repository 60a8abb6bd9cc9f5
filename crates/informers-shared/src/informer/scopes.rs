//! Which parts of a resource make one view.

use informers_core::Scope;

use crate::Error;

/// Refuses what would be a wrong view: no part at all, or two whose lists would each delete what the other
/// brought.
pub(crate) fn check(informer: &str, scopes: &[&Scope]) -> Result<(), Error> {
    if scopes.is_empty() {
        return Err(Error::NoScope { informer: informer.to_owned() });
    }
    for (at, second) in scopes.iter().enumerate() {
        if let Some(first) = scopes[..at].iter().find(|first| share_a_namespace(first, second)) {
            let (first, second) = ((*first).clone(), (*second).clone());
            return Err(Error::OverlappingScopes { informer: informer.to_owned(), first, second });
        }
    }
    Ok(())
}

fn share_a_namespace(a: &Scope, b: &Scope) -> bool {
    match (a.namespace_name(), b.namespace_name()) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    }
}
