//! Which servers `NO_PROXY` excepts, by the rules of Go's `httpproxy`, which client-go follows.

use std::net::IpAddr;

/// A list such as `10.0.0.0/8,.internal.example,cluster.example:6443`.
pub(super) struct NoProxy(Vec<Rule>);

enum Rule {
    All,
    Network {
        address: IpAddr,
        prefix: u8,
    },
    Address {
        address: IpAddr,
        port: Option<String>,
    },
    /// The name with a dot before it, and whether the name without is meant too.
    Domain {
        suffix: String,
        itself: bool,
        port: Option<String>,
    },
}

impl NoProxy {
    pub(super) fn parse(list: &str) -> Self {
        Self(list.split(',').filter_map(|entry| Rule::parse(&entry.trim().to_ascii_lowercase())).collect())
    }

    /// Is a server at this host and port reached directly? An IPv6 address may be in brackets.
    pub(super) fn excepts(&self, host: &str, port: u16) -> bool {
        let host = without_brackets(host).to_ascii_lowercase();
        let port = port.to_string();
        let of_port = |wanted: &Option<String>| wanted.as_ref().is_none_or(|wanted| *wanted == port);
        let address = host.parse::<IpAddr>().ok().map(|address| address.to_canonical());
        self.0.iter().any(|rule| match (rule, address) {
            (Rule::All, _) => true,
            (Rule::Network { address: network, prefix }, Some(address)) => {
                contains(*network, *prefix, address)
            }
            (Rule::Address { address: wanted, port }, Some(address)) => *wanted == address && of_port(port),
            (Rule::Domain { suffix, itself, port }, None) => {
                (host.ends_with(suffix.as_str()) || *itself && host == suffix[1..]) && of_port(port)
            }
            _ => false,
        })
    }
}

impl Rule {
    fn parse(entry: &str) -> Option<Self> {
        if entry == "*" {
            return Some(Self::All);
        }
        if let Some((address, prefix)) = entry.split_once('/')
            && let (Ok(address), Ok(prefix)) = (address.parse::<IpAddr>(), prefix.parse::<u8>())
        {
            let longest = if address.is_ipv4() { 32 } else { 128 };
            return (prefix <= longest).then_some(Self::Network { address, prefix });
        }
        let (host, port) = match entry.parse::<IpAddr>() {
            Ok(_) => (entry, None),
            Err(_) => match entry.rsplit_once(':') {
                Some((host, port)) => (host, Some(port.to_owned()).filter(|port| !port.is_empty())),
                None => (entry, None),
            },
        };
        let host = without_brackets(host);
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some(Self::Address { address: address.to_canonical(), port });
        }
        let host = host.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(host);
        match host {
            "" | "." => None,
            _ if host.starts_with('.') => Some(Self::Domain { suffix: host.to_owned(), itself: false, port }),
            _ => Some(Self::Domain { suffix: format!(".{host}"), itself: true, port }),
        }
    }
}

fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn contains(network: IpAddr, prefix: u8, address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            let differ = network.to_bits() ^ address.to_bits();
            differ.checked_shr(32 - u32::from(prefix)).unwrap_or_default() == 0
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            let differ = network.to_bits() ^ address.to_bits();
            differ.checked_shr(128 - u32::from(prefix)).unwrap_or_default() == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_an_entry_means_what_it_means_to_go() {
        for (list, host, port, excepted) in [
            ("10.0.0.0/8", "10.96.0.1", 443, true),
            ("10.0.0.0/8", "11.96.0.1", 443, false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", 443, true),
            ("0.0.0.0/0", "203.0.113.7", 443, true),
            ("0.0.0.0/0", "cluster", 443, false),
            ("10.0.0.1/32", "10.0.0.2", 443, false),
            ("10.0.0.0/33", "10.0.0.0", 443, false),
            ("fd00::/16", "[fd00::1]", 6443, true),
            ("fd00::/16", "[fe00::1]", 6443, false),
            ("::/0", "fe00::1", 6443, true),
            ("192.168.1.7", "192.168.1.7", 6443, true),
            ("192.168.1.7:6443", "192.168.1.7", 6443, true),
            ("192.168.1.7:6443", "192.168.1.7", 443, false),
            ("[fd00::1]:6443", "[fd00::1]", 6443, true),
            ("[fd00::1]:6443", "[fd00::1]", 443, false),
            ("fd00::1", "[fd00::1]", 443, true),
            ("example.com", "example.com", 443, true),
            ("example.com", "api.Example.com", 443, true),
            ("Example.COM", "example.com", 443, true),
            ("example.com", "inexample.com", 443, false),
            (".example.com", "api.example.com", 443, true),
            (".example.com", "example.com", 443, false),
            ("*.example.com", "api.example.com", 443, true),
            ("*.example.com", "example.com", 443, false),
            ("example.com:6443", "api.example.com", 6443, true),
            ("example.com:6443", "api.example.com", 443, false),
            ("a.test, *", "anything", 1, true),
            (" , :80,.,/8", "anything", 80, false),
            ("", "anything", 80, false),
        ] {
            assert_eq!(NoProxy::parse(list).excepts(host, port), excepted, "{list} {host}:{port}");
        }
    }
}
