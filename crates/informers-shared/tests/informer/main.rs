//! Informers over a simulated server, under virtual time.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod ends;
mod factory;
mod handlers;
mod life;
mod metrics;
mod parity;
mod plain;
mod resync;
mod sync;
mod waits;
mod world;
