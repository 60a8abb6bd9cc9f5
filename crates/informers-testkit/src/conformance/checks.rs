//! The checks.

use std::sync::Arc;
use std::time::Duration;

use informers_core::{ListParams, ListWatch, ResourceVersion, VersionMatch, WatchParams};

use super::reading::{Seen, Watched, page, try_page, watch_error};
use super::{Finding, Playground, Violation, ensure};

const WATCH_TIMEOUT: Duration = Duration::from_secs(300);
/// Every object of a check has this label, whose value is the check's own.
const LABEL: &str = "conformance";

/// What a check works with: objects and label of its own.
struct Ground<'a, T> {
    playground: &'a dyn Playground<T>,
    /// The value of the label, and the beginning of all names.
    mark: &'static str,
}

impl<T: Send + Sync + 'static> Ground<'_, T> {
    fn name(&self, name: &str) -> String {
        format!("{}-{name}", self.mark)
    }

    async fn put(&self, name: &str) -> Result<(), Finding> {
        self.put_labelled(name, &[]).await
    }

    async fn put_labelled(&self, name: &str, labels: &[(&str, &str)]) -> Result<(), Finding> {
        let mut all = vec![(LABEL, self.mark)];
        all.extend_from_slice(labels);
        let put = self.playground.put(&self.name(name), &all).await;
        put.map_err(|error| Finding::of(&format!("put {name}"), error))
    }

    async fn delete(&self, name: &str) -> Result<(), Finding> {
        let deleted = self.playground.delete(&self.name(name)).await;
        deleted.map_err(|error| Finding::of(&format!("delete {name}"), error))
    }

    fn list_watch(&self, more: &str) -> Result<Arc<dyn ListWatch<T>>, Finding> {
        let labels = format!("{LABEL}={}{more}", self.mark);
        self.playground.list_watch(&labels).map_err(|error| Finding::of("make the list-watch", error))
    }

    /// What `names` are called in full, in order.
    fn names(&self, names: &[&str]) -> Vec<String> {
        names.iter().map(|name| self.name(name)).collect()
    }

    /// Texts such as `Added a` with the name in full.
    fn texts(&self, texts: &[&str]) -> Vec<String> {
        let full = |text: &str| match text.split_once(' ') {
            Some((kind, name)) => format!("{kind} {}", self.name(name)),
            None => text.to_owned(),
        };
        texts.iter().map(|text| full(text)).collect()
    }

    /// Deletes what the check made, gives its finding a name.
    async fn finish<R>(
        self,
        check: &'static str,
        names: &[&str],
        outcome: Result<R, Finding>,
    ) -> Result<R, Violation> {
        let mut outcome = outcome;
        for name in names {
            if let (Err(finding), true) = (self.delete(name).await, outcome.is_ok()) {
                outcome = Err(finding);
            }
        }
        outcome.map_err(|Finding { problem, source }| Violation { check, problem, source })
    }
}

fn names_of(items: &[(String, ResourceVersion)]) -> Vec<String> {
    items.iter().map(|(name, _)| name.clone()).collect()
}

fn equal<V: PartialEq + std::fmt::Debug>(what: &str, found: &V, wanted: &V) -> Result<(), Finding> {
    ensure(found == wanted, || format!("{what}: found {found:?}, wanted {wanted:?}"))
}

fn newest() -> ListParams {
    ListParams::first(ResourceVersion::default())
}

fn watch_from(version: &ResourceVersion) -> WatchParams {
    WatchParams::from_version(version.clone(), WATCH_TIMEOUT)
}

/// A list has every object once, each with name, uid and version, and a version of its own from which a watch
/// is silent until something changes.
///
/// # Errors
/// If the list-watch does not do so.
pub async fn lists_are_complete<T: Send + Sync + 'static>(
    playground: &dyn Playground<T>,
) -> Result<(), Violation> {
    let ground = Ground { playground, mark: "complete" };
    let outcome = async {
        let list_watch = ground.list_watch("")?;
        let (items, trailer) = page(&*list_watch, newest()).await?;
        equal("the empty collection", &names_of(&items), &Vec::new())?;
        ensure(trailer.continue_token.is_none(), || "an empty list has a continue token".to_owned())?;
        for name in ["b", "a", "c"] {
            ground.put(name).await?;
        }
        let (items, trailer) = page(&*list_watch, newest()).await?;
        equal("the list", &names_of(&items), &ground.names(&["a", "b", "c"]))?;
        let mut watch = Watched::open(&*list_watch, watch_from(&trailer.version)).await?;
        ground.put("b").await?;
        equal("the first event", &watch.take(1).await?, &ground.texts(&["Modified b"]))
    }
    .await;
    ground.finish("lists are complete", &["a", "b", "c"], outcome).await
}

