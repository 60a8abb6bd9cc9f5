//! Keeps a sink equal to a Kubernetes collection: list, watch, resume, relist, back-off, resync

mod backoff;
mod builder;
mod driver;
mod hooks;
mod machine;
mod parity;
mod resync;
mod status;

pub use backoff::Backoff;
pub use builder::{FirstList, ReflectorBuilder, StreamingPatience};
pub use driver::Reflector;
pub use parity::Parity;
pub use resync::{Every, ResyncSchedule};
pub use status::{Phase, ReflectorStatus, StatusWatch};
