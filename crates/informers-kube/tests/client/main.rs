//! `KubeSource` through its public API: against scripted answers, and against a server on loopback.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod errors;
mod informer;
mod reading;
