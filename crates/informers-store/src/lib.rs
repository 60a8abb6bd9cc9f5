//! A thread-safe object store with secondary indexes, listers and overlays, as in client-go's tools/cache.
//!
//! A store holds the objects of one collection by key, and finds them by the values of index functions. It
//! works for any type, with or without an informer around it:
//!
//! | to do this | use |
//! |---|---|
//! | own the writes, hand out readers | [`StoreWriter`], [`Store`] |
//! | find objects by a value | [`Index`], or by name and text [`Store::by_index`] |
//! | keep a store alone, written by many threads | [`Indexer`] |
//! | let a reflector feed a store directly | [`SinkStore`] |
//! | read in the words of the API: namespace, name, labels | [`Lister`] |
//! | let entries expire | [`ExpiringStore`] |
//! | see one's own writes before the store does | [`MutationCache`] |
//! | get the whole state after every change | [`UndeltaStore`] |
//! | work through objects by priority | [`Heap`] |
//!
//! ```
//! use informers_core::ObjectKey;
//! use informers_store::Indexer;
//!
//! struct Pod { name: &'static str, app: &'static str }
//!
//! let pods = Indexer::new(|pod: &Pod| ObjectKey::new("ns1", pod.name));
//! let by_app = pods.add_index(Some("app"), |pod| Some(pod.app.to_owned())).unwrap();
//! pods.add(Pod { name: "pod1", app: "l1" }).unwrap();
//! pods.add(Pod { name: "pod2", app: "l2" }).unwrap();
//!
//! // By the typed handle, or in client-go's words.
//! assert_eq!(by_app.get("l1")[0].name, "pod1");
//! assert_eq!(pods.index_keys("app", "l1").unwrap(), [ObjectKey::new("ns1", "pod1")]);
//! ```
//!
//! # Guarantees
//! - A write, a batch or a replacement is visible as a whole: no read sees half of it, nor an index that is
//!   out of step with the map.
//! - A visit shows one moment. It holds no lock, so it may take its time; the writer copies what it changes
//!   meanwhile.
//! - Index functions, key functions, transforms and destructors run without a lock. An index function that
//!   fails or panics, or gives a value whose `Hash` or `Eq` does, costs its object its place in that index, nothing else.
//! - Readers do not write shared cache lines, except for the reference counts of what they hand out.
//!
//! # Cost
//! Memory beside the objects, measured with a million of them as the growth of the process: some 85 bytes per
//! object for the map (keys of 18 bytes, which are in there once more), 22 for an index with few distinct
//! values, 28 for one with 20 objects per value, 85 for one by a unique number. Postings hold places, so a
//! look-up needs no second one by key, and an update that leaves the values as they are does not touch them. No
//! write depends on how many objects share a value. `examples/measure.rs` measures the speed on your machine.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod blocks;
mod definition;
mod error;
mod expiring;
mod heap;
mod index;
mod indexer;
mod keys;
mod lister;
mod lock;
mod mutation;
mod named;
mod parity;
mod postings;
mod primary;
mod shared;
mod sink;
mod staging;
mod store;
mod table;
mod undelta;
mod values;
mod write;
mod writer;

pub use error::{Error, IndexConflict, IndexError, IndexErrors, NeverFilled};
pub use expiring::ExpiringStore;
pub use heap::Heap;
pub use index::{Index, PendingIndex};
pub use indexer::Indexer;
pub use lister::{Lister, NAMESPACE_INDEX, NamespaceLister, NotFound, namespace_values};
pub use mutation::MutationCache;
pub use parity::Parity;
pub use sink::SinkStore;
pub use store::Store;
pub use undelta::UndeltaStore;
pub use values::IndexValues;
pub use write::Write;
pub use writer::StoreWriter;
