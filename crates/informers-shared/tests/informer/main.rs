//! Informers over a simulated server, under virtual time.

mod factory;
mod handlers;
mod life;
mod plain;
mod resync;
mod sync;
mod world;
