//! `cargo xtask test`: one run of the test runner with everything that this machine can offer.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

use crate::counts::ClusterTests;
use crate::foreign::ForeignCluster;
use crate::results::Totals;
use crate::vectors::Expected;
use crate::workspace::Workspace;
use crate::{control_plane, process, vectors};

/// The file, in the target folder, that keeps the closing line of the last run.
const CLOSING_LINE: &str = "test-summary.txt";

/// The tests that are left out on the embedded server, each with the reason.
const SKIPS: &str = "integration-tests/skipped-on-embedded.txt";

/// The folder with the programs of envtest, which stand in for those built here.
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// What was asked for on the command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    control_plane: bool,
    kubeconfig: Option<PathBuf>,
    accept_vectors: bool,
    /// Only these packages; all when empty.
    packages: Vec<String>,
}

impl Options {
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--control-plane" => options.control_plane = true,
                "--accept-vectors" => options.accept_vectors = true,
                "-p" | "--package" => {
                    options.packages.push((*words.next().context("--package needs a name")?).to_owned());
                }
                "--kubeconfig" => {
                    let file = words.next().context("--kubeconfig needs a file")?;
                    options.kubeconfig = Some(PathBuf::from(file));
                }
                other => bail!("unknown option `{other}` of `cargo xtask test`"),
            }
        }
        Ok(options)
    }

    fn covers(&self, package: &str) -> bool {
        self.packages.is_empty() || self.packages.iter().any(|named| named == package)
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let strict = std::env::var("CI").is_ok_and(|value| value == "true");
    let shared = shared_folder(workspace, strict)?;
    let binaries = match options.control_plane || strict {
        true => Some(
            control_plane::build(workspace, control_plane::FULL)
                .context("the real control plane was asked for (--control-plane or CI=true)")?,
        ),
        false => None,
    };
    let assets = std::env::var_os(ASSETS).map(PathBuf::from).filter(|_| binaries.is_none());
    let kubeconfig = match &options.kubeconfig {
        Some(file) => Some(
            file.canonicalize()
                .with_context(|| format!("--kubeconfig {}: no such file can be opened", file.display()))?,
        ),
        None => None,
    };

    let reports = vectors::report_files(&workspace.root, &workspace.target);
    let cluster_report = workspace.target.join("cluster-tests.txt");
    let closing_line = workspace.target.join(CLOSING_LINE);
    for file in reports.iter().chain([&cluster_report, &closing_line]) {
        remove(file)?;
    }

    // A foreign cluster for the tests that want one, when none was named.
    let cluster = match (&binaries, &kubeconfig) {
        (Some(binaries), None) if options.covers("integration-tests") => {
            // The same build as the one below, so that nothing is built twice.
            process::run(cargo_test(workspace, options).arg("--no-run"))?;
            Some(ForeignCluster::start(workspace, binaries)?)
        }
        _ => None,
    };
    let kubeconfig = kubeconfig.as_deref().or_else(|| cluster.as_ref().map(ForeignCluster::kubeconfig));

    let mut command = cargo_test(workspace, options);
    command.env("INFORMERS_TEST_REPORT", &cluster_report);
    // No test may reach the user's own cluster unless it was named.
    command.env_remove("KUBECONFIG");
    set_or_remove(&mut command, "INFORMERS_SHARED", shared.as_deref());
    set_or_remove(&mut command, "INFORMERS_CONTROL_PLANE_BIN", binaries.as_deref());
    set_or_remove(&mut command, "INFORMERS_TEST_KUBECONFIG", kubeconfig);
    set_or_remove(&mut command, ASSETS, assets.as_deref());
    let any_control_plane = binaries.is_some() || assets.is_some();
    command.env("INFORMERS_TEST_CONTROL_PLANE", if any_control_plane { "required" } else { "off" });
    let (status, totals) = stream(&mut command, &mut std::io::stdout())?;
    drop(cluster);

    println!();
    let clusters = ClusterTests::read(&cluster_report)?;
    for line in clusters.lines() {
        println!("{line}");
    }
    let mut problems = judge(status, totals);
    if binaries.is_some() && clusters.skipped_on("control-plane") > 0 {
        problems.push("tests were skipped on the real control plane, where none may be".into());
    }
    if options.covers("integration-tests") {
        problems.extend(check_skips(workspace, options, &clusters)?);
    }
    problems.extend(check_vectors(workspace, options, shared.as_deref(), &reports)?);
    if !any_control_plane {
        println!(
            "left out: the real API server; `cargo xtask test --control-plane` builds one (needs Go) and runs on it"
        );
    }
    if shared.is_none() {
        println!(
            "left out: the vectors and scenarios of ../shared, which is not there; the committed ones were used"
        );
    }
    let line = totals.closing_line(clusters.skipped());
    std::fs::write(&closing_line, format!("{line}\n"))
        .with_context(|| format!("writing {}", closing_line.display()))?;
    println!("{line}");
    if !problems.is_empty() {
        bail!("{}", problems.join("\n       "));
    }
    Ok(())
}

fn cargo_test(workspace: &Workspace, options: &Options) -> Command {
    let mut command = process::cargo(&workspace.root);
    command.args(["test", "--no-fail-fast"]);
    match options.packages.as_slice() {
        [] => command.arg("--workspace"),
        some => command.args(some.iter().flat_map(|name| ["--package", name])),
    };
    command
}

