//! Free loopback ports for servers that cannot be told to choose one.

use std::collections::HashSet;
use std::net::TcpListener;
use std::sync::Mutex;

use anyhow::{Result, bail};

/// Below the range from which systems take the ports of outgoing connections: a server that is
/// down for a moment must find its port free again.
const RANGE: std::ops::Range<u16> = 20_000..32_000;

/// Ports that nobody listens on and that this process has not handed out before.
pub(super) fn free<const N: usize>() -> Result<[u16; N]> {
    static USED: Mutex<Option<HashSet<u16>>> = Mutex::new(None);
    let mut used = USED.lock().expect("nothing panics while it holds the ports");
    let used = used.get_or_insert_default();
    let mut ports = [0; N];
    for place in &mut ports {
        let mut candidates = (0..2_000).map(|_| fastrand::u16(RANGE));
        let Some(port) = candidates.find(|port| !used.contains(port) && is_free(*port)) else {
            bail!("no free port between {} and {}", RANGE.start, RANGE.end);
        };
        used.insert(port);
        *place = port;
    }
    Ok(ports)
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ_within_a_process() {
        let mut seen = HashSet::new();
        for _ in 0..20 {
            seen.extend(free::<3>().unwrap());
        }
        assert_eq!(seen.len(), 60);
    }
}
