//! Events about objects, as `kubectl describe` shows them: what client-go's `tools/record` does.
//!
//! The Events of this module are objects of the API (`core/v1` `Event`), by which a controller tells users what
//! happens to their objects. They have nothing to do with the events that an informer hands to its handlers.
//!
//! A [`Recorder`] never keeps its caller waiting, and does not flood the server:
//! - What happens again is counted in the Event that is there (`count`, `lastTimestamp`), by a patch.
//! - Of ten different messages about one object, with one reason and without a silence of more than ten minutes
//!   between them, the tenth and all further ones become one Event, `(combined from similar events): …`.
//! - About one object 25 Events of one [type](EventType) are written at once, then one every five minutes; those
//!   that are not written count all the same.
//! - While the server is not reached, or asks for patience, an Event is tried twelve times, ten seconds apart, or as
//!   long as the server says. Meanwhile up to 1000 wait; more are dropped. What was dropped is
//!   [counted](Recorder::counts).
//!
//! All of these numbers are client-go's, and [`Options`]. Unlike client-go, an Event is also tried again after an
//! answer of 429, 502, 503 or 504 that does not say how long to wait.
//!
//! A client needs the permissions to `create` and `patch` `events`.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use informers_client::recorder::{ObjectReference, Recorder};
//! use informers_client::{BoxError, Client, Config, HttpBody, HttpService};
//!
//! # struct Server(tokio::sync::mpsc::UnboundedSender<(String, serde_json::Value)>);
//! # #[async_trait::async_trait]
//! # impl HttpService for Server {
//! #     async fn send(&self, request: Request<Bytes>) -> Result<Response<HttpBody>, BoxError> {
//! #         self.0.send((request.method().to_string(), serde_json::from_slice(request.body())?))?;
//! #         Ok(Response::new(HttpBody::full(r#"{"apiVersion":"v1","kind":"Event"}"#)))
//! #     }
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let (server, mut requests) = tokio::sync::mpsc::unbounded_channel();
//! # let client = Client::over(Server(server), Config::for_url("http://in-memory")?)?;
//! // let client = Client::from_env().await?;
//! let recorder = Recorder::start(client, "shop-controller")?;
//! let pod = ObjectReference::new("v1", "Pod", "shop", "cart-0", "u-1");
//! recorder.normal(&pod, "Pulled", "image cart:7");
//! recorder.warning(&pod, "Unhealthy", "no answer on port 80");
//! recorder.warning(&pod, "Unhealthy", "no answer on port 80");
//! recorder.close().await;
//! assert_eq!(recorder.counts().written, 3);
//! # let mut next = || requests.try_recv().unwrap();
//! # assert_eq!(next().1["reason"], "Pulled");
//! # assert_eq!(next().1["type"], "Warning");
//! # assert_eq!((next().0, requests.is_empty()), ("PATCH".to_owned(), true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod driver;
mod machine;
mod occurrence;
mod options;

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use driver::{Counters, Driver};
use machine::Observation;
pub use occurrence::{EventType, ObjectReference, Occurrence};
pub use options::Options;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc, watch};

use crate::rate_limit::Bucket;
use crate::{Client, ClientError};

/// How often at most it is said that Events are dropped.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(60);

/// Who records.
#[derive(Clone, Debug)]
struct Source {
    component: String,
    host: String,
}

/// Records what happens to objects. A clone records to the same queue.
///
/// One task writes what was recorded, one after the other. It ends after [`close`](Self::close), or when the last
/// clone is dropped; what waits then has one try.
///
/// For an example see [the module](self).
#[derive(Clone)]
pub struct Recorder(Arc<Inner>);

struct Inner {
    component: String,
    queue: mpsc::Sender<Observation>,
    closing: watch::Sender<bool>,
    /// Its end is the task's.
    running: watch::Receiver<()>,
    counters: Arc<Counters>,
    complaints: Mutex<Bucket>,
}

/// What became of all that was recorded; what is missing in the sum waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Told to the server, as a new Event or one more of an old one.
    pub written: u64,
    /// Not told, since there were too many about the object.
    pub spam: u64,
    /// Dropped, since too many waited, or the recorder was closed.
    pub overflow: u64,
    /// Refused by the server.
    pub rejected: u64,
    /// Given up, since the server was not reached, or asked for patience to the last.
    pub lost: u64,
}

