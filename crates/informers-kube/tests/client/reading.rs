//! Lists and watches.

use std::time::Duration;

use futures_util::StreamExt as _;
use informers_core::{
    ChangeKind, DecodeErrorKind, Item, ListParams, Scope, Source as _, WatchEvent, WatchParams,
};
use informers_kube::{KubeSource, kube_client, metadata, resource};
use informers_testkit::ApiServer;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};

use crate::answers::{Script, answer, read};

const POD: &str = r#"{"metadata":{"name":"a","namespace":"shop","uid":"u","resourceVersion":"5"}}"#;

#[tokio::test]
async fn a_list_comes_in_pages_from_a_real_connection() {
    let server = ApiServer::start().await.unwrap();
    for number in 0..25 {
        let name = format!("map-{number:02}");
        let map = serde_json::json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        });
        server.create(map).unwrap();
    }
    let config = kube_client::Config::new(server.url().parse().unwrap());
    let source = KubeSource::new(kube_client::Client::try_from(config).unwrap());
    let collection = source.list_watch(&resource::<ConfigMap>(), &Scope::namespace("default")).unwrap();

    let mut params = ListParams::first("".into()).with_limit(10);
    let (mut keys, mut sizes) = (Vec::new(), Vec::new());
    loop {
        let (items, trailer) = read(&*collection, params.clone()).await.unwrap();
        sizes.push(items.len());
        keys.extend(items.iter().map(|item| item.key().unwrap().to_string()));
        match trailer.continue_token {
            Some(token) => params = params.following(token),
            None => break,
        }
    }
    assert_eq!(sizes, [10, 10, 5]);
    let expected: Vec<String> = (0..25).map(|number| format!("default/map-{number:02}")).collect();
    assert_eq!(keys, expected);
}

#[tokio::test]
async fn requests_are_kubes_own_in_form() {
    let list = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#;
    let script = Script::new([answer(200, [list]), answer(200, [list])]);
    let source = script.source();
    assert_eq!(source.client().default_namespace(), "shop");
    let scope = Scope::namespace("shop").with_fields("spec.nodeName=n1".parse().unwrap());
    let pods = source.list_watch(&resource::<Pod>(), &scope).unwrap();
    read(&*pods, ListParams::first("0".into())).await.unwrap();
    assert_eq!(
        script.targets(),
        ["/api/v1/namespaces/shop/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dn1"]
    );
    assert_eq!(script.header(0, "accept-encoding").as_deref(), Some("gzip"));
    assert_eq!(script.header(0, "authorization"), None);

    let plain = source.with_gzip(informers_client::Gzip::Never);
    let pods = plain.list_watch(&metadata::<Pod>(), &Scope::all()).unwrap();
    read(&*pods, ListParams::first("0".into())).await.unwrap();
    assert_eq!(script.header(1, "accept-encoding").as_deref(), Some("identity"));
    assert!(script.header(1, "accept").unwrap().contains("PartialObjectMetadataList"));
}

#[tokio::test]
async fn a_watch_gives_events_however_they_are_split() {
    let script = Script::new([answer(
        200,
        [
            r#"{"type":"ADDED","object":"#,
            POD,
            "}\n{\"type\":\"BOOKM",
            r#"ARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9"}}}"#,
            "\n",
        ],
    )]);
    let source = script.source();
    let pods = source.list_watch(&resource::<Pod>(), &Scope::all()).unwrap();
    let params = WatchParams::from_version("4".into(), Duration::from_secs(300));
    let events: Vec<_> = pods.watch(params).await.unwrap().map(Result::unwrap).collect().await;
    let events: Vec<_> = events.into_iter().flatten().collect();
    let [WatchEvent::Change(change), WatchEvent::Bookmark { version, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(change.kind, ChangeKind::Added);
    assert_eq!(change.item.key().unwrap().as_str(), "shop/a");
    assert_eq!(version, &"9".into());
    assert_eq!(
        script.targets(),
        ["/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=4&timeoutSeconds=300"]
    );
    assert_eq!(script.header(0, "accept-encoding").as_deref(), Some("identity"));
}

#[tokio::test]
async fn a11_an_object_that_does_not_decode_spoils_no_other() {
    let list = concat!(
        r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":["#,
        r#"{"metadata":{"name":"bad","namespace":"shop","uid":"u","resourceVersion":"6"},"spec":{"containers":7}},"#,
        r#"{"metadata":{"name":"good","namespace":"shop","uid":"v","resourceVersion":"5"}}]}"#
    );
    let source = Script::new([answer(200, [list])]).source();
    let pods = source.list_watch(&resource::<Pod>(), &Scope::all()).unwrap();
    let (items, trailer) = read(&*pods, ListParams::first("0".into())).await.unwrap();
    let [Item::Undecodable(bad), Item::Decoded(good)] = &items[..] else { panic!("{items:?}") };
    assert_eq!(bad.key().unwrap().as_str(), "shop/bad");
    assert_eq!(
        (bad.error().kind(), bad.error().path()),
        (DecodeErrorKind::Malformed, Some("spec.containers"))
    );
    assert_eq!(good.key().as_str(), "shop/good");
    assert_eq!(trailer.version, "7".into());
}
