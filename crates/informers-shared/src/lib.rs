//! Plain and shared informers and the shared informer factory: one watch, one store, many handlers
