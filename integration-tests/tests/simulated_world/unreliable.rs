//! A simulated server behind a network that is at fault.

use std::sync::Arc;
use std::time::Duration;

use informers::core::{Error, ErrorKind, ListWatch, Source};
use informers::prelude::*;
use informers_testkit::{Fault, Faulty, FaultyCall, RequestMatch, SimulatedServer, Status, StreamFault};
use parking_lot::Mutex;

use crate::replicas::{Distance, Distant};

/// Puts faults and distance before each list-watch that it gives.
#[derive(Clone)]
pub(crate) struct Unreliable {
    pub(crate) server: SimulatedServer,
    faulty: Arc<Mutex<Vec<Box<dyn Breakable>>>>,
    distances: Arc<Mutex<Vec<Arc<Mutex<Distance>>>>>,
}

/// A list-watch of any type.
trait Breakable: Send {
    fn inject(&self, call: FaultyCall, fault: StreamFault);
    fn clear(&self);
}

impl<T: Send + Sync + 'static> Breakable for Faulty<T> {
    fn inject(&self, call: FaultyCall, fault: StreamFault) {
        self.inject(call, fault, 1);
    }

    fn clear(&self) {
        self.clear();
    }
}

impl Source for Unreliable {
    fn list_watch<T: Send + Sync + 'static>(
        &self,
        resource: &Resource<T>,
        scope: &Scope,
    ) -> Result<Arc<dyn ListWatch<T>>, Error> {
        let distance = Arc::<Mutex<Distance>>::default();
        let list_watch = self.server.list_watch(resource, scope)?;
        let (server, of_reader) = (self.server.clone(), Arc::clone(&distance));
        let faulty = Faulty::over(Arc::new(Distant { list_watch, server, distance }));
        self.faulty.lock().push(Box::new(faulty.clone()));
        self.distances.lock().push(of_reader);
        Ok(Arc::new(faulty))
    }
}

const KINDS: [ErrorKind; 12] = [
    ErrorKind::ConnectionRefused,
    ErrorKind::ConnectionLost,
    ErrorKind::Internal,
    ErrorKind::Unavailable,
    ErrorKind::TooManyRequests,
    ErrorKind::Unauthorized,
    ErrorKind::Forbidden,
    ErrorKind::Timeout,
    ErrorKind::Expired,
    ErrorKind::Gone,
    ErrorKind::NotFound,
    ErrorKind::UnexpectedAnswer,
];

fn error(rng: &mut fastrand::Rng) -> Error {
    let error = Error::new(KINDS[rng.usize(..KINDS.len())], "ask an unreliable server");
    if rng.u8(..3) == 0 { error.with_retry_after(Duration::from_secs(rng.u64(1..20))) } else { error }
}

impl Unreliable {
    pub(crate) fn new(server: SimulatedServer) -> Self {
        Self { server, faulty: Arc::default(), distances: Arc::default() }
    }

    /// Leads one reader another way to another server, and says what is to be expected of it.
    pub(crate) fn lead_elsewhere(&self, rng: &mut fastrand::Rng) -> String {
        let distances = self.distances.lock();
        let reader = rng.usize(..distances.len());
        format!("reader {reader} is {}", distances[reader].lock().change(rng))
    }

    /// Lets something go wrong with the next such call of one reader, and says what.
    pub(crate) fn break_something(&self, rng: &mut fastrand::Rng) -> String {
        let (call, fault) = match rng.u8(..4) {
            0 => (FaultyCall::List, Self::list_fault(rng)),
            1 => (FaultyCall::Page(rng.usize(1..4)), Self::list_fault(rng)),
            2 => (FaultyCall::StreamingList, Self::watch_fault(rng)),
            _ => (FaultyCall::PlainWatch, Self::watch_fault(rng)),
        };
        let faulty = self.faulty.lock();
        let reader = rng.usize(..faulty.len());
        let told = format!("reader {reader}: {call:?} meets {fault:?}");
        faulty[reader].inject(call, fault);
        told
    }

    fn list_fault(rng: &mut fastrand::Rng) -> StreamFault {
        match rng.u8(..4) {
            0 => StreamFault::Delay(Duration::from_millis(rng.u64(..20_000))),
            1 => StreamFault::BreakAfter(rng.usize(..3), error(rng)),
            2 => StreamFault::CutAfter(rng.usize(..2)),
            _ => StreamFault::Refuse(error(rng)),
        }
    }

    fn watch_fault(rng: &mut fastrand::Rng) -> StreamFault {
        match rng.u8(..6) {
            0 => StreamFault::Delay(Duration::from_millis(rng.u64(..20_000))),
            1 => StreamFault::BreakAfter(rng.usize(..4), error(rng)),
            2 => StreamFault::CutAfter(rng.usize(..4)),
            3 => StreamFault::StallAfter(rng.usize(..4)),
            _ => StreamFault::Refuse(error(rng)),
        }
    }

    /// Lets something go wrong at the server, for whoever asks next, and says what.
    pub(crate) fn break_the_server(&self, rng: &mut fastrand::Rng) -> String {
        let fault = match rng.u8(..4) {
            0 => Fault::DropConnection,
            1 => Fault::Delay(Duration::from_millis(rng.u64(..5_000))),
            2 => Fault::CutAfter(rng.usize(..3)),
            _ => {
                let code = [403, 404, 410, 429, 500, 503, 504][rng.usize(..7)];
                Status::new(code, "as a test asked").into()
            }
        };
        let told = format!("the server: {fault:?}");
        self.server.inject(RequestMatch::any(), fault, rng.usize(1..3));
        told
    }

    /// From now on nothing goes wrong.
    pub(crate) fn mend(&self) {
        self.server.clear_faults();
        self.faulty.lock().iter().for_each(|faulty| faulty.clear());
        self.distances.lock().iter().for_each(|distance| *distance.lock() = Distance::default());
    }
}
