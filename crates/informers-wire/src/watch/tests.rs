use proptest::prelude::*;

use super::*;
use crate::WatchFrame;
use crate::generators::{any_json, pieces, seeded};

fn frames<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Bytes>, Vec<Error>, StreamEnd) {
    frames_of(WatchFramer::new(), pieces)
}

fn frames_of<'a>(
    mut framer: WatchFramer,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Bytes>, Vec<Error>, StreamEnd) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for piece in pieces {
        framer.push(Bytes::copy_from_slice(piece));
        loop {
            match framer.next_frame() {
                Ok(Some(frame)) => found.push(frame),
                Ok(None) => break,
                Err(error) => errors.push(error),
            }
        }
    }
    (found, errors, framer.finish())
}

#[test]
fn a13_every_layout_of_a_stream() {
    let one = r#"{"type":"ADDED","object":{"a":"}\n"}}"#;
    let two = "{\n  \"type\": \"DELETED\",\n  \"object\": {\n  }\n}";
    for body in [
        format!("{one}\n{two}\n"),
        format!("{one}{two}"),
        format!("\u{FEFF}{one}\r\n\r\n\r\n{two}\r\n"),
        format!("\n\n {one}\n \n\t{two}"),
    ] {
        for size in [1, 2, 7, 64, body.len()] {
            let (found, errors, end) = frames(body.as_bytes().chunks(size));
            assert_eq!(found, [one, two], "{body:?} by {size}");
            assert!(errors.is_empty());
            assert_eq!(end, StreamEnd::Clean);
        }
    }
}

