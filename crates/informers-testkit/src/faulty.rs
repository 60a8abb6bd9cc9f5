//! A list-watch in front of another, which breaks things.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use informers_core::{Error, ListParams, ListStart, ListStream, ListWatch, WatchParams, WatchStream};

use crate::world::lock;

/// Puts faults in front of any [`ListWatch`].
///
/// A clone is another handle to the same faults and the same list-watch.
///
/// ```
/// use informers_core::{ListParams, ListWatch};
/// use informers_testkit::{FakeListWatch, Faulty, FaultyCall, ListAnswer, Status, StreamFault};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let fake = FakeListWatch::<()>::new();
/// fake.on_list(ListAnswer::page("1", []));
/// let faulty = Faulty::new(fake);
/// let busy = Status::new(429, "slow down").with_retry_after(1).to_error("list pods");
/// faulty.inject(FaultyCall::FirstPage, StreamFault::Refuse(busy), 1);
///
/// assert!(faulty.list(ListParams::first("0".into())).await.is_err());
/// assert!(faulty.list(ListParams::first("0".into())).await.is_ok());
/// # }
/// ```
pub struct Faulty<T>(Arc<Inner<T>>);

struct Inner<T> {
    list_watch: Arc<dyn ListWatch<T>>,
    faults: Mutex<Planned>,
}

#[derive(Debug, Default)]
struct Planned {
    faults: Vec<(FaultyCall, StreamFault, usize)>,
    /// How many pages of the current list were asked for.
    pages: usize,
}

/// Which call meets a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultyCall {
    /// Any page of a list.
    List,
    /// A page without a continue token.
    FirstPage,
    /// The page of this number, counted from 1 since the last first page.
    Page(usize),
    /// A watch or streaming list.
    Watch,
    /// A watch that is no streaming list.
    PlainWatch,
    /// A streaming list.
    StreamingList,
}

/// What goes wrong with a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StreamFault {
    /// It fails at once, such as with 410 or 429, and nothing is asked for.
    Refuse(Error),
    /// It waits before it is begun.
    Delay(Duration),
    /// It is never answered, and nothing is asked for.
    Stall,
    /// After this many parts or batches nothing more comes, and it does not end.
    StallAfter(usize),
    /// After this many parts or batches it ends as if all had come.
    CutAfter(usize),
    /// After this many parts or batches it fails.
    BreakAfter(usize, Error),
    /// A watch tells each batch of events twice. Does nothing to lists.
    Duplicate,
}

impl<T: 'static> Faulty<T> {
    /// Nothing goes wrong yet.
    pub fn new(list_watch: impl ListWatch<T>) -> Self {
        Self::over(Arc::new(list_watch))
    }

    /// As [`new`](Self::new), of one that is shared.
    #[must_use]
    pub fn over(list_watch: Arc<dyn ListWatch<T>>) -> Self {
        Self(Arc::new(Inner { list_watch, faults: Mutex::default() }))
    }

    /// Lets the next `times` such calls meet this fault. Faults are tried in the order in which they were
    /// given, and a call meets one.
    pub fn inject(&self, call: FaultyCall, fault: StreamFault, times: usize) {
        if times > 0 {
            lock(&self.0.faults).faults.push((call, fault, times));
        }
    }

    /// Takes back all faults that have not happened yet.
    pub fn clear(&self) {
        lock(&self.0.faults).faults.clear();
    }

    fn take(planned: &mut Planned, meant: impl Fn(FaultyCall) -> bool) -> Option<StreamFault> {
        let at = planned.faults.iter().position(|(call, ..)| meant(*call))?;
        let (_, fault, left) = &mut planned.faults[at];
        let fault = fault.clone();
        *left -= 1;
        if *left == 0 {
            planned.faults.remove(at);
        }
        Some(fault)
    }
}

/// What is left of a fault once the call itself goes through.
async fn before(fault: Option<StreamFault>) -> Result<Option<StreamFault>, Error> {
    match fault {
        Some(StreamFault::Refuse(error)) => Err(error),
        Some(StreamFault::Stall) => std::future::pending().await,
        Some(StreamFault::Delay(time)) => {
            tokio::time::sleep(time).await;
            Ok(None)
        }
        other => Ok(other),
    }
}

type Parts<P> = std::pin::Pin<Box<dyn futures_core::Stream<Item = Result<P, Error>> + Send>>;

