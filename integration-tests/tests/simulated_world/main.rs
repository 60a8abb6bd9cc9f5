//! Whole informers against a simulated server on virtual time: thousands of random histories of changes, faults
//! and handlers, each of which must end with everything equal to the server.
//!
//! `INFORMERS_SEED=7 cargo test -p integration-tests --test simulated_world` runs one history and tells its steps;
//! `INFORMERS_SEEDS=100000 cargo test --release …` runs more of them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]
#![allow(clippy::print_stdout, reason = "a history is told to whoever asked for its seed")]

mod informers_of;
mod replicas;
mod run;
mod unreliable;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};

use run::Trace;

/// Histories of one run, unless `$INFORMERS_SEEDS` says otherwise: some seconds on two cores.
const SEEDS: u64 = if cfg!(debug_assertions) { 400 } else { 10_000 };

/// Histories that once went wrong, with what was mended.
const KEPT: &[(u64, &str)] = &[
    (18, "a DeltaFifo passed over the deletion of an object that had never decoded"),
    (81, "the same, of another object"),
    (121, "the same, with one left that does not decode"),
];

/// A number from the environment.
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// Runs one history in a runtime of its own, and says how to see a failure again.
fn check(seed: u64, trace: &mut Trace) -> Result<(), String> {
    let history = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(run::run(seed, trace))
    }));
    let problem = match history {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => format!("{error:#}"),
        Err(panic) => match panic.downcast_ref::<String>() {
            Some(text) => text.clone(),
            None => "a panic".to_owned(),
        },
    };
    Err(format!(
        "seed {seed}: {problem}\n  again: INFORMERS_SEED={seed} cargo test -p integration-tests --test simulated_world -- --nocapture"
    ))
}

#[test]
fn whatever_happens_everything_ends_equal_to_the_server() {
    if let Some(seed) = number("INFORMERS_SEED") {
        let mut trace = Trace::Print;
        check(seed, &mut trace).unwrap_or_else(|problem| panic!("{problem}"));
        return;
    }
    let seeds = number("INFORMERS_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(0);
    let work = || {
        let mut problems = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            // A handful tells as much as hundreds.
            if seed >= seeds || problems.len() > 3 {
                return problems;
            }
            problems.extend(check(seed, &mut Trace::Nowhere).err());
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let problems: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    println!("{seeds} histories ended equal to the server");
}

#[test]
fn kept_seeds_stay_mended() {
    for (seed, what) in KEPT {
        check(*seed, &mut Trace::Nowhere).unwrap_or_else(|problem| panic!("{what}: {problem}"));
    }
}

/// The order among tasks that are due within the same millisecond is tokio's, so what is told of the
/// informers' events may differ.
#[test]
fn the_same_seed_takes_the_same_steps() {
    for seed in 0..20 {
        let steps = || {
            let mut trace = Trace::Keep(Vec::new());
            check(seed, &mut trace).unwrap();
            let Trace::Keep(lines) = trace else { unreachable!() };
            lines
        };
        let (first, second) = (steps(), steps());
        assert!(first.len() > 50, "{first:?}");
        assert_eq!(first, second, "seed {seed}");
    }
}
