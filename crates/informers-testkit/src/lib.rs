//! An embedded Kubernetes API server, scripted sources and event recorders for tests of informers and
//! controllers.
//!
//! ```
//! use informers_testkit::ApiServer;
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::start().await?;
//! server.create(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0"}}))?;
//! println!("run the program under test against {}", server.url());
//! server.stop().await;
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod fault;
mod faulty;
mod http;
mod recorder;
mod request_log;
mod scripted;
mod server;
mod simulated;
mod status;
mod store;
mod time;
mod world;

pub use fault::{Fault, RequestMatch};
pub use faulty::{Faulty, FaultyCall, StreamFault};
pub use recorder::{EventRecorder, ReplayError, replay};
pub use request_log::{RequestRecord, Verb};
pub use scripted::{Call, FakeListWatch, ListAnswer, ScriptedSource, WatchAnswer};
pub use server::{ApiServer, ApiServerBuilder, StartError};
pub use simulated::{SimulatedServer, SimulatedServerBuilder};
pub use status::Status;
pub use time::{eventually, settle};
pub use world::World;
