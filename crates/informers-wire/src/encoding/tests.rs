use std::io::Write;

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use proptest::prelude::*;

use super::*;
use crate::generators::{pieces, seeded};
use crate::{ListSplitter, WatchFramer};

fn member(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn gzip() -> ContentDecoder {
    ContentDecoder::from_header(Some("gzip")).unwrap()
}

fn drain(decoder: &mut ContentDecoder) -> Result<Vec<u8>, Error> {
    let mut content = Vec::new();
    while let Some(piece) = decoder.next_chunk()? {
        assert!(!piece.is_empty() && piece.len() <= ContentDecoder::MAX_PIECE);
        content.extend_from_slice(&piece);
    }
    Ok(content)
}

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Vec<u8>, Error> {
    let mut decoder = gzip();
    let mut content = Vec::new();
    for piece in pieces {
        decoder.push(Bytes::copy_from_slice(piece));
        content.extend(drain(&mut decoder)?);
    }
    decoder.finish()?;
    Ok(content)
}

fn event(number: usize) -> String {
    format!("{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"name\":\"pod-{number}\"}}}}}}\n")
}

#[test]
fn a14_each_event_its_own_member_comes_at_once() {
    for split in [1, 7, usize::MAX] {
        let mut decoder = gzip();
        let mut framer = WatchFramer::new();
        for number in 0..4 {
            for piece in member(event(number).as_bytes()).chunks(split) {
                decoder.push(Bytes::copy_from_slice(piece));
                while let Some(content) = decoder.next_chunk().unwrap() {
                    framer.push(content);
                }
            }
            let frame = framer.next_frame().unwrap().expect("event before the next member is written");
            assert_eq!(frame, event(number).trim_end());
            assert_eq!(framer.next_frame().unwrap(), None);
        }
        decoder.finish().unwrap();
    }
}

#[test]
fn a14_one_member_flushed_per_event_comes_at_once() {
    for split in [1, 7, usize::MAX] {
        let mut decoder = gzip();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut sent = 0;
        for number in 0..4 {
            encoder.write_all(event(number).as_bytes()).unwrap();
            encoder.flush().unwrap();
            let mut content = Vec::new();
            for piece in encoder.get_ref()[sent..].chunks(split) {
                decoder.push(Bytes::copy_from_slice(piece));
                content.extend(drain(&mut decoder).unwrap());
            }
            sent = encoder.get_ref().len();
            assert_eq!(content, event(number).as_bytes(), "event {number} by {split}");
        }
        let rest = encoder.finish().unwrap();
        decoder.push(Bytes::copy_from_slice(&rest[sent..]));
        assert!(drain(&mut decoder).unwrap().is_empty());
        decoder.finish().unwrap();
    }
}

#[test]
fn a14_a_list_of_300_kilobytes() {
    let items: Vec<String> = (0..8000)
        .map(|number| format!(r#"{{"metadata":{{"name":"pod-{number}","x":"{}"}}}}"#, number * 7919))
        .collect();
    let body =
        format!(r#"{{"kind":"PodList","metadata":{{"resourceVersion":"1"}},"items":[{}]}}"#, items.join(","));
    assert!(body.len() > 300_000);
    let mut decoder = gzip();
    let mut splitter = ListSplitter::new();
    let mut found = Vec::new();
    for piece in member(body.as_bytes()).chunks(4096) {
        decoder.push(Bytes::copy_from_slice(piece));
        while let Some(content) = decoder.next_chunk().unwrap() {
            splitter.push(content);
            while let Some(item) = splitter.next_item().unwrap() {
                found.push(item);
            }
        }
    }
    decoder.finish().unwrap();
    splitter.finish().unwrap();
    assert_eq!(found, items);
}

#[test]
fn a14_unknown_encodings_are_named() {
    for header in ["br", "zstd", "deflate", "gzip, br", "gzip, gzip"] {
        let error = ContentDecoder::from_header(Some(header)).unwrap_err();
        assert!(error.to_string().contains(&format!("{header:?}")), "{error}");
    }
    for header in [None, Some(""), Some("identity"), Some(" Identity ")] {
        let mut decoder = ContentDecoder::from_header(header).unwrap();
        decoder.push(Bytes::from_static(b"\x1f\x8bplain"));
        assert_eq!(drain(&mut decoder).unwrap(), b"\x1f\x8bplain");
    }
    for header in ["gzip", "GZIP", "x-gzip", "identity, gzip"] {
        assert!(matches!(ContentDecoder::from_header(Some(header)).unwrap().coding, Coding::Gzip(_)));
    }
}

#[test]
fn a_bomb_comes_in_small_pieces() {
    let bomb = member(&vec![b' '; 4 << 20]);
    assert!(bomb.len() < 64 << 10);
    let mut decoder = gzip();
    decoder.push(Bytes::from(bomb));
    let mut total = 0;
    while let Some(piece) = decoder.next_chunk().unwrap() {
        assert!(piece.len() <= ContentDecoder::MAX_PIECE);
        total += piece.len();
    }
    assert_eq!(total, 4 << 20);
    decoder.finish().unwrap();
}

#[test]
fn headers_with_every_optional_field() {
    let mut encoder = GzBuilder::new()
        .extra(vec![7_u8; 300])
        .filename("pods.json")
        .comment("all of them")
        .write(Vec::new(), Compression::best());
    encoder.write_all(b"content").unwrap();
    let mut bytes = encoder.finish().unwrap();
    for split in [1, 5, bytes.len()] {
        assert_eq!(decode(bytes.chunks(split)).unwrap(), b"content");
    }
    // The encoder cannot write a header checksum, so it is put in by hand, behind the comment.
    bytes[3] |= 0b10;
    let end = 10 + 2 + 300 + "pods.json\0all of them\0".len();
    bytes.splice(end..end, [0xAB, 0xCD]);
    assert_eq!(decode(bytes.chunks(1)).unwrap(), b"content");
}

#[test]
fn padding_and_empty_bodies_are_clean_ends() {
    assert_eq!(decode(std::iter::empty()).unwrap(), b"");
    assert_eq!(decode(member(b"").chunks(1)).unwrap(), b"");
    let padded = [member(b"a"), vec![0; 20], member(b"b"), vec![0]].concat();
    assert_eq!(decode(padded.chunks(3)).unwrap(), b"ab");
}

#[test]
fn damage_is_told() {
    let good = member(b"some content, some content");
    for end in 1..good.len() {
        let error = decode([&good[..end]].into_iter()).unwrap_err();
        assert!(error.to_string().contains("ends inside a member"), "{end}: {error}");
    }
    let mut wrong_sum = good.clone();
    let last = wrong_sum.len() - 8;
    wrong_sum[last] ^= 1;
    let mut wrong_length = good.clone();
    *wrong_length.last_mut().unwrap() ^= 1;
    let mut wrong_data = good.clone();
    wrong_data[10] = 0xFF;
    let trailing = [&good[..], b"{}"].concat();
    for (bytes, problem) in [
        (wrong_sum, "checksum"),
        (wrong_length, "checksum"),
        (wrong_data, "compressed data is invalid"),
        (trailing, "no gzip member follows"),
        (b"{\"kind\":1}".to_vec(), "does not begin with a gzip member"),
        (b"\x1f\x8b\x07".to_vec(), "marks of gzip"),
        (b"\x1f\x8b\x08\xE0".to_vec(), "unknown flags"),
    ] {
        let mut decoder = gzip();
        decoder.push(Bytes::from(bytes));
        let error = drain(&mut decoder).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
        assert!(drain(&mut decoder).is_err(), "damage stays");
        assert!(decoder.finish().is_err());
    }
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn any_members_in_any_pieces_are_the_same(
        contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 0..6),
        repeat in 1_usize..40,
        sizes in prop::collection::vec(1_usize..600, 1..6),
    ) {
        let contents: Vec<Vec<u8>> = contents.iter().map(|content| content.repeat(repeat)).collect();
        let body: Vec<u8> = contents.iter().flat_map(|content| member(content)).collect();
        prop_assert_eq!(decode(pieces(&body, &sizes)).unwrap(), contents.concat());
    }

    #[test]
    fn any_bytes_are_survived(
        body in prop::collection::vec(any::<u8>(), 0..300),
        valid_header in any::<bool>(),
    ) {
        let mut bytes = if valid_header { vec![0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] } else { Vec::new() };
        bytes.extend(body);
        let _ = decode(bytes.chunks(11));
    }
}
