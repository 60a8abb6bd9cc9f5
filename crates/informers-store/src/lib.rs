//! A thread-safe object store with secondary indexes, listers and overlays, as in client-go's tools/cache.

mod blocks;
mod definition;
mod error;
mod expiring;
mod heap;
mod index;
mod indexer;
mod lister;
mod mutation;
mod named;
mod parity;
mod postings;
mod primary;
mod shared;
mod sink;
mod staging;
mod store;
mod undelta;
mod values;
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
pub use writer::{StoreWriter, Write};
