use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::generators::{pieces, seeded};
use crate::{Error, FrameProblem, ListTrailer, Status, StreamEnd, WatchFrame};

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7F {
        out.push((number & 0x7F) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A field with bytes.
fn field(number: u64, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(number << 3 | 2, &mut out);
    varint(value.len() as u64, &mut out);
    out.extend_from_slice(value);
    out
}

fn number(number: u64, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    varint(number << 3, &mut out);
    varint(value, &mut out);
    out
}

fn type_meta(kind: &str) -> Vec<u8> {
    field(1, &[field(1, b"v1"), field(2, kind.as_bytes())].concat())
}

/// An object in its envelope, as API servers write it.
fn enveloped(kind: &str, raw: &[u8]) -> Vec<u8> {
    [b"k8s\0".to_vec(), type_meta(kind), field(2, raw), field(3, b""), field(4, b"")].concat()
}

fn list_meta() -> Vec<u8> {
    field(1, &[field(1, b""), field(2, b"10"), field(3, b"t\xC3\xA4"), number(4, 300)].concat())
}

fn object(name: &str) -> Vec<u8> {
    let metadata = [
        field(1, name.as_bytes()),
        field(2, b""),
        field(3, b"ns"),
        field(5, b"u"),
        field(6, b"7"),
        field(11, &[field(1, b"app"), field(2, b"web")].concat()),
    ];
    [field(1, &metadata.concat()), field(2, b"the rest")].concat()
}

/// Items, with `None` for one that is too large, and the end.
fn split_pieces<'a>(
    mut splitter: ListSplitter,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Option<Bytes>>, Result<ListTrailer, Error>) {
    let mut items = Vec::new();
    for piece in pieces {
        splitter.push(Bytes::copy_from_slice(piece));
        loop {
            match splitter.next_item() {
                Ok(Some(item)) => items.push(Some(item)),
                Ok(None) => break,
                Err(Error::TooLarge(_)) => items.push(None),
                Err(error) => {
                    assert!(matches!(splitter.next_item(), Err(Error::GivenUp)));
                    return (items, Err(error));
                }
            }
        }
    }
    (items, splitter.finish())
}

fn split(body: &[u8], size: usize) -> (Vec<Option<Bytes>>, Result<ListTrailer, Error>) {
    split_pieces(ListSplitter::new(), body.chunks(size))
}

fn error(body: &[u8]) -> Error {
    let mut results = [1, 7, body.len()].map(|size| split(body, size.max(1)).1.unwrap_err());
    if !matches!(results[0], Error::NotProtobuf { .. }) {
        let messages = results.each_ref().map(ToString::to_string);
        assert_eq!(messages[0], messages[1], "{body:?}");
        assert_eq!(messages[0], messages[2], "{body:?}");
    }
    std::mem::replace(&mut results[2], Error::GivenUp)
}

fn frame(event_type: &str, object: &[u8]) -> Vec<u8> {
    framed(&[field(1, event_type.as_bytes()), field(2, &field(1, object))].concat())
}

fn framed(event: &[u8]) -> Vec<u8> {
    [&u32::try_from(event.len()).unwrap().to_be_bytes(), event].concat()
}

fn events<'a>(
    mut framer: WatchFramer,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Result<WatchFrame, Error>>, StreamEnd) {
    let mut seen = Vec::new();
    for piece in pieces {
        framer.push(Bytes::copy_from_slice(piece));
        while let Some(event) = framer.next_event().transpose() {
            let is_fatal = event.as_ref().is_err_and(Error::is_fatal);
            seen.push(event);
            if is_fatal {
                assert!(matches!(framer.next_event(), Err(Error::GivenUp)));
                return (seen, framer.finish());
            }
        }
    }
    (seen, framer.finish())
}

fn event(body: &[u8]) -> Result<WatchFrame, Error> {
    let (mut seen, end) = events(WatchFramer::new(), body.chunks(3));
    assert_eq!((seen.len(), end), (1, StreamEnd::Clean));
    seen.remove(0)
}

