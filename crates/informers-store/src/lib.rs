//! A thread-safe object store with secondary indexes, listers and overlays, as in client-go's tools/cache
