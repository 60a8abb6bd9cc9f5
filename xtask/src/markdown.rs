//! Rules for documents: relative links lead somewhere, guarantees and parity name tests and switches that exist.

use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use crate::tidy::{File, numbered};

const GUARANTEES: &str = "docs/guarantees.md";
const PARITY: &str = "docs/parity.md";

pub(crate) fn check(root: &Path, files: &[File]) -> Vec<String> {
    let mut findings = Vec::new();
    let documents = files.iter().filter(|file| file.path.extension().is_some_and(|ending| ending == "md"));
    for document in documents {
        findings.extend(dead_links(root, document));
        if document.path == Path::new(GUARANTEES) {
            findings.extend(guarantees(document, &Functions::of(files)));
        }
        if document.path == Path::new(PARITY) {
            findings.extend(parity(document, &Functions::of(files), &switches(files)));
        }
    }
    findings
}

fn dead_links(root: &Path, document: &File) -> Vec<String> {
    let folder = document.path.parent().unwrap_or(Path::new(""));
    let mut findings = Vec::new();
    for (number, line) in outside_code(&document.text) {
        for target in link_targets(line) {
            let place = flatten(&folder.join(target));
            if place.is_none_or(|place| !root.join(place).exists()) {
                findings
                    .push(format!("{}:{number}: the link {target} leads nowhere", document.path.display()));
            }
        }
    }
    findings
}

/// Lines that are not in a fenced block.
fn outside_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    numbered(text).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Targets of `[text](target)` that point into the repository, without their `#anchor`.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(at, start)| {
        let rest = &line[at + start.len()..];
        let target = rest.split([')', ' ']).next()?;
        let file = target.split('#').next()?;
        // The last kind is rustdoc's, which checks it itself.
        let elsewhere = target.contains("://") || target.starts_with("mailto:") || target.contains("::");
        (!file.is_empty() && !elsewhere).then_some(file)
    })
}

/// The path without `.` and `..`; none if it leaves the repository.
fn flatten(path: &Path) -> Option<PathBuf> {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => flat.push(name),
            Component::ParentDir => flat.pop().then_some(())?,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(flat)
}

/// The files in which a function of a name is.
struct Functions<'a>(HashMap<&'a str, Vec<&'a Path>>);

impl<'a> Functions<'a> {
    fn of(files: &'a [File]) -> Self {
        let mut places: HashMap<&str, Vec<&Path>> = HashMap::new();
        for file in files.iter().filter(|file| file.path.extension().is_some_and(|ending| ending == "rs")) {
            for (at, start) in file.text.match_indices("fn ") {
                places.entry(name_at(&file.text[at + start.len()..])).or_default().push(&file.path);
            }
        }
        Self(places)
    }

    /// Whether there is such a test: `file.rs::name`, or names of crates, folders and modules before the name.
    fn have(&self, test: &str) -> bool {
        test.rsplit_once("::").is_some_and(|(place, name)| {
            self.0.get(name).is_some_and(|paths| paths.iter().any(|path| is_at(path, place)))
        })
    }
}

fn is_at(path: &Path, place: &str) -> bool {
    if place.ends_with(".rs") {
        return path.ends_with(place);
    }
    place.split("::").all(|part| {
        path.iter().any(|component| component == part) || path.file_stem().is_some_and(|stem| stem == part)
    })
}

fn name_at(text: &str) -> &str {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or("")
}

/// Each item of the contract names at least one test, and each test it names exists.
fn guarantees(document: &File, functions: &Functions<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    for (number, item) in items(&document.text) {
        let tests: Vec<&str> = test_names(&item).collect();
        if tests.is_empty() {
            findings.push(format!("{GUARANTEES}:{number}: this guarantee names no test"));
        }
        for test in tests.into_iter().filter(|test| !functions.have(test)) {
            findings.push(format!("{GUARANTEES}:{number}: there is no test `{test}`"));
        }
    }
    findings
}

/// Each test and each switch that is named exists, and no switch is left out.
fn parity(document: &File, functions: &Functions<'_>, switches: &BTreeSet<&str>) -> Vec<String> {
    let mut findings = Vec::new();
    let mut missing = switches.clone();
    for (number, line) in outside_code(&document.text) {
        for test in test_names(line).filter(|test| !functions.have(test)) {
            findings.push(format!("{PARITY}:{number}: there is no test `{test}`"));
        }
        for switch in quoted(line).filter_map(|quoted| quoted.strip_prefix("Parity::")) {
            if !switch.ends_with("()") && !switches.contains(switch) {
                findings.push(format!("{PARITY}:{number}: there is no switch `Parity::{switch}`"));
            }
            missing.remove(switch);
        }
    }
    findings
        .extend(missing.iter().map(|switch| format!("{PARITY}: the switch `Parity::{switch}` is not there")));
    findings
}

