//! Plain and shared informers, and the shared informer factory.
//!
//! A [`SharedInformer`] reads a collection of a Kubernetes API server once, keeps a copy of it in an indexed
//! store, and tells any number of handlers what changes, each at its own pace. A [`Factory`] gives one
//! informer per resource, whoever asks. A [`PlainInformer`] is the simple form: one store, one handler, which
//! is called in line.
//!
//! ```text
//! collection ─► reflector ─► queue ─► pipeline ─► store and indexes ─► your look-ups
//!                                        └──► backlog of each handler ─► your handlers
//! ```
//!
//! The collection is anything that implements [`ListWatch`](informers_core::ListWatch): the client of
//! `informers-client`, a `kube::Client`, or a scripted one as here:
//!
//! ```
//! use std::sync::Arc;
//! use informers_core::Event;
//! use informers_shared::SharedInformer;
//! use informers_testkit::SimulatedServer;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = SimulatedServer::<u32>::new();
//! server.put("shop/cart", 1);
//!
//! let informer = SharedInformer::builder(server.list_watch()).name("numbers").build();
//! let even = informer.index(|number| Some(*number.object() % 2 == 0));
//! let mut events = informer.subscribe();
//! informer.start()?;
//! informer.synced().await?;
//! assert_eq!(*informer.get("shop/cart").unwrap(), 1);
//!
//! server.put("shop/cart", 2);
//! assert!(matches!(events.next().await, Some(Event::Added { initial: true, .. })));
//! assert!(matches!(events.next().await, Some(Event::Updated { old, new }) if *old == 1 && *new == 2));
//! assert_eq!(even.get(&true).len(), 1);
//! informer.stop().await;
//! # Ok(()) }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backlog;
mod clock;
mod delivery;
mod error;
mod factory;
mod filter;
mod informer;
mod pipeline;
mod plain;
mod processor;
mod resync;
mod schedule;
mod sync;
mod undecodable;

pub use backlog::BacklogPolicy;
pub use delivery::{HandlerGuard, HandlerStatus, Subscription};
pub use error::Error;
pub use factory::{Factory, FactoryBuilder, InformerOptions};
pub use filter::Filtered;
pub use informer::{InformerBuilder, InformerStatus, NewHandler, ReflectorSettings, SharedInformer, WarmUp};
#[doc(no_inline)]
pub use informers_reflector::{Backoff, FirstList, Phase as ReflectorPhase, ReflectorStatus};
pub use plain::{PlainInformer, PlainInformerBuilder, ProcessError, QueueKind};
pub use resync::Resync;
pub(crate) use sync::SyncState;
pub use sync::SyncWait;
