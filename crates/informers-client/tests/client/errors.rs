//! Error answers and connections that fail.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::StreamExt as _;
use informers_client::{Client, ClientError, Config, ConnectionFailure, Timeouts};
use informers_core::{Error, ErrorKind, ListParams, Scope, Source as _, WatchParams};
use parking_lot::Mutex;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::server::{Answer, Server, event, status, widget, widgets};

async fn list(client: &Client) -> Error {
    let collection = client.list_watch(&widgets(), &Scope::all()).unwrap();
    collection.list(ListParams::first("".into())).await.map(drop).unwrap_err()
}

/// Message and causes, none of which may repeat another.
fn chain(error: &(dyn StdError + 'static)) -> Vec<String> {
    let mut levels = vec![error.to_string()];
    let mut next = error.source();
    while let Some(error) = next {
        levels.push(error.to_string());
        next = error.source();
    }
    for (at, level) in levels.iter().enumerate() {
        for deeper in &levels[at + 1..] {
            assert!(!level.contains(deeper.as_str()), "`{level}` repeats `{deeper}`");
        }
    }
    levels
}

#[tokio::test]
async fn every_answer_has_its_kind() {
    let too_large = status(504, "Timeout", "Too large resource version: 9")
        .replace(r#""code""#, r#""details":{"causes":[{"reason":"ResourceVersionTooLarge"}]},"code""#);
    let cases = [
        (400, status(400, "BadRequest", "m"), ErrorKind::BadRequest),
        (401, status(401, "Unauthorized", "m"), ErrorKind::Unauthorized),
        (403, status(403, "Forbidden", "m"), ErrorKind::Forbidden),
        (404, status(404, "NotFound", "m"), ErrorKind::NotFound),
        (404, "404 page not found".to_owned(), ErrorKind::NotFound),
        (409, status(409, "Conflict", "m"), ErrorKind::Conflict),
        (409, status(409, "AlreadyExists", "m"), ErrorKind::Conflict),
        (410, status(410, "Expired", "m"), ErrorKind::Expired),
        (410, status(410, "Gone", "m"), ErrorKind::Gone),
        (410, "gone".to_owned(), ErrorKind::Gone),
        (422, status(422, "Invalid", "m"), ErrorKind::Invalid),
        (429, status(429, "TooManyRequests", "m"), ErrorKind::TooManyRequests),
        (500, status(500, "InternalError", "m"), ErrorKind::Internal),
        (502, "<html>bad gateway</html>".to_owned(), ErrorKind::Internal),
        (503, "<html>try later</html>".to_owned(), ErrorKind::Unavailable),
        (504, status(504, "Timeout", "m"), ErrorKind::Timeout),
        (504, too_large, ErrorKind::TooLargeResourceVersion),
        (418, "teapot".to_owned(), ErrorKind::Other),
    ];
    for (code, body, kind) in cases {
        let server = Server::script([Answer::json(body.clone()).status(code)]).await;
        let error = list(&server.client()).await;
        assert_eq!((error.kind(), error.code()), (kind, Some(code)), "{body}: {error:?}");
        assert!(
            error.to_string().starts_with("cannot list widgets.v1.example.com in all namespaces: "),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a16_a_hint_to_wait_is_read_in_every_form_and_capped() {
    let details = status(429, "TooManyRequests", "m")
        .replace(r#""code""#, r#""details":{"retryAfterSeconds":7},"code""#);
    let date = SystemTime::now() + Duration::from_secs(30);
    let date = httpdate(date);
    let plain = || Answer::json(status(429, "TooManyRequests", "m")).status(429);
    let server = Server::script([
        plain().header("retry-after", "3"),
        plain().header("retry-after", &date),
        plain(),
        plain().header("retry-after", "86400"),
        Answer::json(details).status(429),
        plain().header("retry-after", "soon"),
    ])
    .await;
    let client = server.client();
    let mut waits = Vec::new();
    for _ in 0..6 {
        waits.push(list(&client).await.retry_after());
    }
    let by_date = waits.remove(1).unwrap();
    assert!((20..=31).contains(&by_date.as_secs()), "{by_date:?}");
    let seconds = |number| Some(Duration::from_secs(number));
    assert_eq!(waits, [seconds(3), None, seconds(300), seconds(7), None]);
    assert_eq!(server.count(), 6, "lists are not repeated by the client");
}

fn httpdate(time: SystemTime) -> String {
    // IMF-fixdate by hand, so that the test does not share code with what it tests.
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    let mut left = days;
    let leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    while left >= if leap(year) { 366 } else { 365 } {
        left -= if leap(year) { 366 } else { 365 };
        year += 1;
    }
    let lengths = [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while left >= lengths[month] {
        left -= lengths[month];
        month += 1;
    }
    let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let week = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][usize::try_from(days % 7).unwrap()];
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{week}, {:02} {} {year} {hour:02}:{minute:02}:{second:02} GMT", left + 1, names[month])
}

#[tokio::test]
async fn a_refused_connection_names_the_server_and_what_to_do() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = list(&Client::new(Config::for_url(&url).unwrap()).unwrap()).await;
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(error.message(), format!("nothing listens at {url}; check that the server runs, and its URL"));
    assert!(chain(&error).len() > 1, "{:?}", chain(&error));
}

#[tokio::test]
async fn a_host_that_does_not_resolve_is_told_so() {
    let client = Client::new(Config::for_url("http://no-such-host.invalid:1234").unwrap()).unwrap();
    let error = list(&client).await;
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert!(
        error.message().starts_with("the host of http://no-such-host.invalid:1234 cannot be resolved"),
        "{error}"
    );
    chain(&error);
}

#[tokio::test]
async fn what_is_no_http_is_told_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n\r\n").await.unwrap();
        }
    });
    let error = list(&Client::new(Config::for_url(&url).unwrap()).unwrap()).await;
    assert_eq!(error.kind(), ErrorKind::UnexpectedAnswer, "{error:?}");
    assert!(error.message().contains("is no HTTP"), "{error}");
    chain(&error);
}

#[tokio::test]
async fn a_connection_that_closes_without_an_answer_is_lost() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let error = list(&Client::new(Config::for_url(&url).unwrap()).unwrap()).await;
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error:?}");
    assert_eq!(error.message(), format!("the connection to {url} broke"));
    chain(&error);
}

