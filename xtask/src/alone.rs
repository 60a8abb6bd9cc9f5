//! Each crate by itself: checks with no and with all features, and packages in dependency order.

use anyhow::{Result, bail};

use crate::process;
use crate::workspace::{Member, Workspace};

/// `cargo xtask alone`: features that only another crate's build switches on are found out.
pub(crate) fn check(workspace: &Workspace, only: &[&str]) -> Result<()> {
    let order = workspace.publishing_order()?;
    if let Some(unknown) = only.iter().find(|name| !order.iter().any(|member| member.name == **name)) {
        bail!("there is no published crate `{unknown}`");
    }
    let chosen = |member: &&&Member| only.is_empty() || only.contains(&member.name.as_str());
    for member in order.iter().filter(chosen) {
        let check = |features: &[&str]| {
            process::run(
                process::cargo(&workspace.root).args(["check", "--package", &member.name]).args(features),
            )
        };
        check(&["--no-default-features"])?;
        for feature in member.features.iter().filter(|feature| *feature != "default") {
            check(&["--no-default-features", "--features", feature])?;
        }
        check(&["--all-features"])?;
        process::run(
            process::cargo(&workspace.root)
                .args(["doc", "--no-deps", "--package", &member.name, "--all-features"])
                .env("RUSTDOCFLAGS", "-D warnings"),
        )?;
    }
    println!("alone: each crate checks with no, each and all features, and its documents build");
    Ok(())
}

/// `cargo xtask package`: what `cargo publish` would send, without sending it.
pub(crate) fn package(workspace: &Workspace, verify: bool) -> Result<()> {
    let order = workspace.publishing_order()?;
    let incomplete: Vec<&str> = order
        .iter()
        .filter(|member| member.description.is_none())
        .map(|member| member.name.as_str())
        .collect();
    if !incomplete.is_empty() {
        bail!("without a description: {}", incomplete.join(", "));
    }
    // One call for all: cargo then lets a package take another one from the same call instead of
    // asking the registry for a version that is not published yet.
    let mut command = process::cargo(&workspace.root);
    command.args(["package", "--allow-dirty"]);
    if !verify {
        command.arg("--no-verify");
    }
    for member in &order {
        command.args(["--package", &member.name]);
    }
    process::run(&mut command)?;
    let names: Vec<&str> = order.iter().map(|member| member.name.as_str()).collect();
    println!("package: {} crates, to be published in this order: {}", names.len(), names.join(", "));
    Ok(())
}
