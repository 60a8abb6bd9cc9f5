//! The same in Kubernetes' protocol buffers, which API servers write for the types that are built into them.
//!
//! `application/vnd.kubernetes.protobuf` puts an envelope around every object: four bytes, `k8s\0`, then a message
//! that says the kind and carries the object as bytes. In a list the object is the list, whose items have no envelope
//! of their own; a watch is a row of frames, each with its length before it, whose objects do have one. What is cut
//! out here is always the bare message of one object, as a decoder made from a `.proto` file reads it.
//!
//! | what comes | type |
//! |---|---|
//! | the body of a list | [`ListSplitter`]: raw items, then a [`ListTrailer`](crate::ListTrailer) |
//! | the body of a watch | [`WatchFramer`]: events with their raw objects |
//! | the body of one object | [`object`]: what is in the envelope |
//! | the body of an error | [`Status::from_body`](crate::Status::from_body) reads both forms |
//! | an object that does not decode | [`peek_identity`]: who it is |
//!
//! What holds of the JSON forms holds of these: at most the chunks not yet taken plus one object are in memory, and
//! each byte is looked at once.
//!
//! ```
//! use bytes::Bytes;
//! use informers_wire::protobuf::{ListSplitter, peek_identity};
//!
//! // A ConfigMapList in version 9, with one item named `a`.
//! let body = b"k8s\0\x0a\x13\x0a\x02v1\x12\x0dConfigMapList\x12\x0c\x0a\x03\x12\x019\x12\x05\x0a\x03\x0a\x01a";
//! let mut splitter = ListSplitter::new();
//! for chunk in body.chunks(5) {
//!     splitter.push(Bytes::copy_from_slice(chunk));
//!     while let Some(item) = splitter.next_item()? {
//!         assert_eq!(peek_identity(&item).name.as_deref(), Some("a"));
//!     }
//! }
//! assert_eq!(splitter.finish()?.resource_version, "9");
//! # Ok::<(), informers_wire::Error>(())
//! ```

mod envelope;
mod event;
mod fields;
mod identity;
mod list;
mod payload;
mod status;
mod varint;
mod watch;

pub use envelope::object;
pub use identity::peek_identity;
pub use list::ListSplitter;
pub(crate) use status::status_of;
pub use watch::WatchFramer;

#[cfg(test)]
mod tests;
