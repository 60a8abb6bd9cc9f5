//! Compares how many vectors each component replayed with the committed numbers.
//!
//! A test appends `vectors COMPONENT: replayed R, skipped S of N` to `target/vectors.txt`. The
//! committed file has `SET COMPONENT R S N` lines, one set for the shared folder (`public`) and
//! one for the few vectors in this repository (`committed`).

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Where the numbers are committed, from the workspace root.
pub(crate) const COMMITTED: &str = "integration-tests/vectors-counts.txt";

/// What one component did with its vectors.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Count {
    component: String,
    replayed: u64,
    skipped: u64,
    total: u64,
}

/// Which vectors the run could see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    /// Those of the shared folder.
    Public,
    /// The few in this repository.
    Committed,
    /// A folder named by `$INFORMERS_VECTORS`: printed, never compared.
    Named,
}

impl Set {
    pub(crate) fn of_this_run(shared: Option<&Path>) -> Self {
        if std::env::var_os("INFORMERS_VECTORS").is_some() {
            Self::Named
        } else if shared.is_some() {
            Self::Public
        } else {
            Self::Committed
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Committed => "committed",
            Self::Named => "named",
        }
    }
}

/// The files into which tests may have written: the build's target folder and the root's.
pub(crate) fn report_files(root: &Path, target: &Path) -> Vec<PathBuf> {
    let mut files = vec![target.join("vectors.txt")];
    let default = root.join("target/vectors.txt");
    if default != files[0] {
        files.push(default);
    }
    files
}

/// Reads what the tests reported, sorted by component.
pub(crate) fn reported(files: &[PathBuf]) -> Result<Vec<Count>> {
    let mut counts = Vec::new();
    for file in files.iter().filter(|file| file.exists()) {
        let text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            counts.push(Count::from_report(line).with_context(|| format!("{}: `{line}`", file.display()))?);
        }
    }
    counts.sort();
    Ok(counts)
}

impl Count {
    fn from_report(line: &str) -> Result<Self> {
        let parse = || {
            let (component, rest) = line.trim().strip_prefix("vectors ")?.split_once(": replayed ")?;
            let (replayed, rest) = rest.split_once(", skipped ")?;
            let (skipped, total) = rest.split_once(" of ")?;
            Some(Self {
                component: component.to_owned(),
                replayed: replayed.parse().ok()?,
                skipped: skipped.parse().ok()?,
                total: total.trim().parse().ok()?,
            })
        };
        parse().context("expected `vectors COMPONENT: replayed R, skipped S of N`")
    }

    fn from_committed(line: &str, set: Set) -> Result<Option<Self>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [in_set, component, replayed, skipped, total] = words[..] else {
            bail!("expected `SET COMPONENT REPLAYED SKIPPED TOTAL`, found `{line}`");
        };
        let count = Self {
            component: component.to_owned(),
            replayed: replayed.parse().context(line.to_owned())?,
            skipped: skipped.parse().context(line.to_owned())?,
            total: total.parse().context(line.to_owned())?,
        };
        Ok((in_set == set.name()).then_some(count))
    }

    fn committed_line(&self, set: Set) -> String {
        format!("{} {} {} {} {}", set.name(), self.component, self.replayed, self.skipped, self.total)
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { component, replayed, skipped, total } = self;
        write!(out, "vectors {component}: replayed {replayed}, skipped {skipped} of {total}")
    }
}

/// Reads the committed counts of one set; a missing file has none.
pub(crate) fn committed(root: &Path, set: Set) -> Result<Vec<Count>> {
    let file = root.join(COMMITTED);
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("reading {}", file.display())),
    };
    let mut counts = Vec::new();
    for line in entries(&text) {
        counts.extend(Count::from_committed(line, set).with_context(|| COMMITTED)?);
    }
    counts.sort();
    Ok(counts)
}

fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

/// Which of the committed components the run should have replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    All,
    /// Those of the packages that were chosen.
    Some,
}

/// Differences between a run and the committed numbers, one sentence each.
pub(crate) fn differences(
    set: Set,
    reported: &[Count],
    expected: Expected,
    committed: &[Count],
) -> Vec<String> {
    if set == Set::Named {
        return Vec::new();
    }
    let unexpected = reported.iter().filter(|count| !committed.contains(count));
    let missing = committed.iter().filter(|count| expected == Expected::All && !reported.contains(count));
    unexpected
        .map(|count| format!("not committed for the {} set: {count}", set.name()))
        .chain(missing.map(|count| format!("committed for the {} set, but not seen: {count}", set.name())))
        .collect()
}

/// Replaces the lines of one set by what was reported.
pub(crate) fn accept(root: &Path, set: Set, reported: &[Count]) -> Result<()> {
    if set == Set::Named {
        bail!("counts of the folder named by INFORMERS_VECTORS are never committed");
    }
    let file = root.join(COMMITTED);
    let old = std::fs::read_to_string(&file).unwrap_or_default();
    let other = entries(&old).filter(|line| line.split(' ').next() != Some(set.name())).map(str::to_owned);
    let mut lines: Vec<String> =
        other.chain(reported.iter().map(|count| count.committed_line(set))).collect();
    lines.sort();
    let text = format!(
        "# SET COMPONENT REPLAYED SKIPPED TOTAL, checked by `cargo xtask test`\n{}\n",
        lines.join("\n")
    );
    std::fs::write(&file, text).with_context(|| format!("writing {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(component: &str, replayed: u64) -> Count {
        Count { component: component.into(), replayed, skipped: 2, total: 200 }
    }

    #[test]
    fn reports_are_read_back_as_printed() {
        let line = "vectors workqueue: replayed 198, skipped 2 of 200";
        let read = Count::from_report(line).unwrap();
        assert_eq!(read, count("workqueue", 198));
        assert_eq!(read.to_string(), line);
        assert!(Count::from_report("vectors workqueue: replayed many").is_err());
    }

    #[test]
    fn another_number_than_committed_is_a_difference_both_ways() {
        let found = differences(Set::Public, &[count("store", 197)], Expected::All, &[count("store", 198)]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            differences(Set::Public, &[count("store", 198)], Expected::All, &[count("store", 198)])
                .is_empty()
        );
    }

    #[test]
    fn a_component_that_no_longer_replays_is_a_difference() {
        let committed = [count("store", 198)];
        assert_eq!(differences(Set::Committed, &[], Expected::All, &committed).len(), 1);
        assert!(differences(Set::Committed, &[], Expected::Some, &committed).is_empty());
    }

    #[test]
    fn counts_of_a_named_folder_are_not_compared() {
        assert!(differences(Set::Named, &[count("store", 1)], Expected::All, &[]).is_empty());
    }

    #[test]
    fn accepted_counts_keep_the_other_set_and_are_read_back() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("integration-tests")).unwrap();
        accept(root.path(), Set::Public, &[count("store", 198)]).unwrap();
        accept(root.path(), Set::Committed, &[count("store", 12)]).unwrap();
        accept(root.path(), Set::Public, &[count("store", 199)]).unwrap();
        assert_eq!(committed(root.path(), Set::Public).unwrap(), [count("store", 199)]);
        assert_eq!(committed(root.path(), Set::Committed).unwrap(), [count("store", 12)]);
    }
}
