//! `Warning` headers, by which an API server speaks of deprecated versions and doubtful requests.

use std::iter::Peekable;
use std::str::Chars;
use std::time::SystemTime;

use crate::encoded_word;

/// One warning of a response. Code 299 with a text is what Kubernetes sends, and what client-go logs.
///
/// ```
/// use informers_wire::Warning;
///
/// let header = r#"299 - "batch/v1beta1 CronJob is deprecated", 199 proxy "a \"quoted\" word""#;
/// let warnings = Warning::parse_header(header);
/// assert_eq!(warnings[0].code, 299);
/// assert_eq!(warnings[0].text, "batch/v1beta1 CronJob is deprecated");
/// assert_eq!(warnings[1].text, "a \"quoted\" word");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// Three digits; 299 for "miscellaneous persistent warning".
    pub code: u16,
    /// Who warns; `-` if not told.
    pub agent: String,
    /// For humans, with escapes and RFC 2047 encoded words decoded.
    pub text: String,
    /// When, where the header tells and the date can be read.
    pub date: Option<SystemTime>,
}

impl Warning {
    /// Reads one `Warning` header, which may hold several warnings. From the first malformed one on (one
    /// with control characters is), the rest of the header is skipped.
    pub fn parse_header(value: &str) -> Vec<Self> {
        let mut cursor = Cursor { chars: value.chars().peekable() };
        let mut warnings = Vec::new();
        while let Some(warning) = cursor.warning() {
            warnings.push(warning);
            if !cursor.eat(',') {
                break;
            }
        }
        warnings
    }
}

struct Cursor<'a> {
    chars: Peekable<Chars<'a>>,
}

impl Cursor<'_> {
    /// `code SP agent SP "text" [SP "date"]`, and behind it a comma or the end.
    fn warning(&mut self) -> Option<Warning> {
        self.skip_spaces();
        let code = self.word();
        if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.skip_spaces();
        let agent = self.word();
        if agent.is_empty() || agent.contains(|c: char| matches!(c, '"' | ',') || c.is_control()) {
            return None;
        }
        self.skip_spaces();
        let text = self.quoted()?;
        self.skip_spaces();
        let date = if self.chars.peek() == Some(&'"') {
            let date = self.quoted()?;
            self.skip_spaces();
            httpdate::parse_http_date(&date).ok()
        } else {
            None
        };
        if self.chars.peek().is_some_and(|&next| next != ',') {
            return None;
        }
        let text = encoded_word::decode(&text);
        // It goes into logs, where a line break or a terminal sequence would do harm.
        if text.contains(char::is_control) {
            return None;
        }
        Some(Warning { code: code.parse().ok()?, agent, text, date })
    }

    fn skip_spaces(&mut self) {
        while self.chars.next_if(|next| matches!(next, ' ' | '\t')).is_some() {}
    }

    fn word(&mut self) -> String {
        std::iter::from_fn(|| self.chars.next_if(|next| !matches!(next, ' ' | '\t'))).collect()
    }

    fn quoted(&mut self) -> Option<String> {
        if !self.eat('"') {
            return None;
        }
        let mut text = String::new();
        loop {
            match self.chars.next()? {
                '"' => return Some(text),
                '\\' => text.push(self.chars.next()?),
                other => text.push(other),
            }
        }
    }

    fn eat(&mut self, expected: char) -> bool {
        self.chars.next_if_eq(&expected).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn texts(header: &str) -> Vec<String> {
        Warning::parse_header(header).into_iter().map(|warning| warning.text).collect()
    }

    #[test]
    fn single_and_many() {
        assert_eq!(texts(r#"299 - "a""#), ["a"]);
        assert_eq!(texts(r#"  299   -   "a" ,299 agent:80 "b, c"  "#), ["a", "b, c"]);
        assert_eq!(texts(r#"299 - """#), [""]);
        assert_eq!(texts(r#"299 - "a\\b\"c\d""#), [r#"a\b"cd"#]);
    }

    #[test]
    fn dates() {
        let warnings =
            Warning::parse_header(r#"299 - "a" "Sun, 06 Nov 1994 08:49:37 GMT", 299 - "b" "once""#);
        let date = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(warnings.iter().map(|warning| warning.date).collect::<Vec<_>>(), [Some(date), None]);
    }

    #[test]
    fn the_rest_behind_a_malformed_one_is_skipped() {
        let good = r#"299 - "a""#;
        for bad in [
            r#"29 - "b""#,
            r#"2999 - "b""#,
            r#"abc - "b""#,
            "299",
            "299 -",
            r#"299 "b""#,
            "299 - b",
            r#"299 - "b"#,
            r#"299 - "b\"#,
            r#"299 - "b" x"#,
            "299 - \"b\u{1b}[2J\"",
            r#"299 - "=?utf-8?q?b=0Ac?=""#,
            "299 a\u{7} \"b\"",
            "",
        ] {
            assert_eq!(texts(&format!("{good},{bad}")), ["a"], "{bad}");
            assert!(texts(&format!("{bad},{good}")).is_empty(), "{bad}");
        }
    }

    #[test]
    fn encoded_words() {
        assert_eq!(
            texts(r#"299 - "=?utf-8?q?caf=C3=A9_au_lait?= =?UTF-8?B?4piV?= x""#),
            ["café au lait☕ x"]
        );
    }
}