fn shared_folder(workspace: &Workspace, strict: bool) -> Result<Option<PathBuf>> {
    let folder = match std::env::var_os("INFORMERS_SHARED") {
        Some(folder) => PathBuf::from(folder),
        None => workspace.root.join("../shared"),
    };
    match folder.canonicalize() {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if strict => {
            Err(error).with_context(|| format!("CI=true needs the shared folder {}", folder.display()))
        }
        Err(_) => Ok(None),
    }
}

fn set_or_remove(command: &mut Command, name: &str, value: Option<&Path>) {
    match value {
        Some(value) => command.env(name, value),
        None => command.env_remove(name),
    };
}

fn remove(file: &Path) -> Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", file.display()))
        }
        _ => Ok(()),
    }
}

/// Runs the test runner, passing its output through while adding up its results.
pub(crate) fn stream(command: &mut Command, terminal: &mut impl Write) -> Result<(ExitStatus, Totals)> {
    eprintln!("$ {}", process::line(command));
    let mut child = command.stdout(Stdio::piped()).spawn().context("starting cargo")?;
    let mut output = BufReader::new(child.stdout.take().context("cargo's output is not piped")?);
    let mut totals = Totals::default();
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).context("reading cargo's output")? > 0 {
        terminal.write_all(&line).and_then(|()| terminal.flush()).context("printing")?;
        totals.add_line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    let status = child.wait().context("waiting for cargo")?;
    Ok((status, totals))
}

fn judge(status: ExitStatus, totals: Totals) -> Vec<String> {
    let mut problems = Vec::new();
    if totals.failed > 0 {
        problems.push(format!("{} tests failed", totals.failed));
    } else if !status.success() {
        problems.push(format!("cargo test ended with {status} though no test failed: see above"));
    }
    if totals.passed == 0 {
        problems.push("no test passed".into());
    }
    problems
}

/// Compares what the embedded server cannot do with what is known.
fn check_skips(workspace: &Workspace, options: &Options, clusters: &ClusterTests) -> Result<Vec<String>> {
    let file = workspace.root.join(SKIPS);
    let found = clusters.skips_on("embedded");
    if options.accept_vectors {
        std::fs::write(&file, found).with_context(|| format!("writing {SKIPS}"))?;
        println!("written: {SKIPS}");
        return Ok(Vec::new());
    }
    let known = std::fs::read_to_string(&file).with_context(|| format!("reading {SKIPS}"))?;
    Ok(match known == found {
        true => Vec::new(),
        false => vec![format!(
            "{SKIPS} says that the embedded server leaves out\n{known}but it left out\n{found}(after a wanted \
             change: cargo xtask test --accept-vectors)"
        )],
    })
}

fn check_vectors(
    workspace: &Workspace,
    options: &Options,
    shared: Option<&Path>,
    reports: &[PathBuf],
) -> Result<Vec<String>> {
    let set = vectors::Set::of_this_run(shared);
    let reported = vectors::reported(reports)?;
    for count in &reported {
        println!("{count}");
    }
    if options.accept_vectors {
        if !options.packages.is_empty() {
            bail!("--accept-vectors needs a run of all packages");
        }
        vectors::accept(&workspace.root, set, &reported)?;
        println!("written: {}", vectors::COMMITTED);
        return Ok(Vec::new());
    }
    let committed = vectors::committed(&workspace.root, set)?;
    let all = options.packages.is_empty();
    let differences =
        vectors::differences(set, &reported, if all { Expected::All } else { Expected::Some }, &committed);
    Ok(differences.into_iter().map(|difference| format!("{}: {difference}", vectors::COMMITTED)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_any_order() {
        let options = Options::parse(&["--kubeconfig", "kc", "--control-plane"]).unwrap();
        assert_eq!(
            options,
            Options { control_plane: true, kubeconfig: Some("kc".into()), ..Options::default() }
        );
    }

    #[test]
    fn unknown_or_incomplete_options_are_named() {
        assert!(Options::parse(&["--control-plan"]).unwrap_err().to_string().contains("--control-plan"));
        assert!(Options::parse(&["--kubeconfig"]).unwrap_err().to_string().contains("--kubeconfig"));
    }

    #[test]
    fn output_is_summed_and_the_exit_status_kept() {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "echo 'test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out'; exit 101",
        ]);
        let mut shown = Vec::new();
        let (status, totals) = stream(&mut command, &mut shown).unwrap();
        assert!(String::from_utf8(shown).unwrap().starts_with("test result: FAILED. 2 passed"));
        assert_eq!(status.code(), Some(101));
        assert_eq!(totals, Totals { passed: 2, failed: 1, ignored: 0 });
        assert_eq!(judge(status, totals), ["1 tests failed"]);
    }

    #[test]
    fn a_build_error_and_an_empty_run_are_failures() {
        let (status, totals) = stream(Command::new("sh").args(["-c", "exit 101"]), &mut Vec::new()).unwrap();
        assert_eq!(judge(status, totals).len(), 2);
        let (status, totals) = stream(&mut Command::new("true"), &mut Vec::new()).unwrap();
        assert_eq!(judge(status, totals), ["no test passed"]);
    }
}
