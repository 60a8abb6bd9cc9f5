//! The task that calls a handler.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use informers_core::{Event, Handler, Metrics, ObjectKey};

use super::{Delivery, counts_as_initial};

/// How long client-go's handlers rest after a panic.
const REST: Duration = Duration::from_secs(1);

/// What is called with each event.
pub(crate) enum Runner<T> {
    Blocking(Box<dyn Handler<T>>),
    Async(AsyncHandler<T>),
    /// Nobody: the user polls a subscription.
    Subscriber,
}

pub(crate) type AsyncHandler<T> = Box<dyn FnMut(Event<T>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

impl<T: Send + Sync + 'static> Runner<T> {
    /// Calls the handler until its delivery ends. A panic costs the one event it happened in, and with
    /// `panic_blocks_sync` also what [`Parity`](crate::Parity) says.
    pub(crate) async fn run(
        self,
        delivery: Arc<Delivery<T>>,
        informer: Arc<str>,
        metrics: Arc<dyn Metrics>,
        panic_blocks_sync: bool,
    ) {
        let call = match self {
            Self::Subscriber => return,
            Self::Blocking(handler) => Call::Blocking(handler),
            Self::Async(handler) => Call::Async(handler),
        };
        delivery.begin();
        // Dropped after the handler: whoever waits for the end may count on what that owns being gone.
        let _finish = Finish(Arc::clone(&delivery));
        let mut call = call;
        let mut shaken = false;
        while let Some(event) = poll_fn(|cx| delivery.poll_next(cx)).await {
            if std::mem::take(&mut shaken) {
                tokio::time::sleep(REST).await;
                if delivery.is_removed() {
                    break;
                }
            }
            let initial = counts_as_initial(&event);
            let key = event.key().clone();
            if call.with(event).await.is_err() {
                delivery.count_panic();
                report_panic(&informer, delivery.name(), &key);
                metrics.handler_panicked(&informer, delivery.name());
                shaken = panic_blocks_sync;
            }
            delivery.returned_from(initial && !shaken);
            tokio::task::consume_budget().await;
        }
    }
}

/// Ends a delivery that nobody takes from any more, however that came: also if the handler's destructor
/// panics, or the runtime goes away.
struct Finish<T>(Arc<Delivery<T>>);

impl<T> Drop for Finish<T> {
    fn drop(&mut self) {
        self.0.stop();
        self.0.finish();
    }
}

struct Panicked;

enum Call<T> {
    Blocking(Box<dyn Handler<T>>),
    Async(AsyncHandler<T>),
}

impl<T: 'static> Call<T> {
    async fn with(&mut self, event: Event<T>) -> Result<(), Panicked> {
        match self {
            Self::Blocking(handler) => {
                catch_unwind(AssertUnwindSafe(|| handler.on_event(event))).map_err(|_| Panicked)
            }
            Self::Async(handler) => {
                let call = catch_unwind(AssertUnwindSafe(|| handler(event))).map_err(|_| Panicked)?;
                AssertUnwindSafe(call).catch_unwind().await.map_err(|_| Panicked)
            }
        }
    }
}

fn report_panic(informer: &str, handler: &str, key: &ObjectKey) {
    tracing::error!(informer, handler, %key, "a handler panicked; the event counts as delivered, and delivery goes on");
}
