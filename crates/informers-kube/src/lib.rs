//! informers for the types of k8s-openapi and kube-rs, and a source over an existing kube::Client
