//! Field reports by their numbers, as far as a client decides them: what an informer is told so that it does the
//! right thing. The others are in the tests of the reflector and of shared informers; those with enough tests
//! for a place of their own (A07, A11, A13 to A17, A27, A28) are in the other files here.

use std::time::Duration;

use futures_util::StreamExt as _;
use informers_client::{Client, Timeouts};
use informers_core::{
    Error, ErrorKind, ListParams, ListPart, ListTrailer, Scope, Source as _, VersionMatch, WatchEvent,
    WatchParams,
};

use crate::server::{Answer, Server, event, list_of, status, widget, widgets};

async fn list(client: &Client, params: ListParams) -> Result<(usize, ListTrailer), Error> {
    let widgets = client.list_watch(&widgets(), &Scope::namespace("shop")).unwrap();
    let mut stream = widgets.list(params).await?;
    let mut items = 0;
    loop {
        match stream.next().await.unwrap()? {
            ListPart::Items(batch) => items += batch.len(),
            ListPart::Trailer(trailer) => return Ok((items, trailer)),
        }
    }
}

fn first() -> ListParams {
    ListParams::first("0".into())
}

/// The events of a watch from version 10, and the error that ends it, if one does.
async fn watch(client: &Client) -> (Vec<String>, Option<Error>) {
    let widgets = client.list_watch(&widgets(), &Scope::namespace("shop")).unwrap();
    let params = WatchParams::from_version("10".into(), Duration::from_secs(300));
    let mut stream = match widgets.watch(params).await {
        Ok(stream) => stream,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut seen = Vec::new();
    while let Some(batch) = stream.next().await {
        match batch {
            Err(error) => return (seen, Some(error)),
            Ok(batch) => seen.extend(batch.into_iter().map(|event| match event {
                WatchEvent::Change(change) => format!("{:?} {}", change.kind, change.item.version()),
                WatchEvent::Bookmark { version, initial_events_end } => {
                    format!("Bookmark {version} {initial_events_end}")
                }
                other => format!("{other:?}"),
            })),
        }
    }
    (seen, None)
}

fn error_event(code: u16, reason: &str, message: &str) -> String {
    event("ERROR", &status(code, reason, message))
}

#[tokio::test]
async fn a03_too_old_is_the_same_inside_a_stream_and_as_an_answer() {
    let added = event("ADDED", &widget("a", 11, ""));
    let server = Server::script([
        Answer::pieces([added + &error_event(410, "Expired", "too old resource version: 10 (250)")]),
        Answer::json(status(410, "Expired", "too old")).status(410),
        Answer::json(status(410, "Gone", "too old")).status(410),
        Answer::json(status(410, "Expired", "too old")).status(410),
    ])
    .await;
    let client = server.client();
    let (events, error) = watch(&client).await;
    assert_eq!(events, ["Added 11"], "what came before counts");
    assert_eq!(error.unwrap().kind(), ErrorKind::Expired);
    assert_eq!(watch(&client).await.1.unwrap().kind(), ErrorKind::Expired);
    assert_eq!(watch(&client).await.1.unwrap().kind(), ErrorKind::Gone);
    assert_eq!(list(&client, first()).await.unwrap_err().kind(), ErrorKind::Expired);
}

#[tokio::test]
async fn a04_a_version_that_is_too_large_is_known_in_every_form_and_tried_once() {
    let with_cause = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","code":504,
        "message":"Too large resource version: 900, current: 500",
        "details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}}"#;
    let older = status(504, "Timeout", "Too large resource version: 900, current: 500");
    let other = status(504, "Timeout", "request did not complete within the allotted timeout");
    let server = Server::script([
        Answer::json(with_cause).status(504),
        Answer::json(older.clone()).status(504),
        Answer::pieces([event("ERROR", &older)]),
        Answer::json(other).status(504),
    ])
    .await;
    let client = server.client();
    let newer = || ListParams::first("900".into()).with_version_match(VersionMatch::NotOlderThan);
    for _ in 0..2 {
        let error = list(&client, newer()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLargeResourceVersion);
    }
    assert_eq!(watch(&client).await.1.unwrap().kind(), ErrorKind::TooLargeResourceVersion);
    assert_eq!(list(&client, newer()).await.unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(server.count(), 4, "no try is multiplied below the informer");
}

#[tokio::test]
async fn a05_a_list_carries_the_version_that_it_must_not_be_older_than() {
    let server = Server::start(|_| Answer::json(list_of(300, &[]))).await;
    list(&server.client(), ListParams::first("300".into()).with_version_match(VersionMatch::NotOlderThan))
        .await
        .unwrap();
    let target = &server.targets()[0];
    assert!(target.contains("resourceVersion=300&resourceVersionMatch=NotOlderThan"), "{target}");
}

#[tokio::test]
async fn a06_bookmarks_are_asked_for_and_need_no_more_than_kind_and_version() {
    let full = r#"{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"resourceVersion":"200",
        "creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"size":null}}"#;
    let bare = r#"{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"resourceVersion":"300"}}"#;
    let lines = event("BOOKMARK", &full.replace('\n', "")) + &event("BOOKMARK", bare);
    let server = Server::script([Answer::pieces([lines])]).await;
    let (events, error) = watch(&server.client()).await;
    assert_eq!(events, ["Bookmark 200 true", "Bookmark 300 false"]);
    assert!(error.is_none(), "{error:?}");
    assert!(server.targets()[0].contains("allowWatchBookmarks=true"));
}

#[tokio::test]
async fn a08_every_failure_is_an_error_that_can_be_tried_again_and_then_all_is_well() {
    let failures: [fn() -> Answer; 5] = [
        || Answer::json("upstream connect error").status(500),
        || {
            Answer::pieces(["<html>Service Unavailable</html>"])
                .status(503)
                .header("content-type", "text/html")
        },
        || Answer::json(""),
        || {
            let (answer, body) = Answer::stream();
            body.cut();
            answer
        },
        || Answer::pieces(["<html>Log in</html>"]).header("content-type", "text/html"),
    ];
    for (number, failure) in failures.into_iter().enumerate() {
        let answers = (0..3).map(|_| failure()).chain([Answer::json(list_of(7, &[widget("a", 1, "")]))]);
        let server = Server::script(answers).await;
        let client = server.client();
        for _ in 0..3 {
            let error = list(&client, first()).await.unwrap_err();
            let kinds = [ErrorKind::Internal, ErrorKind::Unavailable, ErrorKind::ConnectionLost];
            let known = kinds.contains(&error.kind()) || error.kind() == ErrorKind::UnexpectedAnswer;
            assert!(known, "{number}: {error:?}");
        }
        assert_eq!(list(&client, first()).await.unwrap().0, 1, "{number}");
    }
    // A watch that is closed at once has ended; one that is cut has failed; one that is a web page never was.
    let (cut, body) = Answer::stream();
    body.send(event("ADDED", &widget("a", 11, "")));
    body.cut();
    let page = Answer::pieces(["<html></html>"]).header("content-type", "text/html");
    let nothing = Vec::<String>::new();
    let server = Server::script([Answer::pieces(nothing.clone()), cut, page]).await;
    // Each on a connection of its own: on a used one, a read whose answer never began is sent again.
    let (events, error) = watch(&server.client()).await;
    assert!(events.is_empty() && error.is_none(), "{error:?}");
    assert_eq!(watch(&server.client()).await.1.unwrap().kind(), ErrorKind::ConnectionLost);
    assert_eq!(watch(&server.client()).await.1.unwrap().kind(), ErrorKind::UnexpectedAnswer);
}

#[tokio::test]
async fn a09_a_continuation_keeps_limit_and_selector_but_no_version() {
    let page =
        |items: &[String], token: &str| {
            let list = list_of(7, items);
            Answer::json(list.replace(
                r#""resourceVersion":"7""#,
                &format!(r#""resourceVersion":"7","continue":"{token}""#),
            ))
        };
    // A page may be shorter than its limit, or empty, and have a token.
    let server = Server::script([
        page(&[widget("a", 1, "")], "t=1"),
        page(&[], "t2"),
        page(&[widget("b", 2, "")], ""),
    ])
    .await;
    let client = server.client();
    let scope = Scope::namespace("shop").with_labels("app=cart".parse().unwrap());
    let collection = client.list_watch(&widgets(), &scope).unwrap();
    let mut params = ListParams::first("0".into()).with_limit(500);
    let mut items = 0;
    loop {
        let parts: Vec<_> =
            collection.list(params.clone()).await.unwrap().map(Result::unwrap).collect().await;
        let mut token = None;
        for part in parts {
            match part {
                ListPart::Items(batch) => items += batch.len(),
                ListPart::Trailer(trailer) => token = trailer.continue_token,
            }
        }
        match token {
            Some(token) => params = params.following(token),
            None => break,
        }
    }
    assert_eq!(items, 2);
    let path = "/apis/example.com/v1/namespaces/shop/widgets";
    assert_eq!(
        server.targets(),
        [
            format!("{path}?limit=500&resourceVersion=0&labelSelector=app%3Dcart"),
            format!("{path}?limit=500&continue=t%3D1&labelSelector=app%3Dcart"),
            format!("{path}?limit=500&continue=t2&labelSelector=app%3Dcart"),
        ]
    );
}

#[tokio::test]
async fn a10_a_streaming_list_is_asked_for_and_its_refusal_is_told_apart() {
    let invalid = status(
        422,
        "Invalid",
        "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
    );
    let server = Server::script([
        Answer::json(invalid).status(422),
        Answer::json(status(400, "BadRequest", "unknown option")).status(400),
        Answer::pieces([event("ADDED", &widget("a", 1, ""))]),
    ])
    .await;
    let widgets = server.client().list_watch(&widgets(), &Scope::all()).unwrap();
    let params = || WatchParams::streaming_list("".into(), Duration::from_secs(300));
    assert_eq!(widgets.watch(params()).await.err().unwrap().kind(), ErrorKind::Invalid);
    assert_eq!(widgets.watch(params()).await.err().unwrap().kind(), ErrorKind::BadRequest);
    // Without the marker nobody may think that the list is whole.
    let batches: Vec<_> = widgets.watch(params()).await.unwrap().collect().await;
    let events: Vec<_> = batches.into_iter().flat_map(Result::unwrap).collect();
    let [WatchEvent::Change(_)] = &events[..] else { panic!("{events:?}") };
    let target = &server.targets()[0];
    assert!(target.contains("sendInitialEvents=true&resourceVersionMatch=NotOlderThan"), "{target}");
}

#[tokio::test]
async fn a12_a_denial_names_what_is_denied_and_is_no_reason_to_hurry() {
    let message = "widgets.example.com is forbidden: User \\\"bob\\\" cannot watch resource \\\"widgets\\\"";
    let denied = || Answer::json(status(403, "Forbidden", message)).status(403);
    let server =
        Server::script([denied(), denied(), Answer::pieces([error_event(403, "Forbidden", message)])]).await;
    let client = server.client();
    let errors = [
        list(&client, first()).await.unwrap_err(),
        watch(&client).await.1.unwrap(),
        watch(&client).await.1.unwrap(),
    ];
    for (error, verb) in errors.iter().zip(["list", "watch", "watch"]) {
        assert_eq!((error.kind(), error.retry_after()), (ErrorKind::Forbidden, None));
        let text = error.to_string();
        assert!(text.contains(verb) && text.contains("widgets.v1.example.com in namespace shop"), "{text}");
        assert!(text.contains("User \"bob\" cannot watch"), "{text}");
    }
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn a29_a_type_that_is_gone_is_not_found_in_every_form() {
    let server = Server::script([
        Answer::pieces(["404 page not found\n"]).status(404).header("content-type", "text/plain"),
        Answer::json(status(404, "NotFound", "the server could not find the requested resource")).status(404),
        Answer::json(status(404, "NotFound", "the server could not find the requested resource")).status(404),
        Answer::json(list_of(3, &[widget("a", 2, "")])),
    ])
    .await;
    let client = server.client();
    assert_eq!(list(&client, first()).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(list(&client, first()).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(watch(&client).await.1.unwrap().kind(), ErrorKind::NotFound);
    let (items, trailer) = list(&client, first()).await.unwrap();
    assert_eq!((items, trailer.version), (1, "3".into()), "lower versions than before are no matter");
}

#[tokio::test]
async fn a30_each_scope_has_its_own_path_and_keeps_its_selectors() {
    let server = Server::start(|_| Answer::json(list_of(7, &[]))).await;
    let client = server.client();
    let labels = || "app=cart".parse().unwrap();
    let node = informers_core::Resource::new(
        informers_core::ResourceType::new(
            "",
            "v1",
            "Widget",
            "widgets",
            informers_core::ResourceScope::Cluster,
        ),
        informers_core::JsonDecoder::<crate::server::Widget>::new(),
    );
    for scope in [Scope::namespace("a"), Scope::namespace("b"), Scope::all()] {
        let scope = scope.with_labels(labels());
        let _ = client.list_watch(&widgets(), &scope).unwrap().list(first()).await.unwrap();
        let _ = client.list_watch(&node, &scope).unwrap().list(first()).await.unwrap();
    }
    let query = "?resourceVersion=0&labelSelector=app%3Dcart";
    let (custom, cluster) = ("/apis/example.com/v1", format!("/api/v1/widgets{query}"));
    assert_eq!(
        server.targets(),
        [
            format!("{custom}/namespaces/a/widgets{query}"),
            cluster.clone(),
            format!("{custom}/namespaces/b/widgets{query}"),
            cluster.clone(),
            format!("{custom}/widgets{query}"),
            cluster,
        ]
    );
}

#[tokio::test]
async fn a08_a_server_that_says_nothing_is_given_up_and_the_next_try_is_served() {
    let (silent, _body) = Answer::stream();
    let server = Server::script([silent, Answer::json(list_of(7, &[]))]).await;
    let timeouts = Timeouts { idle: Duration::from_millis(50), ..Timeouts::default() };
    let client = Client::new(server.config().with_timeouts(timeouts)).unwrap();
    assert_eq!(list(&client, first()).await.unwrap_err().kind(), ErrorKind::ConnectionLost);
    assert_eq!(list(&client, first()).await.unwrap().1.version, "7".into());
}
