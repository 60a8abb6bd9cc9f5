//! What the limit for a whole request counts, and what it does not.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use informers_client::{
    BoxError, Client, Config, Credentials, DeleteOptions, ExecPlugin, HttpBody, HttpService, RateLimit,
    Timeouts,
};
use informers_core::{FieldSelector, LabelSelector};
use tokio::time::Instant;

use crate::server::{status, widgets};

/// Answers at once, if the token is the last one that the plugin prints.
struct Server(&'static str);

#[async_trait::async_trait]
impl HttpService for Server {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<HttpBody>, BoxError> {
        let token = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        if token.unwrap_or_default() == self.0 {
            return Ok(Response::new(HttpBody::full(r#"{"gitVersion":"v1.37.2"}"#)));
        }
        Ok(Response::builder().status(401).body(HttpBody::full(status(401, "Unauthorized", "no")))?)
    }
}

fn config(limit: Duration) -> Config {
    let timeouts = Timeouts { request: Some(limit), ..Timeouts::default() };
    Config::for_url("https://in-memory").unwrap().with_timeouts(timeouts)
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_its_turn_has_its_whole_time_then() {
    let config = config(Duration::from_millis(100)).with_rate_limit(RateLimit::per_second(5.0, 1));
    let client = Client::over(Server(""), config).unwrap();
    let start = Instant::now();
    let requests = [(); 20].map(|()| {
        let client = client.clone();
        tokio::spawn(async move { client.server_version().await })
    });
    for request in requests {
        request.await.unwrap().unwrap();
    }
    assert_eq!(start.elapsed().as_millis() / 100, 38);
}

/// Takes every request and never answers.
struct Silent;

#[async_trait::async_trait]
impl HttpService for Silent {
    async fn send(&self, _: Request<Bytes>) -> Result<Response<HttpBody>, BoxError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn requests_for_objects_and_for_collections_end_with_the_limit() {
    let client = Client::over(Silent, config(Duration::from_secs(5))).unwrap();
    let widgets = client.api(&widgets(), Some("shop"));
    let (all, any) = (LabelSelector::default(), FieldSelector::default());
    let start = Instant::now();
    let error = widgets.delete_collection(&all, &any, &DeleteOptions::new()).await.unwrap_err();
    assert!(error.is_timeout() && start.elapsed() == Duration::from_secs(5), "{error}");
    let error = widgets.get("a").await.unwrap_err();
    assert!(error.is_timeout() && start.elapsed() == Duration::from_secs(10), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_plugin_may_take_longer_than_a_request() {
    // It prints one token, then another, and takes its time for each.
    let folder = tempfile::tempdir().unwrap();
    let (program, runs) = (folder.path().join("login"), folder.path().join("runs"));
    let text = format!(
        "sleep 1\necho >> {0}\nprintf \'{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\
         \"kind\":\"ExecCredential\",\"status\":{{\"token\":\"t%d\"}}}}\' $(wc -l < {0})\n",
        runs.display()
    );
    std::fs::write(&program, text).unwrap();
    let plugin = ExecPlugin::new("sh").with_args([program.display().to_string()]);
    let config = config(Duration::from_millis(500)).with_credentials(Credentials::Exec(Box::new(plugin)));
    let client = Client::over(Server("Bearer t2"), config).unwrap();
    // The first token is rejected, and the program runs again.
    client.server_version().await.unwrap();
    client.server_version().await.unwrap();
    assert_eq!(std::fs::read_to_string(&runs).unwrap().lines().count(), 2);
}
