//! Runs the example, waits for its lines, and ends it.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn example(args: &[&str]) -> Command {
    let mut example = Command::new(env!("CARGO_BIN_EXE_kube-client-example"));
    example.args(args);
    example
}

#[cfg(unix)]
#[test]
fn the_informer_follows_what_kube_writes_until_sigterm() {
    let mut example = example(&["--embedded", "--for", "60"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(example.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with("embedded API server at "));
    assert!(lines.any(|line| line.starts_with("synced: ")), "it does not sync");
    assert!(lines.any(|line| line.starts_with("+ default/web-3 ")), "the pods are never seen");
    assert!(lines.any(|line| line.starts_with("- default/web-0 ")), "no deletion is seen");

    let killed = Command::new("kill").args(["-TERM", &example.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert!(lines.any(|line| line.ends_with(" pods at the end")), "there is no last line");
    assert!(example.wait().unwrap().success());
}

#[test]
fn bad_input_is_named() {
    let output = example(&["--kubeconfig", "nowhere/config"]).output().unwrap();
    assert!(!output.status.success());
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("error: ") && err.contains("nowhere/config"), "{err}");
}
