//! Lists of indices below a known bound, back to back, two bytes each where that suffices.

/// Many lists of indices.
#[derive(Clone, Debug, Default)]
pub(super) struct IndexArena {
    narrow: Vec<u16>,
    /// For lists whose bound is too large for `narrow`.
    wide: Vec<u32>,
}

/// One list of indices.
#[derive(Clone, Copy, Debug)]
pub(super) enum Indices<'a> {
    Narrow(&'a [u16]),
    Wide(&'a [u32]),
}

impl Indices<'_> {
    #[inline]
    pub(super) fn at(&self, position: u32) -> usize {
        match self {
            Indices::Narrow(list) => list[position as usize] as usize,
            Indices::Wide(list) => list[position as usize] as usize,
        }
    }
}

impl IndexArena {
    fn is_narrow(bound: usize) -> bool {
        bound <= usize::from(u16::MAX) + 1
    }

    /// Adds a list of indices below `bound`; returns where it begins.
    pub(super) fn push(&mut self, list: impl Iterator<Item = u32>, bound: usize) -> usize {
        if Self::is_narrow(bound) {
            let start = self.narrow.len();
            self.narrow.extend(list.map(|index| index as u16));
            start
        } else {
            let start = self.wide.len();
            self.wide.extend(list);
            start
        }
    }

    /// The list of `len` indices below `bound` that begins at `start`.
    #[inline]
    pub(super) fn list(&self, start: usize, len: usize, bound: usize) -> Indices<'_> {
        match Self::is_narrow(bound) {
            true => Indices::Narrow(&self.narrow[start..start + len]),
            false => Indices::Wide(&self.wide[start..start + len]),
        }
    }

    /// Forgets all lists.
    pub(super) fn clear(&mut self) {
        self.narrow.clear();
        self.wide.clear();
    }

    /// Bytes held, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.narrow.len() * 2 + self.wide.len() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_whatever_their_bound() {
        let mut arena = IndexArena::default();
        let lists = [(vec![0, 2, 1], 3), (vec![65_535, 0], 65_536), (vec![65_536, 7], 65_537)];
        let starts: Vec<usize> =
            lists.iter().map(|(list, bound)| arena.push(list.iter().copied(), *bound)).collect();
        for ((list, bound), start) in lists.iter().zip(starts) {
            let read = arena.list(start, list.len(), *bound);
            assert_eq!(matches!(read, Indices::Narrow(_)), *bound <= 65_536);
            for (position, &index) in list.iter().enumerate() {
                assert_eq!(read.at(position as u32), index as usize);
            }
        }
    }
}