/// What a [`Recorder`] is made of.
///
/// ```no_run
/// # fn example(client: informers_client::Client) -> Result<(), informers_client::ClientError> {
/// use informers_client::recorder::{Options, Recorder};
///
/// let options = Options { burst: 100, ..Options::default() };
/// let recorder = Recorder::builder(client, "shop-agent").host("node-1").options(options).start()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RecorderBuilder {
    client: Client,
    source: Source,
    options: Options,
}

impl RecorderBuilder {
    /// The host that records, such as the node of an agent. Default none.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.source.host = host.into();
        self
    }

    /// Other limits than client-go's.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Starts the task that writes.
    ///
    /// # Errors
    /// If called outside of a Tokio runtime.
    pub fn start(self) -> Result<Recorder, ClientError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|error| {
            let problem = "must be started within a Tokio runtime: its task needs one";
            ClientError::configuration("event recorder", problem).because(error)
        })?;
        let (queue, receiver) = mpsc::channel(self.options.queue.clamp(1, Semaphore::MAX_PERMITS));
        let (closing, told) = watch::channel(false);
        let (ended, running) = watch::channel(());
        let counters = Arc::new(Counters::default());
        let component = self.source.component.clone();
        let driver = Driver {
            client: self.client,
            source: self.source,
            options: self.options,
            queue: receiver,
            closing: told,
            counters: Arc::clone(&counters),
        };
        runtime.spawn(async move {
            let _ended = ended;
            driver.run().await;
        });
        let complaints = Mutex::new(Bucket::new(COMPLAINT_INTERVAL, 1));
        Ok(Recorder(Arc::new(Inner { component, queue, closing, running, counters, complaints })))
    }
}

impl Recorder {
    /// A recorder for this component, with client-go's limits.
    ///
    /// # Errors
    /// If called outside of a Tokio runtime.
    pub fn start(client: Client, component: impl Into<String>) -> Result<Self, ClientError> {
        Self::builder(client, component).start()
    }

    /// A recorder for `component`, the name under which Events appear, such as `shop-controller`.
    pub fn builder(client: Client, component: impl Into<String>) -> RecorderBuilder {
        let source = Source { component: component.into(), host: String::new() };
        RecorderBuilder { client, source, options: Options::default() }
    }

    /// Records that things went as they should. Returns at once.
    pub fn normal(&self, about: &ObjectReference, reason: impl Into<String>, message: impl Into<String>) {
        self.record(Occurrence::new(about.clone(), EventType::Normal, reason, message));
    }

    /// Records that something is wrong. Returns at once.
    pub fn warning(&self, about: &ObjectReference, reason: impl Into<String>, message: impl Into<String>) {
        self.record(Occurrence::new(about.clone(), EventType::Warning, reason, message));
    }

    /// Records an occurrence. Returns at once: where too many wait, or after [`close`](Self::close), it is dropped
    /// and counted. That too many wait is a warning in the log, once a minute at most.
    pub fn record(&self, occurrence: Occurrence) {
        let Inner { component, queue, closing, counters, complaints, .. } = &*self.0;
        let random = RandomState::new().hash_one(0);
        let observation = Observation { occurrence, at: SystemTime::now(), random };
        let is_closed = *closing.borrow() || queue.is_closed();
        if !is_closed && queue.try_send(observation).is_ok() {
            return;
        }
        Counters::add(&counters.overflow);
        if is_closed {
            tracing::debug!(component, "the recorder is closed; an Event is dropped");
        } else if complaints.lock().try_take(tokio::time::Instant::now().into_std()) {
            let overflow = counters.read().overflow;
            tracing::warn!(
                component,
                overflow,
                "too many Events wait to be written; those that do not fit are dropped"
            );
        }
    }

    /// What became of all that was recorded up to now.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.0.counters.read()
    }

    /// Takes no more, and waits until what was recorded is written. Each Event has one try then; if the server is
    /// not reached, or asks for patience, the rest is given up. Any number of tasks may wait.
    ///
    /// A try takes as long as the client's [`Timeouts`](crate::Timeouts) and [`RateLimit`](crate::RateLimit) let it:
    /// who has less time than that puts a limit around this future.
    ///
    /// # Cancel safety
    /// Dropping the future keeps the recorder closed, and what was recorded is still written.
    pub async fn close(&self) {
        self.0.closing.send_replace(true);
        // Nothing is ever sent: it fails when the task has ended.
        let _ = self.0.running.clone().changed().await;
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("component", &self.0.component)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
