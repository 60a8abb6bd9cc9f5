//! Bytes of the Kubernetes API to raw items and frames: list splitter, watch framer, Status, Retry-After, gzip members; no IO
