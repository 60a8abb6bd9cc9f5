//! The fuzz targets over their corpus, and over seeded mutations of it. `INFORMERS_FUZZ_SEED` asks for others.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

#[path = "../../../fuzz/src/lib.rs"]
#[allow(clippy::panic, missing_docs, unreachable_pub, reason = "it is a crate of its own for cargo-fuzz")]
mod targets;

const MUTATIONS: usize = 3000;
const DEFAULT_SEED: u64 = 20_261_130;

/// Numbers that look random: xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(number).unwrap() % limit.max(1)
    }
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Changes a few bytes, cuts a piece out, doubles one, or puts one of another input in.
fn mutate(input: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    const SPECIAL: &[u8] = b"\"\\{}[]:, \n\r\0\xff\xef0-9eE=?";
    let mut data = input.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(data.len() + 1);
        let end = (at + random.below(24)).min(data.len());
        match random.below(6) {
            0 if at < data.len() => data[at] = SPECIAL[random.below(SPECIAL.len())],
            1 if at < data.len() => data[at] ^= 1 << random.below(8),
            2 => data.insert(at, SPECIAL[random.below(SPECIAL.len())]),
            3 => drop(data.drain(at..end)),
            4 => {
                let piece = data[at..end].to_vec();
                data.splice(at..at, piece);
            }
            _ => {
                let from = random.below(other.len());
                let piece = &other[from..(from + random.below(32)).min(other.len())];
                data.splice(at..at, piece.iter().copied());
            }
        }
    }
    data
}

fn run(name: &str, target: fn(&[u8])) {
    let seed = std::env::var("INFORMERS_FUZZ_SEED").map_or(DEFAULT_SEED, |seed| seed.parse().unwrap());
    let mut random = Random(seed.max(1));
    let corpus = corpus(name);
    assert!(corpus.len() >= 5, "{name} has a corpus");
    let check = |data: &[u8]| {
        if catch_unwind(AssertUnwindSafe(|| target(data))).is_err() {
            panic!("{name}, seed {seed}: {:?}", String::from_utf8_lossy(data));
        }
    };
    corpus.iter().for_each(|input| check(input));
    for _ in 0..MUTATIONS {
        let (input, other) = (random.below(corpus.len()), random.below(corpus.len()));
        check(&mutate(&corpus[input], &corpus[other], &mut random));
    }
}

#[test]
fn lists_do_not_depend_on_how_they_arrive() {
    run("list_splitter", targets::list_splitter);
}

#[test]
fn watches_do_not_depend_on_how_they_arrive() {
    run("watch_framer", targets::watch_framer);
}

#[test]
fn lists_in_protobuf_do_not_depend_on_how_they_arrive() {
    run("protobuf_list", targets::protobuf_list);
}

#[test]
fn watches_in_protobuf_do_not_depend_on_how_they_arrive() {
    run("protobuf_watch", targets::protobuf_watch);
}

#[test]
fn kubeconfigs_are_read_or_refused() {
    run("kubeconfig", targets::kubeconfig);
}

#[test]
fn kubeconfigs_of_the_corpus_show_no_secret() {
    let mut secrets = 0;
    for content in corpus("kubeconfig") {
        secrets += usize::from(String::from_utf8_lossy(&content).contains("s3cret"));
        let kubeconfig = informers_client::Kubeconfig::from_bytes(&content, "/nowhere/kubeconfig").unwrap();
        if let Ok(config) = informers_client::Config::from_kubeconfig(&kubeconfig, None) {
            let shown = format!("{config:?} {kubeconfig:?}");
            assert!(!shown.contains("s3cret"), "{shown}");
        }
    }
    assert!(secrets >= 3);
}

#[test]
fn hints_to_wait_stay_below_the_cap() {
    run("retry_after", targets::retry_after);
}

#[test]
fn warnings_are_read_from_any_header() {
    run("warning_header", targets::warning_header);
}

#[test]
fn walks_through_pages_end() {
    run("continue_loop", targets::continue_loop);
}
