//! Reflectors against a scripted list-watch, on a paused clock.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]
#![allow(unreachable_pub, reason = "the modules of a test are one crate")]

mod cases;
mod client_go;
mod denials;
mod golden;
mod parity;
mod server;
mod sink;
mod states;
mod throttling;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informers_core::Error;
use informers_reflector::{Parity, Reflector, ReflectorBuilder, ReflectorStatus, StatusWatch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use server::{Answer, Server};
use sink::MapSink;

/// A reflector that runs, and everything around it.
struct Run {
    server: Arc<Server>,
    sink: MapSink,
    status: StatusWatch,
    /// What the watch error handler was told.
    told: Arc<Mutex<Vec<Error>>>,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl Run {
    /// Lists in pages.
    fn paged(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::with(answers, |builder| builder.streaming_list(false))
    }

    fn streaming(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::with(answers, |builder| builder)
    }

    fn like_client_go(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::with(answers, |builder| builder.parity(Parity::client_go_0_37()))
    }

    fn with(
        answers: impl IntoIterator<Item = Answer>,
        settings: impl FnOnce(ReflectorBuilder<()>) -> ReflectorBuilder<()>,
    ) -> Self {
        Self::over(Server::new(answers), MapSink::new(), settings)
    }

    fn over(
        server: Arc<Server>,
        sink: MapSink,
        settings: impl FnOnce(ReflectorBuilder<()>) -> ReflectorBuilder<()>,
    ) -> Self {
        let told = Arc::new(Mutex::new(Vec::new()));
        let hear = Arc::clone(&told);
        let builder = Reflector::builder(server.clone(), sink.clone())
            .seed(7)
            .watch_error_handler(move |error: &Error| hear.lock().unwrap().push(error.clone()));
        let reflector = settings(builder).build();
        let (status, cancel) = (reflector.status(), CancellationToken::new());
        let task = tokio::spawn(reflector.run(cancel.clone()));
        Self { server, sink, status, told, cancel, task }
    }

    /// Until the script's last request, and a moment longer.
    async fn until(&self, requests: usize) {
        self.server.reached(requests).await;
        settle().await;
    }

    fn status(&self) -> ReflectorStatus {
        self.status.current()
    }

    fn told(&self) -> Vec<Error> {
        self.told.lock().unwrap().clone()
    }

    async fn stop(self) {
        self.cancel.cancel();
        self.task.await.unwrap();
    }
}

/// Lets everything that can happen without time happen.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    settle().await;
}
