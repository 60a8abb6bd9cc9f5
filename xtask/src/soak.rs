//! `cargo xtask soak`: fresh traces of the real client-go, from a random seed, replayed by our tests.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::workspace::Workspace;

/// The packages whose `tests/vectors.rs` replay traces.
const PACKAGES: [&str; 5] =
    ["informers-workqueue", "informers-store", "informers-delta-fifo", "informers-pager", "informers-shared"];

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The first of `count` seeds in a row, for each component.
    seed: u32,
    count: u32,
}

impl Options {
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self { seed: random_seed(), count: 100 };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().with_context(|| format!("{word} needs a number"))?;
            let number = value.parse().with_context(|| format!("{word} {value}: not a number"))?;
            match *word {
                "--seed" => options.seed = number,
                "--count" => options.count = number,
                _ => bail!("unknown option `{word}`; soak takes --seed N and --count N"),
            }
        }
        Ok(options)
    }
}

/// Below a million, so that file names stay as wide as those of the fixed sets.
fn random_seed() -> u32 {
    // The standard library's only source of randomness: the keys of a new hasher.
    let random = RandomState::new().build_hasher().finish();
    u32::try_from(random % 900_000).unwrap_or(0) + 1
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let shared =
        std::env::var_os("INFORMERS_SHARED").map_or_else(|| workspace.root.join("../shared"), PathBuf::from);
    let oracle = shared.join("oracle");
    if !oracle.join("main.go").exists() {
        bail!("{} is not there: soak needs the program that records client-go, and Go", oracle.display());
    }
    println!("soak: seed {}, {} traces of each component and mix", options.seed, options.count);
    for mix in ["a", "b"] {
        let folder = workspace.target.join(format!("soak/{}-{mix}", options.seed));
        let mut record = std::process::Command::new("go");
        record.current_dir(&oracle).args(["run", ".", "all", "-mix", mix]);
        record
            .args(["-seed", &options.seed.to_string(), "-n", &options.count.to_string(), "-out"])
            .arg(&folder);
        process::run(&mut record).context("recording client-go")?;
        let mut replay = process::cargo(&workspace.root);
        replay.args(["test", "--test", "vectors"]);
        replay.args(PACKAGES.iter().flat_map(|name| ["--package", name]));
        replay.env("INFORMERS_VECTORS", &folder);
        process::run(&mut replay).with_context(|| {
            format!(
                "a trace differs; again: cargo xtask soak --seed {} --count {}",
                options.seed, options.count
            )
        })?;
    }
    println!("soak: no difference from seed {}", options.seed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_and_count_are_numbers() {
        assert_eq!(Options::parse(&["--seed", "7", "--count", "3"]).unwrap(), Options { seed: 7, count: 3 });
        assert_eq!(Options::parse(&[]).unwrap().count, 100);
        assert!(Options::parse(&["--seed"]).unwrap_err().to_string().contains("--seed"));
        assert!(Options::parse(&["--seed", "x"]).unwrap_err().to_string().contains("x"));
        assert!(Options::parse(&["--sed", "1"]).unwrap_err().to_string().contains("--sed"));
    }
}
