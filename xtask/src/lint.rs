//! `cargo xtask lint`: everything that reads the code without running it.

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{layers, process, tidy};

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let cargo = || process::cargo(&workspace.root);
    // The cheap ones first: they find most mistakes within seconds.
    layers::run(workspace)?;
    tidy::run(workspace)?;
    process::run(cargo().args(["fmt", "--all", "--", "--check"]))?;
    process::run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    process::run(cargo().args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    println!("lint: layers, tidy, fmt, clippy and docs are clean");
    Ok(())
}
