//! RFC 2047 encoded words, the way a header carries text beyond ASCII.

/// Decodes every `=?charset?encoding?data?=` of the text; one that cannot be decoded stays as it is. White space
/// between two of them is dropped, as the RFC asks.
pub(crate) fn decode(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let mut after_word = false;
    while let Some(start) = rest.find("=?") {
        let (plain, candidate) = rest.split_at(start);
        let Some((word, length)) = encoded_word(candidate) else {
            let (kept, next) = rest.split_at(start + 2);
            out.push_str(kept);
            rest = next;
            after_word = false;
            continue;
        };
        if !(after_word && plain.trim().is_empty()) {
            out.push_str(plain);
        }
        out.push_str(&word);
        rest = candidate.get(length..).unwrap_or_default();
        after_word = true;
    }
    out.push_str(rest);
    out
}

/// The decoded word at the start of `text`, and its length in bytes.
fn encoded_word(text: &str) -> Option<(String, usize)> {
    let mut parts = text.strip_prefix("=?")?.splitn(3, '?');
    let (charset, encoding, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let data = rest.get(..rest.find("?=")?)?;
    let bytes = match encoding {
        "q" | "Q" => quoted(data)?,
        "b" | "B" => base64(data)?,
        _ => return None,
    };
    let word = match charset.to_ascii_lowercase().as_str() {
        "utf-8" | "us-ascii" => String::from_utf8(bytes).ok()?,
        "iso-8859-1" => bytes.into_iter().map(char::from).collect(),
        _ => return None,
    };
    Some((word, 2 + charset.len() + 1 + encoding.len() + 1 + data.len() + 2))
}

fn quoted(data: &str) -> Option<Vec<u8>> {
    let mut bytes = data.bytes();
    let mut out = Vec::with_capacity(data.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'_' => b' ',
            b'=' => {
                let high = char::from(bytes.next()?).to_digit(16)?;
                let low = char::from(bytes.next()?).to_digit(16)?;
                u8::try_from(high << 4 | low).ok()?
            }
            other => other,
        });
    }
    Some(out)
}

fn base64(data: &str) -> Option<Vec<u8>> {
    let digits = data.trim_end_matches('=');
    if digits.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in digits.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xFF).ok()?);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn decodes_both_encodings() {
        assert_eq!(decode("=?utf-8?Q?a=3Db_c?="), "a=b c");
        assert_eq!(decode("=?utf-8?b?aGVsbG8=?="), "hello");
        assert_eq!(decode("=?utf-8?b?aGVsbG8h?="), "hello!");
        assert_eq!(decode("=?ISO-8859-1?Q?caf=E9?="), "café");
        assert_eq!(decode("x =?utf-8?Q?a?=\t=?utf-8?Q?b?= y"), "x ab y");
    }

    #[test]
    fn leaves_what_it_cannot_decode() {
        for text in [
            "plain",
            "=?",
            "a =?utf-8?X?abc?= b",
            "=?koi8-r?Q?abc?=",
            "=?utf-8?Q?=ZZ?=",
            "=?utf-8?B?a?=",
            "=?utf-8?B?a*bc?=",
            "=?utf-8?Q?=FF?=",
            "=?utf-8?Q?open",
        ] {
            assert_eq!(decode(text), text);
        }
    }
}
