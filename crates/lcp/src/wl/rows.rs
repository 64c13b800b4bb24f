//! Distinct feature rows and distinct multisets of them, each stored once.

use super::lists::ListTable;

/// A distinct feature row of a [`RowTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowId(pub u32);

impl RowId {
    /// The position in the table.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A distinct multiset of rows of a [`RowTable`]: what action attention sees of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BagId(pub u32);

impl BagId {
    /// The position in the table.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The distinct sparse rows met so far, and the distinct multisets of rows.
///
/// A row is a list of (feature, count), ascending by feature, counts positive.
/// A bag is a list of (row, multiplicity), ascending by row.
#[derive(Clone, Debug, Default)]
pub struct RowTable {
    rows: ListTable<(u32, u32)>,
    bags: ListTable<(u32, u32)>,
}

impl RowTable {
    /// The number of distinct rows.
    pub fn num_rows(&self) -> usize {
        self.rows.len()
    }

    /// The number of distinct multisets of rows.
    pub fn num_bags(&self) -> usize {
        self.bags.len()
    }

    /// The (feature, count) pairs of a row, ascending by feature.
    #[inline]
    pub fn row(&self, row: RowId) -> &[(u32, u32)] {
        self.rows.list(row.index())
    }

    /// The (row, multiplicity) pairs of a bag, ascending by row.
    #[inline]
    pub fn bag(&self, bag: BagId) -> impl ExactSizeIterator<Item = (RowId, u32)> + Clone + '_ {
        self.bags.list(bag.index()).iter().map(|&(row, n)| (RowId(row), n))
    }

    pub(super) fn bag_pairs(&self, bag: BagId) -> &[(u32, u32)] {
        self.bags.list(bag.index())
    }

    pub(crate) fn intern_row(&mut self, row: &[(u32, u32)]) -> RowId {
        RowId(self.rows.intern(row))
    }

    pub(super) fn intern_bag(&mut self, bag: &[(u32, u32)]) -> BagId {
        BagId(self.bags.intern(bag))
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.bags.clear();
    }

    /// Bytes held, roughly.
    pub fn bytes(&self) -> usize {
        self.rows.bytes() + self.bags.bytes()
    }
}
