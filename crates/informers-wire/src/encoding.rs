//! `Content-Encoding` of a body, undone while it arrives.

use bytes::Bytes;

use crate::Error;
use crate::gzip::Gzip;
use crate::input::Input;

/// Turns the pieces of a body as they come from the wire into pieces of content: unchanged, or from gzip.
///
/// A gzip body may have any number of members, as API servers write them when they compress a watch, and each
/// piece gives at once all that it completes. Content comes in pieces of at most [`ContentDecoder::MAX_PIECE`] and
/// only when asked for, so that a small body which unpacks to gigabytes costs no memory.
///
/// ```
/// use bytes::Bytes;
/// use informers_wire::{ContentDecoder, Error};
///
/// let mut decoder = ContentDecoder::from_header(None)?;
/// decoder.push(Bytes::from_static(b"{}"));
/// assert_eq!(decoder.next_chunk()?.unwrap(), "{}");
/// assert_eq!(decoder.next_chunk()?, None);
/// decoder.finish()?;
///
/// let refused = ContentDecoder::from_header(Some("zstd")).unwrap_err();
/// assert!(matches!(refused, Error::UnsupportedEncoding { encoding } if encoding == "zstd"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct ContentDecoder {
    input: Input,
    coding: Coding,
}

#[derive(Debug)]
enum Coding {
    Identity,
    Gzip(Box<Gzip>),
}

impl ContentDecoder {
    /// The largest piece of content given at once from a compressed body, in bytes: 64 KiB.
    pub const MAX_PIECE: usize = 64 * 1024;

    /// A decoder for the value of the `Content-Encoding` header: none, empty, `identity`, `gzip` or `x-gzip`, in
    /// any case.
    ///
    /// # Errors
    /// [`Error::UnsupportedEncoding`] for anything else, also for several encodings on top of each other.
    pub fn from_header(content_encoding: Option<&str>) -> Result<Self, Error> {
        let header = content_encoding.unwrap_or_default();
        let mut codings = header
            .split(',')
            .map(str::trim)
            .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"));
        let coding = match (codings.next(), codings.next()) {
            (None, _) => Coding::Identity,
            (Some(coding), None)
                if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") =>
            {
                Coding::Gzip(Box::new(Gzip::new()))
            }
            _ => return Err(Error::UnsupportedEncoding { encoding: header.trim().to_owned() }),
        };
        Ok(Self { input: Input::default(), coding })
    }

    /// Hands in the next piece of the body. Take the content with [`ContentDecoder::next_chunk`] before the next
    /// push, or the pieces pile up.
    pub fn push(&mut self, chunk: Bytes) {
        self.input.push(chunk);
    }

    /// The next piece of content, never empty; none when more of the body is needed.
    ///
    /// # Errors
    /// [`Error::Gzip`] if the body is damaged, and again on later calls. Content before the damage was given.
    pub fn next_chunk(&mut self) -> Result<Option<Bytes>, Error> {
        match &mut self.coding {
            Coding::Identity => {
                let length = self.input.front().map(Bytes::len);
                Ok(length.map(|length| self.input.take(length)))
            }
            Coding::Gzip(gzip) => gzip.next_chunk(&mut self.input),
        }
    }

    /// Ends the body. Take the content that is left first.
    ///
    /// # Errors
    /// [`Error::Gzip`] if the body ends inside a gzip member. For a watch this is one way a cut connection shows.
    pub fn finish(self) -> Result<(), Error> {
        match self.coding {
            Coding::Identity => Ok(()),
            Coding::Gzip(gzip) => gzip.finish(&self.input),
        }
    }
}

#[cfg(test)]
mod tests;