#[test]
fn a13_a_large_frame_in_single_bytes_is_read_once() {
    // Emoji of four bytes, CJK, a combining mark, and escaped surrogate pairs.
    let object = format!(r#"{{"data":"{}"}}"#, "😀日e\u{301}\\uD83D\\uDE00".repeat(150_000));
    assert!(object.len() > 3_000_000);
    let body = format!("{{\"type\":\"ADDED\",\"object\":{object}}}\r\n");
    let mut framer = WatchFramer::new();
    let mut found = Vec::new();
    for index in 0..body.len() {
        framer.push(Bytes::copy_from_slice(&body.as_bytes()[index..=index]));
        found.extend(framer.next_frame().unwrap());
        assert!(framer.reader.capacity() <= 2 * body.len());
    }
    assert!(framer.scanned() <= body.len() as u64, "{} bytes scanned", framer.scanned());
    assert_eq!(found.len(), 1);
    let WatchFrame::Added(raw) = WatchFrame::parse(&found[0]).unwrap() else { panic!("not added") };
    assert_eq!(raw, object);

    let (by_seven, _, _) = frames(body.as_bytes().chunks(7));
    assert_eq!(by_seven, found);
}

#[test]
fn a13_cuts_before_and_behind_a_line_break_and_inside_escapes() {
    let one = r#"{"type":"ADDED","object":{"a":"\uD83D\uDE00\\"}}"#;
    let body = format!("{one}\n{one}\n");
    for cut in 0..=body.len() {
        let (left, right) = body.as_bytes().split_at(cut);
        let (found, errors, end) = frames([left, right].into_iter());
        assert_eq!((found.len(), errors.len(), end), (2, 0, StreamEnd::Clean), "cut at {cut}");
        assert!(found.iter().all(|frame| frame == one));
    }
}

#[test]
fn a13_twenty_megabytes_pass() {
    let body = format!(r#"{{"type":"ADDED","object":{{"d":"{}"}}}}"#, "x".repeat(20 << 20));
    let (found, errors, _) = frames(body.as_bytes().chunks(16 << 10));
    assert_eq!((found.len(), found[0].len(), errors.len()), (1, body.len(), 0));
}

#[test]
fn a13_a_frame_over_the_limit_is_passed_and_named() {
    let big = format!(
        r#"{{"type":"MODIFIED","object":{{"metadata":{{"name":"cm","resourceVersion":"31"}},"d":"{}"}}}}"#,
        "x".repeat(3000)
    );
    let small = r#"{"type":"ADDED","object":{}}"#;
    let body = format!("{small}\n{big}\n{small}\n");
    for size in [1, 64, 700, body.len()] {
        let framer = WatchFramer::new().with_max_frame_size(1000);
        let (found, errors, end) = frames_of(framer, body.as_bytes().chunks(size));
        assert_eq!(found, [small, small]);
        assert_eq!(end, StreamEnd::Clean);
        let [Error::TooLarge(frame)] = &errors[..] else { panic!("{errors:?}") };
        assert_eq!((frame.size, frame.limit), (big.len() as u64, 1000));
        assert_eq!(frame.event_type.as_deref(), Some("MODIFIED"));
        assert_eq!(frame.identity.resource_version.as_deref(), Some("31"));
    }
}

#[test]
fn a_frame_of_exactly_the_limit_passes() {
    let frame = r#"{"type":"ADDED","object":{}}"#;
    for size in [1, frame.len()] {
        let framer = WatchFramer::new().with_max_frame_size(frame.len());
        let (found, errors, _) = frames_of(framer, frame.as_bytes().chunks(size));
        assert_eq!((found.len(), errors.len()), (1, 0));
        let framer = WatchFramer::new().with_max_frame_size(frame.len() - 1);
        let (found, errors, _) = frames_of(framer, frame.as_bytes().chunks(size));
        assert_eq!((found.len(), errors.len()), (0, 1));
    }
}

#[test]
fn the_end_tells_whether_a_frame_was_cut() {
    let (_, _, end) = frames([&b"{\"type\":"[..]].into_iter());
    assert_eq!(end, StreamEnd::MidFrame { bytes: 8 });
    assert_eq!(frames([&b"\n \n"[..]].into_iter()).2, StreamEnd::Clean);
    assert_eq!(frames(std::iter::empty()).2, StreamEnd::Clean);
}

#[test]
fn a11_a_frame_that_was_left_unfinished_swallows_no_other() {
    let good = r#"{"type":"ADDED","object":{"a":["b"]}}"#;
    let pretty = "{\n  \"type\": \"ADDED\",\n\n  \"object\": \n  {\"l\": [\n{}\n,\r\n{\"x\": 1}\n]}\n}";
    for bad in [
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"q","resourceVersion":"6"}"#,
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"q","resourceVersion":"6"},"x":"ab"#,
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"q","resourceVersion":"6"},"x":"a"b"}}"#,
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"q","resourceVersion":"6"},"x":[1}}"#,
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"q","resourceVersion":"6"},"x":"a\"#,
    ] {
        let body = format!("{good}\n{bad}\n{good}\n \r\n{pretty}\n{bad}\n\n{pretty}{good}");
        for size in [1, 2, 7, 64, 100, body.len()] {
            let (found, errors, end) = frames(body.as_bytes().chunks(size));
            assert_eq!(found, [good, good, pretty, pretty, good], "{bad} by {size}");
            assert_eq!((errors.len(), end), (2, StreamEnd::Clean), "{bad} by {size}");
            for error in errors {
                let Error::MalformedFrame(frame) = error else { panic!("{error:?}") };
                assert_eq!(
                    (frame.problem, frame.event_type.as_deref()),
                    (FrameProblem::Syntax, Some("MODIFIED"))
                );
                assert_eq!(frame.identity.resource_version.as_deref(), Some("6"));
            }
        }
    }
    // Behind these the next line may belong to the frame, and is taken for it until the one after that. API servers
    // write one line for each frame.
    for behind in ["", r#""x":"#, r#""x":["#] {
        let bad = format!(r#"{{"type":"MODIFIED","object":{{"metadata":{{"resourceVersion":"6"}},{behind}"#);
        let body = format!("{good}\n{bad}\n{good}\n{bad}\n{bad}\n{good}\n{good}\n");
        for size in [1, 2, 7, 64, 100, body.len()] {
            let (found, errors, end) = frames(body.as_bytes().chunks(size));
            assert_eq!(found, [good; 4], "{bad} by {size}");
            // Two of them in a row are told as one.
            assert_eq!((errors.len(), end), (2, StreamEnd::Clean), "{bad} by {size}: {errors:?}");
        }
    }
    // One over the limit stays one that is too large.
    let body = format!("{{\"type\":\"ADDED\",\"x\":[\"{}\"\n{good}", "x".repeat(200));
    for size in [1, 64, body.len()] {
        let framer = WatchFramer::new().with_max_frame_size(100);
        let (found, errors, _) = frames_of(framer, body.as_bytes().chunks(size));
        assert_eq!(found, [good]);
        assert!(
            matches!(&errors[..], [Error::TooLarge(too_large)] if too_large.size == 224),
            "by {size}: {errors:?}"
        );
    }
}

