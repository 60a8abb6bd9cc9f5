//! Everything that tests of Kubernetes informers and controllers need, without a cluster.
//!
//! | what for | type |
//! |---|---|
//! | a program that speaks HTTP | [`ApiServer`]: an embedded API server on a loopback port |
//! | many runs under virtual time | [`SimulatedServer`]: the same server without sockets, as a source |
//! | exactly these answers | [`FakeListWatch`], [`ScriptedSource`] |
//! | things that go wrong | [`ApiServer::inject`](World::inject) with [`Fault`]; [`Faulty`] over any list-watch |
//! | what a handler heard | [`EventRecorder`], [`replay`] |
//! | whether a list-watch keeps its word | [`conformance`] |
//! | waiting without a clock | [`settle`], [`eventually`] |
//!
//! The embedded server answers as kube-apiserver does, as far as a client can tell; [`ApiServer`] says what it
//! leaves out. Its state is a [`World`], which tests change directly.
//!
//! ```
//! use informers_core::{ResourceScope, ResourceType};
//! use informers_testkit::{ApiServer, RequestMatch};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::start().await?;
//! let pods = ResourceType::new("", "v1", "Pod", "pods", ResourceScope::Namespaced);
//! server.create(json!({
//!     "apiVersion": "v1",
//!     "kind": "Pod",
//!     "metadata": {"name": "web-0"},
//!     "status": {"phase": "Running"},
//! }))?;
//! server.fail_next(RequestMatch::list("pods"), 503);
//!
//! // … run the program under test against `server.url()` …
//!
//! server.patch_status(&pods, Some("default"), "web-0", json!({"status": {"phase": "Succeeded"}}))?;
//! server.compact();
//! server.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//! - `gzip`: the embedded server compresses large lists for clients that accept it.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod conformance;
mod fault;
mod faulty;
mod http;
mod json_path;
mod protobuf;
mod recorder;
mod request_log;
mod scripted;
mod server;
mod simulated;
mod status;
mod store;
mod table;
mod time;
mod world;

pub use fault::{Fault, RequestMatch};
pub use faulty::{Faulty, FaultyCall, StreamFault};
pub use recorder::{EventRecorder, ReplayError, replay};
pub use request_log::{RequestRecord, Verb};
pub use scripted::{Call, FakeListWatch, ListAnswer, LiveWatch, ScriptedSource, WatchAnswer};
pub use server::{ApiServer, ApiServerBuilder, StartError};
pub use simulated::{SimulatedServer, SimulatedServerBuilder};
pub use status::Status;
pub use time::{eventually, settle};
pub use world::World;
