//! JSON that is nested deeper than serde_json reads by itself.

use serde::de::DeserializeOwned;

/// serde_json reads what is nested less deeply than this without help.
const USUAL_DEPTH: usize = 128;
/// Nothing deeper is read: whoever drops, clones or compares it needs stack for each level, on threads that are not
/// ours.
const GREATEST_DEPTH: usize = 512;
/// Enough for one level, also without optimization.
const STACK_OF_LEVEL: usize = 32 << 10;
/// What is needed whatever the depth.
const STACK: usize = 1 << 20;

/// Reads an object that is nested too deeply for the usual way, on a thread with a stack that is large enough. None
/// if it is not too deep for that, or too deep even for this.
pub(crate) fn from_slice<T: DeserializeOwned + Send>(raw: &[u8]) -> Option<serde_json::Result<T>> {
    let depth = depth(raw);
    if !(USUAL_DEPTH..=GREATEST_DEPTH).contains(&depth) {
        return None;
    }
    let read = || {
        let mut deserializer = serde_json::Deserializer::from_slice(raw);
        deserializer.disable_recursion_limit();
        T::deserialize(&mut deserializer).and_then(|object| deserializer.end().map(|()| object))
    };
    std::thread::scope(|scope| {
        let stack = STACK + depth * STACK_OF_LEVEL;
        let thread = std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, read).ok()?;
        // A panic is the type's own, and is handled where decoders are called.
        Some(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// How deep the innermost object or array stands.
fn depth(raw: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in raw {
        match byte {
            _ if std::mem::take(&mut is_escaped) => {}
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_counted_outside_strings() {
        for (raw, expected) in
            [("1", 0), ("{}", 1), (r#"{"a":[{}],"b":[[]]}"#, 3), (r#"{"[[[\"[":"]"}"#, 1), ("]]{[", 2)]
        {
            assert_eq!(depth(raw.as_bytes()), expected, "{raw}");
        }
    }
}
