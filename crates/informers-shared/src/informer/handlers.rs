//! Adding handlers.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use informers_core::{Event, Handler};

use super::{Command, SharedInformer};
use crate::delivery::{Closure, Delivery, HandlerGuard, Runner, Subscription};
use crate::{BacklogPolicy, Resync};

/// Settings of a handler to be added; see [`SharedInformer::handler`].
#[must_use = "nothing is added before one of the last four methods is called"]
pub struct NewHandler<'a, T: Send + Sync + 'static> {
    informer: &'a SharedInformer<T>,
    name: Option<String>,
    added_at: &'static Location<'static>,
    resync: Resync,
    backlog: Option<BacklogPolicy>,
}

impl<'a, T: Send + Sync + 'static> NewHandler<'a, T> {
    pub(super) fn new(informer: &'a SharedInformer<T>, added_at: &'static Location<'static>) -> Self {
        Self { informer, name: None, added_at, resync: Resync::default(), backlog: None }
    }

    /// The name in logs, metrics and status; by default where the handler is added.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// How often the handler is shown every object again; zero is never. By default as the informer says.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Resync::Every(period);
        self
    }

    /// The handler is never shown everything again, even if the informer says so.
    pub fn without_resync(mut self) -> Self {
        self.resync = Resync::Never;
        self
    }

    /// What happens to events that the handler is too slow for. By default as the informer says.
    pub fn backlog(mut self, policy: BacklogPolicy) -> Self {
        self.backlog = Some(policy);
        self
    }

    /// Adds the handler.
    #[allow(clippy::should_implement_trait, reason = "nobody adds up handlers")]
    pub fn add(self, handler: impl Handler<T>) -> HandlerGuard<T> {
        self.register(Runner::Blocking(Box::new(handler))).1
    }

    /// Adds a closure as the handler.
    pub fn on_event(self, handler: impl FnMut(Event<T>) + Send + 'static) -> HandlerGuard<T> {
        self.add(Closure(handler))
    }

    /// Adds an async closure as the handler. The next call begins after the future of the last one has ended.
    pub fn for_each<F>(self, mut handler: impl FnMut(Event<T>) -> F + Send + 'static) -> HandlerGuard<T>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.register(Runner::Async(Box::new(move |event| Box::pin(handler(event))))).1
    }

    /// Gives the events as a stream.
    pub fn subscribe(self) -> Subscription<T> {
        let (delivery, guard) = self.register(Runner::Subscriber);
        Subscription::new(delivery, guard)
    }

    fn register(self, runner: Runner<T>) -> (Arc<Delivery<T>>, HandlerGuard<T>) {
        let core = self.informer.hold().core();
        let id = core.next_handler();
        let name = self.name.unwrap_or_else(|| self.added_at.to_string());
        let resync = core.calendar.register(id, self.resync, crate::clock::now());
        let delivery = Delivery::new(id, name, resync, self.backlog.unwrap_or(core.backlog));
        let guard = HandlerGuard::new(Arc::clone(&delivery), Arc::clone(self.informer.hold()));
        core.register(&delivery, Command::AddHandler { delivery: Arc::clone(&delivery), runner });
        (delivery, guard)
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for NewHandler<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewHandler")
            .field("informer", &self.informer.name())
            .field("name", &self.name)
            .field("resync", &self.resync)
            .field("backlog", &self.backlog)
            .finish_non_exhaustive()
    }
}
