//! From the hash of a key to its place.

/// A hash and a place take eight bytes, and this many fill a cache line.
const LINE: usize = 8;

/// In a slot instead of a place, which is kept as the number after it.
const FREE: u32 = 0;

/// Places by the hashes of their keys.
///
/// Made so that a look-up waits for one cache line: that of its hash has the hash and the place of seven out of eight
/// entries or more. What finds its line full goes to the next one that is not.
#[derive(Default)]
pub(crate) struct Table {
    /// A power of two of them, or none. At least one in eight slots is free, so a line that is not full is always found.
    lines: Vec<Line>,
    len: usize,
}

/// Filled from the front.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line {
    hashes: [u32; LINE],
    slots: [u32; LINE],
}

impl Table {
    pub(crate) fn with_capacity(places: usize) -> Self {
        match places {
            0 => Self::default(),
            _ => Self::of_lines(places.div_ceil(LINE - 1).next_power_of_two()),
        }
    }

    fn of_lines(lines: usize) -> Self {
        Self { lines: vec![Line { hashes: [0; LINE], slots: [FREE; LINE] }; lines], len: 0 }
    }

    /// The place with this hash of which `is` holds. It may be asked about places that are not in the table.
    #[inline]
    pub(crate) fn find(&self, hash: u32, is: impl Fn(u32) -> bool) -> Option<u32> {
        let line = self.lines.get(self.home(hash))?;
        let slot = line.only_with(hash);
        if slot != FREE && is(slot - 1) {
            return Some(slot - 1);
        }
        if slot == FREE && !line.is_full() { None } else { self.search(hash, is) }
    }

    /// The same, slot by slot.
    #[cold]
    fn search(&self, hash: u32, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        loop {
            let line = self.lines.get(at)?;
            if let Some((_, place)) = line.iter().find(|&(own, place)| own == hash && is(place)) {
                return Some(place);
            }
            if !line.is_full() {
                return None;
            }
            at = self.after(at);
        }
    }

    /// Takes in a place that it has not.
    pub(crate) fn insert(&mut self, hash: u32, place: u32) {
        if self.len == self.lines.len() * (LINE - 1) {
            self.grow();
        }
        self.len += 1;
        let mut at = self.home(hash);
        while !self.lines[at].push(hash, place) {
            at = self.after(at);
        }
    }

    /// Twice as many lines. The keys are not asked.
    fn grow(&mut self) {
        let mut new = Self::of_lines((self.lines.len() * 2).max(1));
        for (hash, place) in self.lines.iter().flat_map(Line::iter) {
            new.insert(hash, place);
        }
        *self = new;
    }

    /// Gives a place another number.
    pub(crate) fn renumber(&mut self, hash: u32, from: u32, to: u32) {
        if let Some((line, at)) = self.locate(hash, from) {
            self.lines[line].slots[at] = to + 1;
        }
    }

    /// Forgets a place. What was sent past the line that now has room comes back, so no look-up ever passes a line
    /// that is not full.
    pub(crate) fn remove(&mut self, hash: u32, place: u32) {
        let Some((mut gap, at)) = self.locate(hash, place) else { return };
        self.len -= 1;
        let mut full = self.lines[gap].is_full();
        self.lines[gap].swap_remove(at);
        let mut line = gap;
        while full {
            line = self.after(line);
            full = self.lines[line].is_full();
            let passed = self.distance(gap, line);
            let from_before = |hash| self.distance(self.home(hash), line) >= passed;
            if let Some(at) = self.lines[line].iter().position(|(hash, _)| from_before(hash)) {
                let (hash, place) = self.lines[line].swap_remove(at);
                self.lines[gap].push(hash, place);
                gap = line;
            }
        }
    }

    /// Line and slot of a place.
    fn locate(&self, hash: u32, place: u32) -> Option<(usize, usize)> {
        let mut line = self.home(hash);
        loop {
            let own = self.lines.get(line)?;
            if let Some(at) = own.iter().position(|(_, own)| own == place) {
                return Some((line, at));
            }
            if !own.is_full() {
                return None;
            }
            line = self.after(line);
        }
    }

    fn home(&self, hash: u32) -> usize {
        hash as usize & self.lines.len().wrapping_sub(1)
    }

