//! Text that is no Unicode, as it may stand in JSON.

/// U+FFFD in UTF-8.
const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();
/// U+FFFD as an escape of JSON.
const ESCAPED_REPLACEMENT: &[u8] = br"\ufffd";

/// `json` with the replacement character in the place of what is no Unicode: bytes that are no UTF-8, and escapes of
/// surrogates without the other half. None if there is nothing to replace.
///
/// Go reads such text so, and with it API servers and client-go; `serde_json` refuses it. A decoder that reads with
/// `serde_json` may try once more with what this gives, when it has failed. Needs the feature `json`.
///
/// ```
/// use informers_core::replace_invalid_text;
///
/// let mended = replace_invalid_text(br#"{"text":"a\ud83db"}"#).unwrap();
/// assert_eq!(mended, br#"{"text":"a\ufffdb"}"#);
/// assert_eq!(replace_invalid_text(br#"{"text":"\ud83d\ude00"}"#), None);
/// ```
#[must_use]
pub fn replace_invalid_text(json: &[u8]) -> Option<Vec<u8>> {
    let mut mended = Vec::new();
    let mut is_changed = false;
    for chunk in json.utf8_chunks() {
        is_changed |= put_text(chunk.valid().as_bytes(), &mut mended);
        // One for each byte, as Go has it.
        for _ in chunk.invalid() {
            is_changed = true;
            mended.extend_from_slice(REPLACEMENT);
        }
    }
    is_changed.then_some(mended)
}

/// Copies text, with surrogates that stand alone replaced. Was there one?
fn put_text(mut text: &[u8], mended: &mut Vec<u8>) -> bool {
    let mut is_changed = false;
    while let Some(at) = text.iter().position(|&byte| byte == b'\\') {
        let (before, escape) = text.split_at(at);
        mended.extend_from_slice(before);
        let is_high = is_surrogate(escape, b"89ab");
        let is_pair = is_high && escape.get(6..).is_some_and(|next| is_surrogate(next, b"cdef"));
        let is_alone = !is_pair && (is_high || is_surrogate(escape, b"cdef"));
        // Any other escape is passed with what it escapes, so that an escaped backslash begins none.
        let length = match (is_pair, is_alone) {
            (true, _) => 12,
            (_, true) => 6,
            _ => 2,
        };
        let (escape, rest) = escape.split_at(length.min(escape.len()));
        mended.extend_from_slice(if is_alone { ESCAPED_REPLACEMENT } else { escape });
        is_changed |= is_alone;
        text = rest;
    }
    mended.extend_from_slice(text);
    is_changed
}

/// Does an escape like `\ud83d` begin here, with its second digit among these?
fn is_surrogate(text: &[u8], second_digits: &[u8]) -> bool {
    let [b'\\', b'u', b'd' | b'D', second, third, fourth, ..] = text else { return false };
    second_digits.contains(&second.to_ascii_lowercase())
        && third.is_ascii_hexdigit()
        && fourth.is_ascii_hexdigit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_unicode_is_replaced_and_nothing_else() {
        for (text, mended) in [
            (&b"\"a\xFFb\""[..], Some("\"a\u{FFFD}b\"")),
            (b"\"\xE6\xB1\"", Some("\"\u{FFFD}\u{FFFD}\"")),
            (br#""\ud83d""#, Some(r#""\ufffd""#)),
            (br#""\uDE00\uD83D""#, Some(r#""\ufffd\ufffd""#)),
            (br#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (br#""\ud83d\n\u0041""#, Some(r#""\ufffd\n\u0041""#)),
            (br#""\ud83d\ude00 \u00e9 \\ud83d \" \\\\ud83d""#, None),
            (br#""\ud83""#, None),
            (br#""\"#, None),
            ("\"\u{6c49}\u{1f600}\"".as_bytes(), None),
            (b"", None),
        ] {
            let found = replace_invalid_text(text);
            assert_eq!(found.as_deref(), mended.map(str::as_bytes), "{}", text.escape_ascii());
        }
    }
}
