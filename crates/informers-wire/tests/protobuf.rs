//! Bodies that the real kube-apiserver wrote; `kubernetes-protobuf/README.md` tells how they were got.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use bytes::Bytes;
use informers_wire::protobuf::{ListSplitter, WatchFramer, object, peek_identity};
use informers_wire::{Error, ListTrailer, Status, StreamEnd, WatchFrame};

/// The body of an answer.
macro_rules! answer {
    ($name:literal) => {
        Bytes::from_static(include_bytes!(concat!("kubernetes-protobuf/", $name)))
    };
}

/// Names and versions of the items, then what the list says of itself.
fn split(body: &Bytes, size: usize) -> (Vec<(String, String)>, ListTrailer) {
    let mut splitter = ListSplitter::new();
    let mut items = Vec::new();
    for start in (0..body.len()).step_by(size) {
        splitter.push(body.slice(start..(start + size).min(body.len())));
        while let Some(item) = splitter.next_item().unwrap() {
            let identity = peek_identity(&item);
            assert_eq!(identity.namespace.as_deref(), Some("shop"));
            assert_eq!(identity.uid.unwrap().len(), 36);
            items
                .push((identity.name.unwrap().into_owned(), identity.resource_version.unwrap().into_owned()));
        }
    }
    assert!(splitter.is_complete());
    (items, splitter.finish().unwrap())
}

fn events(body: &Bytes, size: usize) -> Vec<WatchFrame> {
    let mut framer = WatchFramer::new();
    let mut seen = Vec::new();
    for start in (0..body.len()).step_by(size) {
        framer.push(body.slice(start..(start + size).min(body.len())));
        while let Some(event) = framer.next_event().unwrap() {
            seen.push(event);
        }
    }
    assert_eq!(framer.finish(), StreamEnd::Clean);
    seen
}

fn named(items: &[(&str, &str)]) -> Vec<(String, String)> {
    items.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect()
}

#[test]
fn lists_of_the_real_server() {
    for size in [1, 7, 100, 4096] {
        let (items, pods) = split(&answer!("pods.list"), size);
        assert_eq!(items, named(&[("cart-0", "217"), ("cart-1", "218")]), "by {size}");
        assert_eq!((&*pods.kind, &*pods.api_version, &*pods.resource_version), ("PodList", "v1", "224"));
        assert_eq!((pods.continue_token, pods.remaining_item_count), (None, None));

        let (items, first) = split(&answer!("configmaps-page-1.list"), size);
        assert_eq!(items, named(&[("c1", "214"), ("c2", "215")]), "by {size}");
        assert_eq!((&*first.kind, first.remaining_item_count), ("ConfigMapList", Some(1)));
        assert!(first.continue_token.unwrap().starts_with("eyJ"));

        let (items, second) = split(&answer!("configmaps-page-2.list"), size);
        assert_eq!(items, named(&[("c3", "216")]), "by {size}");
        assert_eq!((second.continue_token, second.remaining_item_count), (None, None));
        assert_eq!(second.resource_version, first.resource_version);
    }
}

#[test]
fn a_list_that_is_cut_is_no_list() {
    let body = answer!("configmaps-page-1.list");
    // The envelope ends in two fields that are empty.
    for end in 0..body.len() - 4 {
        let mut splitter = ListSplitter::new();
        splitter.push(body.slice(..end));
        while splitter.next_item().unwrap().is_some() {}
        assert!(matches!(splitter.finish(), Err(Error::Truncated { bytes }) if bytes == end as u64), "{end}");
    }
}

#[test]
fn a_watch_of_the_real_server() {
    for size in [1, 7, 100, 4096] {
        let seen = events(&answer!("configmaps.watch"), size);
        let told: Vec<_> = seen
            .iter()
            .map(|event| {
                let (event_type, raw) = match event {
                    WatchFrame::Added(raw) => ("added", raw),
                    WatchFrame::Modified(raw) => ("modified", raw),
                    WatchFrame::Deleted(raw) => ("deleted", raw),
                    WatchFrame::Bookmark { version, initial_events_end } => {
                        let end = if *initial_events_end { ", all was told" } else { "" };
                        return format!("bookmark at {version}{end}");
                    }
                    other => panic!("{other:?}"),
                };
                let identity = peek_identity(raw);
                format!("{event_type} {} at {}", identity.name.unwrap(), identity.resource_version.unwrap())
            })
            .collect();
        let expected = [
            "added c1 at 214",
            "added c2 at 215",
            "added c3 at 216",
            "bookmark at 224, all was told",
            "modified c1 at 226",
            "deleted c3 at 227",
            "bookmark at 227",
            "bookmark at 227",
        ];
        assert_eq!(told, expected, "by {size}");
    }
}

#[test]
fn an_expired_version_of_the_real_server() {
    let [WatchFrame::Error(status)] = &events(&answer!("expired.watch"), 10)[..] else { panic!("no error") };
    assert!(status.is_expired());
    assert_eq!((status.code, &*status.message), (410, "too old resource version: 1 (239)"));
}

#[test]
fn refusals_of_the_real_server() {
    let content_type = Some("application/vnd.kubernetes.protobuf");
    let status = Status::from_body(404, content_type, &answer!("not-found.status"));
    assert!(status.is_not_found());
    assert_eq!(status.message, "configmaps \"none\" not found");
    let details = status.details.unwrap();
    assert_eq!((&*details.name, &*details.kind, details.causes.len()), ("none", "configmaps", 0));

    let body = answer!("not-acceptable.status");
    let status = Status::from_body(406, content_type, &body);
    assert!(
        status.is_not_acceptable() && status.message.starts_with("only the following media types"),
        "{status}"
    );

    let mut splitter = ListSplitter::new();
    splitter.push(body.clone());
    let Err(Error::Status(in_a_list)) = splitter.next_item() else { panic!("a Status is no list") };
    assert_eq!(*in_a_list, status);
    assert!(object(&body).is_ok());
}