fn during<P: Send + 'static>(parts: Parts<P>, fault: Option<StreamFault>) -> Parts<P> {
    match fault {
        Some(StreamFault::CutAfter(count)) => Box::pin(parts.take(count)),
        Some(StreamFault::StallAfter(count)) => Box::pin(parts.take(count).chain(stream::pending())),
        Some(StreamFault::BreakAfter(count, error)) => {
            let error = stream::once(std::future::ready(Err(error)));
            Box::pin(parts.take(count).chain(error))
        }
        _ => parts,
    }
}

#[async_trait]
impl<T: Send + Sync + 'static> ListWatch<T> for Faulty<T> {
    async fn list(&self, params: ListParams) -> Result<ListStream<T>, Error> {
        let first = matches!(params.start, ListStart::Version { .. });
        let fault = {
            let mut planned = lock(&self.0.faults);
            planned.pages = if first { 1 } else { planned.pages + 1 };
            let page = planned.pages;
            Self::take(&mut planned, |call| match call {
                FaultyCall::List => true,
                FaultyCall::FirstPage => first,
                FaultyCall::Page(number) => number == page,
                _ => false,
            })
        };
        let fault = before(fault).await?;
        Ok(during(self.0.list_watch.list(params).await?, fault))
    }

    async fn watch(&self, params: WatchParams) -> Result<WatchStream<T>, Error> {
        let streaming = params.send_initial_events;
        let fault = Self::take(&mut lock(&self.0.faults), |call| match call {
            FaultyCall::Watch => true,
            FaultyCall::PlainWatch => !streaming,
            FaultyCall::StreamingList => streaming,
            _ => false,
        });
        let fault = before(fault).await?;
        let events = self.0.list_watch.watch(params).await?;
        if matches!(fault, Some(StreamFault::Duplicate)) {
            let twice = events.flat_map(|batch| {
                let again = batch.as_ref().ok().cloned().map(Ok);
                stream::iter([Some(batch), again].into_iter().flatten())
            });
            return Ok(Box::pin(twice));
        }
        Ok(during(events, fault))
    }

    fn supports_streaming_list(&self) -> bool {
        self.0.list_watch.supports_streaming_list()
    }

    fn description(&self) -> String {
        self.0.list_watch.description()
    }
}

impl<T> Clone for Faulty<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Faulty<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Faulty").field(&*lock(&self.0.faults)).finish()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use informers_core::{Change, Entry, ErrorKind, ObjectKey};

    use super::*;
    use crate::{FakeListWatch, ListAnswer, WatchAnswer};

    fn error() -> Error {
        Error::new(ErrorKind::Expired, "test")
    }

    fn watch() -> WatchParams {
        WatchParams::from_version("1".into(), Duration::MAX)
    }

    fn watched() -> FakeListWatch<()> {
        let fake = FakeListWatch::new();
        let change = || [Change::added(Entry::keyed(ObjectKey::cluster("a"), ()))];
        fake.on_watch(WatchAnswer::open().events(change()).events(change()).end());
        fake
    }

    #[tokio::test(start_paused = true)]
    async fn the_second_page_can_expire() {
        let fake: FakeListWatch<()> = FakeListWatch::new();
        fake.on_list(ListAnswer::page("1", []).with_continue("more"));
        let faulty = Faulty::new(fake.clone());
        faulty.inject(FaultyCall::Page(2), StreamFault::Refuse(error()), 1);
        let first = ListParams::first("0".into());
        assert!(faulty.list(first.clone()).await.is_ok());
        assert!(faulty.list(first.following("more")).await.err().unwrap().is_expired());
        assert_eq!(fake.calls().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn watches_are_cut_broken_stalled_and_doubled() {
        let run = |fault: Option<StreamFault>| async {
            let faulty = Faulty::new(watched());
            if let Some(fault) = fault {
                faulty.inject(FaultyCall::PlainWatch, fault, 1);
            }
            faulty.watch(watch()).await
        };
        let count = |events: Vec<Result<_, Error>>| {
            (events.len(), events.iter().filter(|event| event.is_err()).count())
        };
        for (fault, outcome) in [
            (None, (2, 0)),
            (Some(StreamFault::CutAfter(1)), (1, 0)),
            (Some(StreamFault::BreakAfter(1, error())), (2, 1)),
            (Some(StreamFault::Duplicate), (4, 0)),
        ] {
            let events: Vec<_> = run(fault.clone()).await.unwrap().collect().await;
            assert_eq!(count(events), outcome, "{fault:?}");
        }
        let mut stalled = run(Some(StreamFault::StallAfter(1))).await.unwrap();
        assert!(stalled.next().await.is_some());
        assert!(stalled.next().now_or_never().is_none());
        assert!(run(Some(StreamFault::Stall)).now_or_never().is_none());
    }
}
