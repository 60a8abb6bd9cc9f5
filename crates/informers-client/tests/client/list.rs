//! Lists: framing, order, bad items, wrong answers.

use futures_util::StreamExt as _;
use informers_client::{Client, Gzip};
use informers_core::{
    Decode, DecodeError, DecodeErrorKind, Entry, Error, ErrorKind, Item, JsonDecoder, ListParams, ListPart,
    ListTrailer, Representation, Resource, Scope, Source as _, VersionMatch,
};

use crate::server::{Answer, Server, Widget, list_of, status, widget, widgets, widgets_by};

async fn read<T: Send + Sync + 'static>(
    client: &Client,
    resource: &Resource<T>,
    params: ListParams,
) -> Result<(Vec<Item<T>>, ListTrailer), Error> {
    let collection = client.list_watch(resource, &Scope::namespace("shop"))?;
    let mut stream = collection.list(params).await?;
    let mut items = Vec::new();
    let mut trailer = None;
    while let Some(part) = stream.next().await {
        assert!(trailer.is_none(), "the trailer comes last");
        match part? {
            ListPart::Items(part) => {
                assert!(!part.is_empty());
                items.extend(part);
            }
            ListPart::Trailer(part) => trailer = Some(part),
        }
    }
    Ok((items, trailer.expect("a list without an error ends in its trailer")))
}

fn first() -> ListParams {
    ListParams::first("0".into())
}

fn names<T>(items: &[Item<T>]) -> Vec<&str> {
    items.iter().map(|item| item.key().map_or("?", |key| key.name())).collect()
}

#[tokio::test]
async fn every_option_of_a_list_is_sent() {
    let server = Server::start(|_| Answer::json(list_of(7, &[]))).await;
    let config = server.config().with_server(&format!("{}/prefix/", server.url)).unwrap();
    let client = Client::new(config).unwrap();
    let scope = Scope::namespace("shop")
        // What is sent is what was written, not the canonical form.
        .with_labels("app in (b, a),!x".parse().unwrap())
        .with_fields("metadata.name=x".parse().unwrap());
    let collection = client.list_watch(&widgets(), &scope).unwrap();
    let params = ListParams::first("5".into()).with_limit(500).with_version_match(VersionMatch::Exact);
    let _ = collection.list(params.clone()).await.unwrap();
    let _ = collection.list(params.following("token/+=")).await.unwrap();
    let path = "/prefix/apis/example.com/v1/namespaces/shop/widgets";
    let selectors = "labelSelector=app%20in%20%28b%2C%20a%29%2C%21x&fieldSelector=metadata.name%3Dx";
    assert_eq!(
        server.targets(),
        [
            format!("{path}?limit=500&resourceVersion=5&resourceVersionMatch=Exact&{selectors}"),
            format!("{path}?limit=500&continue=token%2F%2B%3D&{selectors}"),
        ]
    );
    let seen = server.seen.lock()[0].clone();
    assert_eq!(seen.header("accept"), Some("application/json"));
    assert_eq!(seen.header("accept-encoding"), Some("identity"), "no compression on loopback");
    assert!(seen.header("user-agent").unwrap().contains("informers-client/"));
    assert_eq!(
        collection.description(),
        "widgets.v1.example.com in namespace shop, labels app in (a,b),!x, fields metadata.name=x"
    );
}