/// The switches of the structs named `Parity`.
fn switches(files: &[File]) -> BTreeSet<&str> {
    let structs = files.iter().filter(|file| file.path.ends_with("src/parity.rs")).filter_map(|file| {
        let (_, body) = file.text.split_once("pub struct Parity {")?;
        body.split_once("\n}").map(|(body, _)| body)
    });
    structs
        .flat_map(str::lines)
        .filter_map(|line| line.trim().strip_suffix(": bool,"))
        .map(|field| field.trim_start_matches("pub "))
        .collect()
}

/// List items with the number of their first line; lines that go on with an item are indented.
fn items(text: &str) -> Vec<(usize, String)> {
    let mut items: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in outside_code(text) {
        if starts_item(line) {
            items.push((number, line.to_owned()));
            open = true;
        } else if open && line.starts_with(' ') {
            if let Some((_, item)) = items.last_mut() {
                item.push('\n');
                item.push_str(line);
            }
        } else {
            open = false;
        }
    }
    items
}

fn starts_item(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    line.starts_with("- ") || line.starts_with("* ") || (digits > 0 && line[digits..].starts_with(". "))
}

/// `crate::path::test_name` or `file.rs::test_name` in back quotes; types and methods are no tests.
fn test_names(item: &str) -> impl Iterator<Item = &str> {
    quoted(item).filter(|quoted| {
        quoted.rsplit_once("::").is_some_and(|(place, name)| {
            let word = |text: &str| {
                text.chars()
                    .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
            };
            word(name) && place.split("::").all(|part| word(&part.replace(['-', '.', '/'], "_")))
        })
    })
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    #[test]
    fn dead_relative_links_are_found() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("README.md"), "").unwrap();
        let text = "[a](../README.md#top) [b](missing.md) [c](https://example.com/x) [d](#here) [e](../../out.md) [f](crate::A)\n```\n[f](no.md)\n```\n";
        let findings = dead_links(root.path(), &document("docs/a.md", text));
        assert_eq!(
            findings,
            [
                "docs/a.md:1: the link missing.md leads nowhere",
                "docs/a.md:1: the link ../../out.md leads nowhere"
            ]
        );
    }

    #[test]
    fn guarantees_without_a_test_or_with_an_unknown_one_are_found() {
        let source = document("crates/shared/src/tests.rs", "#[test]\nfn deletes_come_last() {}\n");
        let text = "# Contract\n- One (`shared::tests::deletes_come_last`).\n- Two: see `Store::get`.\n- Three,\n  held by\n  `main_job.rs::gone`.\n";
        let files = [source];
        let findings = guarantees(&document(GUARANTEES, text), &Functions::of(&files));
        assert_eq!(
            findings,
            [
                "docs/guarantees.md:3: this guarantee names no test",
                "docs/guarantees.md:4: there is no test `main_job.rs::gone`"
            ]
        );
    }

    #[test]
    fn test_names_may_hold_crate_and_file_names() {
        let names: Vec<&str> =
            test_names("`informers-shared/tests/a.rs::one`, `a::B::c`, `x::two` and `plain`").collect();
        assert_eq!(names, ["informers-shared/tests/a.rs::one", "x::two"]);
    }

    #[test]
    fn a_test_of_another_place_is_no_test() {
        let files = [document("crates/informers-store/tests/store.rs", "fn cache() {}")];
        let functions = Functions::of(&files);
        for (test, exists) in [
            ("informers-store::cache", true),
            ("tests/store.rs::cache", true),
            ("store::cache", true),
            ("informers-pager::cache", false),
            ("other.rs::cache", false),
            ("informers-store::index", false),
        ] {
            assert_eq!(functions.have(test), exists, "{test}");
        }
    }

    #[test]
    fn parity_names_every_switch_and_no_other() {
        let files = [
            document(
                "crates/a/src/parity.rs",
                "pub struct Parity {\n    /// Doc.\n    pub one: bool,\n    pub part: b::Parity,\n}\n",
            ),
            document(
                "crates/b/src/parity.rs",
                "pub struct Parity {\n    two: bool,\n    three: bool,\n}\nimpl Parity {}\n",
            ),
        ];
        let text = "`Parity::client_go_0_37()`\n| x | `Parity::one`, `Parity::two` |\n| y | `Parity::four`, `b::gone` |\n";
        let findings = parity(&document(PARITY, text), &Functions::of(&files), &switches(&files));
        assert_eq!(
            findings,
            [
                "docs/parity.md:3: there is no test `b::gone`",
                "docs/parity.md:3: there is no switch `Parity::four`",
                "docs/parity.md: the switch `Parity::three` is not there"
            ]
        );
    }
}
