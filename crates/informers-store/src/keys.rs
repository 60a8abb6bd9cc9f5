//! The text of all keys once more, close together.

use std::ops::Range;

/// Keys per chunk of text.
const CHUNK: usize = 64;

/// The length that stands for "not copied, since a chunk has no room for it". Names in Kubernetes have at most 253
/// bytes, and a chunk takes 64 KiB.
const LONG: u16 = u16::MAX;

/// The keys of all entries by place.
///
/// The text that an entry has of its key lies wherever it was decoded. A look-up compares keys, so it reads a
/// copy among its neighbours instead of following two pointers. Chunks are small, so that no write ever has much
/// to tidy up.
#[derive(Default)]
pub(crate) struct Keys {
    spans: Vec<Span>,
    chunks: Vec<Chunk>,
}

/// Where a key's text is in its chunk: small, so that many share a cache line.
#[derive(Clone, Copy)]
struct Span {
    start: u16,
    len: u16,
}

#[derive(Default)]
struct Chunk {
    text: Vec<u8>,
    /// Bytes of keys that are gone.
    dead: usize,
}

impl Keys {
    pub(crate) fn with_capacity(keys: usize) -> Self {
        Self { spans: Vec::with_capacity(keys), chunks: Vec::with_capacity(keys.div_ceil(CHUNK)) }
    }

    /// Whether this is the key at a place; false if there is no such place. None if only the entry can tell.
    #[inline]
    pub(crate) fn is(&self, at: usize, key: &str) -> Option<bool> {
        let Some(span) = self.spans.get(at) else { return Some(false) };
        let text = &self.chunks[at / CHUNK].text;
        (span.len != LONG).then(|| text.get(span.range()) == Some(key.as_bytes()))
    }

    pub(crate) fn push(&mut self, key: &str) {
        let at = self.spans.len();
        if at.is_multiple_of(CHUNK) {
            self.chunks.push(Chunk::default());
        }
        let span = self.chunks[at / CHUNK].append(key.as_bytes(), CHUNK - at % CHUNK);
        self.spans.push(span);
    }

    /// Takes one out; the last one, whose text is `last_key`, takes its place.
    pub(crate) fn swap_remove(&mut self, at: usize, last_key: &str) {
        let last = self.spans.len() - 1;
        self.forget(last);
        self.spans.pop();
        if last.is_multiple_of(CHUNK) {
            self.chunks.pop();
        }
        if at < last {
            self.forget(at);
            self.spans[at] = self.chunks[at / CHUNK].append(last_key.as_bytes(), 1);
        }
    }

    /// Gives up the text of a place, and tidies the chunk up where more is dead than alive.
    fn forget(&mut self, at: usize) {
        let span = &mut self.spans[at];
        let chunk = &mut self.chunks[at / CHUNK];
        chunk.dead += span.range().len();
        span.len = 0;
        if chunk.dead <= chunk.text.len() / 2 {
            return;
        }
        let old = std::mem::take(&mut chunk.text);
        chunk.dead = 0;
        chunk.text.reserve_exact(old.len());
        for span in self.spans[at / CHUNK * CHUNK..].iter_mut().take(CHUNK) {
            let range = span.range();
            // What is left is less than half of what two u16 can reach.
            span.start = chunk.text.len() as u16;
            chunk.text.extend_from_slice(&old[range]);
        }
    }
}

impl Chunk {
    /// `more`: how many keys like this one may still come.
    fn append(&mut self, key: &[u8], more: usize) -> Span {
        let (Ok(start), Ok(len)) = (u16::try_from(self.text.len()), u16::try_from(key.len())) else {
            return Span { start: 0, len: LONG };
        };
        if len == LONG {
            return Span { start: 0, len };
        }
        if self.text.capacity() - self.text.len() < key.len() {
            self.text.reserve_exact((more * key.len()).min(usize::from(u16::MAX)).max(key.len()));
        }
        self.text.extend_from_slice(key);
        Span { start, len }
    }
}

impl Span {
    fn range(self) -> Range<usize> {
        let start = usize::from(self.start);
        start..start + if self.len == LONG { 0 } else { usize::from(self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> String {
        match n % 50 {
            7 => "long".repeat(20_000) + &n.to_string(),
            // Of these a chunk has room for some only.
            3 | 13 | 23 | 33 | 43 => "wide".repeat(4_000) + &n.to_string(),
            _ => format!("ns-{}/pod-{n}", n % 3),
        }
    }

    fn check(keys: &Keys, model: &[String]) {
        assert_eq!(keys.spans.len(), model.len());
        assert_eq!(keys.chunks.len(), model.len().div_ceil(CHUNK));
        for (at, key) in model.iter().enumerate() {
            let copied = keys.spans[at].len != LONG;
            assert!(!copied || key.len() < usize::from(LONG));
            assert_eq!(keys.is(at, key), copied.then_some(true), "{at}");
            assert_eq!(keys.is(at, "other"), copied.then_some(false));
        }
        for key in ["", "other"] {
            assert_eq!(keys.is(model.len(), key), Some(false));
        }
    }

    #[test]
    fn behaves_as_a_vector_and_keeps_little_dead_text() {
        let (mut keys, mut model) = (Keys::default(), Vec::new());
        let mut next = 0;
        let mut random = 7_usize;
        for round in 0..40 {
            for _ in 0..50 {
                keys.push(&key(next));
                model.push(key(next));
                next += 1;
            }
            for _ in 0..if round < 20 { 30 } else { 65 } {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if let Some(last) = model.last().cloned() {
                    let at = (random >> 33) % model.len();
                    keys.swap_remove(at, &last);
                    model.swap_remove(at);
                }
            }
            check(&keys, &model);
        }
        let wide = (0..model.len()).filter(|&at| model[at].starts_with("wide"));
        let copied: Vec<_> = wide.map(|at| keys.spans[at].len != LONG).collect();
        assert!(copied.contains(&true) && copied.contains(&false));
        for chunk in &keys.chunks {
            assert!(chunk.dead <= chunk.text.len() / 2);
        }
        while let Some(last) = model.last().cloned() {
            keys.swap_remove(0, &last);
            model.swap_remove(0);
        }
        check(&keys, &[]);
    }
}
