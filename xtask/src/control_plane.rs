//! `cargo xtask control-plane`: etcd and the Kubernetes binaries, built from Go modules and cached.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::go_modules;
use crate::process;
use crate::workspace::Workspace;

/// What an API server needs.
pub(crate) const BASIC: &[&str] = &["etcd", "kube-apiserver"];

/// What running pods and the going of namespaces need as well.
pub(crate) const FULL: &[&str] =
    &["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"];

/// A program that is a tool of a Go module of its own, since its requirements differ.
const TOOLS: &[(&str, &str)] = &[("kwok", "sigs.k8s.io/kwok/cmd/kwok")];

/// Where the sources lie in this repository.
pub(crate) fn sources(workspace: &Workspace) -> PathBuf {
    workspace.root.join("integration-tests/control-plane")
}

/// Builds what is missing of `programs` and gives the folder that holds all of them.
pub(crate) fn build(workspace: &Workspace, programs: &[&str]) -> Result<PathBuf> {
    let sources = sources(workspace);
    let folder = cache_folder(&sources)?;
    if missing(&folder, programs).is_empty() {
        return Ok(folder);
    }
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let _lock = lock(&folder)?;
    // Another build may have ended while this one waited.
    let missing = missing(&folder, programs);
    for (number, program) in missing.iter().enumerate() {
        eprintln!(
            "building {program} ({} of {}), minutes when nothing is cached yet",
            number + 1,
            missing.len()
        );
        let start = Instant::now();
        build_one(&sources, &folder, program)?;
        eprintln!("built {program} in {} s", start.elapsed().as_secs());
    }
    Ok(folder)
}

/// Prints the folder of the binaries.
pub(crate) fn print_path(workspace: &Workspace) -> Result<()> {
    let folder = cache_folder(&sources(workspace))?;
    let missing = missing(&folder, BASIC);
    if !missing.is_empty() {
        bail!("{} not built; run `cargo xtask control-plane build`", missing.join(" and "));
    }
    println!("{}", folder.display());
    Ok(())
}

/// Starts a control plane in the foreground.
pub(crate) fn start(workspace: &Workspace, programs: &[&str]) -> Result<()> {
    let folder = build(workspace, programs)?;
    let full: &[&str] = if programs == FULL { &["--", "--full"] } else { &[] };
    process::replace(
        process::cargo(&workspace.root)
            .args(["run", "--quiet", "--package", "integration-tests", "--bin", "control-plane"])
            .args(full)
            .env("INFORMERS_CONTROL_PLANE_BIN", folder),
    )
}

fn missing<'p>(folder: &Path, programs: &[&'p str]) -> Vec<&'p str> {
    programs.iter().copied().filter(|program| !folder.join(program).is_file()).collect()
}

/// `…/informers/control-plane/VERSION-HASH`: another go.mod, go.sum or main.go is another folder.
fn cache_folder(sources: &Path) -> Result<PathBuf> {
    let version = go_modules::kubernetes_version(sources)?;
    let mut names = fs::read_dir(sources)
        .and_then(|entries| {
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()
        })
        .with_context(|| format!("reading {}", sources.display()))?;
    names.sort();
    let mut hash = Fnv::new();
    for path in names {
        for file in [path.clone(), path.join("main.go"), path.join("go.mod"), path.join("go.sum")] {
            let named_for_go =
                file.extension().is_some_and(|ending| ending == "mod" || ending == "sum" || ending == "go");
            if named_for_go && file.is_file() {
                hash.add(&fs::read(&file).with_context(|| format!("reading {}", file.display()))?);
            }
        }
    }
    Ok(cache_root()?.join(format!("{version}-{:08x}", hash.folded())))
}

fn cache_root() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("INFORMERS_CONTROL_PLANE_DIR") {
        return std::path::absolute(folder).context("INFORMERS_CONTROL_PLANE_DIR");
    }
    let cache = match (std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME")) {
        (Some(cache), _) if !cache.is_empty() => PathBuf::from(cache),
        (_, Some(home)) => PathBuf::from(home).join(".cache"),
        _ => bail!("neither HOME nor XDG_CACHE_HOME is set; name a folder in INFORMERS_CONTROL_PLANE_DIR"),
    };
    Ok(cache.join("informers/control-plane"))
}

