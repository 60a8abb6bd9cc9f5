//! What a reflector decides, without IO, clock or task.

use std::time::Duration;

use crate::backoff::Delays;
use crate::{Backoff, FirstList, Parity, StreamingPatience};

/// The settings that decisions depend on.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) streaming_list: bool,
    pub(crate) first_list: FirstList,
    pub(crate) page_size: Option<u32>,
    pub(crate) patience: StreamingPatience,
    pub(crate) min_watch_timeout: Duration,
    pub(crate) max_internal_error_retry: Duration,
    pub(crate) parity: Parity,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            streaming_list: true,
            first_list: FirstList::default(),
            page_size: None,
            patience: StreamingPatience::default(),
            min_watch_timeout: Duration::from_secs(300),
            max_internal_error_retry: Duration::ZERO,
            parity: Parity::default(),
        }
    }
}

/// What is kept from phase to phase.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) rules: Rules,
    pub(crate) delays: Delays,
    pub(crate) rng: fastrand::Rng,
}

impl Memory {
    pub(crate) fn new(rules: Rules, backoff: Backoff, rng: fastrand::Rng) -> Self {
        Self { rules, delays: Delays::new(backoff), rng }
    }
}