#[tokio::test]
async fn a_server_that_does_not_answer_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let timeouts = informers_client::Timeouts { idle: Duration::from_millis(30), ..Default::default() };
    let client = Client::new(Config::for_url(&url).unwrap().with_timeouts(timeouts)).unwrap();
    let error = client.server_version().await.unwrap_err();
    assert!(
        matches!(error, ClientError::Connection { failure: ConnectionFailure::Timeout, .. }),
        "{error:?}"
    );
    assert!(error.is_timeout());
    assert!(error.to_string().contains("gives no answer within 0.03 s"), "{error}");
    drop(listener);
}

#[tokio::test]
async fn a_limit_for_whole_requests_ends_those_that_drip_and_no_watch() {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&bodies);
    let server = Server::start(move |_| {
        let (answer, body) = Answer::stream();
        body.send(" ");
        kept.lock().push(body);
        answer
    })
    .await;
    let timeouts = Timeouts { request: Some(Duration::from_millis(30)), ..Timeouts::default() };
    let client = Client::new(server.config().with_timeouts(timeouts)).unwrap();
    let collection = client.list_watch(&widgets(), &Scope::all()).unwrap();
    let params = WatchParams::from_version("0".into(), Duration::from_secs(300));
    let mut watch = collection.watch(params).await.unwrap();
    let error = client.server_version().await.unwrap_err();
    assert!(
        error.is_timeout() && error.to_string().contains("gives no whole answer within 0.03 s"),
        "{error}"
    );
    // The watch is older than the limit by now.
    let body = bodies.lock().remove(0);
    body.send(event("ADDED", &widget("a", 1, "")));
    drop(body);
    assert_eq!(watch.next().await.unwrap().unwrap().len(), 1);
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_namespace_that_would_leave_its_place_in_the_path_is_refused() {
    let client = Client::new(Config::for_url("http://127.0.0.1:1").unwrap()).unwrap();
    for name in ["a/b", "..", "%2e", "a?b", "a#b"] {
        let error = client.list_watch(&widgets(), &Scope::namespace(name)).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{name}");
        // Up to a `?` the path would be that of the namespace, which would be deleted.
        let delete = client.api(&widgets(), Some(name));
        let error = delete.delete("w", &informers_client::DeleteOptions::new()).await.unwrap_err();
        assert!(matches!(error, ClientError::InvalidRequest { .. }), "{name}: {error:?}");
    }
}
