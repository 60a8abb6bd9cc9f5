use super::*;
use crate::ListTrailer;

/// Items, with `None` for one that is too large, and the end.
pub(super) fn split_pieces<'a>(
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

pub(super) fn split(body: &[u8], size: usize) -> (Vec<Option<Bytes>>, Result<ListTrailer, Error>) {
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
    let extra = [
        field(9, b"future"),
        number(10, u64::MAX),
        vec![11 << 3 | 1],
        vec![0; 8],
        vec![12 << 3 | 5, 1, 2, 3, 4],
    ];
    let usual = enveloped("PodList", &[list_meta(), items.clone()].concat());
    let metadata_last = enveloped("PodList", &[items.clone(), extra.concat(), list_meta()].concat());
    let raw = field(2, &[list_meta(), items].concat());
    let kind_last = [b"k8s\0".to_vec(), extra.concat(), raw, type_meta("PodList")].concat();
    for body in [&usual, &metadata_last, &kind_last] {
        for size in [1, 2, 3, 7, 64, body.len()] {
            let (items, trailer) = split(body, size);
            assert_eq!(
                items,
                [Some(Bytes::from(a.clone())), Some(Bytes::from(b.clone()))],
                "{body:?} by {size}"
            );
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
    let body =
        |extra: Vec<u8>| [b"k8s\0".to_vec(), type_meta("PodList"), extra, field(2, &list_meta())].concat();
    let gzip = error(&body(field(3, b"gzip")));
    assert!(matches!(gzip, Error::UnsupportedEncoding { encoding } if encoding == "gzip"));
    assert!(matches!(error(&body(field(4, b"application/json"))), Error::BrokenProtobuf { .. }));
    let named = body(field(4, b"application/vnd.kubernetes.protobuf"));
    assert_eq!(split(&named, 9).1.unwrap().resource_version, "10");
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
    let number_beyond =
        [b"k8s\0".to_vec(), type_meta("PodList"), vec![2 << 3 | 2, 2, 7 << 3, 0x80, 1]].concat();
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
}
