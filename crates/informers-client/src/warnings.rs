//! The server's `Warning` headers.

use std::collections::HashSet;

use http::{HeaderMap, header};
use informers_wire::Warning;
use parking_lot::Mutex;

/// How many different texts are remembered; after that, warnings are no longer logged.
const MAX_REMEMBERED: usize = 1000;

/// Logs each text once, as kubectl does. A watch that is renewed every few minutes would repeat it for ever.
#[derive(Default)]
pub(crate) struct Warnings(Mutex<HashSet<String>>);

impl Warnings {
    pub(crate) fn log(&self, headers: &HeaderMap) {
        for text in self.unseen(headers) {
            tracing::warn!("the API server warns: {text}");
        }
    }

    fn unseen(&self, headers: &HeaderMap) -> Vec<String> {
        let mut unseen = Vec::new();
        for value in headers.get_all(header::WARNING) {
            let text = String::from_utf8_lossy(value.as_bytes());
            for warning in Warning::parse_header(&text) {
                // 299 is the only code that API servers use for their users.
                if warning.code == 299 && !warning.text.is_empty() {
                    let mut seen = self.0.lock();
                    if seen.len() < MAX_REMEMBERED && seen.insert(warning.text.clone()) {
                        unseen.push(warning.text);
                    }
                }
            }
        }
        unseen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_told_once_and_foreign_codes_never() {
        let mut headers = HeaderMap::new();
        headers.append(
            header::WARNING,
            r#"299 - "v1 ComponentStatus is deprecated", 299 - "b""#.parse().unwrap(),
        );
        headers.append(header::WARNING, r#"110 proxy "stale""#.parse().unwrap());
        headers.append(header::WARNING, "garbage".parse().unwrap());
        let warnings = Warnings::default();
        assert_eq!(warnings.unseen(&headers), ["v1 ComponentStatus is deprecated", "b"]);
        assert!(warnings.unseen(&headers).is_empty());
    }
}
