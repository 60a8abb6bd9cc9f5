//! The go.mod of the control plane: which Kubernetes it builds, and how another one is chosen.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::control_plane;
use crate::process;
use crate::workspace::Workspace;

const KUBERNETES: &str = "k8s.io/kubernetes";

/// The version of Kubernetes that go.mod requires, such as `v1.37.2`.
pub(crate) fn kubernetes_version(sources: &Path) -> Result<String> {
    let file = sources.join("go.mod");
    let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    let mut words = text.lines().map(|line| line.trim().trim_start_matches("require "));
    let version = words.find_map(|line| line.strip_prefix(KUBERNETES)?.split_whitespace().next());
    version.map(str::to_owned).with_context(|| format!("{} does not require {KUBERNETES}", file.display()))
}

/// Writes go.mod and go.sum anew for another version of Kubernetes.
pub(crate) fn update(workspace: &Workspace, kubernetes: &str, etcd: &str) -> Result<()> {
    let sources = control_plane::sources(workspace);
    let staging = staging_version(kubernetes)?;
    let asked = format!("{KUBERNETES}@{kubernetes}");
    let json = process::stdout_of(
        Command::new("go").args(["mod", "download", "-json", &asked]).current_dir(std::env::temp_dir()),
    )?;
    let answer: serde_json::Value =
        serde_json::from_str(&json).context("reading what `go mod download` said")?;
    let theirs = answer["GoMod"].as_str().context("`go mod download` named no go.mod")?;
    let theirs = fs::read_to_string(theirs).with_context(|| format!("reading {theirs}"))?;
    let file = sources.join("go.mod");
    fs::write(&file, go_mod(&theirs, kubernetes, &staging)?)
        .with_context(|| format!("writing {}", file.display()))?;
    let go = |arguments: &[&str]| process::run(Command::new("go").args(arguments).current_dir(&sources));
    go(&["get", &format!("go.etcd.io/etcd/server/v3@{etcd}")])?;
    go(&["mod", "tidy"])
}

/// Staging modules are published as v0.MINOR.PATCH.
fn staging_version(kubernetes: &str) -> Result<String> {
    match kubernetes.strip_prefix("v1.") {
        Some(rest) if rest.split('.').count() >= 2 => Ok(format!("v0.{rest}")),
        _ => bail!("`{kubernetes}` is no version of Kubernetes such as v1.37.2"),
    }
}

fn go_mod(theirs: &str, kubernetes: &str, staging: &str) -> Result<String> {
    let go =
        theirs.lines().find(|line| line.starts_with("go ")).context("their go.mod names no Go version")?;
    let modules: Vec<&str> = theirs
        .lines()
        .filter_map(|line| line.trim().trim_start_matches("replace ").split_once(" => ./staging/"))
        .map(|(module, _)| module)
        .collect();
    if modules.is_empty() {
        bail!("their go.mod replaces no staging module: its form has changed");
    }
    let replaces: String =
        modules.iter().map(|module| format!("\t{module} => {module} {staging}\n")).collect();
    Ok(format!(
        "module informers.test/control-plane\n\n{go}\n\nrequire {KUBERNETES} {kubernetes}\n\n\
         // A module zip lacks ./staging, so each staging module is taken as published.\nreplace (\n{replaces})\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_staging_module_is_replaced() {
        let theirs = "module k8s.io/kubernetes\n\ngo 1.26.0\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\
                      \tk8s.io/client-go => ./staging/src/k8s.io/client-go\n)\n";
        let ours = go_mod(theirs, "v1.37.2", "v0.37.2").unwrap();
        assert!(ours.contains("\tk8s.io/api => k8s.io/api v0.37.2\n"), "{ours}");
        assert!(ours.contains("\tk8s.io/client-go => k8s.io/client-go v0.37.2\n"), "{ours}");
        assert!(ours.contains("\ngo 1.26.0\n"), "{ours}");
        assert!(go_mod("go 1.26.0\n", "v1.37.2", "v0.37.2").is_err());
    }

    #[test]
    fn versions_of_kubernetes_give_those_of_staging() {
        assert_eq!(staging_version("v1.36.5").unwrap(), "v0.36.5");
        assert!(staging_version("1.36").is_err());
    }

    #[test]
    fn the_required_version_is_read_from_a_line_or_a_block() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["require k8s.io/kubernetes v1.37.2\n", "require (\n\tk8s.io/kubernetes v1.37.2\n)\n"] {
            fs::write(folder.path().join("go.mod"), text).unwrap();
            assert_eq!(kubernetes_version(folder.path()).unwrap(), "v1.37.2");
        }
        fs::write(folder.path().join("go.mod"), "module m\n").unwrap();
        assert!(kubernetes_version(folder.path()).is_err());
    }
}
