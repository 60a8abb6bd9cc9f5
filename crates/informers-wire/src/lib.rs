//! Bytes of the Kubernetes API to raw items and frames, without IO.
//!
//! A list of a hundred thousand pods is hundreds of megabytes of JSON, a watch never ends, and either may carry one
//! object that does not decode. So this crate does not parse bodies; it cuts them, chunk by chunk as they arrive,
//! into raw single objects, which can then be decoded one by one, on as many cores as there are.
//! Sockets, HTTP and decoding are somebody else's job: every type here is fed with bytes and asked for results.
//!
//! | what comes | type |
//! |---|---|
//! | a compressed body | [`ContentDecoder`]: identity, or gzip with any number of members |
//! | the body of a list | [`ListSplitter`]: raw items, then a [`ListTrailer`] |
//! | the body of a watch | [`WatchFramer`]: events with their raw objects |
//! | the body of an error | [`Status::from_body`], and its predicates |
//! | an object that does not decode | [`peek_identity`]: who it is |
//! | `Retry-After`, `Warning` headers | [`retry_after`], [`RetryAfter`], [`Warning`] |
//! | lists, watches and objects in protobuf | [`protobuf`]: the same for built-in types |
//!
//! All of it holds at most the chunks not yet taken plus one object, whose size is limited, and looks at each byte
//! once, however small the chunks are.
//!
//! # A watch, from the wire to its events
//! ```
//! use bytes::Bytes;
//! use informers_wire::{ContentDecoder, Error, StreamEnd, WatchFrame, WatchFramer};
//!
//! # fn main() -> Result<(), Error> {
//! let mut decoder = ContentDecoder::from_header(None)?;
//! let mut framer = WatchFramer::new();
//! let mut seen = Vec::new();
//! for chunk in [
//!     "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"8\"}}}\n{\"ty",
//!     "pe\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}\n",
//! ] {
//!     decoder.push(Bytes::from_static(chunk.as_bytes()));
//!     while let Some(content) = decoder.next_chunk()? {
//!         framer.push(content);
//!         loop {
//!             match framer.next_event() {
//!                 Ok(Some(event)) => seen.push(event),
//!                 Ok(None) => break,
//!                 Err(error) if !error.is_fatal() => eprintln!("passed over: {error}"),
//!                 Err(error) => return Err(error),
//!             }
//!         }
//!     }
//! }
//! assert!(matches!(&seen[0], WatchFrame::Added(object) if object.starts_with(b"{\"metadata\"")));
//! assert!(matches!(&seen[1], WatchFrame::Bookmark { version, .. } if version == "9"));
//! assert_eq!(framer.finish(), StreamEnd::Clean);
//! # Ok(())
//! # }
//! ```

mod encoded_word;
mod encoding;
mod envelope;
mod error;
mod frame;
#[cfg(test)]
mod generators;
mod gzip;
mod identity;
mod input;
mod list;
mod object;
pub mod protobuf;
mod retry_after;
mod scan;
mod status;
mod trailer;
mod warning;
mod watch;

pub use encoding::ContentDecoder;
pub use error::{Error, FrameProblem, MalformedFrame, TooLarge};
pub use frame::WatchFrame;
pub use identity::{Identity, peek_identity};
pub use list::ListSplitter;
pub use retry_after::{RetryAfter, retry_after};
pub use status::{Status, StatusCause, StatusDetails};
pub use trailer::ListTrailer;
pub use warning::Warning;
pub use watch::{StreamEnd, WatchFramer};

/// The largest item or frame that is read unless told otherwise, in bytes: 64 MiB. The API server stores up to
/// 1.5 MiB an object (as sent to etcd; its JSON is larger), so only damage or another server comes near it.
pub const DEFAULT_MAX_SIZE: usize = 64 << 20;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
