//! Reads Kubernetes lists in pages: one walker, full-list fallback, buffered pages
