//! The text of a file: UTF-8, or UTF-16 as some editors of Windows save it.

use std::path::Path;

use crate::ClientError;

pub(super) fn decode(bytes: &[u8], path: &Path) -> Result<String, ClientError> {
    let text = match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        // UTF-16 without its mark: a kubeconfig begins with an ASCII character.
        [first, 0, ..] if *first != 0 => utf16(bytes, u16::from_le_bytes),
        [0, first, ..] if *first != 0 => utf16(bytes, u16::from_be_bytes),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    };
    text.ok_or_else(|| {
        let problem = "the kubeconfig file is neither UTF-8 nor UTF-16 text";
        ClientError::configuration(path.display().to_string(), problem)
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    rest.is_empty().then(|| String::from_utf16(&units).ok()).flatten()
}
