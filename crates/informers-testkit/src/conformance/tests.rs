use informers_core::{Error, Resource, Scope, Source};

use super::*;
use crate::{Faulty, FaultyCall, SimulatedServer, StreamFault};

#[tokio::test(start_paused = true)]
async fn the_simulated_server_conforms() {
    let server = SimulatedServer::new();
    let playground = WorldPlayground::new(server.world().clone(), server.clone());
    assert_eq!(check_all(&playground).await.unwrap(), Vec::<&str>::new());
    let left = server.requests().len();
    assert!(left > 20, "{left} requests");
}

/// A source with a fault in each of its list-watches.
struct Broken {
    server: SimulatedServer,
    call: FaultyCall,
    fault: StreamFault,
}

impl Source for Broken {
    fn list_watch<T: Send + Sync + 'static>(
        &self,
        resource: &Resource<T>,
        scope: &Scope,
    ) -> Result<Arc<dyn ListWatch<T>>, Error> {
        let faulty = Faulty::over(self.server.list_watch(resource, scope)?);
        faulty.inject(self.call, self.fault.clone(), usize::MAX);
        Ok(Arc::new(faulty))
    }
}

#[tokio::test(start_paused = true)]
async fn what_lies_is_found_out() {
    for (call, fault, check) in [
        (FaultyCall::List, StreamFault::CutAfter(0), "lists are complete"),
        (FaultyCall::Page(2), StreamFault::CutAfter(1), "pages are one snapshot"),
        (FaultyCall::PlainWatch, StreamFault::Duplicate, "watches resume"),
        (FaultyCall::PlainWatch, StreamFault::CutAfter(0), "lists are complete"),
        (FaultyCall::StreamingList, StreamFault::StallAfter(1), "streaming lists end with a bookmark"),
        (FaultyCall::StreamingList, StreamFault::Duplicate, "streaming lists end with a bookmark"),
    ] {
        let server = SimulatedServer::new();
        let world = server.world().clone();
        let playground = WorldPlayground::new(world, Broken { server, call, fault: fault.clone() });
        let violation = check_all(&playground).await.unwrap_err();
        assert_eq!(violation.check(), check, "{fault:?}: {violation}");
    }
}
