//! The vocabulary of Kubernetes informers.
//!
//! An informer keeps a local copy of a collection of a Kubernetes API server and tells handlers what
//! changes. This crate has the words that its parts share, and the traits at the seams between them, so
//! that each part can be used alone and replaced:
//!
//! | what | types |
//! |---|---|
//! | an object and its identity | [`Entry`], [`ObjectKey`], [`Uid`], [`ResourceVersion`] |
//! | what is read, and which part of it | [`Resource`], [`ResourceType`], [`Scope`], [`LabelSelector`], [`FieldSelector`] |
//! | how it is read | [`ListWatch`], [`Source`], [`Decode`], [`ListParams`], [`WatchParams`], [`Error`] |
//! | what arrives | [`Item`], [`Undecodable`], [`Change`], [`WatchEvent`] |
//! | where it goes | [`Sink`], [`Stage`], [`Transform`], [`KnownObjects`] |
//! | what users hear | [`Event`], [`Deletion`], [`Handler`], [`Metrics`] |
//! | how tasks wait for each other, without a runtime | [`wait`] |
//!
//! Nothing here does IO, starts a task or reads a clock, and nothing knows a Kubernetes type: an object may
//! be of any type, since what the pipeline needs to know of it stands in its [`Entry`].
//!
//! ```
//! use informers_core::{Event, Entry, ObjectKey};
//!
//! struct Pod { node: &'static str }
//!
//! let key = ObjectKey::new("shop", "cart-0");
//! let pod = Entry::new(key, "uid-1".into(), "41".into(), Pod { node: "node-1" });
//! let event = Event::Added { object: pod, initial: true };
//! assert_eq!(event.key().to_string(), "shop/cart-0");
//! assert_eq!(event.entry().node, "node-1");
//! ```
//!
//! # Features
//! - `json`: [`JsonDecoder`], which turns the JSON of an API server into any serde type.
//! - `protobuf`: [`ProtobufDecoder`], which turns its protobuf into any message of prost.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod change;
mod decode;
mod entry;
mod error;
mod event;
mod item;
#[cfg(feature = "json")]
mod json;
mod key;
mod known_objects;
mod list_watch;
mod metrics;
mod params;
#[cfg(feature = "protobuf")]
mod protobuf;
mod resource;
mod scope;
mod selector;
mod sink;
mod transform;
mod uid;
#[cfg(feature = "json")]
mod unicode;
mod version;
pub mod wait;

pub use change::{Change, ChangeKind, WatchEvent};
pub use decode::{Decode, DecodeError, DecodeErrorKind, Representation};
pub use entry::Entry;
pub use error::{Error, ErrorKind};
pub use event::{Deletion, Event, Handler};
pub use item::{Item, Undecodable};
#[cfg(feature = "json")]
pub use json::JsonDecoder;
pub use key::{ObjectKey, ParseKeyError};
pub use known_objects::KnownObjects;
pub use list_watch::{ListPart, ListStream, ListTrailer, ListWatch, Source, WatchStream};
pub use metrics::{Metrics, NoMetrics};
pub use params::{ListParams, ListStart, VersionMatch, WatchParams};
#[cfg(feature = "protobuf")]
pub use protobuf::ProtobufDecoder;
pub use resource::{Resource, ResourceScope, ResourceType};
pub use scope::Scope;
pub use selector::{
    FieldRequirement, FieldSelector, LabelOperator, LabelRequirement, LabelSelector, SelectorError,
};
pub use sink::{Sink, SinkError, Stage};
pub use transform::{Transform, TransformError};
pub use uid::Uid;
#[cfg(feature = "json")]
pub use unicode::replace_invalid_text;
pub use version::ResourceVersion;
