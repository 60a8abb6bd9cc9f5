//! The queues between a reflector and an informer's store: DeltaFIFO and the in-order queue with atomic replace