    fn after(&self, line: usize) -> usize {
        (line + 1) & self.lines.len().wrapping_sub(1)
    }

    /// How many lines `to` is after `from`.
    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & self.lines.len().wrapping_sub(1)
    }
}

impl Line {
    /// What is in the slot with this hash, or [`FREE`]; if there are several, anything. Without branches, since where a
    /// hash stands cannot be foretold.
    #[inline]
    fn only_with(&self, hash: u32) -> u32 {
        let mut found = FREE;
        for (own, slot) in self.hashes.iter().zip(&self.slots) {
            found |= if *own == hash { *slot } else { FREE };
        }
        found
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.slots[LINE - 1] != FREE
    }

    fn iter(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let used = self.hashes.into_iter().zip(self.slots).take_while(|&(_, slot)| slot != FREE);
        used.map(|(hash, slot)| (hash, slot - 1))
    }

    /// `false` if it is full.
    fn push(&mut self, hash: u32, place: u32) -> bool {
        let Some(at) = self.slots.iter().position(|&own| own == FREE) else { return false };
        self.hashes[at] = hash;
        self.slots[at] = place + 1;
        true
    }

    fn swap_remove(&mut self, at: usize) -> (u32, u32) {
        let removed = (self.hashes[at], self.slots[at] - 1);
        let last = self.iter().count() - 1;
        (self.hashes[at], self.slots[at]) = (self.hashes[last], self.slots[last]);
        self.slots[last] = FREE;
        removed
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Every place is found by its hash, none else, and none lies behind a line that is not full.
    fn check(table: &Table, model: &HashMap<u32, u32>) {
        assert_eq!(table.len, model.len());
        assert_eq!(table.lines.iter().flat_map(Line::iter).count(), model.len());
        for (&place, &hash) in model {
            assert_eq!(table.find(hash, |own| own == place), Some(place));
            assert_eq!(table.find(hash, |_| false), None);
        }
        for (line, own) in table.lines.iter().enumerate() {
            let used = own.iter().count();
            assert!(own.slots[used..].iter().all(|&slot| slot == FREE));
            for (hash, _) in own.iter() {
                let mut at = table.home(hash);
                while at != line {
                    assert!(table.lines[at].is_full());
                    at = table.after(at);
                }
            }
        }
    }

    #[test]
    fn behaves_as_a_map_whether_hashes_meet_or_not() {
        // With few distinct hashes lines overflow all the time, the last one into the first.
        for distinct in [1, 3, 40, u32::MAX] {
            let (mut table, mut model) = (Table::default(), HashMap::new());
            let mut random = 7_u64;
            for round in 0..2_000_u32 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let hash = ((random >> 32) as u32) % distinct;
                // From far behind, so that the last lines are in use too.
                let hash = if distinct == u32::MAX { hash } else { u32::MAX - hash };
                let leaves = if round < 1_000 { random >> 8 & 3 == 0 } else { random >> 8 & 3 != 0 };
                if leaves && let Some(&place) = model.keys().min() {
                    table.remove(model[&place], place);
                    model.remove(&place);
                } else if round % 5 == 4
                    && let Some(&place) = model.keys().max()
                {
                    let hash = model.remove(&place).unwrap_or_default();
                    table.renumber(hash, place, place + 1_000_000);
                    model.insert(place + 1_000_000, hash);
                } else {
                    table.insert(hash, round);
                    model.insert(round, hash);
                }
                if round % 10 == 0 {
                    check(&table, &model);
                }
            }
            for place in model.keys().copied().collect::<Vec<_>>() {
                table.remove(model[&place], place);
                model.remove(&place);
                check(&table, &model);
            }
        }
    }

    #[test]
    fn an_empty_one_finds_nothing_and_a_sized_one_does_not_grow() {
        let mut table = Table::default();
        assert_eq!(table.find(0, |_| true), None);
        table.remove(0, 0);
        for capacity in [1, 7, 8, 100, 14_336] {
            let mut table = Table::with_capacity(capacity);
            let lines = table.lines.len();
            (0..capacity as u32).for_each(|place| table.insert(place.wrapping_mul(0x9E37_79B9), place));
            assert_eq!(table.lines.len(), lines);
        }
    }
}
