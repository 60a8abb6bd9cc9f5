//! Runs the example and reads what it prints.

use std::process::Command;

#[test]
fn keys_are_merged_retried_and_drained() {
    let output = Command::new(env!("CARGO_BIN_EXE_workqueue-only")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.first(), Some(&"4 adds, 3 keys queued"));
    assert_eq!(lines.last(), Some(&"drained"));
    let times = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    assert_eq!(times(": home is done after 0 failures"), 1, "{text}");
    assert_eq!(times("flaky failed (connection reset); it comes back in 20ms"), 1, "{text}");
    assert_eq!(times("flaky failed (connection reset); it comes back in 40ms"), 1, "{text}");
    assert_eq!(times(": flaky is done after 2 failures"), 1, "{text}");
}

/// As behind `| head -1`.
#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_it_in_good_order() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_workqueue-only")).stdout(writer).output().unwrap();
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{warnings}");
    assert!(!warnings.contains("panicked"), "{warnings}");
}
