//! `cargo xtask loom`: explores the interleavings of everything that tasks wait for or hand to each other.

use anyhow::{Result, bail};

use crate::workspace::Workspace;
use crate::{process, test_run};

/// Where a crate has its models.
#[derive(Clone, Copy)]
enum Models {
    /// In `tests/loom.rs`.
    Test,
    /// In a module, since they are of what is not public.
    Module(&'static str),
}

const CRATES: &[(&str, Models)] = &[
    ("informers-core", Models::Test),
    ("informers-workqueue", Models::Test),
    ("informers-store", Models::Test),
    ("informers-delta-fifo", Models::Test),
    ("informers-shared", Models::Module("interleavings")),
];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let flags = match std::env::var("RUSTFLAGS") {
        Ok(own) => format!("{own} --cfg informers_loom"),
        Err(_) => "--cfg informers_loom".to_owned(),
    };
    // Other flags would have everything built anew each time.
    let target = workspace.target.join("loom");
    let mut explored = 0;
    for (krate, models) in CRATES {
        let mut command = process::cargo(&workspace.root);
        command.args(["test", "--package", krate]);
        match models {
            Models::Test => command.args(["--test", "loom"]),
            Models::Module(module) => command.args(["--lib", "--", module]),
        };
        // It would take the place of the flags.
        command.env_remove("CARGO_ENCODED_RUSTFLAGS");
        command.env("RUSTFLAGS", &flags).env("CARGO_TARGET_DIR", &target);
        let (status, totals) = test_run::stream(&mut command, &mut std::io::stdout())?;
        if !status.success() {
            bail!("`{}` failed with {status}", process::line(&command));
        }
        // Without the flag, or under another name, there is nothing that could fail.
        if totals.passed == 0 {
            bail!("`{}` ran no model", process::line(&command));
        }
        explored += totals.passed;
    }
    println!("loom: {explored} models of {} crates hold", CRATES.len());
    Ok(())
}
