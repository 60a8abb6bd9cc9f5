//! The tasks of this workspace: `cargo xtask help` lists them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to a terminal")]

mod alone;
mod control_plane;
mod counts;
mod foreign;
mod go_modules;
mod layers;
mod leaks;
mod lint;
mod loom;
mod markdown;
mod process;
mod results;
mod soak;
mod test_run;
mod tidy;
mod vectors;
mod workspace;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

const HELP: &str = "\
cargo xtask TASK

  test [--control-plane] [--kubeconfig FILE] [--accept-vectors] [--package NAME]...
        unit, doc and integration tests. --control-plane (implied by CI=true) runs the
        integration tests on a real etcd and kube-apiserver too, built from Go modules, once
        under their control and once through a plain kubeconfig, as any cluster is reached;
        --kubeconfig on the cluster of that file instead; --accept-vectors writes the counts of
        replayed vectors, and what the embedded server leaves out, instead of comparing them
  lint  fmt, clippy and docs with warnings as errors, then layers and tidy
  loom  explores the interleavings of everything that tasks wait for or hand to each other
  layers
        compares the dependencies between our crates, and what each drags in, with the table
  tidy  purity of the machines, first lines, links, guarantees and their tests
  alone [CRATE...]
        checks each crate by itself, with no, each and all features
  package [--verify]
        packages the crates in dependency order; --verify also builds what was packed
  soak [--seed N] [--count N]
        records fresh traces of client-go (needs Go and the shared folder) and replays them
  control-plane path
        where the binaries are; fails when they are not built
  control-plane build [--full]
        builds etcd and kube-apiserver; --full also controller-manager, scheduler and kwok
  control-plane start [--full]
        builds if needed, starts etcd and kube-apiserver, prints the kubeconfig, runs until Ctrl-C;
        --full with controllers and simulated nodes, on which pods run
  control-plane update VERSION [ETCD_VERSION]
        rewrites go.mod and go.sum for another Kubernetes version, such as v1.37.2

Environment: INFORMERS_CONTROL_PLANE_DIR (cache folder of the binaries), INFORMERS_SHARED (folder
of the shared vectors and scenarios, default ../shared), KUBEBUILDER_ASSETS (etcd and kube-apiserver
of envtest, used without --control-plane), CI=true (nothing may be left out).
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let mut words = arguments.iter().map(String::as_str);
    let task = words.next().unwrap_or("help");
    let rest: Vec<&str> = words.collect();
    if matches!(task, "help" | "--help" | "-h") || rest.contains(&"--help") {
        print!("{HELP}");
        return Ok(());
    }
    let workspace = Workspace::load().context("reading the workspace")?;
    match (task, rest.as_slice()) {
        ("test", options) => test_run::run(&workspace, &test_run::Options::parse(options)?),
        ("lint", []) => lint::run(&workspace),
        ("loom", []) => loom::run(&workspace),
        ("layers", []) => layers::run(&workspace),
        ("tidy", []) => tidy::run(&workspace),
        ("alone", crates) => alone::check(&workspace, crates),
        ("package", []) => alone::package(&workspace, false),
        ("package", ["--verify"]) => alone::package(&workspace, true),
        ("soak", options) => soak::run(&workspace, &soak::Options::parse(options)?),
        ("control-plane", ["path"]) => control_plane::print_path(&workspace),
        ("control-plane", ["build"]) => control_plane::build(&workspace, control_plane::BASIC).map(drop),
        ("control-plane", ["build", "--full"]) => {
            control_plane::build(&workspace, control_plane::FULL).map(drop)
        }
        ("control-plane", ["start"]) => control_plane::start(&workspace, control_plane::BASIC),
        ("control-plane", ["start", "--full"]) => control_plane::start(&workspace, control_plane::FULL),
        ("control-plane", ["update", version]) => go_modules::update(&workspace, version, "latest"),
        ("control-plane", ["update", version, etcd]) => go_modules::update(&workspace, version, etcd),
        _ => bail!("unknown task `{}`; `cargo xtask help` lists them", arguments.join(" ")),
    }
}
