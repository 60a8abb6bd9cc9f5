//! Tells `cargo xtask test` what ran where and what was skipped: the test runner knows neither.

use std::fs::OpenOptions;
use std::io::Write;

use crate::provider::Provider;

/// Writes `ran PROVIDER TEST`.
pub(crate) fn ran(provider: Provider, test: &str) {
    append(&format!("ran {provider} {test}\n"));
}

/// Writes `skipped PROVIDER TEST: REASON`, and prints it for those who run without xtask.
#[allow(clippy::print_stdout, reason = "the reader of a test's output should know why it did nothing")]
pub(crate) fn skipped(provider: Provider, test: &str, reason: &str) {
    println!("skipped: {reason}");
    append(&format!("skipped {provider} {test}: {reason}\n"));
}

fn append(line: &str) {
    let Some(file) = std::env::var_os("INFORMERS_TEST_REPORT") else { return };
    // One short write in append mode: lines of several processes do not mix.
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&file)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        panic!("writing the report of tests {}: {error}", file.display());
    }
}
