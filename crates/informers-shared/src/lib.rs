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
//! use informers_core::{Event, JsonDecoder, Resource, ResourceScope, ResourceType, Scope, Source};
//! use informers_shared::SharedInformer;
//! use informers_testkit::SimulatedServer;
//! use serde_json::json;
//!
//! #[derive(serde::Deserialize)]
//! struct Lease { spec: Spec }
//! #[derive(serde::Deserialize)]
//! #[serde(rename_all = "camelCase")]
//! struct Spec { holder_identity: String }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let leases = ResourceType::new("coordination.k8s.io", "v1", "Lease", "leases", ResourceScope::Namespaced);
//! let server = SimulatedServer::new();
//! server.create(json!({
//!     "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
//!     "metadata": {"namespace": "shop", "name": "leader"}, "spec": {"holderIdentity": "a"},
//! }))?;
//!
//! let resource: Resource<Lease> = Resource::new(leases.clone(), JsonDecoder::new());
//! let informer = SharedInformer::builder(server.list_watch(&resource, &Scope::all())?).build();
//! let by_holder = informer.index(|lease| Some(lease.spec.holder_identity.clone()));
//! let mut events = informer.subscribe();
//! informer.start()?;
//! informer.synced().await?;
//! assert_eq!(by_holder.keys("a").len(), 1);
//!
//! server.patch(&leases, Some("shop"), "leader", json!({"spec": {"holderIdentity": "b"}}))?;
//! assert!(matches!(events.next().await, Some(Event::Added { initial: true, .. })));
//! assert!(matches!(events.next().await, Some(Event::Updated { new, .. }) if new.spec.holder_identity == "b"));
//! assert_eq!(by_holder.keys("b").len(), 1);
//! informer.stop().await;
//! # Ok(()) }
//! ```
//!
//! Where this differs from client-go, [`Parity`] switches it back, one by one or all at once.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod backlog;
mod clock;
mod delivery;
mod error;
mod factory;
mod filter;
mod informer;
#[cfg(all(test, informers_loom))]
mod interleavings;
mod lock;
mod parity;
mod pipeline;
mod plain;
mod processor;
mod queue;
mod resync;
mod schedule;
mod sync;
pub mod synctrack;
mod ticks;
mod undecodable;

pub use backlog::BacklogPolicy;
pub use delivery::{HandlerGuard, HandlerStatus, Subscription};
pub use error::Error;
pub use factory::{Factory, FactoryBuilder, InformerOptions};
pub use filter::Filtered;
pub use informer::{InformerBuilder, InformerStatus, NewHandler, ReflectorSettings, SharedInformer, WarmUp};
#[doc(no_inline)]
pub use informers_reflector::{Backoff, FirstList, Phase as ReflectorPhase, ReflectorStatus, StatusWatch};
pub use parity::Parity;
pub use plain::{PlainInformer, PlainInformerBuilder, ProcessError};
pub use queue::QueueKind;
pub use resync::Resync;
pub(crate) use sync::SyncState;
pub use sync::SyncWait;
