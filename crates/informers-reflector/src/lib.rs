//! Keeps a sink equal to a Kubernetes collection.
//!
//! A reflector lists a collection, watches it from there, and goes on after whatever happens: a watch that
//! ends, a version that expired, a server that is overloaded, behind, or gone. What it reads goes to a
//! [`Sink`](informers_core::Sink): a store, a queue, or a type of yours; it knows nothing else. It is
//! client-go's `Reflector`, over any [`ListWatch`](informers_core::ListWatch).
//!
//! ```
//! use std::collections::BTreeSet;
//! use std::sync::{Arc, Mutex};
//! use informers_core::*;
//! use informers_reflector::Reflector;
//! use tokio_util::sync::CancellationToken;
//!
//! /// A server with two lamps, on which a third appears.
//! struct Lamps;
//!
//! fn lamp(name: &str, version: u64) -> Entry<()> {
//!     Entry::new(ObjectKey::cluster(name), name.into(), version.into(), ())
//! }
//!
//! #[async_trait::async_trait]
//! impl ListWatch<()> for Lamps {
//!     async fn list(&self, _: ListParams) -> Result<ListStream<()>, Error> {
//!         let items = vec![lamp("hall", 1).into(), lamp("desk", 2).into()];
//!         let parts = [ListPart::Items(items), ListPart::Trailer(ListTrailer::new("7".into()))];
//!         Ok(Box::pin(futures_util::stream::iter(parts.map(Ok))))
//!     }
//!
//!     async fn watch(&self, params: WatchParams) -> Result<WatchStream<()>, Error> {
//!         assert_eq!(params.version, "7".into());
//!         let events = vec![Change::added(lamp("porch", 8)).into()];
//!         let stays_open = futures_util::stream::pending();
//!         Ok(Box::pin(futures_util::StreamExt::chain(futures_util::stream::iter([Ok(events)]), stays_open)))
//!     }
//!
//!     fn supports_streaming_list(&self) -> bool {
//!         false
//!     }
//!
//!     fn description(&self) -> String {
//!         "lamps".to_owned()
//!     }
//! }
//!
//! /// Keeps the names.
//! #[derive(Clone, Default)]
//! struct Names(Arc<Mutex<BTreeSet<ObjectKey>>>);
//!
//! impl Sink<()> for Names {
//!     fn apply(&mut self, change: Change<()>) -> Result<(), SinkError> {
//!         let Some(key) = change.item.key() else { return Ok(()) };
//!         let mut names = self.0.lock().unwrap();
//!         match change.kind {
//!             ChangeKind::Deleted => names.remove(key),
//!             _ => names.insert(key.clone()),
//!         };
//!         Ok(())
//!     }
//!     fn begin(&mut self, _: &Scope) -> Box<dyn Stage<()> + '_> {
//!         Box::new(Replacement { names: self, staged: BTreeSet::new() })
//!     }
//! }
//!
//! struct Replacement<'a> { names: &'a Names, staged: BTreeSet<ObjectKey> }
//!
//! impl Stage<()> for Replacement<'_> {
//!     fn offer(&mut self, change: Change<()>) -> Result<(), SinkError> {
//!         self.staged.extend(change.item.key().cloned());
//!         Ok(())
//!     }
//!     fn commit(self: Box<Self>, _: &ResourceVersion) -> Result<(), SinkError> {
//!         *self.names.0.lock().unwrap() = self.staged;
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let names = Names::default();
//! let reflector = Reflector::builder(Arc::new(Lamps), names.clone()).name("lamps").build();
//! let mut status = reflector.status();
//! let cancel = CancellationToken::new();
//! let task = tokio::spawn(reflector.run(cancel.clone()));
//!
//! status.wait_for(|status| status.version == "8".into()).await;
//! assert_eq!(names.0.lock().unwrap().len(), 3);
//!
//! cancel.cancel();
//! task.await.unwrap();
//! assert!(status.current().phase.is_stopped());
//! # }
//! ```
//!
//! # What follows what
//!
//! | what happens | what follows |
//! |---|---|
//! | at the start | a streaming list; if the server refuses it or never ends it, a list in pages, from then on |
//! | a watch ends in good order, or its connection breaks after it worked | another one at once, from the last version |
//! | a watch ends within a second | the same after a pause (the first two at once, if they brought something); a list if that goes on without any event |
//! | the version expired (410), or the server does not have it yet | a list not older than the last version; if that fails alike, one without a version |
//! | 429, with or without a time to wait | the wait, then a watch from the last version, or the same page again |
//! | connection refused, 401, 500, 503, no answer | a growing pause, then the same from the last version |
//! | 403 | [`Phase::Forbidden`]: told once, tried again slowly, from the last version |
//! | 404 twice, after there was a list | [`Phase::Gone`]: the sink is emptied, and the resource is looked for slowly |
//! | an object that does not decode, or that the sink refuses | told and counted; everything else goes on |
//! | an event of an unknown type | passed over, and no sign that a watch works |
//!
//! [`Parity`] switches what deliberately differs from client-go back, one by one or all at once.
//!
//! # Shape
//!
//! Everything is decided by a machine without IO, clock or task, one type per phase; the driver around it
//! makes the requests, feeds the sink and sleeps. Time is tokio's, so tests can pause it; all randomness
//! comes from one seed ([`ReflectorBuilder::seed`]).
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod backoff;
mod builder;
mod driver;
mod hooks;
mod machine;
mod metrics;
mod parity;
mod phase;
mod resync;
mod status;

pub use backoff::Backoff;
pub use builder::{FirstList, ReflectorBuilder, StreamingPatience};
pub use driver::Reflector;
pub use metrics::GuardedMetrics;
pub use parity::Parity;
pub use phase::Phase;
pub use resync::{Every, ResyncSchedule};
pub use status::{ReflectorStatus, StatusWatch};
