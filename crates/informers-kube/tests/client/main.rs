//! `KubeSource` against servers on loopback.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
fn main(){}
