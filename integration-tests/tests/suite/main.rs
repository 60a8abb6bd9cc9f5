//! Everything that informers are meant to live through, on each kind of cluster.
//!
//! After each fault the end state is compared with a fresh list, what every handler heard with the store, and
//! every index with one that is computed anew.

mod alone;
mod compaction;
mod controller;
mod crowd;
mod custom;
mod handlers;
mod kube_rs;
mod options;
mod outages;
mod selection;
mod types;
mod volume;