#[tokio::test]
async fn a_list_comes_whole_however_its_bytes_are_split() {
    let items: Vec<_> = ["a", "b\\u00e9", "c"]
        .iter()
        .enumerate()
        .map(|(at, name)| widget(&format!("w{at}"), 10, &format!(r#","size":{at},"text":"{name}😀""#)))
        .collect();
    let body = list_of(7, &items).replace(
        r#""resourceVersion":"7""#,
        r#""resourceVersion":"7","continue":"next","remainingItemCount":2"#,
    );
    for size in [1, 2, 7, 64, body.len()] {
        let pieces: Vec<_> = body.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
        let server = Server::script([Answer::pieces(pieces)]).await;
        let (items, trailer) = read(&server.client(), &widgets(), first()).await.unwrap();
        assert_eq!(names(&items), ["w0", "w1", "w2"], "pieces of {size}");
        let Item::Decoded(entry) = &items[1] else { panic!("pieces of {size}") };
        assert_eq!((entry.size, entry.text.as_str()), (1, "bé😀"));
        assert_eq!(trailer, ListTrailer::new("7".into()).with_continue("next").with_remaining(2));
    }
}

#[tokio::test]
async fn order_is_kept_when_several_threads_decode() {
    let filler = "x".repeat(2000);
    let items: Vec<_> =
        (0..2000).map(|at| widget(&format!("w{at}"), 10, &format!(r#","text":"{filler}""#))).collect();
    let body = list_of(7, &items);
    let server = Server::start(move |_| Answer::json(body.clone())).await;
    let (items, _) = read(&server.client(), &widgets(), first()).await.unwrap();
    assert_eq!(items.len(), 2000);
    for (at, item) in items.iter().enumerate() {
        assert_eq!(item.key().unwrap().name(), format!("w{at}"));
    }
}

#[tokio::test]
async fn a11_one_bad_item_spoils_no_other() {
    let items = [
        widget("a", 1, ""),
        widget("b", 2, ""),
        widget("bad", 3, r#","size":"big""#),
        "null".to_owned(),
        widget("c", 4, ""),
    ];
    let server = Server::script([Answer::json(list_of(7, &items))]).await;
    let (items, trailer) = read(&server.client(), &widgets(), first()).await.unwrap();
    assert_eq!(names(&items), ["a", "b", "bad", "?", "c"]);
    assert_eq!(trailer.version, "7".into());
    let Item::Undecodable(bad) = &items[2] else { panic!("{:?}", items[2]) };
    assert_eq!(bad.to_string(), "cannot decode shop/bad (uid u-bad, resource version 3)");
    assert_eq!((bad.error().kind(), bad.error().path()), (DecodeErrorKind::Malformed, Some("size")));
    assert_eq!(bad.raw(), widget("bad", 3, r#","size":"big""#).as_bytes());
    let Item::Undecodable(null) = &items[3] else { panic!("{:?}", items[3]) };
    assert_eq!(null.error().kind(), DecodeErrorKind::Null);
    assert!(!null.hides_a_name());
}

/// Or a list with it could not prove that anything is gone.
#[tokio::test]
async fn a11_what_has_no_name_hides_none() {
    for (item, kind, hides) in [
        ("7", DecodeErrorKind::NotAnObject, false),
        ("\"x\"", DecodeErrorKind::NotAnObject, false),
        ("[{}]", DecodeErrorKind::NotAnObject, false),
        ("true", DecodeErrorKind::NotAnObject, false),
        ("{}", DecodeErrorKind::Nameless, false),
        (r#"{"size":"big"}"#, DecodeErrorKind::Nameless, false),
        (r#"{"metadata":null,"size":1}"#, DecodeErrorKind::Nameless, false),
        (r#"{"metadata":{"name":""},"size":"big"}"#, DecodeErrorKind::Nameless, false),
        (r#"{"metadata":7}"#, DecodeErrorKind::Malformed, true),
        (r#"{"metadata":{"name":5}}"#, DecodeErrorKind::Malformed, true),
    ] {
        let items = [widget("a", 1, ""), item.to_owned(), widget("c", 4, "")];
        let server = Server::script([Answer::json(list_of(7, &items))]).await;
        let (items, _) = read(&server.client(), &widgets(), first()).await.unwrap();
        let Item::Undecodable(bad) = &items[1] else { panic!("{item}: {:?}", items[1]) };
        assert_eq!((bad.error().kind(), bad.hides_a_name()), (kind, hides), "{item}");
        assert_eq!(names(&items), ["a", "?", "c"]);
    }
}

struct Panics;

impl Decode<Widget> for Panics {
    fn decode(&self, raw: &[u8]) -> Result<Entry<Widget>, DecodeError> {
        assert!(!raw.windows(4).any(|part| part == b"boom"), "I cannot read this");
        JsonDecoder::new().decode(raw)
    }
}

#[tokio::test]
async fn a11_a_decoder_that_panics_spoils_no_other_item() {
    let items = [widget("a", 1, ""), widget("boom", 2, ""), widget("c", 3, "")];
    let server = Server::script([Answer::json(list_of(7, &items))]).await;
    let (items, _) = read(&server.client(), &widgets_by(Panics), first()).await.unwrap();
    let Item::Undecodable(bad) = &items[1] else { panic!("{:?}", items[1]) };
    assert_eq!(bad.key().unwrap().as_str(), "shop/boom");
    let source = std::error::Error::source(bad.error()).unwrap().to_string();
    assert_eq!(source, "the decoder panicked: I cannot read this");
    assert_eq!(names(&items), ["a", "boom", "c"]);
}

#[tokio::test]
async fn a13_an_item_over_the_limit_is_passed_over() {
    let large = widget("large", 2, &format!(r#","text":"{}""#, "x".repeat(10_000)));
    let server =
        Server::script([Answer::json(list_of(7, &[widget("a", 1, ""), large, widget("c", 3, "")]))]).await;
    let limits = informers_client::Limits { object_size: 5000, ..Default::default() };
    let client = Client::new(server.config().with_limits(limits)).unwrap();
    let (items, _) = read(&client, &widgets(), first()).await.unwrap();
    assert_eq!(names(&items), ["a", "large", "c"]);
    let Item::Undecodable(bad) = &items[1] else { panic!("{:?}", items[1]) };
    assert_eq!(bad.error().kind(), DecodeErrorKind::TooLarge);
}

#[tokio::test]
async fn a14_compressed_lists_are_asked_for_and_understood() {
    use std::io::Write as _;
    let gzip = |text: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let body = list_of(7, &(0..500).map(|at| widget(&format!("w{at}"), at, "")).collect::<Vec<_>>());
    let (head, tail) = body.as_bytes().split_at(1000);
    let members = [gzip(head), gzip(tail)].concat();
    let server = Server::script([
        Answer::pieces([gzip(body.as_bytes())]).header("content-encoding", "gzip"),
        Answer::pieces(members.chunks(3).map(<[u8]>::to_vec)).header("content-encoding", "gzip"),
        Answer::json(body.clone()).header("content-encoding", "br"),
        Answer::pieces([gzip(body.as_bytes())[..500].to_vec()]).header("content-encoding", "gzip"),
    ])
    .await;
    let client = Client::new(server.config().with_gzip(Gzip::Always)).unwrap();
    for _ in 0..2 {
        assert_eq!(read(&client, &widgets(), first()).await.unwrap().0.len(), 500);
    }
    let unknown = read(&client, &widgets(), first()).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::UnexpectedAnswer);
    assert!(std::error::Error::source(&unknown).unwrap().to_string().contains("br"), "{unknown:?}");
    let cut = read(&client, &widgets(), first()).await.unwrap_err();
    assert_eq!(cut.kind(), ErrorKind::ConnectionLost, "{cut:?}");
    assert_eq!(server.seen.lock()[0].header("accept-encoding"), Some("gzip"));
}

#[tokio::test]
async fn an_answer_that_is_not_the_list_is_never_an_empty_list() {
    let good = list_of(7, &[widget("a", 1, "")]);
    let cases = [
        (good.replace("WidgetList", "Widget"), ErrorKind::UnexpectedAnswer),
        (
            good.replace("WidgetList", "ConfigMapList").replace("example.com/v1", "v1"),
            ErrorKind::UnexpectedAnswer,
        ),
        (good.replace("example.com/v1", "widgets.example.org/v1"), ErrorKind::UnexpectedAnswer),
        (r#"{"kind":"Table","rows":[]}"#.to_owned(), ErrorKind::UnexpectedAnswer),
        ("<html>sign in</html>".to_owned(), ErrorKind::UnexpectedAnswer),
        (String::new(), ErrorKind::ConnectionLost),
        (good[..good.len() - 20].to_owned(), ErrorKind::ConnectionLost),
        (status(403, "Forbidden", "no"), ErrorKind::Forbidden),
    ];
    for (body, kind) in cases {
        let server = Server::script([Answer::json(body.clone())]).await;
        let error = read(&server.client(), &widgets(), first()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{body}: {error:?}");
        assert!(
            error.to_string().starts_with("cannot list widgets.v1.example.com in namespace shop: "),
            "{error}"
        );
    }
    for null in [r#""items":null"#, r#""x":1"#] {
        let body = list_of(7, &[]).replace(r#""items":[]"#, null);
        let server = Server::script([Answer::json(body)]).await;
        assert!(read(&server.client(), &widgets(), first()).await.unwrap().0.is_empty());
    }
}

#[tokio::test]
async fn a_list_that_breaks_off_gives_its_items_and_an_error() {
    let (answer, body) = Answer::stream();
    let server = Server::script([answer]).await;
    let text = list_of(7, &[widget("a", 1, ""), widget("b", 2, "")]);
    body.send(text[..text.len() - 10].to_owned());
    let collection = server.client().list_watch(&widgets(), &Scope::all()).unwrap();
    let mut stream = collection.list(first()).await.unwrap();
    let Some(Ok(ListPart::Items(items))) = stream.next().await else { panic!("items are given at once") };
    assert_eq!(names(&items), ["a"], "what has come is handed on while the rest is awaited");
    body.cut();
    let mut last = None;
    while let Some(part) = stream.next().await {
        last = Some(part);
    }
    let Some(Err(error)) = last else { panic!("no trailer after a cut: {last:?}") };
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error:?}");
    assert!(error.message().contains(&server.url), "{error}");
}

#[tokio::test]
async fn a_silent_list_is_given_up() {
    let (answer, body) = Answer::stream();
    let server = Server::script([answer]).await;
    body.send("{");
    let timeouts =
        informers_client::Timeouts { idle: std::time::Duration::from_millis(50), ..Default::default() };
    let client = Client::new(server.config().with_timeouts(timeouts)).unwrap();
    let error = read(&client, &widgets(), first()).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::ConnectionLost, "the server was silent for 0.05 s")
    );
    body.closed().await;
}

#[tokio::test]
async fn metadata_is_asked_for_in_its_own_form() {
    let body = list_of(7, &[widget("a", 1, "")])
        .replace("WidgetList", "PartialObjectMetadataList")
        .replace("example.com/v1", "meta.k8s.io/v1");
    let server = Server::script([Answer::json(body)]).await;
    let resource = widgets_by::<Widget>(JsonDecoder::metadata_only());
    assert_eq!(resource.decoder().representation(), Representation::PartialObjectMetadata);
    let (items, _) = read(&server.client(), &resource, first()).await.unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!(
        server.seen.lock()[0].header("accept"),
        Some("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json")
    );
}

#[tokio::test]
async fn redirects_of_reads_are_followed_and_loops_end() {
    let server = Server::start(|seen| match seen.target.split('?').next().unwrap() {
        "/moved" => Answer::json(list_of(7, &[])),
        "/apis/example.com/v1/namespaces/loop/widgets" => {
            Answer::json("").status(307).header("location", "widgets")
        }
        _ => Answer::json("").status(308).header("location", "/moved?limit=5"),
    })
    .await;
    let token = informers_client::Credentials::Token("s3cret".into());
    let client = Client::new(server.config().with_credentials(token)).unwrap();
    read(&client, &widgets(), first()).await.unwrap();
    assert_eq!(server.targets()[1], "/moved?limit=5");
    assert_eq!(server.seen.lock()[1].header("authorization"), Some("Bearer s3cret"));
    let looped = client.list_watch(&widgets(), &Scope::namespace("loop")).unwrap();
    let error = looped.list(first()).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedAnswer);
    assert!(error.message().starts_with("more than 10 redirects"), "{error}");
}

#[tokio::test]
async fn another_host_gets_no_credentials() {
    let other = Server::start(|_| Answer::json(list_of(7, &[]))).await;
    let place = format!("{}/elsewhere", other.url);
    let server = Server::start(move |_| Answer::json("").status(307).header("location", &place)).await;
    let config = server
        .config()
        .with_credentials(informers_client::Credentials::Token("s3cret".into()))
        .with_impersonation(
            informers_client::Impersonation::user("bob").with_group("dev").with_extra("Scope", "x"),
        );
    read(&Client::new(config).unwrap(), &widgets(), first()).await.unwrap();
    let asked = server.seen.lock()[0].clone();
    assert_eq!(asked.header("impersonate-user"), Some("bob"));
    assert_eq!(asked.header("impersonate-extra-scope"), Some("x"));
    let elsewhere = other.seen.lock()[0].clone();
    assert_eq!(elsewhere.target, "/elsewhere");
    for private in ["authorization", "impersonate-user", "impersonate-group", "impersonate-extra-scope"] {
        assert_eq!(elsewhere.header(private), None);
    }
}

#[tokio::test]
async fn another_host_gets_neither_cookies_nor_users_of_raw_requests() {
    let other = Server::start(|_| Answer::json("{}")).await;
    let address = other.url.strip_prefix("http://").unwrap().to_owned();
    let place = format!("http://bob:s3cret@{address}/elsewhere");
    let server = Server::start(move |_| Answer::json("").status(307).header("location", &place)).await;
    let request = http::Request::get("/here")
        .header("cookie", "session=s3cret")
        .header("proxy-authorization", "Basic s3cret")
        .header("x-public", "1")
        .body(Default::default())
        .unwrap();
    server.client().raw(request).await.unwrap();
    assert_eq!(server.seen.lock()[0].header("cookie"), Some("session=s3cret"));
    let elsewhere = other.seen.lock()[0].clone();
    assert_eq!(elsewhere.header("host"), Some(address.as_str()));
    assert_eq!(elsewhere.header("x-public"), Some("1"));
    for private in ["authorization", "cookie", "proxy-authorization"] {
        assert_eq!(elsewhere.header(private), None, "{private}");
    }
}
