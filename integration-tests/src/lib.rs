//! Clusters for tests that cross crates, and the harness that runs one test on each kind of them.
//!
//! A test is written once, as an async function of a [`Cluster`](provider::Cluster);
//! [`cluster_tests!`] makes a `#[test]` of it for each [`Provider`](provider::Provider): the
//! embedded server, a real etcd and kube-apiserver built from Go modules, and any cluster that a
//! kubeconfig names. What a provider cannot do is skipped and counted, never passed over silently.
//!
//! `cargo xtask test --control-plane` runs everything. A single test runs by
//! `INFORMERS_CONTROL_PLANE_BIN=$(cargo xtask control-plane path) cargo test -p integration-tests control_plane::NAME`.
#![allow(
    clippy::expect_used,
    reason = "test support: a poisoned lock means that the test has failed already"
)]

pub mod admin;
#[cfg(unix)]
pub mod control_plane;
pub mod follower;
pub mod gate;
pub mod harness;
pub mod leftovers;
pub mod load;
pub mod provider;
pub mod proxy;
mod report;
pub mod versions;
pub mod world;
