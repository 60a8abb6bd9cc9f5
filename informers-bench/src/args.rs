//! What is to be measured.

use std::path::PathBuf;

use clap::{ArgAction, Parser, ValueEnum};

#[derive(Debug, Parser)]
#[command(about = "Measures informers: one line of JSON", long_about = None)]
pub(crate) struct Args {
    /// Measure the parts alone: queues, store, workqueue
    #[arg(long, conflicts_with_all = ["kubeconfig", "addr"])]
    micro: bool,
    /// With `--micro`, decode the pods from JSON instead of making them in place as client-go's program does
    #[arg(long, requires = "micro")]
    decoded: bool,
    /// The API server to read pods from
    #[arg(long, value_name = "FILE", required_unless_present = "micro")]
    kubeconfig: Option<PathBuf>,
    /// How many updates to wait for after the server was told to send them
    #[arg(long, value_name = "N", default_value_t = 0)]
    events: u64,
    /// The server's control, which is told by `POST /start` to send the events
    #[arg(long, value_name = "HOST:PORT", required_unless_present = "micro")]
    addr: Option<String>,
    /// How pods are held; by default typed, and with `--micro` slim
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Drop `metadata.managedFields` of typed pods before they are stored
    #[arg(long, value_name = "BOOL", default_value_t = false, action = ArgAction::Set)]
    drop_managed_fields: bool,
    /// Read slim pods from protobuf instead of JSON
    #[arg(long, conflicts_with = "micro")]
    protobuf: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Whole, as the type of k8s-openapi
    Typed,
    /// As a struct with the few fields that are wanted
    Slim,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Typed => "typed",
            Self::Slim => "slim",
        }
    }
}

/// A measurement of the whole road.
#[derive(Debug)]
pub(crate) struct Road {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) control: String,
    pub(crate) events: u64,
    pub(crate) mode: Mode,
    pub(crate) drop_managed_fields: bool,
    /// Of slim pods; typed ones are read from JSON.
    pub(crate) protobuf: bool,
}

/// What is to be measured.
#[derive(Debug)]
pub(crate) enum Measurement {
    /// The parts alone, with pods held in this way, and whether they are decoded.
    Parts(Mode, bool),
    Road(Road),
}

impl Args {
    pub(crate) fn measurement(self) -> Measurement {
        let Self { micro: _, decoded, kubeconfig, events, addr, mode, drop_managed_fields, protobuf } = self;
        // The parser asks for both or for neither.
        let (Some(kubeconfig), Some(control)) = (kubeconfig, addr) else {
            return Measurement::Parts(mode.unwrap_or(Mode::Slim), decoded);
        };
        // Protobuf is read into slim pods alone.
        let mode = mode.unwrap_or(if protobuf { Mode::Slim } else { Mode::Typed });
        Measurement::Road(Road { kubeconfig, control, events, mode, drop_managed_fields, protobuf })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_the_comparison_are_understood() {
        let args = [
            "informers-bench",
            "--kubeconfig=k",
            "--events=7",
            "--addr=127.0.0.1:1",
            "--mode=slim",
            "--drop-managed-fields=true",
            "--protobuf",
        ];
        let Measurement::Road(road) = Args::try_parse_from(args).unwrap().measurement() else {
            panic!("the whole road was asked for");
        };
        assert_eq!((road.events, road.mode, road.drop_managed_fields), (7, Mode::Slim, true));
        assert!(road.protobuf);
        let parts = Args::try_parse_from(["informers-bench", "--micro"]).unwrap().measurement();
        assert!(matches!(parts, Measurement::Parts(Mode::Slim, false)));
        assert!(Args::try_parse_from(["informers-bench"]).is_err());
    }
}
