//! Reads Kubernetes lists in pages.
//!
//! A list of a large collection is asked for in pages: each answer has a continue token for the next. This
//! crate walks through them over any [`ListWatch`](informers_core::ListWatch), in the place of client-go's
//! `tools/pager`. All ways in use one walk, so that they agree on the rules:
//!
//! - pages of 500 by default, and a list goes on until its token is empty, however short a page is;
//! - a continuation carries token and limit only, never a version;
//! - the version of the list is its first page's;
//! - if a token expires, the whole list is asked for in one page (not where items were handed out already).
//!
//! | way in | for |
//! |---|---|
//! | [`Pager::list`] | the whole list in memory |
//! | [`Pager::each_item`] | a callback for each item, while later pages are read |
//! | [`Pager::pages`] | a stream of pages, or of items ([`Pages::into_items`]) |
//! | [`Pager::walk`] | the bare machine without IO, for those who do their own requests |
//!
//! ```
//! use std::sync::Arc;
//! use informers_core::*;
//! use informers_pager::Pager;
//! use tokio_util::sync::CancellationToken;
//!
//! /// Serves the numbers below 1203 in pages.
//! struct Numbers;
//!
//! #[async_trait::async_trait]
//! impl ListWatch<u32> for Numbers {
//!     async fn list(&self, params: ListParams) -> Result<ListStream<u32>, Error> {
//!         let start: u32 = params.continue_token().map_or(0, |token| token.parse().unwrap());
//!         let end = 1203.min(start + params.limit);
//!         let items = (start..end).map(|n| Entry::keyed(ObjectKey::cluster(&n.to_string()), n).into());
//!         let mut trailer = ListTrailer::new("7".into());
//!         if end < 1203 {
//!             trailer = trailer.with_continue(end.to_string());
//!         }
//!         let parts = [ListPart::Items(items.collect()), ListPart::Trailer(trailer)];
//!         Ok(Box::pin(futures_util::stream::iter(parts.map(Ok))))
//!     }
//!
//!     async fn watch(&self, _: WatchParams) -> Result<WatchStream<u32>, Error> {
//!         Ok(Box::pin(futures_util::stream::empty()))
//!     }
//!
//!     fn description(&self) -> String {
//!         "numbers".to_owned()
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let numbers: Arc<dyn ListWatch<u32>> = Arc::new(Numbers);
//! let cancel = CancellationToken::new();
//! let list = Pager::new().list(&numbers, ListParams::first("0".into()), &cancel).await.unwrap();
//! assert_eq!((list.items.len(), list.pages), (1203, 3));
//! assert_eq!(list.version, "7".into());
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod error;
mod page;
mod pager;
mod pages;
mod parity;
mod walk;

pub use error::PagerError;
pub use page::Page;
pub use pager::{List, Pager};
pub use pages::{Items, Pages};
pub use parity::Parity;
pub use walk::{Advance, Completed, Recovery, Walk};
