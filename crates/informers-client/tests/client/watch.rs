//! Watches: framing, batches, ends.

use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use informers_client::{Client, Limits, Timeouts};
use informers_core::{
    ChangeKind, DecodeErrorKind, Error, ErrorKind, Item, Scope, Source as _, WatchEvent, WatchParams,
    WatchStream,
};

use crate::server::{Answer, Server, Widget, event, status, widget, widgets};

const SERVER_TIMEOUT: Duration = Duration::from_secs(300);

async fn open(client: &Client, params: WatchParams) -> Result<WatchStream<Widget>, Error> {
    client.list_watch(&widgets(), &Scope::all()).unwrap().watch(params).await
}

fn from(version: &str) -> WatchParams {
    WatchParams::from_version(version.into(), SERVER_TIMEOUT)
}

/// One word per event.
fn words(events: &[WatchEvent<Widget>]) -> Vec<String> {
    let word = |event: &WatchEvent<Widget>| match event {
        WatchEvent::Change(change) => {
            let name = change.item.key().map_or("?", |key| key.name());
            let good = matches!(change.item, Item::Decoded(_));
            format!("{:?} {name}{}", change.kind, if good { "" } else { " bad" })
        }
        WatchEvent::Bookmark { version, initial_events_end } => {
            format!("Bookmark {version} {initial_events_end}")
        }
        WatchEvent::Unknown { event_type, version } => format!("Unknown {event_type} {version}"),
        _ => "other".to_owned(),
    };
    events.iter().map(word).collect()
}

/// All events, and how the watch ended.
async fn drain(mut stream: WatchStream<Widget>) -> (Vec<String>, Option<Error>) {
    let mut seen = Vec::new();
    while let Some(batch) = stream.next().await {
        match batch {
            Ok(events) => {
                assert!(!events.is_empty());
                seen.extend(words(&events));
            }
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the end");
                return (seen, Some(error));
            }
        }
    }
    (seen, None)
}

#[tokio::test]
async fn every_option_of_a_watch_is_sent() {
    let server = Server::start(|_| Answer::json("")).await;
    let client = server.client();
    let _ = open(&client, from("7")).await.unwrap();
    let _ = open(&client, WatchParams::streaming_list("".into(), Duration::from_millis(1))).await.unwrap();
    assert_eq!(
        server.targets(),
        [
            "/apis/example.com/v1/widgets?watch=true&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=300",
            "/apis/example.com/v1/widgets?watch=true&allowWatchBookmarks=true&sendInitialEvents=true\
             &resourceVersionMatch=NotOlderThan&timeoutSeconds=1",
        ]
    );
    assert_eq!(server.seen.lock()[0].header("accept-encoding"), Some("identity"));
}

#[tokio::test]
async fn every_kind_of_frame_has_its_event() {
    let bookmark =
        r#"{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    let body = [
        event("ADDED", &widget("a", 1, "")),
        event("MODIFIED", &widget("a", 2, "")),
        event("DELETED", &widget("a", 3, "")),
        event("BOOKMARK", bookmark),
        event("SURPRISE", &widget("a", 10, "")),
    ];
    let server = Server::script([Answer::json(body.concat())]).await;
    let (seen, error) = drain(open(&server.client(), from("0")).await.unwrap()).await;
    assert_eq!(seen, ["Added a", "Modified a", "Deleted a", "Bookmark 9 true", "Unknown SURPRISE 10"]);
    assert!(error.is_none(), "{error:?}");
}

#[tokio::test]
async fn an_event_is_given_before_the_next_is_sent() {
    let (answer, body) = Answer::stream();
    let server = Server::script([answer]).await;
    let mut stream = open(&server.client(), from("0")).await.unwrap();
    for version in 1..5 {
        body.send(event("MODIFIED", &widget("a", version, "")));
        let events = stream.next().await.unwrap().unwrap();
        assert_eq!(events[0].version(), &u64::from(version).into());
    }
    drop(stream);
    body.closed().await;
}

