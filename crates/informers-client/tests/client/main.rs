//! The client against servers on loopback, through its public API.

mod api;
mod credentials;
mod errors;
mod list;
mod pool;
mod server;
mod tls;
mod watch;
