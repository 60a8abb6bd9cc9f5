use proptest::prelude::*;

use super::*;
use crate::generators::{any_json, pieces, seeded};

/// Pushes the body in pieces of `size` bytes and gives all items and the end.
fn split(body: &[u8], size: usize) -> (Vec<Bytes>, Result<ListTrailer, Error>) {
    split_pieces(ListSplitter::new(), body.chunks(size.max(1)))
}

fn split_pieces<'a>(
    mut splitter: ListSplitter,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Bytes>, Result<ListTrailer, Error>) {
    let mut items = Vec::new();
    for piece in pieces {
        splitter.push(Bytes::copy_from_slice(piece));
        loop {
            match splitter.next_item() {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(error) => return (items, Err(error)),
            }
        }
    }
    let end = splitter.finish();
    (items, end)
}

fn error(body: &str) -> Error {
    let mut results = [1, 7, body.len()].map(|size| split(body.as_bytes(), size).1.unwrap_err());
    let messages = results.each_ref().map(ToString::to_string);
    // Only an excerpt may depend on how the body was cut.
    if !matches!(results[0], Error::NotJson { .. }) {
        assert_eq!(messages[0], messages[1], "{body}");
        assert_eq!(messages[0], messages[2], "{body}");
    }
    std::mem::replace(&mut results[2], Error::GivenUp)
}

