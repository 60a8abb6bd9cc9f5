#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use super::*;

fn varint(mut number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            out.push(byte);
            return out;
        }
        out.push(byte | 0x80);
    }
}

fn bytes(number: u64, content: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn number(field: u64, value: i64) -> Vec<u8> {
    [varint(field << 3), varint(value.cast_unsigned())].concat()
}

fn body(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let type_meta = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), bytes(1, &type_meta), bytes(2, message), bytes(3, b""), bytes(4, b"")].concat()
}

#[test]
fn a_config_map_is_read() {
    // The creation timestamp and empty strings are what Go's encoder sends for nothing.
    let metadata = bytes(1, &[bytes(1, b"a"), bytes(2, b""), bytes(8, b""), number(7, 0)].concat());
    let entry = bytes(2, &[bytes(1, b"k"), bytes(2, b"v")].concat());
    let binary = bytes(3, &[bytes(1, b"b"), bytes(2, &[0, 255])].concat());
    let read = to_json(&body("v1", "ConfigMap", &[metadata, entry, binary].concat())).unwrap();
    assert_eq!(
        read,
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "data": {"k": "v"}, "binaryData": {"b": "AP8="},
        })
    );
}

#[test]
fn zero_is_kept_where_it_means_something() {
    let spec = |more: Vec<u8>| bytes(2, &[number(1, 0), number(5, 0), more].concat());
    let read = |more: Vec<u8>| to_json(&body("apps/v1", "Deployment", &spec(more)));
    assert_eq!(read(Vec::new()).unwrap()["spec"], json!({"replicas": 0}));
    let surge = |either: Vec<u8>| bytes(4, &bytes(2, &bytes(2, &either)));
    let percent = surge([number(1, 1), number(2, 0), bytes(3, b"25%")].concat());
    assert_eq!(read(percent).unwrap()["spec"]["strategy"]["rollingUpdate"]["maxSurge"], "25%");
    let count = surge([number(1, 0), number(2, 7), bytes(3, b"")].concat());
    assert_eq!(read(count).unwrap()["spec"]["strategy"]["rollingUpdate"]["maxSurge"], 7);
    let negative = number(6, -1);
    assert_eq!(read(negative).unwrap()["spec"]["revisionHistoryLimit"], -1);
}

#[test]
fn what_is_not_known_is_refused_unless_it_is_empty() {
    let nothing = bytes(40, &[bytes(1, b""), number(2, 0)].concat());
    assert!(to_json(&body("v1", "ConfigMap", &nothing)).is_ok());
    for (case, words) in [
        (body("v1", "ConfigMap", &bytes(40, b"x")), "field 40 of ConfigMap is not known"),
        (body("v1", "ConfigMap", &[0x0a, 0x7f]), "ConfigMap is cut off"),
        (body("v1", "ConfigMap", &bytes(40, &number(1, 5))), "field 40 of ConfigMap is not known"),
        (body("v1", "ConfigMap", &number(1, 5)), "ConfigMap.metadata has an unexpected wire type"),
        (body("v1", "Nope", b""), "Nope in \"v1\" is not known"),
        (b"{}".to_vec(), "does not begin"),
        ([MAGIC, &[0x0a, 0x7f]].concat(), "cut off"),
    ] {
        let status = to_json(&case).unwrap_err();
        assert_eq!(status.code(), 415);
        assert!(status.message().contains(words), "{words}: {status}");
        assert!(status.message().contains("send JSON"), "{status}");
    }
}

#[test]
fn delete_options_are_read() {
    let options = [bytes(2, &bytes(1, b"uid-1")), bytes(4, b"Foreground")].concat();
    let read = to_json(&body("apps/v1", "DeleteOptions", &options)).unwrap();
    assert_eq!(read["preconditions"], json!({"uid": "uid-1"}));
    assert_eq!(read["propagationPolicy"], "Foreground");
}
