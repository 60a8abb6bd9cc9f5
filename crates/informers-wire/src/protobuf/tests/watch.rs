use super::*;
use crate::FrameProblem;

fn frame(event_type: &str, object: &[u8]) -> Vec<u8> {
    framed(&[field(1, event_type.as_bytes()), field(2, &field(1, object))].concat())
}

fn framed(event: &[u8]) -> Vec<u8> {
    [&u32::try_from(event.len()).unwrap().to_be_bytes(), event].concat()
}

pub(super) fn events<'a>(
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
