//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Parser, ValueEnum};
use informers::core::{LabelSelector, Scope};

/// Prints every notification of a shared informer as a line of JSON, and its final store.
///
/// Lines are {"type":"add"|"update"|"delete"|"synced"|"final", ...}; see the README of this folder. It ends at the
/// deadline, on SIGTERM or Ctrl-C. Warnings go to standard error; RUST_LOG chooses other logs.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Args {
    /// Kubeconfig file with server and credentials
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: PathBuf,

    /// Context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// What to follow
    #[arg(long)]
    pub(crate) resource: Collection,

    /// Namespace to follow, or `all`
    #[arg(long, value_name = "NS")]
    pub(crate) namespace: String,

    /// After how many seconds to end
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) deadline: Duration,

    /// Follow only objects whose labels match, such as `app=web,tier!=cache`
    #[arg(long, value_name = "SELECTOR", default_value = "", hide_default_value = true)]
    pub(crate) label_selector: LabelSelector,

    /// Objects in one page where the list is read in pages [default: the library's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) page_size: Option<u32>,

    /// Whether to ask for a streaming list (`sendInitialEvents`) first
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, default_value_t = false)]
    pub(crate) watch_list: bool,
}

/// The resources that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Collection {
    /// Pods of the core group, as k8s-openapi's type
    Pods,
    /// widgets.example.com/v1, as dynamic objects
    Widgets,
}

impl Args {
    pub(crate) fn scope(&self) -> Scope {
        let scope = match self.namespace.as_str() {
            "all" => Scope::all(),
            namespace => Scope::namespace(namespace),
        };
        scope.with_labels(self.label_selector.clone())
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "it must be a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(more: &[&str]) -> Result<Args, clap::Error> {
        let needed = ["informer-log", "--kubeconfig", "c", "--resource", "pods", "--deadline", "0.5"];
        Args::try_parse_from(needed.iter().chain(more))
    }

    #[test]
    fn defaults_and_scopes() {
        let args = parse(&["--namespace", "all"]).unwrap();
        assert_eq!((args.scope(), args.watch_list, args.page_size), (Scope::all(), false, None));
        assert_eq!(args.deadline, Duration::from_millis(500));

        let more =
            ["--namespace", "ns1", "--label-selector", "app=web", "--watch-list", "true", "--page-size", "3"];
        let args = parse(&more).unwrap();
        assert_eq!(args.scope().to_string(), "namespace ns1, labels app=web");
        assert_eq!((args.watch_list, args.page_size), (true, Some(3)));
    }

    #[test]
    fn errors_name_the_flag() {
        for (flag, value) in
            [("--label-selector", "app in web"), ("--page-size", "0"), ("--watch-list", "maybe")]
        {
            let error = parse(&["--namespace", "all", flag, value]).unwrap_err().to_string();
            assert!(error.contains(flag), "{error}");
        }
    }
}
