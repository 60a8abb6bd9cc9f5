use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::*;

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod",
    "metadata":{"name":"cart-0","namespace":"shop","uid":"u","resourceVersion":"7","finalizers":["a/b"],
      "managedFields":[{"manager":"m","fieldsV1":{"f:spec":{"k:{\"name\":\"main\"}":{".":{},"list":[[],[1,2]]}}}}],
      "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"cart","uid":"v"}]},
    "unknown":[[1],{"deep":[2,3,[]]},"[",7],
    "spec":{"containers":[
        {"name":"main","args":["a","b","c"],"ports":[{"containerPort":80}],
         "env":[{"name":"A","value":"[1,2]"},{"name":"B","value":"\"]\\"}]},
        {"name":"side","args":[],"command":null}],
      "tolerations":[{"key":"k","tolerationSeconds":300}]},
    "status":{"podIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}],"conditions":[]}}"#;

fn counted(raw: &str) -> Vec<u32> {
    Lengths::of(raw.as_bytes()).lengths
}

#[test]
fn arrays_are_counted_in_the_order_of_their_brackets() {
    for (raw, expected) in [
        ("{}", &[][..]),
        ("[]", &[0]),
        (" [ ] ", &[0]),
        ("[1]", &[1]),
        ("[ {} , [] ]", &[2, 0]),
        (r#"{"a":[1,2,[3]],"b":{"c":["x,y","[\"]\\"]}}"#, &[3, 1, 2]),
        ("[[[[]]],[]]", &[2, 1, 1, 0, 0]),
        (r#"[{"a":1,"b":2},{"c":[1,2],"d":3}]"#, &[2, 2]),
        // Damage is not judged here.
        ("[1,", &[1]),
        ("[", &[1]),
        ("]]}[1", &[1]),
        (r#"["\"#, &[1]),
        ("", &[]),
    ] {
        assert_eq!(counted(raw), expected, "{raw}");
    }
}

#[test]
fn strings_end_at_their_own_quote_wherever_it_falls() {
    for before in 0..20 {
        for behind in 0..20 {
            let (before, behind) = ("é".repeat(before), "]".repeat(behind));
            for inner in ["", r#"\""#, r#"\\"#, r#"\\\""#, r#"\n,["#, r#"\\\\\"\"[,"#, "!#\u{a2}Z"] {
                let raw = format!(r#"["{before}{inner}{behind}",[1,"{behind}"],2]"#);
                assert_eq!(counted(&raw), [3, 2], "{raw}");
                assert!(serde_json::from_str::<Value>(&raw).is_ok(), "{raw}");
            }
        }
    }
}

#[test]
fn no_list_of_a_pod_keeps_room_to_spare() {
    let pod: Pod = from_slice(POD.as_bytes()).unwrap();
    assert_eq!(pod, serde_json::from_str(POD).unwrap());

    fn is_fitted<T>(list: Option<&Vec<T>>) -> bool {
        list.is_some_and(|list| list.capacity() == list.len())
    }
    let (spec, status) = (pod.spec.as_ref().unwrap(), pod.status.as_ref().unwrap());
    let main = &spec.containers[0];
    assert!(is_fitted(Some(&spec.containers)) && is_fitted(spec.tolerations.as_ref()));
    assert!(is_fitted(main.args.as_ref()) && is_fitted(main.env.as_ref()) && is_fitted(main.ports.as_ref()));
    assert!(is_fitted(spec.containers[1].args.as_ref()));
    assert!(is_fitted(status.pod_ips.as_ref()) && is_fitted(status.conditions.as_ref()));
    let metadata = &pod.metadata;
    assert!(is_fitted(metadata.owner_references.as_ref()) && is_fitted(metadata.managed_fields.as_ref()));
    assert!(is_fitted(metadata.finalizers.as_ref()));
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Every {
    unit: (),
    flag: bool,
    small: i8,
    large: u64,
    ratio: f64,
    letter: char,
    text: String,
    maybe: Option<Box<Every>>,
    pair: (u8, Vec<u16>),
    kinds: Vec<Kind>,
    tagged: Tagged,
    untagged: Vec<Untagged>,
    any: Value,
}

#[derive(Debug, PartialEq, Deserialize)]
enum Kind {
    Unit,
    Newtype(Vec<u8>),
    Tuple(u8, Vec<u8>),
    Struct { list: Vec<u8> },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type")]
enum Tagged {
    List { list: Vec<Vec<u8>> },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    List(Vec<Untagged>),
}

fn every(maybe: &str) -> String {
    format!(
        r#"{{"unit":null,"flag":true,"small":-3,"large":18446744073709551615,"ratio":1.5,"letter":"é","text":"a\u0062",
            "maybe":{maybe},"pair":[1,[2,3]],"kinds":["Unit",{{"Newtype":[1,2,3]}},{{"Tuple":[1,[2]]}},{{"Struct":{{"list":[9]}}}}],
            "tagged":{{"list":[[1],[2,3]],"type":"List"}},"untagged":[-1,[2,[3]]],"any":{{"x":[1.25,-7,"s",null,[true]]}},
            "ignored":{{"x":[[]]}}}}"#
    )
}

#[test]
fn every_shape_of_serde_is_read_as_without() {
    let raw = every(&every("null"));
    let read: Every = from_slice(raw.as_bytes()).unwrap();
    assert_eq!(read, serde_json::from_str(&raw).unwrap());
    let Kind::Newtype(list) = &read.kinds[1] else { panic!("not in order") };
    assert_eq!(list.capacity(), 3);
}

fn same<T: DeserializeOwned + PartialEq + fmt::Debug>(raw: &[u8]) {
    let (fitted, plain) = (from_slice::<T>(raw), serde_json::from_slice::<T>(raw));
    match (fitted, plain) {
        (Ok(fitted), Ok(plain)) => assert_eq!(fitted, plain),
        (Err(fitted), Err(plain)) => assert_eq!(fitted.to_string(), plain.to_string()),
        (fitted, plain) => panic!("{fitted:?}, without {plain:?}: {}", String::from_utf8_lossy(raw)),
    }
}

#[test]
fn what_is_refused_is_refused_with_the_same_words() {
    for raw in [
        "",
        "null",
        "7",
        "[",
        "{}",
        "{\"metadata\":{}} x",
        "{\"metadata\":7}",
        "{\"spec\":{\"containers\":[{]}",
    ] {
        same::<Pod>(raw.as_bytes());
        same::<Value>(raw.as_bytes());
    }
    // A number that no type holds, and bytes that are no text, in a field that nobody reads.
    for ignored in [&b"1e999"[..], b"\"\xFF\""] {
        let raw = [b"{\"metadata\":{\"name\":\"a\"},\"x\":", ignored, b"}"].concat();
        same::<Pod>(&raw);
        assert!(from_slice::<Pod>(&raw).is_ok() && from_slice::<IgnoredAny>(&raw).is_ok());
    }
}

#[test]
fn damage_anywhere_makes_no_difference() {
    for cut in 0..POD.len() {
        same::<Pod>(&POD.as_bytes()[..cut]);
        let mut damaged = POD.as_bytes().to_vec();
        damaged[cut] = b']';
        same::<Pod>(&damaged);
        damaged[cut] = b'"';
        same::<Pod>(&damaged);
    }
}
