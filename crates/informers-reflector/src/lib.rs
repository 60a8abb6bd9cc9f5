//! Keeps a sink equal to a Kubernetes collection: list, watch, resume, relist, back-off, resync
