//! Measures what informers cost: the whole road from an API server to a handler, or the parts alone.
//!
//! It is the candidate of a comparison with client-go and kube-rs; `docs/benchmarks.md` tells how to run that.
//! One line of JSON goes to standard output. Defaults of the library and the system's allocator are in use.

mod args;
mod micro;
mod pods;
mod process;
mod protobuf;
mod road;

use anyhow::Result;
use clap::Parser;
use k8s_openapi::api::core::v1::Pod;

use crate::args::{Args, Measurement, Mode};
use crate::pods::{AnyPod, SlimPod};

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let figures = match Args::parse().measurement() {
        Measurement::Parts(Mode::Typed, decoded) => micro::measure::<Pod>(&runtime, decoded)?,
        Measurement::Parts(Mode::Slim, decoded) => micro::measure::<SlimPod>(&runtime, decoded)?,
        Measurement::Road(road) => runtime.block_on(async {
            match road.mode {
                Mode::Typed => {
                    let transform = road.drop_managed_fields.then(pods::without_managed_fields);
                    road::measure(&road, &Pod::resource(), transform).await
                }
                Mode::Slim if road.protobuf => road::measure(&road, &protobuf::slim_pods(), None).await,
                Mode::Slim => road::measure(&road, &SlimPod::resource(), None).await,
            }
        })?,
    };
    #[allow(clippy::print_stdout, reason = "the one line that is the purpose of the program")]
    {
        println!("{figures}");
    }
    Ok(())
}
