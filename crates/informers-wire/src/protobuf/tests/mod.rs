use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::generators::{pieces, seeded};
use crate::{Error, Status, StreamEnd, WatchFrame};

mod list;
mod watch;

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

fn status_message() -> Vec<u8> {
    let cause = [field(1, b"r"), field(2, b"m"), field(3, b"f")].concat();
    let details =
        [field(1, b"n"), field(2, b"g"), field(3, b"pods"), field(4, &cause), number(5, 3), field(6, b"u")];
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
    assert!(
        matches!(super::object(&Bytes::from_static(b"{}")), Err(Error::NotProtobuf { excerpt }) if excerpt == "{}")
    );
}

proptest! {
    #![proptest_config(seeded())]

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
            let (whole, whole_end) = list::split(&text, text.len());
            let (cut, cut_end) = list::split_pieces(ListSplitter::new(), pieces(&text, &sizes));
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
        let (whole, whole_end) = watch::events(WatchFramer::new(), text.chunks(text.len()));
        let (cut, cut_end) = watch::events(WatchFramer::new(), pieces(&text, &sizes));
        prop_assert_eq!(show(whole), show(cut));
        prop_assert_eq!(whole_end, cut_end);
        let _ = (peek_identity(&body), super::object(&Bytes::from(text)));
    }
}
