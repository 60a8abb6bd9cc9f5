//! client-go's work queue for Rust: deduplicating, delaying, rate-limited, with drain; knows nothing of Kubernetes
