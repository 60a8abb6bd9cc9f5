//! JSON read with the lengths of its arrays known beforehand, so that no `Vec` keeps room to spare.
//!
//! JSON does not tell how long an array is, so a `Vec` grows as it is read and ends with room for more: a sixth of
//! the memory of a pod. Here the lengths are counted first, in one quick pass, and handed to whoever reads an array
//! as its size hint. They are hints and nothing else: what is read, and what is refused, is serde_json's decision.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};

/// As [`serde_json::from_slice`].
pub(crate) fn from_slice<T: DeserializeOwned>(raw: &[u8]) -> serde_json::Result<T> {
    // Checked at once, it costs a fraction of a check of each string.
    let Ok(text) = std::str::from_utf8(raw) else { return serde_json::from_slice(raw) };
    let lengths = Lengths::of(raw);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = T::deserialize(Fitted { inner: &mut deserializer, lengths: &lengths });
    match read.and_then(|value| deserializer.end().map(|()| value)) {
        Ok(value) => Ok(value),
        // To pass over a value without reading it is more lenient in small ways.
        Err(_) => serde_json::from_slice(raw),
    }
}

/// How many elements each array has, in the order in which the arrays begin.
struct Lengths {
    lengths: Vec<u32>,
    next: Cell<usize>,
}

impl Lengths {
    /// Without branches for what is not asked: commas of objects are counted too, and forgotten.
    fn of(raw: &[u8]) -> Self {
        /// Stands for an object among the indexes of open arrays.
        const OBJECT: usize = usize::MAX;
        /// As deep as `serde_json` reads.
        const MAX_DEPTH: usize = 128;
        // Rather one allocation that is too large than several.
        let mut lengths: Vec<u32> = Vec::with_capacity(raw.len() / 128);
        let mut outer = Vec::with_capacity(32);
        let (mut open, mut commas) = (OBJECT, 0_u32);
        let mut rest = raw;
        while let [byte, behind @ ..] = rest {
            rest = behind;
            match byte {
                // Nothing deeper is read with these lengths.
                b'[' | b'{' if outer.len() == MAX_DEPTH => break,
                b'"' => rest = behind_string(rest),
                b',' => commas = commas.saturating_add(1),
                b'[' => {
                    outer.push((open, commas));
                    (open, commas) = (lengths.len(), 0);
                    rest = rest.trim_ascii_start();
                    lengths.push(u32::from(rest.first() != Some(&b']')));
                }
                b'{' => {
                    outer.push((open, commas));
                    open = OBJECT;
                }
                b']' | b'}' => {
                    if let Some(length) = lengths.get_mut(open) {
                        *length = length.saturating_add(commas);
                    }
                    (open, commas) = outer.pop().unwrap_or((OBJECT, 0));
                }
                _ => {}
            }
        }
        Self { lengths, next: Cell::new(0) }
    }

    /// The length of the array that begins now.
    fn take(&self) -> Option<usize> {
        let at = self.next.get();
        self.next.set(at + 1);
        self.lengths.get(at).and_then(|length| usize::try_from(*length).ok())
    }
}

/// What follows the closing quote. Eight bytes are looked at in one go, as most strings are not much longer.
#[inline]
fn behind_string(mut rest: &[u8]) -> &[u8] {
    while let Some((bytes, behind)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*bytes);
        let quotes = bytes_of(b'"', word);
        let first = (quotes | bytes_of(b'\\', word)).trailing_zeros();
        if first == u64::BITS {
            rest = behind;
            continue;
        }
        let at = (first / 8) as usize;
        if quotes >> first & 1 == 1 {
            return rest.get(at + 1..).unwrap_or_default();
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    let mut bytes = rest.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => break,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
    bytes.as_slice()
}

/// The high bit of each byte of `word` that equals `byte`; right up to the first of them, which is all that counts.
#[inline]
fn bytes_of(byte: u8, word: u64) -> u64 {
    const EACH: u64 = u64::MAX / 0xFF;
    let differences = word ^ (EACH * u64::from(byte));
    differences.wrapping_sub(EACH) & !differences & EACH << 7
}

/// Something of serde's, with the lengths at hand.
struct Fitted<'l, X> {
    inner: X,
    lengths: &'l Lengths,
}

impl<'l, X> Fitted<'l, X> {
    fn with<Y>(&self, inner: Y) -> Fitted<'l, Y> {
        Fitted { inner, lengths: self.lengths }
    }
}

macro_rules! forward_deserialize {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
                let visitor = self.with(visitor);
                self.inner.$method($($argument,)* visitor)
            }
        )*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Fitted<'_, D> {
    type Error = D::Error;

    forward_deserialize! {
        deserialize_any()
        deserialize_bool()
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64()
        deserialize_char() deserialize_str() deserialize_string()
        deserialize_bytes() deserialize_byte_buf()
        deserialize_option() deserialize_unit()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_seq()
        deserialize_tuple(length: usize)
        deserialize_tuple_struct(name: &'static str, length: usize)
        deserialize_map()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
        deserialize_identifier()
    }

    // Passing over a value would pass over arrays without noticing.
    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.deserialize_any(visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! forward_visit {
    ($($method:ident($($type:ty)?))*) => {
        $(
            #[inline]
            fn $method<E: serde::de::Error>(self $(, value: $type)?) -> Result<V::Value, E> {
                self.inner.$method($({ let value: $type = value; value })?)
            }
        )*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Fitted<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    forward_visit! {
        visit_bool(bool)
        visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128)
        visit_u8(u8) visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128)
        visit_f32(f32) visit_f64(f64)
        visit_char(char) visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
        visit_none() visit_unit()
    }

    #[inline]
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.visit_some(deserializer)
    }

    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.visit_newtype_struct(deserializer)
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        let left = self.lengths.take();
        let elements = Elements { inner: self.with(elements), left };
        self.inner.visit_seq(elements)
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        let entries = self.with(entries);
        self.inner.visit_map(entries)
    }

    #[inline]
    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        let variant = self.with(variant);
        self.inner.visit_enum(variant)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Fitted<'_, S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.deserialize(deserializer)
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fitted<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let seed = self.with(seed);
        self.inner.next_key_seed(seed)
    }

    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        let seed = self.with(seed);
        self.inner.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// The elements of an array, of which it is known how many are left.
struct Elements<'l, A> {
    inner: Fitted<'l, A>,
    left: Option<usize>,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        self.left = self.left.map(|left| left.saturating_sub(1));
        let seed = self.inner.with(seed);
        self.inner.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.left
    }
}

impl<'de, 'l, A: EnumAccess<'de>> EnumAccess<'de> for Fitted<'l, A> {
    type Error = A::Error;
    type Variant = Fitted<'l, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let seed = self.with(seed);
        let lengths = self.lengths;
        self.inner.variant_seed(seed).map(|(value, variant)| (value, Fitted { inner: variant, lengths }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Fitted<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.with(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.with(visitor);
        self.inner.tuple_variant(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.with(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}

#[cfg(test)]
mod tests;
