//! Kubernetes informer machinery for Rust: client-go's shared informers with Rust's types
