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
mod http;
mod request_log;
mod server;
mod simulated;
mod status;
mod store;
mod world;

pub use fault::{Fault, RequestMatch};
pub use request_log::{RequestRecord, Verb};
pub use server::{ApiServer, ApiServerBuilder, StartError};
pub use simulated::{SimulatedServer, SimulatedServerBuilder};
pub use status::Status;
pub use world::World;
