//! Does an HTTP/2 server say goodbye? hyper does not tell: what a stream learns when the connection closes after a
//! GOAWAY is that it broke.

const FRAME_HEAD: usize = 9;
const GO_AWAY: u8 = 0x7;
/// The last stream's number and the code.
const GO_AWAY_PAYLOAD: usize = 8;

/// Follows the frames that arrive, in whatever pieces, and keeps the code of the last GOAWAY.
#[derive(Debug, Default)]
pub(super) struct GoAway {
    /// The head of the frame that begins, and what matters of a GOAWAY.
    head: [u8; FRAME_HEAD + GO_AWAY_PAYLOAD],
    have: usize,
    /// How much of a frame's payload is to be passed over.
    skip: usize,
    code: Option<u32>,
}

impl GoAway {
    /// Whether there was a goodbye that is whole now.
    pub(super) fn see(&mut self, mut bytes: &[u8]) -> bool {
        let mut was_said = false;
        while !bytes.is_empty() {
            if self.skip > 0 {
                let passed = self.skip.min(bytes.len());
                self.skip -= passed;
                bytes = &bytes[passed..];
                continue;
            }
            let says_goodbye = self.have >= FRAME_HEAD && self.head[3] == GO_AWAY;
            let wanted = if says_goodbye { self.head.len() } else { FRAME_HEAD };
            let taken = (wanted - self.have).min(bytes.len());
            self.head[self.have..self.have + taken].copy_from_slice(&bytes[..taken]);
            self.have += taken;
            bytes = &bytes[taken..];
            if self.have < wanted {
                break;
            }
            let [high, middle, low, ..] = self.head.map(usize::from);
            let length = high << 16 | middle << 8 | low;
            if says_goodbye {
                let [.., a, b, c, d] = self.head;
                self.code = Some(u32::from_be_bytes([a, b, c, d]));
                was_said = true;
                self.skip = length - GO_AWAY_PAYLOAD;
            } else if self.head[3] == GO_AWAY && length >= GO_AWAY_PAYLOAD {
                continue;
            } else {
                self.skip = length;
            }
            self.have = 0;
        }
        was_said
    }

    /// Was the last goodbye a polite one, NO_ERROR?
    pub(super) fn is_polite(&self) -> bool {
        self.code == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, 0, 0, 0, 0, 1], payload].concat()
    }

    fn go_away(code: u32, debug: &[u8]) -> Vec<u8> {
        frame(GO_AWAY, &[&[0, 0, 0, 1], &code.to_be_bytes()[..], debug].concat())
    }

    #[test]
    fn goodbyes_are_found_among_other_frames_in_any_pieces() {
        // What looks like a goodbye within another frame is none.
        let data = frame(0, &go_away(0, b""));
        let long = frame(0, &vec![GO_AWAY; 300]);
        for (frames, goodbyes, polite) in [
            (vec![data.clone(), long.clone()], 0, false),
            (vec![frame(4, b""), data.clone(), go_away(0, b"")], 1, true),
            (vec![go_away(0, b"bye"), data.clone(), long], 1, true),
            (vec![go_away(0, b""), go_away(2, b"no")], 2, false),
            (vec![go_away(11, b"calm"), go_away(0, b"")], 2, true),
            (vec![frame(GO_AWAY, &[0; 3]), data], 0, false),
        ] {
            let bytes = frames.concat();
            for size in 1..=bytes.len() {
                let mut seen = GoAway::default();
                let said = bytes.chunks(size).filter(|piece| seen.see(piece)).count();
                assert!(said <= goodbyes && (said > 0) == (goodbyes > 0), "in pieces of {size}");
                assert_eq!(seen.is_polite(), polite, "in pieces of {size}");
            }
        }
    }
}