fn problem(body: &[u8]) -> crate::MalformedFrame {
    match event(body) {
        Err(Error::MalformedFrame(frame)) => *frame,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_order_of_a_list() {
    let expected = ListTrailer {
        kind: "PodList".to_owned(),
        api_version: "v1".to_owned(),
        resource_version: "10".to_owned(),
        continue_token: Some("tä".to_owned()),
        remaining_item_count: Some(300),
    };
    let (a, b) = (object("a"), object("b"));
    let items = [field(2, &a), field(2, &b)].concat();
    let extra = [field(9, b"future"), number(10, u64::MAX), vec![11 << 3 | 1], vec![0; 8], vec![12 << 3 | 5, 1, 2, 3, 4]];
    let usual = enveloped("PodList", &[list_meta(), items.clone()].concat());
    let metadata_last = enveloped("PodList", &[items.clone(), extra.concat(), list_meta()].concat());
    let raw = field(2, &[list_meta(), items].concat());
    let kind_last = [b"k8s\0".to_vec(), extra.concat(), raw, type_meta("PodList")].concat();
    for body in [&usual, &metadata_last, &kind_last] {
        for size in [1, 2, 3, 7, 64, body.len()] {
            let (items, trailer) = split(body, size);
            assert_eq!(items, [Some(Bytes::from(a.clone())), Some(Bytes::from(b.clone()))], "{body:?} by {size}");
            assert_eq!(trailer.unwrap(), expected, "{body:?} by {size}");
        }
    }
}

#[test]
fn lists_without_items() {
    let meta = field(1, &[field(2, b"1"), field(3, b"")].concat());
    for body in [enveloped("PodList", &meta), enveloped("List", &[meta.clone(), field(7, b"")].concat())] {
        for size in [1, 5, body.len()] {
            let (items, trailer) = split(&body, size);
            let trailer = trailer.unwrap();
            assert!(items.is_empty());
            assert_eq!(trailer.resource_version, "1");
            assert_eq!((trailer.continue_token, trailer.remaining_item_count), (None, None));
        }
    }
    // A list that says nothing of itself is complete all the same, and has no version.
    assert_eq!(split(&enveloped("PodList", b""), 3).1.unwrap().resource_version, "");
}

#[test]
fn an_item_in_one_chunk_is_a_slice_of_it() {
    let body = Bytes::from(enveloped("PodList", &field(2, &object("a"))));
    let mut splitter = ListSplitter::new();
    splitter.push(body.clone());
    let item = splitter.next_item().unwrap().unwrap();
    assert!(body.as_ptr_range().contains(&item.as_ptr()));
    assert_eq!(item, object("a"));
}

#[test]
fn what_is_no_list_is_an_error() {
    assert!(
        matches!(error(&enveloped("Pod", &object("a"))), Error::NotAList { kind: Some(kind) } if kind == "Pod")
    );
    assert!(matches!(error(&enveloped("", &list_meta())), Error::NotAList { kind: None }));
    let kindless = [b"k8s\0".to_vec(), field(2, &list_meta())].concat();
    assert!(matches!(error(&kindless), Error::NotAList { kind: None }));
    for body in ["<html>", r#"{"kind":"PodList"}"#, "upstream connect error", "k8s", "k9"] {
        match error(body.as_bytes()) {
            Error::NotProtobuf { excerpt } => assert_eq!(excerpt, body),
            Error::Truncated { bytes } => assert_eq!((bytes, body), (3, "k8s")),
            other => panic!("{body}: {other}"),
        }
    }
}

#[test]
fn a_list_in_another_form_inside_its_envelope_is_refused() {
    let body = |extra: Vec<u8>| [b"k8s\0".to_vec(), type_meta("PodList"), extra, field(2, &list_meta())].concat();
    let gzip = error(&body(field(3, b"gzip")));
    assert!(matches!(gzip, Error::UnsupportedEncoding { encoding } if encoding == "gzip"));
    assert!(matches!(error(&body(field(4, b"application/json"))), Error::BrokenProtobuf { .. }));
    let named = body(field(4, b"application/vnd.kubernetes.protobuf"));
    assert_eq!(split(&named, 9).1.unwrap().resource_version, "10");
}

fn status_message() -> Vec<u8> {
    let cause = [field(1, b"r"), field(2, b"m"), field(3, b"f")].concat();
    let details = [
        field(1, b"n"),
        field(2, b"g"),
        field(3, b"pods"),
        field(4, &cause),
        number(5, 3),
        field(6, b"u"),
    ];
    let parts = [
        field(1, b""),
        field(2, b"Failure"),
        field(3, b"slow down"),
        field(4, b"TooManyRequests"),
        field(5, &details.concat()),
        number(6, 429),
    ];
    parts.concat()
}

#[test]
fn a15_a_status_is_given_back_whole() {
    let body = enveloped("Status", &status_message());
    let Error::Status(status) = error(&body) else { panic!("no status") };
    assert_eq!(*status, Status::from_body(0, None, &body));
    let json = r#"{"kind":"Status","status":"Failure","message":"slow down","reason":"TooManyRequests","code":429,
        "details":{"name":"n","group":"g","kind":"pods","uid":"u","retryAfterSeconds":3,
        "causes":[{"reason":"r","message":"m","field":"f"}]}}"#;
    assert_eq!(*status, Status::from_body(429, None, json.as_bytes()));
}

#[test]
fn a_status_that_is_a_success_or_cut_is_no_explanation_or_a_part_of_one() {
    let success = enveloped("Status", &field(2, b"Success"));
    let status = Status::from_body(500, Some("application/vnd.kubernetes.protobuf"), &success);
    assert!(status.is_internal_error() && status.message.contains("HTTP status 500"), "{status}");
    let body = enveloped("Status", &status_message());
    for end in 0..body.len() {
        let status = Status::from_body(429, Some("application/vnd.kubernetes.protobuf"), &body[..end]);
        assert!(status.is_too_many_requests(), "{end}: {status}");
    }
    // Negative numbers are written as their complement.
    let wild = [field(2, b"Failure"), field(5, &number(5, (-1_i64).cast_unsigned())), number(6, u64::MAX)];
    let status = Status::from_body(500, None, &enveloped("Status", &wild.concat()));
    assert_eq!((status.code, status.details.unwrap().retry_after_seconds), (500, 0));
}

#[test]
fn a_cut_list_has_no_trailer() {
    let body = enveloped("PodList", &[list_meta(), field(2, &object("a")), field(2, &object("b"))].concat());
    // Behind the list stand two fields that are empty.
    let list_end = body.len() - 4;
    for end in 0..body.len() {
        let (_, trailer) = split(&body[..end], 16);
        match end {
            _ if end == list_end || end == list_end + 2 => drop(trailer.unwrap()),
            _ => assert!(
                matches!(trailer, Err(Error::Truncated { bytes }) if bytes == end as u64),
                "{end}: {trailer:?}"
            ),
        }
    }
}

#[test]
fn broken_envelopes_are_told() {
    let list = |raw: &[u8]| enveloped("PodList", raw);
    let beyond = [field(2, b"a"), vec![2 << 3 | 2, 9, 1]].concat();
    let beyond_by_a_skip = [field(2, b"a"), vec![7 << 3 | 1, 9, 1]].concat();
    let number_beyond = [b"k8s\0".to_vec(), type_meta("PodList"), vec![2 << 3 | 2, 2, 7 << 3, 0x80, 1]].concat();
    let twice = [list(&list_meta()), field(2, &list_meta())].concat();
    for body in [
        list(&beyond),
        list(&beyond_by_a_skip),
        number_beyond,
        list(&[0]),
        list(&[2 << 3 | 3]),
        list(&number(2, 5)),
        list(&field(1, b"\x12\x09")),
        twice,
        [&b"k8s\0"[..], &[0xFF; 11]].concat(),
        [&b"k8s\0\x0a"[..], &[0xFF; 9], &[1]].concat(),
    ] {
        assert!(matches!(error(&body), Error::BrokenProtobuf { .. }), "{body:?}: {}", error(&body));
    }
}

#[test]
fn a_huge_item_is_skipped_and_named() {
    let huge = [object("big"), field(3, &[b'x'; 5000])].concat();
    let body = enveloped("PodList", &[field(2, b"a"), field(2, &huge), field(2, b"b"), list_meta()].concat());
    for size in [1, 100, 1000, body.len()] {
        let mut splitter = ListSplitter::new().with_max_item_size(200);
        let (mut items, mut skipped) = (Vec::new(), Vec::new());
        for piece in body.chunks(size) {
            splitter.push(Bytes::copy_from_slice(piece));
            loop {
                match splitter.next_item() {
                    Ok(Some(item)) => items.push(item),
                    Ok(None) => break,
                    Err(Error::TooLarge(item)) => skipped.push(item),
                    Err(other) => panic!("{other}"),
                }
            }
        }
        assert_eq!(items, ["a", "b"]);
        assert_eq!((skipped.len(), skipped[0].size, skipped[0].limit), (1, huge.len() as u64, 200));
        assert_eq!(skipped[0].identity.name.as_deref(), Some("big"));
        assert_eq!(skipped[0].identity.resource_version.as_deref(), Some("7"));
        assert_eq!(splitter.finish().unwrap().resource_version, "10");
    }
}

#[test]
fn a_length_alone_costs_no_memory() {
    let mut absurd = [b"k8s\0".to_vec(), type_meta("PodList"), vec![2 << 3 | 2]].concat();
    varint(1 << 40, &mut absurd);
    absurd.push(2 << 3 | 2);
    varint(1 << 39, &mut absurd);
    absurd.extend([b'x'; 100]);
    let (items, end) = split(&absurd, 10);
    assert!(items.is_empty() && matches!(end, Err(Error::Truncated { .. })));

    let meta = field(1, &vec![0; 2 << 20]);
    let (_, end) = split(&enveloped("PodList", &meta), 4096);
    assert!(matches!(end, Err(Error::EnvelopeTooLarge { field: "metadata", size }) if size == 2 << 20));
    // A field that nobody reads may be as large as it likes.
    split(&enveloped("PodList", &field(9, &vec![0; 2 << 20])), 4096).1.unwrap();
}

#[test]
fn items_left_behind_are_noticed() {
    let mut splitter = ListSplitter::new();
    splitter.push(Bytes::from(enveloped("PodList", &field(2, b"a"))));
    assert!(!splitter.is_complete());
    assert!(matches!(splitter.finish(), Err(Error::NotDrained)));
}

#[test]
fn every_type_of_event() {
    let raw = object("a");
    for (event_type, expected) in [
        ("ADDED", WatchFrame::Added(raw.clone().into())),
        ("MODIFIED", WatchFrame::Modified(raw.clone().into())),
        ("DELETED", WatchFrame::Deleted(raw.clone().into())),
        ("BOOKMARK", WatchFrame::Bookmark { version: "7".to_owned(), initial_events_end: false }),
        ("SYNC", WatchFrame::Unknown { event_type: "SYNC".to_owned(), version: Some("7".to_owned()) }),
    ] {
        assert_eq!(event(&frame(event_type, &enveloped("Pod", &raw))).unwrap(), expected);
    }
    let typeless = framed(&field(2, &field(1, &enveloped("Pod", &raw))));
    assert_eq!(problem(&typeless).problem, FrameProblem::NoType);
    assert_eq!(problem(&framed(b"")).problem, FrameProblem::NoType);
}

#[test]
fn an_object_of_an_event_is_a_slice_of_its_chunk() {
    let body = Bytes::from(frame("DELETED", &enveloped("Pod", &object("a"))));
    let mut framer = WatchFramer::new();
    framer.push(body.clone());
    let Some(WatchFrame::Deleted(object)) = framer.next_event().unwrap() else { panic!("not deleted") };
    assert!(body.as_ptr_range().contains(&object.as_ptr()));
}

#[test]
fn bookmarks() {
    let bookmark = |annotations: &[(&str, &str)]| {
        let annotation = |(key, value): &(&str, &str)| {
            field(12, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat())
        };
        let annotations: Vec<u8> = annotations.iter().flat_map(annotation).collect();
        let raw = field(1, &[field(6, b"5"), annotations].concat());
        event(&frame("BOOKMARK", &enveloped("Pod", &raw))).unwrap()
    };
    for (annotations, end) in [
        (&[("k8s.io/initial-events-end", "true")][..], true),
        (&[("x", "y"), ("k8s.io/initial-events-end", "true")], true),
        (&[("k8s.io/initial-events-end", "false")], false),
        (&[("x", "true")], false),
        (&[], false),
    ] {
        let expected = WatchFrame::Bookmark { version: "5".to_owned(), initial_events_end: end };
        assert_eq!(bookmark(annotations), expected, "{annotations:?}");
    }
    let frame = problem(&frame("BOOKMARK", &enveloped("Pod", &field(1, &field(6, b"")))));
    assert_eq!(frame.problem, FrameProblem::NoVersion);
}

#[test]
fn a16_throttling_inside_the_stream_keeps_its_hint() {
    let body = frame("ERROR", &enveloped("Status", &status_message()));
    let WatchFrame::Error(status) = event(&body).unwrap() else { panic!("no error") };
    assert!(status.is_too_many_requests());
    assert_eq!(status.details.unwrap().retry_after_seconds, 3);
    for body in [frame("ERROR", &enveloped("Pod", &object("a"))), framed(&field(1, b"ERROR"))] {
        let WatchFrame::Error(status) = event(&body).unwrap() else { panic!("no error") };
        assert!(status.is_internal_error());
    }
}

#[test]
fn a11_a_malformed_frame_tells_what_is_known_and_harms_no_other() {
    let mut cut = frame("MODIFIED", &enveloped("Pod", &object("a")));
    // The last field of the envelope claims more than there is.
    *cut.last_mut().unwrap() = 9;
    let broken = problem(&cut);
    assert_eq!(broken.problem, FrameProblem::NotProtobuf);
    assert_eq!(broken.event_type.as_deref(), Some("MODIFIED"));
    assert_eq!(broken.identity.name.as_deref(), Some("a"));
    assert_eq!(broken.identity.resource_version.as_deref(), Some("7"));

    for (object, expected) in [
        (&b"{\"metadata\":{}}"[..], FrameProblem::NoObject),
        (&enveloped("Pod", b"")[..15], FrameProblem::NoObject),
        (&[&enveloped("Pod", b"")[..], &field(4, b"application/json")].concat(), FrameProblem::NotProtobuf),
    ] {
        assert_eq!(problem(&frame("ADDED", object)).problem, expected, "{object:?}");
    }
    let good = frame("ADDED", &enveloped("Pod", &object("b")));
    let (seen, end) = events(WatchFramer::new(), [&cut[..], &good].into_iter());
    assert!(seen[0].is_err() && matches!(seen[1], Ok(WatchFrame::Added(_))));
    assert_eq!(end, StreamEnd::Clean);
}

#[test]
fn a_huge_frame_is_skipped_and_named() {
    let huge = [object("big"), field(3, &[b'x'; 5000])].concat();
    let huge = frame("ADDED", &enveloped("Pod", &huge));
    let body = [&huge[..], &frame("DELETED", &enveloped("Pod", b""))].concat();
    for size in [1, 100, body.len()] {
        let (seen, _) = events(WatchFramer::new().with_max_frame_size(200), body.chunks(size));
        let Err(Error::TooLarge(skipped)) = &seen[0] else { panic!("{seen:?}") };
        assert_eq!((skipped.size, skipped.limit), (huge.len() as u64 - 4, 200));
        assert_eq!(skipped.event_type.as_deref(), Some("ADDED"));
        assert_eq!(skipped.identity.resource_version.as_deref(), Some("7"));
        assert!(matches!(seen[1], Ok(WatchFrame::Deleted(_))));
    }
}

#[test]
fn a_watch_in_another_form_is_told() {
    let json = "{\"type\":\"ADDED\",\"object\":{}}\n";
    for text in [json, "<html>\n", "upstream connect error", "\t", "k8s\0\n"] {
        for size in [1, text.len()] {
            let (seen, _) = events(WatchFramer::new(), text.as_bytes().chunks(size));
            let [Err(Error::NotProtobuf { excerpt })] = &seen[..] else { panic!("{text}: {seen:?}") };
            assert!(text.starts_with(excerpt), "{excerpt}");
        }
    }
    // Also in the middle of a stream.
    let body = [frame("ADDED", &enveloped("Pod", &object("a"))), json.as_bytes().to_vec()].concat();
    let (seen, _) = events(WatchFramer::new(), body.chunks(9));
    assert!(matches!(seen[..], [Ok(_), Err(Error::NotProtobuf { .. })]));
}

#[test]
fn an_end_within_a_frame_is_told() {
    let body = frame("ADDED", &enveloped("Pod", &object("a")));
    for end in 0..=body.len() {
        let (_, found) = events(WatchFramer::new(), body[..end].chunks(6));
        let expected = match end {
            0 => StreamEnd::Clean,
            end if end == body.len() => StreamEnd::Clean,
            end => StreamEnd::MidFrame { bytes: end as u64 },
        };
        assert_eq!(found, expected, "{end}");
    }
}

#[test]
fn every_prefix_of_an_object_is_survived_and_knowledge_only_grows() {
    let raw = [field(9, b"before"), object("web-0")].concat();
    let known = |raw: &[u8]| {
        let identity = peek_identity(raw);
        [identity.name, identity.namespace, identity.uid, identity.resource_version].iter().flatten().count()
    };
    let counts: Vec<_> = (0..=raw.len()).map(|end| known(&raw[..end])).collect();
    assert!(counts.is_sorted(), "{counts:?}");
    assert_eq!(counts.last(), Some(&4));
    assert_eq!(peek_identity(&raw).name.as_deref(), Some("web-0"));
    assert_eq!(peek_identity(b"\x0a\x03\x0a\x01\xFF").name.as_deref(), Some("\u{FFFD}"));
    for raw in [&b""[..], b"null", b"\x08\x01", b"\x12\x01a"] {
        assert_eq!(known(raw), 0, "{raw:?}");
    }
}

#[test]
fn an_object_comes_out_of_its_envelope() {
    let body = Bytes::from(enveloped("Pod", &object("a")));
    let raw = super::object(&body).unwrap();
    assert_eq!(raw, object("a"));
    assert!(body.as_ptr_range().contains(&raw.as_ptr()));
    let cut = super::object(&body.slice(..body.len() - 1));
    assert!(matches!(cut, Err(Error::BrokenProtobuf { .. })));
    assert!(matches!(super::object(&Bytes::from_static(b"{}")), Err(Error::NotProtobuf { excerpt }) if excerpt == "{}"));
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn any_list_in_any_pieces_gives_the_same_items(
        items in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8),
        meta_first: bool,
        sizes in prop::collection::vec(1_usize..90, 1..6),
    ) {
        let raw: Vec<u8> = items.iter().flat_map(|item| field(2, item)).collect();
        let raw = if meta_first { [list_meta(), raw] } else { [raw, list_meta()] }.concat();
        let body = enveloped("PodList", &raw);
        let (found, trailer) = split_pieces(ListSplitter::new().with_max_item_size(100), pieces(&body, &sizes));
        let expected: Vec<_> =
            items.into_iter().map(|item| (item.len() <= 100).then(|| Bytes::from(item))).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(trailer.unwrap().resource_version, "10");
    }

    #[test]
    fn any_bytes_are_survived(
        body in prop::collection::vec(
            prop_oneof![prop::sample::select(vec![0_u8, 1, 2, 8, 0x0a, 0x12, 0x1a, 0x80, 0xFF]), any::<u8>()],
            0..200,
        ),
        sizes in prop::collection::vec(1_usize..90, 1..6),
    ) {
        for begin in [&b"k8s\0"[..], &[&b"k8s\0"[..], &type_meta("PodList"), &[0x12, 100]].concat()] {
            let text = [begin, &body].concat();
            let (whole, whole_end) = split(&text, text.len());
            let (cut, cut_end) = split_pieces(ListSplitter::new(), pieces(&text, &sizes));
            prop_assert_eq!(whole, cut);
            prop_assert_eq!(format!("{whole_end:?}"), format!("{cut_end:?}"));
        }
        let text = [&[0, 0, 0, 90][..], &body].concat();
        let show = |seen: Vec<Result<WatchFrame, Error>>| {
            let show = |event| match event {
                Err(Error::NotProtobuf { .. }) => "not protobuf".to_owned(),
                event => format!("{event:?}"),
            };
            seen.into_iter().map(show).collect::<Vec<_>>()
        };
        let (whole, whole_end) = events(WatchFramer::new(), text.chunks(text.len()));
        let (cut, cut_end) = events(WatchFramer::new(), pieces(&text, &sizes));
        prop_assert_eq!(show(whole), show(cut));
        prop_assert_eq!(whole_end, cut_end);
        let _ = (peek_identity(&body), super::object(&Bytes::from(text)));
    }
}
