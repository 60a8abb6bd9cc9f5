//! Runs the example and reads what it prints.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

use std::process::Command;

fn run(args: &[&str]) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_pager-only")).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_list_is_read_in_pages() {
    let (success, out, err) = run(&["--embedded", "--objects", "25", "--page-size", "10"]);
    assert!(success, "{out}{err}");
    assert!(out.contains("list:      25 objects at version ") && out.contains(", pages: 3"), "{out}");
    assert!(out.contains("each item: 25 keys in them"), "{out}");
}

#[test]
fn bad_input_is_named() {
    let (success, _, err) = run(&["--kubeconfig", "nowhere/config"]);
    assert!(!success);
    assert!(err.starts_with("error: ") && err.contains("nowhere/config"), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");

    let (success, _, err) = run(&["--page-size", "0"]);
    assert!(!success);
    assert!(err.contains("--page-size"), "{err}");
}

/// As behind `| head -1`.
#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_it_in_good_order() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_pager-only"))
        .args(["--embedded", "--objects", "25"])
        .stdout(writer)
        .output()
        .unwrap();
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{warnings}");
    assert!(!warnings.contains("panicked"), "{warnings}");
}