#[test]
fn of_a_field_that_is_repeated_only_the_last_value_is_held() {
    let mut splitter = ListSplitter::new();
    splitter.push(Bytes::from_static(br#"{"kind":"PodList""#));
    for version in 0..1000 {
        splitter.push(Bytes::from(format!(r#","metadata":{{"resourceVersion":"{version}"}}"#)));
        assert_eq!(splitter.next_item().unwrap(), None);
        assert!(splitter.envelope.held() <= 2, "kind and metadata");
    }
    splitter.push(Bytes::from_static(b"}"));
    assert_eq!(splitter.finish().unwrap().resource_version, "999");
}

#[test]
fn every_layout_of_a_list() {
    let expected = ListTrailer {
        kind: "PodList".to_owned(),
        api_version: "v1".to_owned(),
        resource_version: "10".to_owned(),
        continue_token: Some("t\"k".to_owned()),
        remaining_item_count: Some(4),
    };
    let metadata = r#"{"resourceVersion":"10","continue":"t\"k","remainingItemCount":4,"selfLink":""}"#;
    let compact = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{metadata},"items":[{{"a":"]}}"}},{{}}]}}"#
    );
    let items_first = format!(
        r#"{{"items":[{{"a":"]}}"}},{{}}],"metadata":{metadata},"apiVersion":"v1","kind":"PodList"}}"#
    );
    let pretty = format!(
        "\u{FEFF}\r\n {{\n  \"kind\": \"PodList\",\n \"apiVersion\" : \"v1\",\n \"extra\": [{{\"items\": [1]}}, \"]\"],\n \
         \"metadata\": {metadata},\n \"it\\u0065ms\": [\n {{\"a\":\"]}}\"}} ,\n {{}}\n ]\n}}\r\n\n"
    );
    for body in [&compact, &items_first, &pretty] {
        for size in [1, 2, 3, 7, 64, body.len()] {
            let (items, trailer) = split(body.as_bytes(), size);
            assert_eq!(items, [r#"{"a":"]}"}"#, "{}"], "{body} by {size}");
            assert_eq!(trailer.unwrap(), expected, "{body} by {size}");
        }
    }
}

#[test]
fn lists_without_items() {
    for body in [
        r#"{"kind":"PodList","items":null,"metadata":{"resourceVersion":"1","continue":"","remainingItemCount":null}}"#,
        r#"{"kind":"PodList","items":[],"metadata":{"resourceVersion":"1"}}"#,
        r#"{"kind":"PodList","metadata":{"resourceVersion":"1"}}"#,
        r#"{"kind":"List","metadata":{"resourceVersion":"1"},"items": [ ] }"#,
    ] {
        for size in [1, 5, body.len()] {
            let (items, trailer) = split(body.as_bytes(), size);
            let trailer = trailer.unwrap();
            assert!(items.is_empty());
            assert_eq!(trailer.resource_version, "1");
            assert_eq!((trailer.continue_token, trailer.remaining_item_count), (None, None));
        }
    }
}

#[test]
fn elements_come_as_they_are() {
    let (items, trailer) =
        split(br#"{"kind":"XList","metadata":null,"items":[null,7 , "a]",{"b":tru}, [1]]}"#, 3);
    assert_eq!(items, ["null", "7", "\"a]\"", "{\"b\":tru}", "[1]"]);
    assert_eq!(trailer.unwrap().resource_version, "");
}

#[test]
fn an_item_in_one_chunk_is_a_slice_of_it() {
    let body = Bytes::from_static(br#"{"kind":"PodList","items":[{"a":1}]}"#);
    let mut splitter = ListSplitter::new();
    splitter.push(body.clone());
    let item = splitter.next_item().unwrap().unwrap();
    assert!(body.as_ptr_range().contains(&item.as_ptr()));
}

#[test]
fn what_is_no_list_is_an_error() {
    assert!(
        matches!(error(r#"{"kind":"Pod","metadata":{}}"#), Error::NotAList { kind: Some(kind) } if kind == "Pod")
    );
    for body in ["{}", r#"{"items":[]}"#, r#"{"kind":null,"items":[]}"#] {
        assert!(matches!(error(body), Error::NotAList { kind: None }), "{body}");
    }
    assert!(matches!(error(r#"{"kind":"Table","rows":[]}"#), Error::Table));
    for body in ["<html>", "upstream connect error", "[]", "null", "\u{7}"] {
        assert!(matches!(error(body), Error::NotJson { excerpt } if excerpt == body.trim()), "{body}");
    }
    assert!(matches!(error(r#"{"kind":5,"items":[]}"#), Error::Envelope { field: "kind", .. }));
    let metadata = r#"{"kind":"PodList","items":[],"metadata":{"resourceVersion":5}}"#;
    assert!(matches!(error(metadata), Error::Envelope { field: "metadata", .. }));
}

#[test]
fn a15_a_status_is_given_back_whole() {
    for body in [
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":"Expired","code":410}"#,
        "{\n \"apiVersion\": \"v1\",\n \"code\": 410,\n \"details\": {\"retryAfterSeconds\": 2},\n \"kind\": \"Status\",\n \
         \"message\": \"no\",\n \"reason\": \"Expired\",\n \"status\": \"Failure\"\n}\n",
    ] {
        let Error::Status(status) = error(body) else { panic!("{body}") };
        assert!(status.is_expired());
        assert_eq!((&*status.message, status.code), ("no", 410));
    }
}

#[test]
fn a_cut_list_has_no_trailer() {
    let body = br#"{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[{"a":{}},{"b":2}]}"#;
    for end in 0..body.len() {
        let (_, trailer) = split(&body[..end], 16);
        assert!(
            matches!(trailer, Err(Error::Truncated { bytes }) if bytes == end as u64),
            "{end}: {trailer:?}"
        );
    }
    split(body, 16).1.unwrap();
}

#[test]
fn broken_envelopes_name_the_byte() {
    let head = r#"{"kind":"PodList","items":["#;
    for (tail, at) in
        [("1,]}", 2), (",1]}", 0), ("1 2]}", 2), ("1]]", 2), ("1]}x", 3), ("1},", 1), ("1],}", 3)]
    {
        let Error::Syntax { offset, .. } = error(&format!("{head}{tail}")) else { panic!("{tail}") };
        assert_eq!(offset, (head.len() + at) as u64, "{tail}");
    }
    for body in [r#"{"kind" "PodList"}"#, "{,}", r#"{"items":{}}"#, r#"{kind:1}"#, r#"{"kind":}"#, "{5:1}"] {
        assert!(matches!(error(body), Error::Syntax { .. }), "{body}");
    }
}

#[test]
fn a_given_up_list_stays_given_up() {
    let mut splitter = ListSplitter::new();
    splitter.push(Bytes::from_static(br#"{"kind":"Pod""#));
    assert!(matches!(splitter.next_item(), Err(Error::NotAList { .. })));
    splitter.push(Bytes::from_static(b"}"));
    assert!(matches!(splitter.next_item(), Err(Error::GivenUp)));
    assert!(matches!(splitter.finish(), Err(Error::GivenUp)));
}

#[test]
fn items_left_behind_are_noticed() {
    let mut splitter = ListSplitter::new();
    splitter.push(Bytes::from_static(br#"{"kind":"PodList","items":[1]}"#));
    assert!(matches!(splitter.finish(), Err(Error::NotDrained)));
}

#[test]
fn a_huge_item_is_skipped_and_named() {
    let huge = format!(
        r#"{{"metadata":{{"name":"big","namespace":"ns","resourceVersion":"4"}},"data":"{}"}}"#,
        "x".repeat(5000)
    );
    let body = format!(
        r#"{{"kind":"CMList","items":[{{"a":1}},{huge},{{"b":2}}],"metadata":{{"resourceVersion":"9"}}}}"#
    );
    for size in [1, 100, 1000, body.len()] {
        let mut splitter = ListSplitter::new().with_max_item_size(1000);
        let (mut items, mut skipped) = (Vec::new(), Vec::new());
        for piece in body.as_bytes().chunks(size) {
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
        assert_eq!(items, [r#"{"a":1}"#, r#"{"b":2}"#]);
        assert_eq!((skipped.len(), skipped[0].size, skipped[0].limit), (1, huge.len() as u64, 1000));
        assert_eq!(skipped[0].identity.name.as_deref(), Some("big"));
        assert_eq!(splitter.finish().unwrap().resource_version, "9");
    }
}

#[test]
fn an_absurd_envelope_is_not_gathered() {
    let body = format!(r#"{{"kind":"PodList","metadata":{{"continue":"{}"}}}}"#, "x".repeat(2 << 20));
    let (_, end) = split(body.as_bytes(), 4096);
    assert!(matches!(end, Err(Error::EnvelopeTooLarge { field: "metadata", size }) if size > 2 << 20));
    // A field that nobody reads may be as large as it likes.
    let body = format!(r#"{{"kind":"PodList","extra":{{"x":"{}"}}}}"#, "x".repeat(2 << 20));
    split(body.as_bytes(), 4096).1.unwrap();
}

#[test]
fn a11_one_damaged_item_harms_no_other() {
    let body = br#"{"kind":"PodList","items":[{"n":1},{"n":nope,"b":"\q"},{"n":3}]}"#;
    let (items, trailer) = split(body, 5);
    trailer.unwrap();
    let decoded = items.iter().map(|item| serde_json::from_slice::<serde_json::Value>(item).is_ok());
    assert_eq!(decoded.collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn a13_small_pieces_cost_linear_time() {
    let item = format!(r#"{{"data":"{}"}}"#, "😀日e\u{301}\\uD83D\\uDE00".repeat(150_000));
    assert!(item.len() > 3_000_000);
    let body = format!(r#"{{"kind":"ConfigMapList","items":[{item}]}}"#);
    let mut splitter = ListSplitter::new();
    let mut items = Vec::new();
    for index in 0..body.len() {
        splitter.push(Bytes::copy_from_slice(&body.as_bytes()[index..=index]));
        items.extend(splitter.next_item().unwrap());
    }
    assert_eq!(items, [item]);
    assert!(splitter.reader.scanned() <= body.len() as u64, "{} bytes scanned", splitter.reader.scanned());
    splitter.finish().unwrap();
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn any_list_in_any_pieces_gives_the_same_items(
        items in prop::collection::vec(any_json(), 0..8),
        pretty in any::<bool>(),
        items_first in any::<bool>(),
        sizes in prop::collection::vec(1_usize..90, 1..6),
    ) {
        let text = |value: &serde_json::Value| {
            if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) }.unwrap()
        };
        let raw: Vec<String> = items.iter().map(text).collect();
        let items = format!(r#""items":[{}]"#, raw.join(if pretty { " ,\n " } else { "," }));
        let rest = r#""kind":"PodList","metadata":{"resourceVersion":"12"}"#;
        let body = if items_first { format!("{{{items},{rest}}}") } else { format!("{{{rest},{items}}}") };
        let (found, trailer) = split_pieces(ListSplitter::new(), pieces(body.as_bytes(), &sizes));
        prop_assert_eq!(found, raw);
        prop_assert_eq!(trailer.unwrap().resource_version, "12");
    }

    #[test]
    fn any_bytes_are_survived(
        body in prop::collection::vec(prop::sample::select(b"{}[]\"\\,:nit1 \n\xFF".to_vec()), 0..200),
        sizes in prop::collection::vec(1_usize..90, 1..6),
    ) {
        let mut text = br#"{"kind":"PodList","items":["#.to_vec();
        text.extend(body);
        let (whole, whole_end) = split(&text, text.len());
        let (cut, cut_end) = split_pieces(ListSplitter::new(), pieces(&text, &sizes));
        prop_assert_eq!(whole, cut);
        prop_assert_eq!(format!("{whole_end:?}"), format!("{cut_end:?}"));
    }
}
