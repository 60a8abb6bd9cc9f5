//! Built-in types in protobuf: how it is asked for, what becomes of bad answers. That the bytes are those of a real
//! server is for the integration tests.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::StreamExt as _;
use informers_client::{Client, ClientError, Gzip, Limits};
use informers_core::{
    DecodeErrorKind, Error, ErrorKind, Item, ListParams, ListPart, ListTrailer, ProtobufDecoder, Resource,
    ResourceScope, ResourceType, Scope, Source as _, WatchEvent, WatchParams,
};
use prost::Message as _;

use crate::server::{Answer, Server, list_of, status};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

#[derive(Clone, PartialEq, prost::Message)]
struct Lamp {
    #[prost(message, optional, tag = "1")]
    metadata: Option<Metadata>,
    #[prost(uint32, tag = "2")]
    size: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Metadata {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    namespace: String,
    #[prost(string, tag = "5")]
    uid: String,
    #[prost(string, tag = "6")]
    version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Unknown {
    #[prost(message, optional, tag = "1")]
    type_meta: Option<TypeMeta>,
    #[prost(bytes = "vec", optional, tag = "2")]
    raw: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TypeMeta {
    #[prost(string, tag = "1")]
    api_version: String,
    #[prost(string, tag = "2")]
    kind: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct List {
    #[prost(message, optional, tag = "1")]
    metadata: Option<ListMeta>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    items: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ListMeta {
    #[prost(string, tag = "2")]
    version: String,
    #[prost(string, tag = "3")]
    r#continue: String,
    #[prost(int64, optional, tag = "4")]
    remaining: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Event {
    #[prost(string, tag = "1")]
    event_type: String,
    #[prost(message, optional, tag = "2")]
    object: Option<RawExtension>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RawExtension {
    #[prost(bytes = "vec", tag = "1")]
    raw: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Refusal {
    #[prost(string, tag = "2")]
    status: String,
    #[prost(string, tag = "3")]
    message: String,
    #[prost(string, tag = "4")]
    reason: String,
    #[prost(int32, tag = "6")]
    code: i32,
}

fn enveloped(kind: &str, raw: Vec<u8>) -> Vec<u8> {
    let type_meta = Some(TypeMeta { api_version: "v1".to_owned(), kind: kind.to_owned() });
    [b"k8s\0".to_vec(), Unknown { type_meta, raw: Some(raw) }.encode_to_vec()].concat()
}

fn lamp(name: &str, version: u32, size: u32) -> Vec<u8> {
    let metadata = Metadata {
        name: name.to_owned(),
        namespace: "shop".to_owned(),
        uid: format!("u-{name}"),
        version: version.to_string(),
    };
    Lamp { metadata: Some(metadata), size }.encode_to_vec()
}

fn lamps_of(version: u32, items: &[Vec<u8>]) -> Vec<u8> {
    let metadata =
        ListMeta { version: version.to_string(), r#continue: "next".to_owned(), remaining: Some(2) };
    enveloped("LampList", List { metadata: Some(metadata), items: items.to_vec() }.encode_to_vec())
}

fn event(event_type: &str, object: Vec<u8>) -> Vec<u8> {
    let event = Event { event_type: event_type.to_owned(), object: Some(RawExtension { raw: object }) };
    let event = event.encode_to_vec();
    [u32::try_from(event.len()).unwrap().to_be_bytes().to_vec(), event].concat()
}

fn refusal(code: i32, reason: &str, message: &str) -> Vec<u8> {
    let refusal = Refusal {
        status: "Failure".to_owned(),
        message: message.to_owned(),
        reason: reason.to_owned(),
        code,
    };
    enveloped("Status", refusal.encode_to_vec())
}

fn answer(pieces: impl IntoIterator<Item = Vec<u8>>) -> Answer {
    Answer::pieces(pieces).header("content-type", PROTOBUF)
}

fn lamps() -> Resource<Lamp> {
    let resource_type = ResourceType::new("", "v1", "Lamp", "lamps", ResourceScope::Namespaced);
    Resource::new(resource_type, ProtobufDecoder::<Lamp>::new())
}

async fn read(client: &Client) -> Result<(Vec<Item<Lamp>>, ListTrailer), Error> {
    let collection = client.list_watch(&lamps(), &Scope::namespace("shop"))?;
    let mut stream = collection.list(ListParams::first("0".into())).await?;
    let (mut items, mut trailer) = (Vec::new(), None);
    while let Some(part) = stream.next().await {
        match part? {
            ListPart::Items(part) => items.extend(part),
            ListPart::Trailer(part) => trailer = Some(part),
        }
    }
    Ok((items, trailer.expect("a list without an error ends in its trailer")))
}

/// One word per event, and how the watch ended.
async fn watch(client: &Client) -> (Vec<String>, Option<Error>) {
    let collection = client.list_watch(&lamps(), &Scope::all()).unwrap();
    let params = WatchParams::from_version("7".into(), std::time::Duration::from_secs(300));
    let mut stream = match collection.watch(params).await {
        Ok(stream) => stream,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut seen = Vec::new();
    while let Some(batch) = stream.next().await {
        let events = match batch {
            Ok(events) => events,
            Err(error) => return (seen, Some(error)),
        };
        seen.extend(events.into_iter().map(|event| match event {
            WatchEvent::Change(change) => {
                let name = change.item.key().map_or("?", |key| key.name()).to_owned();
                let what = match &change.item {
                    Item::Decoded(lamp) => lamp.size.to_string(),
                    Item::Undecodable(lamp) => format!("{:?} at {}", lamp.error().kind(), lamp.version()),
                };
                format!("{:?} {name} {what}", change.kind)
            }
            WatchEvent::Bookmark { version, initial_events_end } => {
                format!("Bookmark {version} {initial_events_end}")
            }
            other => format!("{other:?}"),
        }));
    }
    (seen, None)
}

fn sizes(items: &[Item<Lamp>]) -> Vec<(String, Option<u32>)> {
    let of = |item: &Item<Lamp>| {
        let size = match item {
            Item::Decoded(lamp) => Some(lamp.size),
            Item::Undecodable(_) => None,
        };
        (item.key().map_or("?".to_owned(), ToString::to_string), size)
    };
    items.iter().map(of).collect()
}

#[tokio::test]
async fn a_list_comes_whole_however_its_bytes_are_split() {
    let body = lamps_of(7, &[lamp("a", 5, 1), lamp("b", 6, 2)]);
    for size in [1, 7, 64, body.len()] {
        let server = Server::script([answer(body.chunks(size).map(<[u8]>::to_vec))]).await;
        let (items, trailer) = read(&server.client()).await.unwrap();
        let expected = [("shop/a".to_owned(), Some(1)), ("shop/b".to_owned(), Some(2))];
        assert_eq!(sizes(&items), expected, "pieces of {size}");
        assert_eq!((trailer.version.to_string(), trailer.remaining), ("7".to_owned(), Some(2)));
        assert_eq!(trailer.continue_token.as_deref(), Some("next"));
        assert_eq!(server.seen.lock()[0].header("accept"), Some(PROTOBUF));
    }
}

#[tokio::test]
async fn a_compressed_list_is_read() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&lamps_of(7, &[lamp("a", 5, 1)])).unwrap();
    let body = encoder.finish().unwrap();
    let server =
        Server::script([answer(body.chunks(9).map(<[u8]>::to_vec)).header("content-encoding", "gzip")]).await;
    let client = Client::new(server.config().with_gzip(Gzip::Always)).unwrap();
    assert_eq!(sizes(&read(&client).await.unwrap().0), [("shop/a".to_owned(), Some(1))]);
}

#[tokio::test]
async fn a11_one_bad_object_keeps_its_identity_and_harms_no_other() {
    let bad = [lamp("bad", 6, 0), b"\x12\x03abc".to_vec()].concat();
    let huge = [lamp("huge", 8, 0), vec![0x1a, 0xFF, 0x01], vec![b'x'; 255]].concat();
    let body = lamps_of(9, &[lamp("a", 5, 1), bad.clone(), huge, b"null".to_vec(), lamp("b", 6, 2)]);
    let server = Server::start(move |_| answer([body.clone()])).await;
    let limits = Limits { object_size: 200, ..Limits::default() };
    let client = Client::new(server.config().with_limits(limits)).unwrap();
    let (items, _) = read(&client).await.unwrap();
    let names: Vec<_> = sizes(&items).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["shop/a", "shop/bad", "shop/huge", "?", "shop/b"]);
    let Item::Undecodable(first) = &items[1] else { panic!("it decodes") };
    assert_eq!((first.error().kind(), first.raw()), (DecodeErrorKind::Malformed, &bytes::Bytes::from(bad)));
    assert_eq!((first.uid().to_string(), first.version().to_string()), ("u-bad".to_owned(), "6".to_owned()));
    let source = std::error::Error::source(first.error()).unwrap().to_string();
    assert!(source.contains("Lamp.size"), "{source}");
    let Item::Undecodable(second) = &items[2] else { panic!("it decodes") };
    assert_eq!(
        (second.error().kind(), second.version().to_string()),
        (DecodeErrorKind::TooLarge, "8".to_owned())
    );
    let Item::Undecodable(third) = &items[3] else { panic!("it decodes") };
    assert_eq!(third.error().kind(), DecodeErrorKind::Malformed);
}

#[tokio::test]
async fn a_watch_comes_whole_however_its_bytes_are_split() {
    let bookmark = enveloped("Lamp", lamp("", 9, 0));
    let frames = [
        event("ADDED", enveloped("Lamp", lamp("a", 5, 1))),
        event("MODIFIED", enveloped("Lamp", [lamp("b", 6, 2), b"\x12\x01x".to_vec()].concat())),
        event("DELETED", enveloped("Lamp", lamp("a", 8, 1))),
        event("DELETED", b"no envelope".to_vec()),
        event("BOOKMARK", bookmark),
    ]
    .concat();
    for size in [1, 7, 64, frames.len()] {
        let server = Server::script([answer(frames.chunks(size).map(<[u8]>::to_vec))]).await;
        let (seen, end) = watch(&server.client()).await;
        let expected = [
            "Added a 1",
            "Modified b Malformed at 6",
            "Deleted a 1",
            "Deleted ? NotAnObject at ",
            "Bookmark 9 false",
        ];
        assert_eq!((&seen[..], end.is_none()), (&expected.map(str::to_owned)[..], true), "pieces of {size}");
        assert_eq!(server.seen.lock()[0].header("accept"), Some(PROTOBUF));
        assert_eq!(server.seen.lock()[0].header("accept-encoding"), Some("identity"));
    }
}

#[tokio::test]
async fn a_watch_ends_by_its_error_in_a_frame_or_in_something_else() {
    let added = event("ADDED", enveloped("Lamp", lamp("a", 5, 1)));
    let expired = event("ERROR", refusal(410, "Expired", "too old resource version"));
    let server = Server::script([
        answer([[added.clone(), expired, added.clone()].concat()]),
        answer([added.clone(), added[..20].to_vec()]),
        answer([added.clone(), b"{\"type\":\"ADDED\"}\n".to_vec()]),
    ])
    .await;
    let client = server.client();
    for kind in [ErrorKind::Expired, ErrorKind::ConnectionLost, ErrorKind::UnexpectedAnswer] {
        let (seen, end) = watch(&client).await;
        let end = end.unwrap();
        assert_eq!((&seen[..], end.kind()), (&["Added a 1".to_owned()][..], kind), "{end}");
    }
}

#[tokio::test]
async fn who_serves_json_alone_is_told_in_one_sentence() {
    let words = "does not serve this resource as protobuf, in which only built-in types are had; use a decoder that \
                 reads JSON, such as JsonDecoder";
    let refused = || {
        let text = "only the following media types are accepted: application/json";
        answer([refusal(406, "NotAcceptable", text)]).status(406)
    };
    let refused_in_json = || Answer::json(status(406, "NotAcceptable", "json alone")).status(406);
    let ignored = || Answer::json(list_of(7, &[]));
    for wrong in [refused, refused_in_json, ignored] {
        let server = Server::start(move |_| wrong()).await;
        let client = server.client();
        let list = read(&client).await.unwrap_err();
        assert_eq!(list.kind(), ErrorKind::Configuration, "{list}");
        assert_eq!(list.to_string(), format!("cannot list lamps in namespace shop: the server {words}"));
        let (seen, watch) = watch(&client).await;
        assert!(seen.is_empty());
        assert_eq!(
            watch.unwrap().to_string(),
            format!("cannot watch lamps in all namespaces: the server {words}")
        );
        let get = client.api(&lamps(), Some("shop")).get("a").await.unwrap_err();
        assert_eq!(get.to_string(), format!("cannot get lamps a in namespace shop: the server {words}"));
    }
}

#[tokio::test]
async fn a_refusal_for_another_reason_is_the_servers() {
    let server = Server::script([
        answer([refusal(403, "Forbidden", "lamps is forbidden")]).status(403),
        answer([refusal(410, "Expired", "the token is too old")]),
        answer([enveloped("PodList", Vec::new())]),
        answer([lamps_of(7, &[lamp("a", 5, 1)])[..40].to_vec()]),
        Answer::pieces([b"<html>a proxy</html>".to_vec()]).header("content-type", PROTOBUF),
    ])
    .await;
    let client = server.client();
    for (kind, words) in [
        (ErrorKind::Forbidden, "lamps is forbidden (403 Forbidden)"),
        (ErrorKind::Expired, "the token is too old (410 Expired)"),
        (ErrorKind::UnexpectedAnswer, "the answer is a PodList of v1, not a LampList of v1"),
        (ErrorKind::ConnectionLost, "the list was cut"),
        (ErrorKind::UnexpectedAnswer, "the answer is not the list that was asked for"),
    ] {
        let error = read(&client).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().ends_with(words), "{error}");
    }
}

#[tokio::test]
async fn single_objects_come_out_of_their_envelope() {
    let server = Server::script([
        answer([enveloped("Lamp", lamp("a", 5, 1))]),
        answer([enveloped("Lamp", lamp("a", 6, 2))]),
        answer([b"no envelope".to_vec()]),
        answer([enveloped("Status", Vec::new())]),
    ])
    .await;
    let api = server.client().api(&lamps(), Some("shop"));
    assert_eq!(api.get("a").await.unwrap().size, 1);
    let patch = informers_client::Patch::merge(&serde_json::json!({"size": 2})).unwrap();
    assert_eq!(api.patch("a", &patch).await.unwrap().version().to_string(), "6");
    let seen = server.seen.lock().clone();
    assert_eq!(seen[1].header("accept"), Some(PROTOBUF));
    assert_eq!(seen[1].header("content-type"), Some("application/merge-patch+json"));
    for _ in 0..2 {
        let error = api.get("a").await.unwrap_err();
        assert!(matches!(error, ClientError::UnexpectedAnswer { .. }), "{error:?}");
    }
}
