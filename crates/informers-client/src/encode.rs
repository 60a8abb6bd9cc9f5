//! Text inside URLs and header names.

use std::fmt::Write as _;

/// Appends `text` so that it is one value of a query.
fn push_encoded(out: &mut String, text: &str, is_plain: fn(u8) -> bool) {
    for byte in text.bytes() {
        if is_plain(byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// A query, built name by name; empty values are left out.
#[derive(Debug, Default)]
pub(crate) struct Query(String);

impl Query {
    pub(crate) fn put(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.0.push(if self.0.is_empty() { '?' } else { '&' });
            self.0.push_str(name);
            self.0.push('=');
            push_encoded(&mut self.0, value, is_unreserved);
        }
    }

    pub(crate) fn put_number(&mut self, name: &str, value: u64) {
        if value != 0 {
            self.put(name, &value.to_string());
        }
    }

    pub(crate) fn put_true(&mut self, name: &str, value: bool) {
        if value {
            self.put(name, "true");
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// One segment of a path.
pub(crate) fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_encoded(&mut out, text, |byte| {
        is_unreserved(byte) || matches!(byte, b':' | b'@' | b'$' | b'&' | b'+' | b'=' | b',' | b';' | b'!')
    });
    out
}

/// A key as part of a header's name: lower case, other characters than those of a token encoded.
pub(crate) fn header_key(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_encoded(&mut out, &text.to_lowercase(), |byte| {
        byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte)
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped_and_empty_ones_left_out() {
        let mut query = Query::default();
        query.put("labelSelector", "app in (a,b),!c");
        query.put("fieldSelector", "");
        query.put_number("limit", 0);
        query.put_number("limit", 500);
        query.put_true("watch", true);
        assert_eq!(query.as_str(), "?labelSelector=app%20in%20%28a%2Cb%29%2C%21c&limit=500&watch=true");
    }

    #[test]
    fn a_name_is_one_segment() {
        assert_eq!(segment("system:node?x/é"), "system:node%3Fx%2F%C3%A9");
        assert_eq!(header_key("Example.com/Scope %"), "example.com%2fscope%20%25".replace("%2f", "%2F"));
    }
}
