//! Finds where one JSON value ends, without parsing it and without going back.
//!
//! Containers are looked at 64 bytes at a time: one bit per byte for quotes, backslashes and brackets, then a
//! prefix XOR over the unescaped quotes tells which brackets stand inside strings. There is no branch per token,
//! which is what keeps it above a gigabyte a second on the short strings that Kubernetes objects are made of.

const BLOCK: usize = 64;
const ODD_BITS: u64 = 0xAAAA_AAAA_AAAA_AAAA;

/// What the scanner knows of the value so far.
#[derive(Clone, Copy, Debug, Default)]
enum Shape {
    /// No byte seen yet.
    #[default]
    Unknown,
    /// An object or an array.
    Container,
    String,
    /// A number or one of the three words; ends before the next delimiter.
    Scalar,
}

/// Scanner of one value that may arrive in any number of pieces. Every byte is looked at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueScanner {
    shape: Shape,
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// How much of the value was in earlier pieces.
    before: u64,
    /// Where the first container inside the container ended, counted from the start of the value.
    inner_end: Option<u64>,
    scanned: u64,
}

impl ValueScanner {
    /// Looks at the next piece. `Some(n)`: the value ends after `n` bytes of it, and the scanner is ready for the
    /// next value. `None`: the whole piece belongs to the value, which goes on.
    ///
    /// The first byte of a value must not be white space.
    pub(crate) fn scan(&mut self, piece: &[u8]) -> Option<usize> {
        let end = self.find_end(piece);
        let length = end.unwrap_or(piece.len()) as u64;
        self.scanned += length;
        self.before += length;
        if end.is_some() {
            // What was found in a value can be asked for until the next one begins.
            *self = Self { scanned: self.scanned, inner_end: self.inner_end, ..Self::default() };
        }
        end
    }

    /// Where the first object or array inside the value ended, counted from the start of the value; for the value
    /// being read, or the one read last. None if it holds neither, or is itself neither.
    pub(crate) fn inner_end(&self) -> Option<u64> {
        self.inner_end
    }

    /// Whether the value being read stands inside a string.
    pub(crate) fn is_in_string(&self) -> bool {
        self.in_string
    }

    /// Leaves the value being read unfinished, and is ready for the next one.
    pub(crate) fn leave(&mut self) {
        *self = Self { scanned: self.scanned, ..Self::default() };
    }

    /// How many bytes were looked at since the scanner was made: the measure of "linear time".
    #[cfg(test)]
    pub(crate) fn scanned(&self) -> u64 {
        self.scanned
    }

    fn find_end(&mut self, piece: &[u8]) -> Option<usize> {
        let mut at = 0;
        if let Shape::Unknown = self.shape {
            self.inner_end = None;
            self.shape = match piece.first()? {
                b'{' | b'[' => {
                    self.depth = 1;
                    Shape::Container
                }
                b'"' => {
                    self.in_string = true;
                    Shape::String
                }
                _ => Shape::Scalar,
            };
            at = 1;
        }
        match self.shape {
            Shape::Container => self.container_end(piece, at),
            Shape::String => self.string_end(piece, at),
            _ => piece.iter().skip(at).position(|&byte| ends_scalar(byte)).map(|length| at + length),
        }
    }

    fn container_end(&mut self, piece: &[u8], mut at: usize) -> Option<usize> {
        while let Some(block) = piece.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
            let (open, close) = self.brackets(block);
            // The depth at which something is to be noted.
            let floor = u64::from(self.inner_end.is_none());
            if u64::from(close.count_ones()) + floor < self.depth {
                // Even if all closing brackets came first, nothing would end here.
                self.depth = self.depth + u64::from(open.count_ones()) - u64::from(close.count_ones());
            } else {
                let mut left = open | close;
                while left != 0 {
                    let bit = left & left.wrapping_neg();
                    if open & bit != 0 {
                        self.depth += 1;
                    } else {
                        let end = at + bit.trailing_zeros() as usize + 1;
                        if self.close(end) {
                            return Some(end);
                        }
                    }
                    left ^= bit;
                }
            }
            at += BLOCK;
        }
        self.container_end_bytewise(piece, at)
    }

    fn container_end_bytewise(&mut self, piece: &[u8], at: usize) -> Option<usize> {
        for (index, &byte) in piece.iter().enumerate().skip(at) {
            // A backslash outside a string is no JSON; like the blocks, it hides a quote there, but no bracket.
            let escaped = std::mem::take(&mut self.escaped);
            match byte {
                b'"' => self.in_string ^= !escaped,
                b'\\' => self.escaped = !escaped,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.close(index + 1) => return Some(index + 1),
                _ => {}
            }
        }
        None
    }

    /// A container ends before `end` of the piece. Was it the value itself?
    #[inline]
    fn close(&mut self, end: usize) -> bool {
        self.depth -= 1;
        if self.depth == 1 && self.inner_end.is_none() {
            self.inner_end = Some(self.before + end as u64);
        }
        self.depth == 0
    }

    fn string_end(&mut self, piece: &[u8], mut at: usize) -> Option<usize> {
        while at < piece.len() {
            if self.escaped {
                self.escaped = false;
                at += 1;
                continue;
            }
            let found = at + memchr::memchr2(b'"', b'\\', piece.get(at..)?)?;
            at = found + 1;
            if piece.get(found) == Some(&b'"') {
                return Some(at);
            }
            self.escaped = true;
        }
        None
    }

    /// Bits of the opening and of the closing brackets outside strings.
    fn brackets(&mut self, block: &[u8; BLOCK]) -> (u64, u64) {
        let backslashes = bits(block, |byte| byte == b'\\');
        let escaped = if backslashes == 0 {
            u64::from(std::mem::take(&mut self.escaped))
        } else {
            self.escaped_bytes(backslashes)
        };
        let quotes = bits(block, |byte| byte == b'"') & !escaped;
        let carried = if self.in_string { u64::MAX } else { 0 };
        let in_string = prefix_xor(quotes) ^ carried;
        self.in_string = in_string >> (BLOCK - 1) != 0;
        // `[` and `{`, `]` and `}` differ in one bit.
        let open = bits(block, |byte| byte | 0x20 == b'{') & !in_string;
        let close = bits(block, |byte| byte | 0x20 == b'}') & !in_string;
        (open, close)
    }

    /// Bits of the bytes that stand behind an odd run of backslashes. Subtraction carries through a run, so that
    /// the parity of its start decides which end is escaped.
    fn escaped_bytes(&mut self, backslashes: u64) -> u64 {
        let carried = u64::from(self.escaped);
        let candidates = (backslashes & !carried) << 1;
        let marks = (candidates | ODD_BITS).wrapping_sub(backslashes & !carried) ^ ODD_BITS;
        self.escaped = (marks & backslashes) >> (BLOCK - 1) != 0;
        marks ^ (backslashes | carried)
    }
}