#[test]
fn a15_stray_text_is_one_error_and_left_behind() {
    let (found, errors, end) = frames(b"upstream {reset}\n{\"type\":\"X\"}\nno healthy upstream".chunks(3));
    assert_eq!(found, [r#"{"type":"X"}"#]);
    let [Error::MalformedFrame(stray)] = &errors[..] else { panic!("{errors:?}") };
    assert_eq!((stray.problem, &*stray.excerpt), (FrameProblem::NotAnObject, "upstream {reset}"));
    assert_eq!(end, StreamEnd::StrayText { excerpt: "no healthy upstream".to_owned() });
}

#[test]
fn a15_a_page_of_html_is_one_error() {
    let page = "<html>\n<body>\n<h1>502</h1>\n</body>\n</html>";
    for body in [page.to_owned(), format!("{page}\n")] {
        let (found, errors, end) = frames(body.as_bytes().chunks(5));
        assert_eq!((found.len(), errors.len(), end), (0, 1, StreamEnd::Clean));
    }
    // After a good frame the next page is news again.
    let (found, errors, _) = frames(format!("{page}\n{{}}\n{page}\n").as_bytes().chunks(5));
    assert_eq!((found.len(), errors.len()), (1, 2));
}

#[test]
fn a15_a_pretty_bare_status_is_one_frame() {
    let body = "{\n  \"kind\": \"Status\",\n  \"code\": 429,\n  \"reason\": \"TooManyRequests\"\n}\n";
    let (found, errors, _) = frames(body.as_bytes().chunks(4));
    assert_eq!((found.len(), errors.len()), (1, 0));
    let WatchFrame::Error(status) = WatchFrame::parse(&found[0]).unwrap() else { panic!("no error") };
    assert!(status.is_too_many_requests());
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn any_frames_in_any_pieces_are_the_same(
        objects in prop::collection::vec(any_json(), 0..8),
        pretty in any::<bool>(),
        separator in prop::sample::select(vec!["", "\n", "\r\n", "\n\n  "]),
        sizes in prop::collection::vec(1_usize..90, 1..6),
    ) {
        let raw: Vec<String> = objects
            .iter()
            .map(|object| {
                let frame = serde_json::json!({"type": "MODIFIED", "object": {"inner": object}});
                if pretty { serde_json::to_string_pretty(&frame) } else { serde_json::to_string(&frame) }.unwrap()
            })
            .collect();
        let body = raw.join(separator);
        let (found, errors, end) = frames(pieces(body.as_bytes(), &sizes));
        prop_assert_eq!(&found, &raw);
        prop_assert!(errors.is_empty());
        prop_assert_eq!(end, StreamEnd::Clean);
        for (frame, object) in found.iter().zip(&objects) {
            let WatchFrame::Modified(raw) = WatchFrame::parse(frame).unwrap() else { panic!("{frame:?}") };
            let parsed: serde_json::Value = serde_json::from_slice(&raw).unwrap();
            prop_assert_eq!(&parsed["inner"], object);
        }
    }

    #[test]
    fn any_event_is_the_same_in_one_go(
        objects in prop::collection::vec(any_json(), 0..8),
        sizes in prop::collection::vec(1_usize..90, 1..6),
    ) {
        let frame = |object| format!("{{\"type\":\"MODIFIED\",\"object\":{{\"inner\":{object}}}}}\n");
        let body: String = objects.iter().map(frame).collect();
        let quick = events_of(pieces(body.as_bytes(), &sizes), WatchFramer::next_event);
        prop_assert_eq!(quick.len(), objects.len());
        prop_assert_eq!(quick, events_of(pieces(body.as_bytes(), &sizes), in_two));
    }

    #[test]
    fn any_bytes_are_survived(
        body in prop::collection::vec(prop::sample::select(b"{}[]\"\\,:type1 \n\xEF\xBB\xBF".to_vec()), 0..200),
        sizes in prop::collection::vec(1_usize..90, 1..6),
    ) {
        let (whole, whole_errors, whole_end) = frames([&body[..]].into_iter());
        let (cut, cut_errors, cut_end) = frames(pieces(&body, &sizes));
        for frame in &whole {
            // Whatever it says, it must not panic, and an error must not end the stream.
            prop_assert!(WatchFrame::parse(frame).err().is_none_or(|error| !error.is_fatal()));
        }
        prop_assert_eq!(whole, cut);
        prop_assert_eq!(format!("{whole_errors:?}"), format!("{cut_errors:?}"));
        prop_assert_eq!(whole_end, cut_end);
        let quick = events_of(pieces(&body, &sizes), WatchFramer::next_event);
        prop_assert_eq!(quick, events_of(pieces(&body, &sizes), in_two));
    }
}

/// What a body gives, read in one go or in two.
fn events_of<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    mut next: impl FnMut(&mut WatchFramer) -> Result<Option<WatchFrame>, Error>,
) -> Vec<Result<WatchFrame, String>> {
    let mut framer = WatchFramer::new();
    let mut found = Vec::new();
    for piece in pieces {
        framer.push(Bytes::copy_from_slice(piece));
        loop {
            match next(&mut framer) {
                Ok(Some(event)) => found.push(Ok(event)),
                Ok(None) => break,
                Err(error) => found.push(Err(format!("{error:?}"))),
            }
        }
    }
    found
}

fn in_two(framer: &mut WatchFramer) -> Result<Option<WatchFrame>, Error> {
    framer.next_frame()?.map(|raw| WatchFrame::parse(&raw)).transpose()
}

#[test]
fn an_event_is_the_same_in_one_go() {
    let long = "x".repeat(300);
    for frame in [
        r#"{"type":"ADDED","object":{"a":{}}}"#,
        r#"{"type":"MODIFIED","object":{}}"#,
        r#"{"type":"DELETED","object":{"a":[1,"}"]}}"#,
        // Not as API servers write them: spaces, fields behind, fields twice, another order, no object.
        r#"{"type":"ADDED","object":{"a":1},"extra":{"b":2}}"#,
        r#"{"type":"ADDED","object":{"a":1},"object":{"b":2}}"#,
        r#"{"type":"ADDED","object":{"a":1},"type":"DELETED"}"#,
        r#"{"type":"ADDED","object":{"a":1} }"#,
        r#"{"type":"ADDED","object": {"a":1}}"#,
        r#"{"type":"ADDED", "object":{"a":1}}"#,
        r#"{"object":{"a":1},"type":"ADDED"}"#,
        r#"{"extra":{},"type":"ADDED","object":{"a":1}}"#,
        r#"{"type":"ADDED","object":[{}]}"#,
        r#"{"type":"ADDED","object":null}"#,
        r#"{"type":"ADDEDX","object":{}}"#,
        r#"{"type":"","object":{}}"#,
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}"#,
        r#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#,
        r#"{"kind":"Status","code":410,"details":{}}"#,
        r#"{"type":"ADDED","object":{},!}"#,
        &format!(r#"{{"type":"MODIFIED","object":{{"a":"{long}","b":{{}}}}}}"#),
    ] {
        let body = format!("{frame}\n{{\"type\":\"ADDED\",\"object\":{{}}}}\n");
        for size in [1, 5, 64, body.len()] {
            let quick = events_of(body.as_bytes().chunks(size), WatchFramer::next_event);
            let slow = events_of(body.as_bytes().chunks(size), in_two);
            assert_eq!(quick.len(), 2, "{frame}");
            assert_eq!(quick, slow, "{frame} by {size}");
        }
    }
}

#[test]
fn the_object_of_an_event_is_a_slice_of_its_chunk() {
    let body = Bytes::from_static(b"{\"type\":\"DELETED\",\"object\":{\"a\":{}}}\n");
    let mut framer = WatchFramer::new();
    framer.push(body.clone());
    let Some(WatchFrame::Deleted(object)) = framer.next_event().unwrap() else { panic!("not deleted") };
    assert_eq!(object, r#"{"a":{}}"#);
    assert!(body.as_ptr_range().contains(&object.as_ptr()));
}
