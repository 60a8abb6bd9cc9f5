//! Runs the example and reads what it prints.

use std::process::Command;

#[test]
fn the_index_finds_the_pod() {
    let output = Command::new(env!("CARGO_BIN_EXE_store-only")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        lines.lines().collect::<Vec<_>>(),
        ["index_keys(\"app\", \"l1\") = [ns1/pod1]", "after pod2 changed its label: [ns1/pod1, ns1/pod2]"]
    );
}

/// As behind `| head -1`.
#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_it_in_good_order() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_store-only")).stdout(writer).output().unwrap();
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{warnings}");
    assert!(!warnings.contains("panicked"), "{warnings}");
}