/// The pages of a list show one state, whatever happens between them.
///
/// # Errors
/// If the list-watch does not do so.
pub async fn pages_are_one_snapshot<T: Send + Sync + 'static>(
    playground: &dyn Playground<T>,
) -> Result<(), Violation> {
    let ground = Ground { playground, mark: "pages" };
    let outcome = async {
        let list_watch = ground.list_watch("")?;
        for name in ["a", "b", "c", "d", "e"] {
            ground.put(name).await?;
        }
        let first = newest().with_limit(2);
        let (mut items, trailer) = page(&*list_watch, first.clone()).await?;
        equal("the first page", &names_of(&items), &ground.names(&["a", "b"]))?;
        ground.delete("d").await?;
        ground.put("bb").await?;
        ground.put("e").await?;
        let mut token = trailer.continue_token.clone();
        while let Some(next) = token {
            let (more, following) = page(&*list_watch, first.following(next)).await?;
            ensure(more.len() <= 2, || format!("a page of {} items, where 2 were the limit", more.len()))?;
            equal("the version of a page", &following.version, &trailer.version)?;
            items.extend(more);
            token = following.continue_token;
        }
        equal("all pages", &names_of(&items), &ground.names(&["a", "b", "c", "d", "e"]))?;
        let mut watch = Watched::open(&*list_watch, watch_from(&trailer.version)).await?;
        let events = watch.take(3).await?;
        equal(
            "the changes since the first page",
            &events,
            &ground.texts(&["Deleted d", "Added bb", "Modified e"]),
        )
    }
    .await;
    ground.finish("pages are one snapshot", &["a", "b", "bb", "c", "d", "e"], outcome).await
}

/// A watch tells what happened after its version, each change once, and can be resumed after any event.
///
/// # Errors
/// If the list-watch does not do so.
pub async fn watches_resume<T: Send + Sync + 'static>(
    playground: &dyn Playground<T>,
) -> Result<(), Violation> {
    let ground = Ground { playground, mark: "resume" };
    let outcome = async {
        let list_watch = ground.list_watch("")?;
        ground.put("a").await?;
        let (_, trailer) = page(&*list_watch, newest()).await?;
        ground.put("b").await?;
        ground.put("a").await?;
        ground.delete("b").await?;
        ground.put("b").await?;
        let wanted = ground.texts(&["Added b", "Modified a", "Deleted b", "Added b"]);
        let mut watch = Watched::open(&*list_watch, watch_from(&trailer.version)).await?;
        let mut events = Vec::new();
        for _ in 0..wanted.len() {
            events.push(watch.next().await?);
        }
        equal("the changes", &events.iter().map(Seen::text).collect(), &wanted)?;
        // Had a change been told twice, it would come before this one.
        ground.put("end").await?;
        equal("the last change", &watch.take(1).await?, &ground.texts(&["Added end"]))?;
        for (at, event) in events.iter().enumerate().take(wanted.len() - 1) {
            let Seen::Change { version, .. } = event else { continue };
            let mut watch = Watched::open(&*list_watch, watch_from(version)).await?;
            let rest = watch.take(wanted.len() - at - 1).await?;
            equal("the changes after a resumption", &rest, &wanted[at + 1..].to_vec())?;
        }
        Ok(())
    }
    .await;
    ground.finish("watches resume", &["a", "b", "end"], outcome).await
}

/// The changes of an object arrive in the order in which they were made, with rising versions.
///
/// # Errors
/// If the list-watch does not do so.
pub async fn changes_arrive_in_order<T: Send + Sync + 'static>(
    playground: &dyn Playground<T>,
) -> Result<(), Violation> {
    const CHANGES: usize = 50;
    let ground = Ground { playground, mark: "order" };
    let outcome = async {
        let list_watch = ground.list_watch("")?;
        let (_, trailer) = page(&*list_watch, newest()).await?;
        let mut watch = Watched::open(&*list_watch, watch_from(&trailer.version)).await?;
        for _ in 0..CHANGES {
            ground.put("a").await?;
        }
        let mut last = trailer.version;
        for _ in 0..CHANGES {
            let Seen::Change { version, .. } = watch.next().await? else {
                return Err(Finding::new("a mark of initial events in a watch that has none"));
            };
            ensure(last.compare(&version) != Some(std::cmp::Ordering::Greater) && last != version, || {
                format!("version {version} came after {last}")
            })?;
            last = version;
        }
        let (items, _) = page(&*list_watch, newest()).await?;
        equal("the final version", &items.first().map(|(_, version)| version.clone()), &Some(last))
    }
    .await;
    ground.finish("changes arrive in order", &["a"], outcome).await
}

