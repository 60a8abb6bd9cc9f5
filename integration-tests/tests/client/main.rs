//! What becomes of informers when the way to the server changes under them: credentials that rotate, proxies that
//! die, connections that are shared by many, rights that are given and taken; and
//! objects in protobuf.

mod collections;
mod connections;
#[cfg(unix)]
mod credentials;
#[cfg(unix)]
mod protobuf;
mod proxies;
mod recorder;
#[cfg(unix)]
mod rights;
mod without_protobuf;
