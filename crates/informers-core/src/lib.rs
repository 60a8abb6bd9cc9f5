//! The vocabulary of Kubernetes informers: entries, keys, versions, resources, events and the traits at the seams
