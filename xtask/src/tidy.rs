//! `cargo xtask tidy`: house rules that compilers do not know.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::markdown;
use crate::workspace::Workspace;

mod source;

/// One file with its path from the root.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let files = read_all(&workspace.root)?;
    let tests = source::test_modules(&files);
    let mut findings = Vec::new();
    for file in &files {
        findings.extend(source::check(file, &tests));
        findings.extend(foreign_paths(file));
    }
    findings.extend(crate_fronts(workspace));
    findings.extend(markdown::check(&workspace.root, &files));
    if !findings.is_empty() {
        bail!("tidy:\n  {}", findings.join("\n  "));
    }
    println!("tidy: {} files follow the house rules", files.len());
    Ok(())
}

fn read_all(root: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
        for entry in entries {
            let path = entry.with_context(|| format!("reading {}", folder.display()))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !matches!(name.as_str(), "target" | ".git" | "node_modules") {
                    folders.push(path);
                }
            } else if is_ours(&name) {
                let text =
                    std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
                let path = path.strip_prefix(root).unwrap_or(&path).to_owned();
                files.push(File { path, text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn is_ours(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or(name);
    matches!(ending, "rs" | "md" | "toml" | "yml" | "yaml" | "sh" | "go" | "mod" | "run")
}

/// Paths that exist on one person's machine only.
fn foreign_paths(file: &File) -> Vec<String> {
    let homes = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/home", "/")];
    let mut findings = Vec::new();
    for (number, line) in numbered(&file.text) {
        for home in homes.iter().filter(|home| mentions_path(line, home)) {
            findings.push(format!("{}:{number}: a path of one machine: {home}", file.path.display()));
        }
    }
    findings
}

/// The prefix must begin a path: the same letters inside a URL or a longer path are something else.
fn mentions_path(line: &str, prefix: &str) -> bool {
    line.match_indices(prefix).any(|(at, _)| {
        line[..at]
            .chars()
            .next_back()
            .is_none_or(|before| !before.is_alphanumeric() && !"_-.*/".contains(before))
    })
}

/// A published crate shows what it is before anyone opens its code.
fn crate_fronts(workspace: &Workspace) -> Vec<String> {
    let mut findings = Vec::new();
    for member in workspace.published() {
        if member.description.as_deref().is_none_or(str::is_empty) {
            findings.push(format!("{}: no description", member.name));
        }
        if !member.folder.join("README.md").is_file() {
            findings.push(format!("{}: no README.md", member.name));
        }
        let front = std::fs::read_to_string(member.folder.join("src/lib.rs")).unwrap_or_default();
        if !front.contains("include_str!(\"../README.md\")") {
            findings.push(format!(
                "{}: src/lib.rs does not make tests of the examples in README.md",
                member.name
            ));
        }
    }
    findings
}

/// Lines with their numbers, from 1.
pub(crate) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(number, line)| (number + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_one_machine_is_found_and_urls_are_not() {
        let file = File {
            path: "docs/a.md".into(),
            text: format!(
                "see {}main\nhttps://example.com{}x\n",
                concat!("/wo", "rk/"),
                concat!("/wo", "rk/")
            ),
        };
        let findings = foreign_paths(&file);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].starts_with("docs/a.md:1:"));
    }

    #[test]
    fn a_published_crate_needs_description_and_readme_with_tested_examples() {
        let folder = tempfile::tempdir().unwrap();
        let metadata = serde_json::json!({
            "workspace_root": folder.path(), "target_directory": folder.path(),
            "packages": [{"name": "a", "manifest_path": folder.path().join("Cargo.toml"), "publish": null, "description": null, "dependencies": []}]
        });
        let workspace = Workspace::parse(&metadata).unwrap();
        assert_eq!(crate_fronts(&workspace).len(), 3);
        std::fs::write(folder.path().join("README.md"), "# a").unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        let front = folder.path().join("src/lib.rs");
        std::fs::write(&front, "//! a").unwrap();
        assert_eq!(crate_fronts(&workspace).len(), 2);
        std::fs::write(front, "#[doc = include_str!(\"../README.md\")]\nstruct Readme;").unwrap();
        assert_eq!(crate_fronts(&workspace), ["a: no description"]);
    }

    #[test]
    fn build_output_and_history_are_not_read() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["target", ".git", "src"] {
            std::fs::create_dir(root.path().join(folder)).unwrap();
            std::fs::write(root.path().join(folder).join("a.rs"), "").unwrap();
        }
        let files = read_all(root.path()).unwrap();
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].path, Path::new("src/a.rs"));
    }
}
