//! A REST client for Kubernetes lists and watches on hyper and rustls: kubeconfig, in-cluster, typed requests
