//! Rules for Rust sources: purity of the machines, where IO may live, first lines, leftovers.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{File, numbered};

/// Words that no code of a place may hold.
struct Ban {
    words: &'static [&'static str],
    applies: fn(&Path) -> bool,
    reason: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        words: &["Instant::now", "SystemTime::now"],
        applies: is_pure,
        reason: "a pure machine gets the time as an argument",
    },
    Ban {
        words: &[
            "tokio::spawn",
            "thread::spawn",
            "spawn_blocking",
            "task::spawn",
            "tokio::time",
            "thread::sleep",
        ],
        applies: is_pure,
        reason: "a pure machine starts no task and waits for nothing",
    },
    Ban {
        words: &[
            // The generator of the thread; a seeded one may be an argument.
            "fastrand::u",
            "fastrand::i",
            "fastrand::f",
            "fastrand::b",
            "fastrand::c",
            "fastrand::s",
            "fastrand::Rng::new",
            "rand::rng",
            "rand::random",
            "rand::thread_rng",
        ],
        applies: is_pure,
        reason: "a pure machine gets its randomness as an argument",
    },
    Ban {
        words: &[
            "std::fs",
            "std::net",
            "std::env",
            "std::process",
            "tokio::fs",
            "tokio::net",
            "tokio::process",
            "env::var",
            "File::open",
        ],
        applies: has_no_io,
        reason: "only informers-client and the testkit touch sockets, files and the environment",
    },
];

/// Crates that are pure as a whole; in the others it is every file or folder named `machine`.
const PURE_CRATES: &[&str] = &["informers-core", "informers-wire"];

/// More pure places, from the root, of crates that also hold drivers.
const PURE_PLACES: &[&str] = &[];

/// Crates whose job is IO.
const IO_CRATES: &[&str] = &["informers-client", "informers-testkit"];

fn crate_of(path: &Path) -> Option<&str> {
    let mut parts = path.iter().filter_map(|part| part.to_str());
    (parts.next()? == "crates").then_some(())?;
    let name = parts.next()?;
    (parts.next()? == "src").then_some(name)
}

fn is_pure(path: &Path) -> bool {
    let Some(krate) = crate_of(path) else { return false };
    PURE_CRATES.contains(&krate)
        || PURE_PLACES.iter().any(|place| path.starts_with(place))
        || path.iter().any(|part| part.to_string_lossy().starts_with("machine"))
}

fn has_no_io(path: &Path) -> bool {
    crate_of(path).is_some_and(|krate| !IO_CRATES.contains(&krate))
}

/// Words that are left behind by unfinished work; put together so that this file passes.
const LEFTOVERS: &[(&str, &str)] = &[
    (concat!("todo", "!("), "unfinished"),
    (concat!("unimplemented", "!("), "unfinished"),
    (concat!("dbg", "!("), "left from debugging"),
    (concat!("#[ig", "nore]"), "an ignored test needs a reason: `= \"why\"`"),
];

/// Paths, without ending, of modules that are compiled for tests only.
pub(super) fn test_modules(files: &[File]) -> HashSet<PathBuf> {
    let mut modules = HashSet::new();
    for file in files.iter().filter(|file| file.path.extension().is_some_and(|ending| ending == "rs")) {
        let stem = file.path.with_extension("");
        let own_folder =
            matches!(stem.file_name().and_then(|name| name.to_str()), Some("mod" | "lib" | "main"));
        let folder = if own_folder { file.path.parent().unwrap_or(&stem) } else { &stem };
        let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
        for pair in lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]") {
            if let Some((_, name)) = pair[1].trim_end_matches(';').rsplit_once("mod ") {
                modules.insert(folder.join(name));
            }
        }
    }
    modules
}

pub(super) fn check(file: &File, test_modules: &HashSet<PathBuf>) -> Vec<String> {
    if file.path.extension().is_none_or(|ending| ending != "rs") {
        return Vec::new();
    }
    let in_test_module = file.path.ancestors().any(|path| test_modules.contains(&path.with_extension("")));
    let is_test = in_test_module || is_test(&file.path);
    let mut findings = Vec::new();
    let mut report =
        |number: usize, what: String| findings.push(format!("{}:{number}: {what}", file.path.display()));
    // A front page may be the crate's README.
    let says_what_it_is = ["//!", "#![doc = include_str!("].iter().any(|start| file.text.starts_with(start));
    if crate_of(&file.path).is_some() && !is_test && !says_what_it_is {
        report(1, "the first line must say what the file is for (`//! …`)".into());
    }
    for (number, line) in numbered(&file.text) {
        for (word, reason) in LEFTOVERS.iter().filter(|(word, _)| code_of(line).contains(word)) {
            report(number, format!("`{word}`: {reason}"));
        }
    }
    if !is_test {
        for ban in BANS.iter().filter(|ban| (ban.applies)(&file.path)) {
            for (number, line) in before_tests(&file.text) {
                for word in ban.words.iter().filter(|word| holds_word(code_of(line), word)) {
                    report(number, format!("`{word}`: {}", ban.reason));
                }
            }
        }
    }
    findings
}

