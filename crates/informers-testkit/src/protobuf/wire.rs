//! The wire format of protocol buffers.

/// The value of a field as it is on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wire<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    /// Four or eight bytes, which Kubernetes' types hardly use.
    Fixed(&'a [u8]),
}

impl Wire<'_> {
    /// Whether it says no more than that it is there.
    pub(super) fn is_nothing(&self) -> bool {
        match self {
            Self::Varint(number) => *number == 0,
            Self::Bytes(bytes) => is_empty(bytes),
            Self::Fixed(bytes) => bytes.iter().all(|&byte| byte == 0),
        }
    }
}

/// Whether all fields of a message are empty.
pub(super) fn is_empty(message: &[u8]) -> bool {
    Fields(message).all(|field| field.is_some_and(|(_, wire)| wire.is_nothing()))
}

/// The fields of a message in their order, by number; none at the place where it is broken.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u64, Wire<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Wire<'a>)> {
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed(self.take(8)?),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Fixed(self.take(4)?),
            _ => return None,
        };
        Some((tag >> 3, wire))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}
