#![doc = include_str!("../README.md")]
//!
//! # The crates
//! Each part is a crate of its own, usable alone, and a module here:
//!
//! | module | crate | what it does |
//! |---|---|---|
//! | [`shared`] | `informers-shared` | plain and shared informers, the factory |
//! | [`workqueue`] | `informers-workqueue` | deduplicating, delaying, rate-limited queue for controllers |
//! | [`client`] | `informers-client` | kubeconfig, TLS, lists, watches, requests |
//! | [`store`] | `informers-store` | the indexed store and its relatives |
//! | [`reflector`] | `informers-reflector` | keeps a sink equal to a collection |
//! | [`delta_fifo`] | `informers-delta-fifo` | the queues between reflector and store |
//! | [`pager`] | `informers-pager` | lists in pages |
//! | `kube` | `informers-kube` | types of k8s-openapi and kube-rs |
//! | [`core`] | `informers-core` | the shared words and the seams |
//!
//! # Guide
//! See [`guide`].
#![cfg_attr(docsrs, feature(doc_cfg))]

mod factory;
pub mod guide;
mod parity;
pub mod prelude;

pub use factory::Factory;
pub use informers_client as client;
pub use informers_client::Client;
pub use informers_core as core;
pub use informers_delta_fifo as delta_fifo;
#[cfg(feature = "kube")]
pub use informers_kube as kube;
pub use informers_pager as pager;
pub use informers_reflector as reflector;
pub use informers_shared as shared;
pub use informers_store as store;
pub use informers_workqueue as workqueue;
pub use parity::Parity;
