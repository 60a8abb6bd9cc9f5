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