fn ends_scalar(byte: u8) -> bool {
    matches!(byte, b',' | b']' | b'}' | b':' | b'"' | b'[' | b'{') || is_space(byte)
}

/// JSON white space.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// May a JSON value begin with this byte?
pub(crate) fn begins_value(byte: u8) -> bool {
    matches!(byte, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
}

/// One bit per byte. The first loop becomes vector compares; the multiplication gathers eight 0/1 bytes into
/// eight bits.
#[inline(always)]
fn bits(block: &[u8; BLOCK], is: impl Fn(u8) -> bool) -> u64 {
    let mut flags = [0_u8; BLOCK];
    for (flag, &byte) in flags.iter_mut().zip(block) {
        *flag = u8::from(is(byte));
    }
    let mut out = 0;
    let (words, _) = flags.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        out |= (u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index);
    }
    out
}

#[inline(always)]
fn prefix_xor(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^ (bits << 32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same answer, one byte at a time.
    fn naive_end(piece: &[u8]) -> Option<usize> {
        let mut scanner = ValueScanner::default();
        piece.iter().position(|byte| scanner.scan(&[*byte]).is_some()).map(|index| index + 1)
    }

    #[test]
    fn ends_of_values() {
        for (text, end) in [
            (r#"{"a":"}"} "#, 9),
            (r#"[[],{"b":["]"]}],"#, 16),
            (r#""a\"b\\","#, 8),
            ("12.5e3,", 6),
            ("null}", 4),
            ("true ", 4),
        ] {
            assert_eq!(ValueScanner::default().scan(text.as_bytes()), Some(end), "{text}");
        }
        assert_eq!(ValueScanner::default().scan(b"{\"a\":1"), None);
    }

    #[test]
    fn a_scalar_may_end_with_the_piece_before() {
        let mut scanner = ValueScanner::default();
        assert_eq!(scanner.scan(b"nul"), None);
        assert_eq!(scanner.scan(b"l"), None);
        assert_eq!(scanner.scan(b",{"), Some(0));
        assert_eq!(scanner.scanned(), 4);
    }

    #[test]
    fn the_end_of_the_first_container_inside_is_noted() {
        let long = "x".repeat(200);
        for (text, inner) in [
            (r#"{"a":{"b":[{}]},"c":{}}"#.to_owned(), Some(15)),
            (format!(r#"{{"a":"{{}}{long}","b":["{long}",[]]}}"#), Some(421)),
            (format!(r#"["{long}"]"#), None),
            (r#""{[]}""#.to_owned(), None),
        ] {
            for size in [1, 7, 64, 65, text.len()] {
                let mut scanner = ValueScanner::default();
                // One that went before leaves nothing behind.
                scanner.scan(b"{\"a\":{}}");
                let ends: Vec<_> =
                    text.as_bytes().chunks(size).filter_map(|piece| scanner.scan(piece)).collect();
                assert_eq!((ends.len(), scanner.inner_end()), (1, inner), "{text} by {size}");
            }
        }
    }

    #[test]
    fn backslash_runs_over_block_borders() {
        for run in 0..140 {
            for shift in 0..70 {
                let mut text = format!("{{\"{}{}\"", "x".repeat(shift), "\\".repeat(run));
                // An odd run escapes the quote, so the string needs another one.
                if run % 2 == 1 {
                    text.push('"');
                }
                text.push('}');
                let end = text.len();
                text.push_str(&"]}\"".repeat(40));
                assert_eq!(ValueScanner::default().scan(text.as_bytes()), Some(end), "{run} {shift}");
            }
        }
    }

    proptest! {
        #![proptest_config(crate::generators::seeded())]

        #[test]
        fn blocks_agree_with_bytes(body in prop::collection::vec(prop::sample::select(b"{}[]\"\\\\ab,: ".to_vec()), 0..400)) {
            let mut text = b"{".to_vec();
            text.extend(body);
            prop_assert_eq!(ValueScanner::default().scan(&text), naive_end(&text));
        }
    }
}