#[tokio::test]
async fn a13_events_come_whole_however_their_bytes_are_split() {
    let text = "日本語 😀 e\u{301} \\ud83d\\ude00".repeat(50);
    let object = widget("a", 1, &format!(r#","text":"{text}""#));
    let body = format!(
        "\r\n{}\r\n\r\n{}",
        event("ADDED", &object).trim_end(),
        event("MODIFIED", &object).trim_end()
    );
    for size in [1, 7, 1000, body.len()] {
        let server = Server::script([Answer::pieces(body.as_bytes().chunks(size).map(<[u8]>::to_vec))]).await;
        let mut stream = open(&server.client(), from("0")).await.unwrap();
        let mut found = Vec::new();
        while let Some(events) = stream.next().await {
            for event in events.unwrap() {
                let WatchEvent::Change(change) = event else { panic!("{event:?}") };
                let Item::Decoded(entry) = change.item else { panic!("{:?}", change.item) };
                found.push((change.kind, entry.text.clone()));
            }
        }
        let expected = text.replace("\\ud83d\\ude00", "😀");
        assert_eq!(
            found,
            [(ChangeKind::Added, expected.clone()), (ChangeKind::Modified, expected)],
            "{size}"
        );
    }
}

#[tokio::test]
async fn a13_a_frame_of_several_megabytes_comes_whole() {
    let text = "x".repeat(8 << 20);
    let frame = event("ADDED", &widget("large", 1, &format!(r#","text":"{text}""#)));
    let server =
        Server::script([Answer::pieces(frame.as_bytes().chunks(64 << 10).map(<[u8]>::to_vec))]).await;
    let mut stream = open(&server.client(), from("0")).await.unwrap();
    let events = stream.next().await.unwrap().unwrap();
    let [WatchEvent::Change(change)] = &events[..] else { panic!("{} events", events.len()) };
    let Item::Decoded(entry) = &change.item else { panic!("undecodable") };
    assert_eq!(entry.text.len(), text.len());
}

#[tokio::test]
async fn a11_bad_frames_are_passed_over_and_reported() {
    let body = [
        event("ADDED", &widget("a", 1, r#","size":"big""#)),
        event("MODIFIED", &widget("b", 2, "")),
        "upstream said something\n".to_owned(),
        event("DELETED", r#"{"metadata":{"uid":"u","resourceVersion":"3"}}"#),
        event("MODIFIED", "7"),
        event("BOOKMARK", "{}"),
        event("ADDED", &widget("c", 4, "")),
    ];
    let server = Server::script([Answer::json(body.concat())]).await;
    let mut stream = open(&server.client(), from("0")).await.unwrap();
    let mut events = Vec::new();
    while let Some(batch) = stream.next().await {
        events.extend(batch.unwrap());
    }
    assert_eq!(
        words(&events),
        [
            "Added a bad",
            "Modified b",
            "Unknown (none) ",
            "Deleted ? bad",
            "Modified ? bad",
            "Unknown BOOKMARK ",
            "Added c"
        ]
    );
    let WatchEvent::Change(first) = &events[0] else { panic!() };
    let Item::Undecodable(bad) = &first.item else { panic!() };
    assert_eq!((bad.error().path(), bad.version()), (Some("size"), &"1".into()));
    let WatchEvent::Change(number) = &events[4] else { panic!() };
    assert!(matches!(&number.item, Item::Undecodable(bad) if !bad.hides_a_name()));
    let WatchEvent::Change(nameless) = &events[3] else { panic!() };
    let Item::Undecodable(bad) = &nameless.item else { panic!() };
    assert_eq!((bad.error().kind(), bad.version()), (DecodeErrorKind::Nameless, &"3".into()));
}

#[tokio::test]
async fn a14_gzip_members_are_given_as_they_are_complete() {
    use std::io::Write as _;
    let member = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let (answer, body) = Answer::stream();
    let server = Server::script([answer.header("content-encoding", "gzip")]).await;
    let mut stream = open(&server.client(), from("0")).await.unwrap();
    for version in 1..5 {
        for byte in member(&event("MODIFIED", &widget("a", version, ""))) {
            body.send(vec![byte]);
        }
        let events = stream.next().await.unwrap().unwrap();
        assert_eq!(events[0].version(), &u64::from(version).into());
    }
    let mut flushed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for version in 5..8 {
        flushed.write_all(event("MODIFIED", &widget("a", version, "")).as_bytes()).unwrap();
        flushed.flush().unwrap();
        body.send(std::mem::take(flushed.get_mut()));
        let events = stream.next().await.unwrap().unwrap();
        assert_eq!(events[0].version(), &u64::from(version).into());
    }
}

#[tokio::test]
async fn a15_an_error_answer_is_one_error_and_no_events() {
    let pretty = status(403, "Forbidden", "not yours").replace(',', ",\n  ");
    let cases = [
        (Answer::json(pretty).status(403), ErrorKind::Forbidden, Some(403), "not yours"),
        (
            Answer::json("upstream connect error").status(500).header("content-type", "text/plain"),
            ErrorKind::Internal,
            Some(500),
            "upstream connect error",
        ),
        (
            Answer::json("<html>").status(200).header("content-type", "text/html; charset=utf-8"),
            ErrorKind::UnexpectedAnswer,
            None,
            "the answer is no watch",
        ),
    ];
    for (answer, kind, code, message) in cases {
        let server = Server::script([answer]).await;
        let error = open(&server.client(), from("7")).await.map(drop).unwrap_err();
        assert_eq!((error.kind(), error.code()), (kind, code), "{error:?}");
        assert!(error.message().contains(message), "{error}");
        assert!(
            error.to_string().starts_with("cannot watch widgets.v1.example.com in all namespaces: "),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a15_a_bare_status_in_the_stream_is_its_error() {
    for body in [status(410, "Expired", "too old"), status(410, "Expired", "too old").replace(',', ",\n  ")] {
        let server = Server::script([Answer::json(body)]).await;
        let (seen, error) = drain(open(&server.client(), from("7")).await.unwrap()).await;
        assert!(seen.is_empty());
        assert_eq!(error.unwrap().kind(), ErrorKind::Expired);
    }
}

#[tokio::test]
async fn an_error_frame_ends_the_watch_with_its_status() {
    let cases = [
        (status(410, "Expired", "too old"), ErrorKind::Expired, None),
        (status(410, "Gone", "gone"), ErrorKind::Gone, None),
        (status(403, "Forbidden", "no"), ErrorKind::Forbidden, None),
        (
            status(429, "TooManyRequests", "later")
                .replace(r#""code""#, r#""details":{"retryAfterSeconds":3},"code""#),
            ErrorKind::TooManyRequests,
            Some(Duration::from_secs(3)),
        ),
    ];
    for (status, kind, wait) in cases {
        let body = event("ADDED", &widget("a", 1, ""))
            + &event("ERROR", &status)
            + &event("ADDED", &widget("b", 2, ""));
        let server = Server::script([Answer::json(body)]).await;
        let (seen, error) = drain(open(&server.client(), from("0")).await.unwrap()).await;
        assert_eq!(seen, ["Added a"], "what comes behind the error does not count");
        let error = error.unwrap();
        assert_eq!((error.kind(), error.retry_after()), (kind, wait), "{error:?}");
    }
}

#[tokio::test]
async fn a_watch_that_is_cut_gives_what_came_whole() {
    let whole = event("ADDED", &widget("a", 1, ""));
    for (cut, in_frame) in [(false, true), (true, true), (true, false)] {
        let (answer, body) = Answer::stream();
        let server = Server::script([answer]).await;
        body.send(whole.clone());
        if in_frame {
            body.send(whole[..20].to_owned());
        }
        let stream = open(&server.client(), from("0")).await.unwrap();
        if cut {
            body.cut();
        }
        drop(body);
        let (seen, error) = drain(stream).await;
        assert_eq!(seen, ["Added a"]);
        assert_eq!(error.unwrap().kind(), ErrorKind::ConnectionLost);
    }
}

#[tokio::test]
async fn a07_a_watch_that_is_silent_beyond_its_own_end_is_given_up() {
    let (answer, body) = Answer::stream();
    let server = Server::script([answer]).await;
    let timeouts = Timeouts { watch_slack: Duration::from_millis(20), ..Timeouts::default() };
    let client = Client::new(server.config().with_timeouts(timeouts)).unwrap();
    let params = WatchParams::from_version("7".into(), Duration::from_millis(30));
    let (seen, error) = drain(open(&client, params).await.unwrap()).await;
    assert!(seen.is_empty());
    let error = error.unwrap();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::ConnectionLost, "the server was silent for 0.05 s")
    );
    body.closed().await;
}

#[tokio::test]
async fn the_longest_time_limits_are_no_limits() {
    let (answer, body) = Answer::stream();
    let server = Server::script([answer]).await;
    let timeouts = Timeouts { idle: Duration::MAX, watch_slack: Duration::MAX, ..Timeouts::default() };
    let client = Client::new(server.config().with_timeouts(timeouts)).unwrap();
    let mut stream = open(&client, from("7")).await.unwrap();
    assert!(stream.next().now_or_never().is_none());
    body.send(event("ADDED", &widget("a", 8, "")));
    drop(body);
    assert_eq!(drain(stream).await.0, ["Added a"]);
}

/// The last batch of a burst may be full to the brim, so that nothing that follows sends it on its way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_is_delivered_to_its_last_event_however_it_falls_into_batches() {
    let full_batch = event("MODIFIED", &widget("a", 7, "")).repeat(256);
    for batches in 30..60 {
        let (answer, body) = Answer::stream();
        let server = Server::script([answer]).await;
        let limits = Limits { decoders: 1, ..Limits::default() };
        let client = Client::new(server.config().with_limits(limits)).unwrap();
        let mut stream = open(&client, from("0")).await.unwrap();
        body.send(full_batch.repeat(batches));
        let mut missing = 256 * batches;
        while missing > 0 {
            // For a reader that is slower than the decoder; the outcome does not depend on it.
            std::thread::sleep(Duration::from_millis(2));
            let next = tokio::select! {
                // First, since the end of the patience must not be what polls the stream.
                biased;
                () = tokio::time::sleep(Duration::from_secs(20)) => panic!("{missing} events of {batches} batches are stuck"),
                next = stream.next() => next,
            };
            missing -= next.unwrap().unwrap().len();
        }
    }
}
