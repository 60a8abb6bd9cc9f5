//! What this process has used so far.

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};

/// CPU seconds of all threads, those that have ended too.
pub(crate) fn cpu_seconds() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// Resident memory in MiB.
pub(crate) fn resident_mb() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("reading /proc/self/status")?;
    resident_kb(&status).map(|kb| kb / 1024.0).context("no VmRSS in /proc/self/status")
}

fn resident_kb(status: &str) -> Option<f64> {
    status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_line_of_the_kernel() {
        assert_eq!(resident_kb("VmPeak:\t  9 kB\nVmRSS:\t    1536 kB\n"), Some(1536.0));
        assert_eq!(resident_kb("VmPeak:\t  9 kB\n"), None);
    }
}
