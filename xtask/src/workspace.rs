//! What `cargo metadata` says of this workspace: root, target folder, members and their dependencies.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;

/// The workspace as its manifests describe it.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) members: Vec<Member>,
}

/// One package of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// The folder that holds its `Cargo.toml`.
    pub(crate) folder: PathBuf,
    pub(crate) published: bool,
    pub(crate) description: Option<String>,
    /// Its features, `default` among them, sorted.
    pub(crate) features: Vec<String>,
    /// Workspace members among the normal and build dependencies, sorted.
    pub(crate) uses: Vec<String>,
    /// Those that must be on the registry before this one: `uses`, and development dependencies
    /// with a version. Cargo drops those without one from the package.
    pub(crate) published_after: Vec<String>,
}

impl Workspace {
    pub(crate) fn load() -> Result<Self> {
        let text = process::stdout_of(process::cargo(&here()?).args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
        ]))?;
        Self::parse(&serde_json::from_str(&text).context("`cargo metadata` printed no JSON")?)
    }

    pub(crate) fn parse(metadata: &Value) -> Result<Self> {
        let root = path_at(metadata, "workspace_root")?;
        let target = path_at(metadata, "target_directory")?;
        let packages = metadata["packages"].as_array().context("`packages` is missing")?;
        let names: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
        let mut members =
            packages.iter().map(|package| member(package, &names)).collect::<Result<Vec<Member>>>()?;
        members.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { root, target, members })
    }

    /// The crates that users can depend on.
    pub(crate) fn published(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.published)
    }

    /// Published crates so ordered that each comes after those it uses.
    pub(crate) fn publishing_order(&self) -> Result<Vec<&Member>> {
        let mut waiting: Vec<&Member> = self.published().collect();
        let mut order: Vec<&Member> = Vec::new();
        while !waiting.is_empty() {
            let (ready, blocked): (Vec<&Member>, Vec<&Member>) =
                waiting.iter().copied().partition(|member| {
                    member.published_after.iter().all(|used| order.iter().any(|m| &m.name == used))
                });
            if ready.is_empty() {
                let names: Vec<&str> = blocked.iter().map(|member| member.name.as_str()).collect();
                bail!(
                    "these crates must be published after each other or after an unpublished one: {}; a \
                     development dependency that names only a path does not count",
                    names.join(", ")
                );
            }
            order.extend(ready);
            waiting = blocked;
        }
        Ok(order)
    }
}

fn here() -> Result<PathBuf> {
    // Cargo tells where xtask lies, so tasks work from any folder of the workspace.
    match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(folder) => Ok(PathBuf::from(folder)),
        None => std::env::current_dir().context("asking for the current folder"),
    }
}

fn path_at(metadata: &Value, field: &str) -> Result<PathBuf> {
    metadata[field].as_str().map(PathBuf::from).with_context(|| format!("`{field}` is missing"))
}

fn member(package: &Value, names: &[&str]) -> Result<Member> {
    let name = package["name"].as_str().context("a package without a name")?.to_owned();
    let manifest = package["manifest_path"].as_str().context("a package without a manifest")?;
    let folder = Path::new(manifest).parent().context("a manifest without a folder")?.to_owned();
    // `publish = false` is an empty list of registries, no `publish` is null.
    let published = package["publish"].as_array().is_none_or(|registries| !registries.is_empty());
    let ours = |counts: fn(&Value) -> bool| {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let mut names: Vec<String> = dependencies
            .filter(|dependency| counts(dependency))
            .filter_map(|dependency| dependency["name"].as_str())
            .filter(|dependency| names.contains(dependency))
            .map(str::to_owned)
            .collect();
        names.sort();
        names.dedup();
        names
    };
    let uses = ours(|dependency| dependency["kind"] != "dev");
    let published_after = ours(|dependency| dependency["kind"] != "dev" || dependency["req"] != "*");
    let description = package["description"].as_str().map(str::to_owned);
    // A JSON object of serde_json is sorted by key.
    let features =
        package["features"].as_object().map(|all| all.keys().cloned().collect()).unwrap_or_default();
    Ok(Member { name, folder, published, description, features, uses, published_after })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Workspace {
        let metadata = serde_json::json!({
            "workspace_root": "/ws", "target_directory": "/ws/target",
            "packages": [
                {"name": "upper", "manifest_path": "/ws/crates/upper/Cargo.toml", "publish": null, "description": "d",
                 "dependencies": [{"name": "lower", "kind": null}, {"name": "serde", "kind": null}, {"name": "kit", "kind": "dev", "req": "*"}]},
                {"name": "lower", "manifest_path": "/ws/crates/lower/Cargo.toml", "publish": null, "description": null, "dependencies": []},
                {"name": "kit", "manifest_path": "/ws/kit/Cargo.toml", "publish": [], "description": null,
                 "dependencies": [{"name": "upper", "kind": null}]}
            ]
        });
        Workspace::parse(&metadata).unwrap()
    }

    #[test]
    fn dev_and_foreign_dependencies_are_left_out() {
        let workspace = sample();
        let upper = workspace.members.iter().find(|member| member.name == "upper").unwrap();
        assert_eq!(upper.uses, ["lower"]);
        assert_eq!(upper.folder, Path::new("/ws/crates/upper"));
    }

    #[test]
    fn publishing_order_puts_used_crates_first_and_leaves_unpublished_out() {
        let workspace = sample();
        let order: Vec<&str> =
            workspace.publishing_order().unwrap().iter().map(|m| m.name.as_str()).collect();
        assert_eq!(order, ["lower", "upper"]);
    }

    #[test]
    fn a_published_crate_that_needs_an_unpublished_one_is_refused() {
        let mut workspace = sample();
        workspace.members.iter_mut().find(|m| m.name == "lower").unwrap().published_after.push("kit".into());
        assert!(workspace.publishing_order().is_err());
    }

    #[test]
    fn a_development_dependency_with_a_version_must_be_published_before() {
        let dependency = |req: &str| serde_json::json!({"name": "b", "kind": "dev", "req": req});
        let order = |req: &str| {
            let metadata = serde_json::json!({
                "workspace_root": "/ws", "target_directory": "/ws/target",
                "packages": [
                    {"name": "a", "manifest_path": "/ws/a/Cargo.toml", "publish": null, "dependencies": [dependency(req)]},
                    {"name": "b", "manifest_path": "/ws/b/Cargo.toml", "publish": null, "dependencies": []}
                ]
            });
            let workspace = Workspace::parse(&metadata).unwrap();
            workspace.publishing_order().unwrap().iter().map(|member| member.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(order("*"), ["a", "b"]);
        assert_eq!(order("^0.1.0"), ["b", "a"]);
    }
}
