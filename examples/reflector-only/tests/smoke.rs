//! Runs the example, waits for its lines, and ends it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[cfg(unix)]
#[test]
fn counts_follow_the_cluster_until_sigterm() {
    let mut example = Command::new(env!("CARGO_BIN_EXE_reflector-only"))
        .args(["--embedded", "--for", "60"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(example.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with("embedded API server at "));
    assert!(lines.any(|line| line == "4 pods, node-1: 2, node-2: 2"), "the pods are never counted");

    let killed = Command::new("kill").args(["-TERM", &example.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert!(lines.any(|line| line.contains(" at the end, at version ")), "there is no last line");
    assert!(example.wait().unwrap().success());
}

/// As behind `| head -1`.
#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_it_in_good_order() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output =
        Command::new(env!("CARGO_BIN_EXE_reflector-only")).arg("--embedded").stdout(writer).output().unwrap();
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{warnings}");
    assert!(!warnings.contains("panicked"), "{warnings}");
}