/// A streaming list tells the present state, marks its end, and goes on with the changes. Left out where the
/// list-watch says that it cannot serve one.
///
/// # Errors
/// If the list-watch does not do so.
pub async fn streaming_lists_end_with_a_bookmark<T: Send + Sync + 'static>(
    playground: &dyn Playground<T>,
) -> Result<(), Violation> {
    let ground = Ground { playground, mark: "streaming" };
    let outcome = async {
        let list_watch = ground.list_watch("")?;
        if !list_watch.supports_streaming_list() {
            return Ok(());
        }
        for name in ["a", "b"] {
            ground.put(name).await?;
        }
        let params = WatchParams::streaming_list(ResourceVersion::default(), WATCH_TIMEOUT);
        let mut watch = Watched::open(&*list_watch, params).await?;
        let mut initial = watch.take(2).await?;
        initial.sort();
        equal("the initial events", &initial, &ground.texts(&["Added a", "Added b"]))?;
        let Seen::InitialEventsEnd(version) = watch.next().await? else {
            return Err(Finding::new("the initial events have no marked end"));
        };
        ground.delete("a").await?;
        ground.put("end").await?;
        equal("the changes", &watch.take(2).await?, &ground.texts(&["Deleted a", "Added end"]))?;
        let mut watch = Watched::open(&*list_watch, watch_from(&version)).await?;
        equal("the changes after the mark", &watch.take(1).await?, &ground.texts(&["Deleted a"]))
    }
    .await;
    ground.finish("streaming lists end with a bookmark", &["a", "b", "end"], outcome).await
}

/// An object that moves into a selection is told as added, one that moves out as deleted.
///
/// # Errors
/// If the list-watch does not do so.
pub async fn selections_have_borders<T: Send + Sync + 'static>(
    playground: &dyn Playground<T>,
) -> Result<(), Violation> {
    let ground = Ground { playground, mark: "borders" };
    let outcome = async {
        let selected = ground.list_watch(",side=in")?;
        ground.put_labelled("a", &[("side", "out")]).await?;
        let (items, trailer) = page(&*selected, newest()).await?;
        equal("the list", &names_of(&items), &Vec::new())?;
        let mut watch = Watched::open(&*selected, watch_from(&trailer.version)).await?;
        for side in ["out", "in", "in", "out", "in"] {
            ground.put_labelled("a", &[("side", side)]).await?;
        }
        ground.delete("a").await?;
        let wanted = ["Added a", "Modified a", "Deleted a", "Added a", "Deleted a"];
        equal("the events", &watch.take(wanted.len()).await?, &ground.texts(&wanted))
    }
    .await;
    ground.finish("selections have borders", &["a"], outcome).await
}

/// A list that must not be older than a version from the future fails as such.
///
/// # Errors
/// If the list-watch does not do so.
pub async fn future_versions_are_too_large<T: Send + Sync + 'static>(
    playground: &dyn Playground<T>,
) -> Result<(), Violation> {
    let ground = Ground { playground, mark: "future" };
    let outcome = async {
        let list_watch = ground.list_watch("")?;
        let (_, trailer) = page(&*list_watch, newest()).await?;
        let Some(now) = trailer.version.as_number() else {
            return Ok(());
        };
        let future =
            ListParams::first((now + 1_000_000).into()).with_version_match(VersionMatch::NotOlderThan);
        match try_page(&*list_watch, future).await? {
            Err(error) if error.is_too_large_resource_version() => Ok(()),
            Err(error) => Err(Finding::of("see that the version is too large", error)),
            Ok(_) => Err(Finding::new("a version from the future was served")),
        }
    }
    .await;
    ground.finish("future versions are too large", &[], outcome).await
}

/// A watch from an expired version, and a page after an expired token, fail as such. Gives false if the
/// playground cannot expire versions.
///
/// # Errors
/// If the list-watch does not do so.
pub async fn expired_versions_are_refused<T: Send + Sync + 'static>(
    playground: &dyn Playground<T>,
) -> Result<bool, Violation> {
    let ground = Ground { playground, mark: "expired" };
    let outcome = async {
        let list_watch = ground.list_watch("")?;
        for name in ["a", "b", "c"] {
            ground.put(name).await?;
        }
        let first = newest().with_limit(1);
        let (_, trailer) = page(&*list_watch, first.clone()).await?;
        ground.put("a").await?;
        if !playground.expire().await.map_err(|error| Finding::of("expire versions", error))? {
            return Ok(false);
        }
        let error = watch_error(&*list_watch, watch_from(&trailer.version)).await?;
        ensure(error.is_expired(), || format!("a watch from an expired version failed with: {error}"))?;
        let Some(token) = trailer.continue_token else {
            return Err(Finding::new("the first of three pages has no continue token"));
        };
        match try_page(&*list_watch, first.following(token)).await? {
            Err(error) if error.is_expired() => {}
            Err(error) => return Err(Finding::of("see that the token is expired", error)),
            Ok(_) => return Err(Finding::new("an expired token was served")),
        }
        let (items, trailer) = page(&*list_watch, newest()).await?;
        equal("a new list", &names_of(&items), &ground.names(&["a", "b", "c"]))?;
        let mut watch = Watched::open(&*list_watch, watch_from(&trailer.version)).await?;
        ground.put("b").await?;
        equal("the first event", &watch.take(1).await?, &ground.texts(&["Modified b"]))?;
        Ok(true)
    }
    .await;
    ground.finish("expired versions are refused", &["a", "b", "c"], outcome).await
}
