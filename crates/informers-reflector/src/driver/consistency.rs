//! Comparing a streaming list with an ordinary one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use informers_core::{
    Change, ChangeKind, Error, ErrorKind, Item, ListParams, ListWatch, ObjectKey, ResourceVersion, Uid,
    VersionMatch,
};
use informers_pager::Pager;
use tokio_util::sync::CancellationToken;

use super::waits::bounded;
use super::{Observer, Stop, now};

/// How often the list is asked for, and how long is waited in between.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);
/// So many objects are named in a report.
const NAMED: usize = 5;

/// What a streaming list brought.
#[derive(Default)]
pub(super) struct Streamed(HashMap<ObjectKey, (Uid, ResourceVersion)>);

impl Streamed {
    pub(super) fn note<T>(&mut self, change: &Change<T>) {
        let Some((key, identity)) = identity(&change.item) else { return };
        match change.kind {
            ChangeKind::Deleted => self.0.remove(&key),
            _ => self.0.insert(key, identity),
        };
    }

    /// Reads the list of exactly this version and reports what differs.
    pub(super) async fn compare<T: Send + Sync + 'static>(
        mut self,
        list_watch: &Arc<dyn ListWatch<T>>,
        version: ResourceVersion,
        observer: &Observer,
        cancel: &CancellationToken,
    ) -> Result<(), Stop> {
        if !version.is_specific() {
            return Ok(());
        }
        let params = ListParams::first(version).with_version_match(VersionMatch::Exact);
        let pager = Pager::new();
        for attempt in 1..=ATTEMPTS {
            let list = pager.list(list_watch, params.clone(), cancel);
            match bounded(list, cancel, None).await? {
                Some(Ok(list)) => {
                    let mut differing = Vec::new();
                    for (key, identity) in list.items.iter().filter_map(identity) {
                        if self.0.remove(&key).is_none_or(|streamed| streamed != identity) {
                            differing.push(key);
                        }
                    }
                    differing.extend(self.0.into_keys());
                    if !differing.is_empty() {
                        observer.failed(&report(&list_watch.description(), differing));
                    }
                    return Ok(());
                }
                _ if attempt < ATTEMPTS => {
                    bounded(std::future::pending::<()>(), cancel, Some(now() + PAUSE)).await?;
                }
                _ => observer.debug("the streaming list could not be compared with a list of its version"),
            }
        }
        Ok(())
    }
}

fn identity<T>(item: &Item<T>) -> Option<(ObjectKey, (Uid, ResourceVersion))> {
    let uid = match item {
        Item::Decoded(entry) => entry.uid(),
        Item::Undecodable(undecodable) => undecodable.uid(),
    };
    Some((item.key()?.clone(), (uid.clone(), item.version().clone())))
}

fn report(description: &str, mut differing: Vec<ObjectKey>) -> Error {
    differing.sort();
    let named: Vec<_> = differing.iter().take(NAMED).map(ToString::to_string).collect();
    let more = if differing.len() > NAMED { ", …" } else { "" };
    let message = format!(
        "{} objects differ between the streaming list and a list of the same version: {}{more}",
        differing.len(),
        named.join(", ")
    );
    Error::new(ErrorKind::UnexpectedAnswer, format!("check {description}")).with_message(message)
}
