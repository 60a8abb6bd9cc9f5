//! The client against servers on loopback, through its public API.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod api;
mod cases;
mod changes;
mod credentials;
mod discovery;
mod errors;
mod goaway;
mod list;
mod pool;
mod protobuf;
mod proxy;
mod recorder;
mod rotation;
mod server;
mod time_limit;
mod tls;
mod watch;
