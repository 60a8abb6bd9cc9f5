//! Reading a list in pages.

use futures_util::StreamExt;
use informers_core::{
    Change, Entry, Error, ErrorKind, Item, ListPart, ListTrailer, ListWatch, SinkError, Stage, Undecodable,
};
use tokio_util::sync::CancellationToken;

use super::waits::{bounded, stage_ready};
use super::{Observer, Reflector, Step, Stop, now};
use crate::Phase;
use crate::machine::{AfterPage, Listing, Memory, PageFailure};

/// How a page went.
enum PageRead {
    Whole {
        trailer: ListTrailer,
        /// The first refusal, where one spoils the list.
        refusal: Option<SinkError>,
    },
    /// Nothing of it was offered: `untouched`.
    Failed { error: Error, untouched: bool },
}

impl<T: Send + Sync + 'static> Reflector<T> {
    pub(super) async fn list(&mut self, mut listing: Listing, cancel: &CancellationToken) -> Step {
        let Self { list_watch, sink, scope, memory, resyncs, observer, .. } = self;
        resyncs.rest_unless(memory, false);
        observer.list_began(Phase::Listing);
        let began = now();
        let mut items = 0;
        let mut spoilt = None;
        let mut stage = sink.begin(scope);
        let list = loop {
            let page =
                read_page(&**list_watch, &mut *stage, &mut listing, memory, observer, cancel, &mut items);
            match page.await? {
                PageRead::Whole { trailer, refusal } => {
                    spoilt = spoilt.or(refusal);
                    match listing.page_ended(memory, &trailer, now()) {
                        AfterPage::NextPage(next) => listing = next,
                        AfterPage::Complete(list) => break list,
                        AfterPage::Dropped(next) => return Ok(next),
                    }
                }
                PageRead::Failed { error, untouched } => {
                    let reason = error.clone();
                    match listing.failed(memory, error, untouched, now()) {
                        PageFailure::SamePage(next, until) => {
                            observer.tell(memory);
                            observer.enter(Phase::Waiting { reason, until });
                            bounded(std::future::pending::<()>(), cancel, Some(until)).await?;
                            observer.enter(Phase::Listing);
                            listing = next;
                        }
                        PageFailure::Dropped(next) => return Ok(next),
                    }
                }
            }
        };
        let refusal = match spoilt {
            // It was reported when it happened.
            Some(refusal) => Some(refusal),
            None => match stage.commit(list.version()) {
                Ok(()) => None,
                Err(refusal) => {
                    observer.refused(&refusal)?;
                    Some(refusal)
                }
            },
        };
        if let Some(refusal) = refusal {
            let error = not_taken(&**list_watch, refusal);
            return Ok(list.refused(memory, error, now()));
        }
        let next = list.taken(memory, now());
        observer.list_taken(memory, items, began);
        resyncs.list_taken();
        Ok(next)
    }
}

async fn read_page<T: Send + Sync + 'static>(
    list_watch: &dyn ListWatch<T>,
    stage: &mut dyn Stage<T>,
    listing: &mut Listing,
    memory: &Memory,
    observer: &Observer,
    cancel: &CancellationToken,
    items: &mut u64,
) -> Result<PageRead, Stop> {
    let failed = |error, untouched| Ok(PageRead::Failed { error, untouched });
    let silent = || {
        Error::new(ErrorKind::Timeout, format!("list {}", list_watch.description()))
            .with_message("the server sent nothing for too long")
    };
    let parts = bounded(list_watch.list(listing.request().clone()), cancel, listing.deadline(memory)).await?;
    let mut parts = match parts {
        Some(Ok(parts)) => parts,
        Some(Err(error)) => return failed(error, true),
        None => return failed(silent(), true),
    };
    let mut untouched = true;
    let mut spoilt = None;
    loop {
        stage_ready(stage, cancel).await?;
        listing.part_arrived(now());
        let part = bounded(parts.next(), cancel, listing.deadline(memory)).await?;
        listing.part_arrived(now());
        match part {
            Some(Some(Ok(ListPart::Items(batch)))) => {
                observer.activity(memory);
                for item in batch {
                    untouched = false;
                    *items += 1;
                    match offer(stage, memory, observer, Change::added(item))? {
                        Ok(()) => {}
                        // client-go replaces when it has read the whole list.
                        Err(BadObject::Refused(refusal)) => spoilt = spoilt.or(Some(refusal)),
                        Err(BadObject::Undecodable(bad)) => {
                            return failed(undecodable(list_watch, bad), false);
                        }
                    }
                }
            }
            Some(Some(Ok(ListPart::Trailer(trailer)))) => {
                observer.activity(memory);
                return Ok(PageRead::Whole { trailer, refusal: spoilt });
            }
            Some(Some(Err(error))) => return failed(error, untouched),
            Some(None) => {
                let error =
                    Error::new(ErrorKind::UnexpectedAnswer, format!("list {}", list_watch.description()))
                        .with_message("the answer ended before the metadata of the list");
                return failed(error, untouched);
            }
            None => return failed(silent(), untouched),
        }
    }
}

/// Why client-go would give up a whole list for one object.
pub(super) enum BadObject {
    Undecodable(Undecodable),
    Refused(SinkError),
}

/// The error of a list with an object that cannot be decoded, under client-go's rules.
pub(super) fn undecodable<T: 'static>(list_watch: &dyn ListWatch<T>, bad: Undecodable) -> Error {
    Error::new(ErrorKind::Other, format!("list {}", list_watch.description()))
        .with_message("an object cannot be decoded")
        .with_source(bad)
}

/// Offers one object of a replacement.
pub(super) fn offer<T: 'static>(
    stage: &mut dyn Stage<T>,
    memory: &Memory,
    observer: &Observer,
    mut change: Change<T>,
) -> Result<Result<(), BadObject>, Stop> {
    let fails = memory.parity().fail_on_bad_objects;
    match &change.item {
        Item::Undecodable(undecodable) => {
            observer.undecodable(undecodable);
            if fails {
                return Ok(Err(BadObject::Undecodable(undecodable.clone())));
            }
        }
        Item::Decoded(entry) => {
            if let Some(known) = known(entry, |entry| stage.known(entry.key(), entry.uid(), entry.version()))
            {
                change.item = known;
            }
        }
    }
    if let Err(refusal) = stage.offer(change) {
        observer.refused(&refusal)?;
        if fails {
            return Ok(Err(BadObject::Refused(refusal)));
        }
    }
    Ok(Ok(()))
}

/// The entry that is held already, in the place of an equal fresh copy.
pub(super) fn known<T>(
    fresh: &Entry<T>,
    look_up: impl FnOnce(&Entry<T>) -> Option<Entry<T>>,
) -> Option<Item<T>> {
    look_up(fresh).filter(|known| known.same_version(fresh)).map(Item::Decoded)
}

/// The error of a list that the sink did not take.
pub(super) fn not_taken<T: 'static>(list_watch: &dyn ListWatch<T>, refusal: SinkError) -> Error {
    Error::new(ErrorKind::Other, format!("put the list of {} in place", list_watch.description()))
        .with_source(refusal)
}
