//! What stands for a text of any length in a map.

use std::hash::{BuildHasher as _, Hash, RandomState};

/// Equal things have equal fingerprints; that two different ones have is not to be expected in any lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint([u64; 2]);

/// Two keyed hashes, whose keys nobody can guess.
#[derive(Debug, Default)]
pub(super) struct Fingerprints([RandomState; 2]);

impl Fingerprints {
    pub(super) fn of(&self, thing: &impl Hash) -> Fingerprint {
        Fingerprint(self.0.each_ref().map(|keys| keys.hash_one(thing)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_things_have_equal_fingerprints() {
        let fingerprints = Fingerprints::default();
        let of = |texts: (&str, &str)| fingerprints.of(&texts);
        assert_eq!(of(("a", "bc")), of(("a", "bc")));
        assert_ne!(of(("a", "bc")), of(("ab", "c")));
        let Fingerprint([one, other]) = of(("a", "bc"));
        assert_ne!(one, other, "the two halves have keys of their own");
    }
}