fn is_test(path: &Path) -> bool {
    path.iter()
        .any(|part| part == "tests" || part == "tests.rs" || part.to_string_lossy().ends_with("_tests.rs"))
}

/// Lines up to an inline test module, which by custom ends the file.
fn before_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let inline = |number: usize| {
        let mut next = text.lines().skip(number);
        next.find(|line| !line.trim().starts_with("#["))
            .is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    numbered(text).take_while(move |(number, line)| !(line.starts_with("#[cfg(test)]") && inline(*number)))
}

/// The line without its comment.
fn code_of(line: &str) -> &str {
    // `://` in a string is no comment, and a comment mostly stands at the start or after a space.
    match line.match_indices("//").find(|(at, _)| line[..*at].ends_with([' ', '\t']) || *at == 0) {
        Some((at, _)) => &line[..at],
        None => line,
    }
}

/// The word must not be the end of a longer path: `my_std::fs` is not `std::fs`.
fn holds_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        code[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric() && before != '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check(&File { path: path.into(), text: text.into() }, &HashSet::new())
    }

    #[test]
    fn modules_for_tests_only_are_tests() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let files = [
            file(
                "crates/informers-pager/src/machine/mod.rs",
                "//! x\n#[cfg(test)]\nmod script;\nmod page;\n",
            ),
            file("crates/informers-pager/src/machine/script.rs", "fn f() { Instant::now(); }\n"),
            file("crates/informers-pager/src/machine/page.rs", "//! x\nfn f() { Instant::now(); }\n"),
        ];
        let tests = test_modules(&files);
        assert!(check(&files[1], &tests).is_empty());
        assert_eq!(check(&files[2], &tests).len(), 1);
    }

    #[test]
    fn a_clock_in_a_pure_crate_or_machine_is_found() {
        let text = "//! x\nfn f() { let now = std::time::Instant::now(); }\n";
        assert_eq!(findings("crates/informers-core/src/a.rs", text).len(), 1);
        assert_eq!(findings("crates/informers-reflector/src/machine/list.rs", text).len(), 1);
        assert_eq!(findings("crates/informers-pager/src/machine.rs", text).len(), 1);
        assert!(findings("crates/informers-reflector/src/driver.rs", text).is_empty());
    }

    #[test]
    fn a_task_or_randomness_in_a_machine_is_found() {
        let text = "//! x\nfn f(rng: &mut fastrand::Rng) { tokio::spawn(g()); fastrand::u64(..); }\n";
        assert_eq!(findings("crates/informers-workqueue/src/machine.rs", text).len(), 2);
    }

    #[test]
    fn io_belongs_to_the_client_and_the_testkit() {
        let text = "//! x\nuse std::fs::File;\n";
        assert_eq!(findings("crates/informers-shared/src/a.rs", text).len(), 1);
        assert!(findings("crates/informers-client/src/a.rs", text).is_empty());
        assert!(findings("crates/informers-shared/tests/a.rs", text).is_empty());
    }

    #[test]
    fn comments_and_test_modules_may_name_them() {
        let text = "//! x\n/// Never calls `Instant::now`.\nfn f() {} // not SystemTime::now\n#[cfg(test)]\nmod tests {\n    fn g() { Instant::now(); }\n}\n";
        assert!(findings("crates/informers-core/src/a.rs", text).is_empty());
    }

    #[test]
    fn a_test_module_in_another_file_does_not_end_the_scan() {
        let text = "//! x\n#[cfg(test)]\nmod tests;\nfn f() { Instant::now(); }\n";
        assert_eq!(
            findings("crates/informers-core/src/a.rs", text),
            ["crates/informers-core/src/a.rs:4: `Instant::now`: a pure machine gets the time as an argument"]
        );
        assert!(findings("crates/informers-core/src/a/tests.rs", text).is_empty());
    }

    #[test]
    fn leftovers_are_found_in_tests_too() {
        let text = format!("//! x\n{}\nfn t() {{ {}); }}\n", concat!("#[ig", "nore]"), concat!("todo", "!("));
        assert_eq!(findings("crates/informers-core/tests/a.rs", &text).len(), 2);
        assert!(findings("crates/informers-core/tests/a.rs", "#[ignore = \"needs a GPU\"]\n").is_empty());
    }

    #[test]
    fn the_first_line_of_a_source_says_what_it_is_for() {
        assert_eq!(findings("crates/informers-core/src/a.rs", "use x;\n").len(), 1);
        assert!(findings("crates/informers-core/tests/a.rs", "use x;\n").is_empty());
    }

    #[test]
    fn strings_with_slashes_are_no_comments() {
        assert_eq!(code_of("let a = \"http://x\"; // why"), "let a = \"http://x\"; ");
    }

    #[test]
    fn a_longer_name_is_another_word() {
        assert!(!holds_word("operand::random()", "rand::random"));
        assert!(holds_word("::std::fs::read", "std::fs"));
    }
}
