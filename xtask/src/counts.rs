//! The report in which the integration tests say what ran on which cluster and what was skipped.
//!
//! Each line is `ran PROVIDER TEST` or `skipped PROVIDER TEST: REASON`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

/// What ran and what did not, for each provider of clusters.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterTests {
    by_provider: BTreeMap<String, Provider>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Provider {
    ran: u64,
    /// Reasons with the tests that gave them.
    skipped: BTreeMap<String, Vec<String>>,
}

impl ClusterTests {
    /// Reads the report; no file means that no test asked for a cluster.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        if !file.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        Ok(Self::parse(&text))
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut tests = Self::default();
        for line in text.lines() {
            let mut words = line.splitn(3, ' ');
            let (Some(what), Some(provider), Some(rest)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let provider = tests.by_provider.entry(provider.to_owned()).or_default();
            match what {
                "ran" => provider.ran += 1,
                "skipped" => {
                    let (test, reason) = rest.split_once(": ").unwrap_or((rest, "no reason given"));
                    provider.skipped.entry(reason.to_owned()).or_default().push(test.to_owned());
                }
                _ => {}
            }
        }
        tests
    }

    /// Skipped tests of all providers.
    pub(crate) fn skipped(&self) -> u64 {
        self.by_provider.values().map(Provider::skipped).sum()
    }

    /// Skipped tests of one provider.
    pub(crate) fn skipped_on(&self, provider: &str) -> u64 {
        self.by_provider.get(provider).map_or(0, Provider::skipped)
    }

    /// A line for each skipped test of one provider, sorted.
    pub(crate) fn skips_on(&self, provider: &str) -> String {
        let Some(provider) = self.by_provider.get(provider) else { return String::new() };
        let mut lines: Vec<_> = provider
            .skipped
            .iter()
            .flat_map(|(reason, tests)| tests.iter().map(move |test| format!("{test}: {reason}\n")))
            .collect();
        lines.sort();
        lines.concat()
    }

    /// A line for each provider, and one for each reason to skip.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, provider) in &self.by_provider {
            lines.push(format!(
                "cluster tests on {name}: {} ran, {} skipped",
                provider.ran,
                provider.skipped()
            ));
            for (reason, tests) in &provider.skipped {
                lines.push(format!("  skipped {}: {reason}", some_of(tests)));
            }
        }
        lines
    }
}

/// A few names say which; dozens would hide the lines around them.
fn some_of(tests: &[String]) -> String {
    match tests {
        [first, second, third, _, rest @ ..] => {
            format!("{first}, {second}, {third} and {} more", rest.len() + 1)
        }
        few => few.join(", "),
    }
}

impl Provider {
    fn skipped(&self) -> u64 {
        self.skipped.values().map(|tests| tests.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_skipped_tests_are_counted_instead_of_listed() {
        let names: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
        assert_eq!(some_of(&names), "a, b, c and 2 more");
        assert_eq!(some_of(&names[..3]), "a, b, c");
    }

    #[test]
    fn report_is_counted_per_provider_and_reason() {
        let tests = ClusterTests::parse(
            "ran embedded lifecycle\nran control-plane lifecycle\nskipped embedded pods: cannot do schedules\n\
             skipped embedded jobs: cannot do schedules\nskipped kubeconfig lifecycle: no kubeconfig\n",
        );
        assert_eq!(tests.skipped(), 3);
        assert_eq!(tests.skipped_on("embedded"), 2);
        assert_eq!(tests.skipped_on("control-plane"), 0);
        assert_eq!(tests.skips_on("embedded"), "jobs: cannot do schedules\npods: cannot do schedules\n");
        assert_eq!(tests.skips_on("control-plane"), "");
        assert_eq!(
            tests.lines(),
            [
                "cluster tests on control-plane: 1 ran, 0 skipped",
                "cluster tests on embedded: 1 ran, 2 skipped",
                "  skipped pods, jobs: cannot do schedules",
                "cluster tests on kubeconfig: 0 ran, 1 skipped",
                "  skipped lifecycle: no kubeconfig",
            ]
        );
    }
}
