//! A REST client for Kubernetes lists and watches, on hyper and rustls.
//!
//! [`Client`] is what informers read from: it implements [`informers_core::Source`], gives lists and watches
//! as streams of decoded objects, and never holds a list's body whole. It also makes the requests that a
//! controller needs beside reading: get, create, update, patch, delete, discovery.
//!
//! It takes the place of client-go's `rest`, `transport` and `clientcmd`: [`Config`] reads kubeconfigs (merged
//! as kubectl does), service accounts, token files and exec plugins. One client has one pool of connections,
//! over HTTP/2 where the server speaks it, with as many connections as its limit of streams needs.
//!
//! ```
//! use futures_util::StreamExt as _;
//! use informers_client::{Client, Config};
//! use informers_core::{
//!     JsonDecoder, ListParams, ListPart, Resource, ResourceScope, ResourceType, Scope, Source as _,
//! };
//! # use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
//!
//! #[derive(serde::Deserialize)]
//! struct Widget { size: u32 }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! # let url = format!("http://{}", listener.local_addr()?);
//! # tokio::spawn(async move {
//! #     let (mut connection, _) = listener.accept().await.unwrap();
//! #     let mut request = [0; 4096];
//! #     let _ = connection.read(&mut request).await.unwrap();
//! #     let body = r#"{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"7"},
//! #         "items":[{"metadata":{"namespace":"shop","name":"w","uid":"u","resourceVersion":"5"},"size":3}]}"#;
//! #     let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
//! #     connection.write_all((head + body).as_bytes()).await.unwrap();
//! # });
//! let client = Client::new(Config::for_url(&url)?)?; // or Client::from_env().await?
//! let widgets: Resource<Widget> = Resource::new(
//!     ResourceType::new("example.com", "v1", "Widget", "widgets", ResourceScope::Namespaced),
//!     JsonDecoder::new(),
//! );
//! let collection = client.list_watch(&widgets, &Scope::namespace("shop"))?;
//! let mut list = collection.list(ListParams::first("0".into())).await?;
//! while let Some(part) = list.next().await {
//!     match part? {
//!         ListPart::Items(items) => assert_eq!(items[0].key().unwrap().as_str(), "shop/w"),
//!         ListPart::Trailer(trailer) => assert_eq!(trailer.version.to_string(), "7"),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # What a controller needs beside reading
//! - [`Client::api`]: typed requests, patches and applies, subresources, changes that are repeated on conflict.
//! - [`recorder`]: Events about objects, as `kubectl describe` shows them.
//! - [`Discovery`]: resources by any of their names.
//!
//! # Features
//! - `ring` (default): TLS with the cryptography of `ring`.
//! - `aws-lc-rs`: TLS with that of `aws-lc-rs`, which is preferred if both are on.
//!
//! The provider is handed to rustls explicitly; the process's default one is neither used nor set. With
//! neither feature only `http` URLs work.
//!
//! # Other transports
//! [`Client::over`] takes anything that carries HTTP requests instead of this crate's connections.
//!
//! # Errors
//! [`ClientError`] says what was being done and what to do about it; lists and watches give it as an
//! [`informers_core::Error`], whose kind tells informers how to go on.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod answer;
mod api;
mod chunks;
mod client;
mod config;
mod credentials;
mod discovery;
mod encode;
mod error;
mod list_watch;
mod rate_limit;
pub mod recorder;
mod redirect;
mod service;
mod timestamp;
mod transport;
mod warnings;

pub use api::{
    Api, ControlledByAnother, DeleteOptions, OwnerReference, Patch, Propagation, Scale, Subresource,
};
pub use client::Client;
pub use config::{
    ClusterSettings, Config, Credentials, ExecApiVersion, ExecPlugin, ExecPolicy, Gzip, Http2, Impersonation,
    InteractiveMode, Kubeconfig, Limits, Overrides, Proxy, Secret, Timeouts, Tls,
};
pub use discovery::{Discovery, ServerVersion};
pub use error::{ClientError, ConnectionFailure};
pub use informers_wire::Status;
pub use rate_limit::RateLimit;
pub use service::{BoxError, HttpBody, HttpService};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
