//! A thread-safe object store with secondary indexes, listers and overlays, as in client-go's tools/cache.

mod blocks;
mod definition;
mod error;
mod index;
mod named;
mod parity;
mod postings;
mod primary;
mod shared;
mod staging;
mod store;
mod values;
mod writer;

pub use error::{Error, IndexConflict, IndexError, IndexErrors, NeverFilled};
pub use index::{Index, PendingIndex};
pub use parity::Parity;
pub use store::Store;
pub use values::IndexValues;
pub use writer::{StoreWriter, Write};