/// Held until the file is dropped, also when this process is killed.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(".lock");
    let file = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
    if file.try_lock().is_err() {
        eprintln!("waiting for another build of the control plane ({})", path.display());
        file.lock().with_context(|| format!("locking {}", path.display()))?;
    }
    Ok(file)
}

fn build_one(sources: &Path, folder: &Path, program: &str) -> Result<()> {
    let fresh = folder.join(format!(".{program}.{}", std::process::id()));
    let tool = TOOLS.iter().find(|(name, _)| *name == program).map(|(_, package)| *package);
    let (module, package) = match tool {
        Some(package) => (sources.join(program), package.to_owned()),
        None => (sources.to_owned(), format!("./{program}")),
    };
    let mut flags = "-s -w".to_owned();
    if tool.is_none() {
        // Without them the server calls itself v0.0.0 and clients complain.
        flags.push_str(&version_flags(&go_modules::kubernetes_version(sources)?)?);
    }
    let mut go = Command::new("go");
    go.current_dir(&module)
        .args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", &flags, "-o"])
        .arg(&fresh)
        .arg(package)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env_remove("GOOS")
        .env_remove("GOARCH");
    let status = match go.status() {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "`go` was not found: the real control plane is built from Go modules. Install Go 1.26 or newer \
             (https://go.dev/dl, or your system's package for it) and run this again"
        ),
        other => other.context("starting `go build`")?,
    };
    if !status.success() {
        bail!(
            "building {program} in {} failed with {status}; the compiler's message is above",
            module.display()
        );
    }
    fs::rename(&fresh, folder.join(program))
        .with_context(|| format!("moving {program} into {}", folder.display()))
}

fn version_flags(version: &str) -> Result<String> {
    let mut parts = version.trim_start_matches('v').split('.');
    let (Some(major), Some(minor)) = (parts.next(), parts.next()) else {
        bail!("{version} is no version of Kubernetes");
    };
    let variable = "-X k8s.io/component-base/version";
    Ok(format!(" {variable}.gitVersion={version} {variable}.gitMajor={major} {variable}.gitMinor={minor}"))
}

/// FNV-1a: a name for a folder, nothing to trust.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn folded(&self) -> u32 {
        let [a, b, c, d, e, f, g, h] = self.0.to_be_bytes();
        u32::from_be_bytes([a ^ e, b ^ f, c ^ g, d ^ h])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> tempfile::TempDir {
        let sources = tempfile::tempdir().unwrap();
        fs::create_dir(sources.path().join("etcd")).unwrap();
        fs::write(sources.path().join("etcd/main.go"), "package main").unwrap();
        fs::write(sources.path().join("go.mod"), "module m\n\nrequire k8s.io/kubernetes v1.37.2\n").unwrap();
        sources
    }

    #[test]
    fn another_source_or_requirement_is_another_folder() {
        let sources = sample();
        let first = cache_folder(sources.path()).unwrap();
        assert!(first.file_name().unwrap().to_str().unwrap().starts_with("v1.37.2-"), "{}", first.display());
        fs::write(sources.path().join("README.md"), "words").unwrap();
        assert_eq!(cache_folder(sources.path()).unwrap(), first);
        fs::write(sources.path().join("etcd/main.go"), "package main // changed").unwrap();
        let second = cache_folder(sources.path()).unwrap();
        assert_ne!(second, first);
        fs::write(sources.path().join("go.sum"), "sum").unwrap();
        assert_ne!(cache_folder(sources.path()).unwrap(), second);
    }

    #[test]
    fn the_server_is_told_its_version() {
        let flags = version_flags("v1.37.2").unwrap();
        assert!(
            flags.contains("gitVersion=v1.37.2")
                && flags.contains("gitMajor=1")
                && flags.contains("gitMinor=37")
        );
        assert!(version_flags("latest").is_err());
    }

    #[test]
    fn only_absent_programs_are_missing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("etcd"), "").unwrap();
        assert_eq!(missing(folder.path(), BASIC), ["kube-apiserver"]);
    }
}
