//! The main job, end to end: informers follow a live API server through whatever happens to it.
//!
//! Every test compares what informers show with a fresh list, read by a client that shares no code with them.

mod controller;
mod factory;
mod follow;
mod handlers;
mod trouble;
