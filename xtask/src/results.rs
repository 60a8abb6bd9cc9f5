//! Sums the `test result:` lines of cargo's test runner.

/// Tests that passed, failed or were not run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
}

impl Totals {
    /// Adds what a line of the runner says; other lines change nothing.
    pub(crate) fn add_line(&mut self, line: &str) {
        let plain = without_colours(line);
        let Some(rest) = plain.trim().strip_prefix("test result: ") else { return };
        let Some((_, counts)) = rest.split_once(". ") else { return };
        for count in counts.split(';') {
            let mut words = count.split_whitespace();
            let (Some(number), Some(what)) = (words.next(), words.next()) else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }

    /// The closing line. The runner counts a test that found nothing to run on as passed; here
    /// those `left_out` are skipped ones.
    pub(crate) fn closing_line(self, left_out: u64) -> String {
        let passed = self.passed.saturating_sub(left_out);
        let skipped = self.ignored + left_out;
        let tail = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
        format!("{passed} passed, {} failed{tail}", self.failed)
    }
}

fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(lines: &[&str]) -> Totals {
        let mut totals = Totals::default();
        for line in lines {
            totals.add_line(line);
        }
        totals
    }

    #[test]
    fn lines_of_all_binaries_are_summed() {
        let totals = sum(&[
            "running 4 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s",
            "test a ... ok",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.5s",
        ]);
        assert_eq!(totals, Totals { passed: 13, failed: 2, ignored: 1 });
    }

    #[test]
    fn colours_do_not_hide_a_result() {
        let totals = sum(&[
            "test result: \u{1b}[32mok\u{1b}[m. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0s",
        ]);
        assert_eq!(totals.passed, 5);
    }

    #[test]
    fn skipped_tests_are_not_called_passed() {
        let totals = Totals { passed: 10, failed: 1, ignored: 2 };
        assert_eq!(totals.closing_line(0), "10 passed, 1 failed, 2 skipped");
        assert_eq!(totals.closing_line(3), "7 passed, 1 failed, 5 skipped");
        assert_eq!(Totals { passed: 4, ..Totals::default() }.closing_line(0), "4 passed, 0 failed");
    }
}
