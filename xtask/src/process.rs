//! Child processes: an environment without this build's own variables, errors that name the command.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Cargo in `folder`, without the variables that `cargo run` sets for xtask itself: build
/// scripts that watch them would run again each time.
pub(crate) fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder);
    for (name, _) in std::env::vars_os() {
        if is_own(&name) {
            command.env_remove(name);
        }
    }
    command
}

fn is_own(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_")
        || matches!(
            &*name,
            "CARGO"
                | "CARGO_MANIFEST_DIR"
                | "CARGO_MANIFEST_PATH"
                | "CARGO_CRATE_NAME"
                | "CARGO_BIN_NAME"
                | "CARGO_PRIMARY_PACKAGE"
        )
}

/// Runs the command with the terminal's own streams; a failure names the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", line(command));
    let status = command.status().with_context(|| format!("starting `{}`", line(command)))?;
    if !status.success() {
        bail!("`{}` failed with {status}", line(command));
    }
    Ok(())
}

/// Becomes the command, so that signals to this process reach it.
#[cfg(unix)]
pub(crate) fn replace(command: &mut Command) -> Result<()> {
    use std::os::unix::process::CommandExt;
    Err(command.exec()).with_context(|| format!("starting `{}`", line(command)))
}

#[cfg(not(unix))]
pub(crate) fn replace(command: &mut Command) -> Result<()> {
    run(command)
}

/// What the command prints on standard output; its standard error goes to ours.
pub(crate) fn stdout_of(command: &mut Command) -> Result<String> {
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("starting `{}`", line(command)))?;
    if !output.status.success() {
        bail!("`{}` failed with {}", line(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("reading the output of `{}`", line(command)))
}

/// The command as it would be typed.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_is_named() {
        let error = run(Command::new("false").arg("--now")).unwrap_err();
        assert!(error.to_string().contains("`false --now`"), "{error}");
    }

    #[test]
    fn own_variables_are_kept_from_cargo_and_the_users_are_not() {
        assert!(is_own(OsStr::new("CARGO_PKG_NAME")));
        assert!(is_own(OsStr::new("CARGO_MANIFEST_DIR")));
        assert!(!is_own(OsStr::new("CARGO_TARGET_DIR")));
        assert!(!is_own(OsStr::new("CARGO_BUILD_JOBS")));
    }
}
