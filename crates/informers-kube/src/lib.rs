//! Resources for the types of [k8s-openapi] and [kube-rs], so that informers can hold them.
//!
//! | what you have | what you call |
//! |---|---|
//! | a k8s-openapi type, or one with `#[derive(CustomResource)]` | [`resource`] |
//! | a type known only at run time, as [`DynamicObject`] | [`dynamic`] |
//! | any type of which the metadata is enough, as [`PartialObjectMeta`] | [`metadata`], [`dynamic_metadata`] |
//! | your own spec and status, as [`Object`] | [`object`] |
//!
//! A struct of your own with the few fields that you want needs none of these: take
//! `informers_core::JsonDecoder`.
//!
//! ```
//! use informers_kube::resource;
//! use k8s_openapi::api::core::v1::Pod;
//!
//! let pods = resource::<Pod>();
//! assert_eq!(pods.resource_type().collection_path(Some("shop")), "/api/v1/namespaces/shop/pods");
//!
//! let raw = br#"{"metadata":{"name":"cart-0","namespace":"shop","uid":"u","resourceVersion":"7"}}"#;
//! let pod = pods.decoder().decode(raw)?;
//! assert_eq!(pod.key().to_string(), "shop/cart-0");
//! # Ok::<(), informers_core::DecodeError>(())
//! ```
//!
//! # Over an existing `kube::Client`
//! With the feature `client`, `KubeSource` lets informers read through a `kube::Client` that a program has already.
//!
//! # Versions
//! This crate follows kube's major versions, so that `informers-core` need not. It needs a Kubernetes version
//! from the final build: set one of k8s-openapi's features, such as `latest`.
//!
//! [k8s-openapi]: https://docs.rs/k8s-openapi
//! [kube-rs]: https://docs.rs/kube
#![cfg_attr(docsrs, feature(doc_cfg))]

mod decoder;
mod deep;
mod fitted;
mod resource;
#[cfg(feature = "client")]
mod source;

pub use decoder::{KubeDecoder, labels_of};
#[cfg(feature = "client")]
pub use kube_client;
pub use kube_core;
#[doc(no_inline)]
pub use kube_core::{
    ApiResource, DynamicObject,
    metadata::PartialObjectMeta,
    object::{NotUsed, Object},
};
pub use resource::{
    StaticScope, dynamic, dynamic_metadata, metadata, object, resource, resource_type, resource_type_of,
};
#[cfg(feature = "client")]
pub use source::KubeSource;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
