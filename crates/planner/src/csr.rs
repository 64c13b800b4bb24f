//! Lists of different lengths, back to back in one vector (compressed sparse rows).
//!
//! Row r is `items[offsets[r]..offsets[r + 1]]`: four bytes a row and no allocation of its own.

use std::ops::Range;

/// Where rows begin and end: a running sum of their lengths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offsets(Vec<u32>);

impl Default for Offsets {
    /// No rows.
    fn default() -> Offsets {
        Offsets(vec![0])
    }
}

impl Offsets {
    /// Adds a row that ends at this place.
    pub fn push_end(&mut self, end: usize) {
        self.0.push(u32::try_from(end).expect("less than 2³² items"));
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.0.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of items in all rows.
    pub fn total(&self) -> usize {
        self.0[self.len()] as usize
    }

    /// The places of a row's items.
    #[inline(always)]
    pub fn range(&self, row: usize) -> Range<usize> {
        self.0[row] as usize..self.0[row + 1] as usize
    }

    /// The place of a row's first item.
    #[inline(always)]
    pub fn start(&self, row: usize) -> usize {
        self.0[row] as usize
    }

    /// The places of every row's items.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.0.windows(2).map(|ends| ends[0] as usize..ends[1] as usize)
    }

    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        4 * self.0.len()
    }
}

/// The lengths of rows.
impl FromIterator<usize> for Offsets {
    fn from_iter<I: IntoIterator<Item = usize>>(lengths: I) -> Offsets {
        let mut offsets = Offsets::default();
        for length in lengths {
            offsets.push_end(offsets.total() + length);
        }
        offsets
    }
}

/// Rows of items.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Csr<T> {
    offsets: Offsets,
    items: Vec<T>,
}

impl<T> Default for Csr<T> {
    /// No rows.
    fn default() -> Csr<T> {
        Csr { offsets: Offsets::default(), items: Vec::new() }
    }
}

impl<T> Csr<T> {
    /// Adds a row.
    pub fn push(&mut self, row: impl IntoIterator<Item = T>) {
        self.items.extend(row);
        self.offsets.push_end(self.items.len());
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// A row.
    #[inline(always)]
    pub fn row(&self, row: usize) -> &[T] {
        &self.items[self.offsets.range(row)]
    }

    /// A row, to be changed.
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        &mut self.items[self.offsets.range(row)]
    }

    /// The items of all rows, one row after the other.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Where the rows begin and end among the items.
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// Forgets all rows, but keeps the memory.
    pub fn clear(&mut self) {
        self.offsets.0.truncate(1);
        self.items.clear();
    }

    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        self.offsets.memory_bytes() + size_of::<T>() * self.items.len()
    }
}

impl<T: Copy> Csr<T> {
    /// Sorts items into rows by counting; within a row they keep their order.
    ///
    /// `items` gives each item with its row, all of them less than `rows`, and is run through twice.
    pub fn sorted<I>(rows: usize, items: I) -> Csr<T>
    where
        I: Iterator<Item = (usize, T)> + Clone,
    {
        let mut lengths = vec![0; rows];
        items.clone().for_each(|(row, _)| lengths[row] += 1);
        let offsets: Offsets = lengths.into_iter().collect();
        let Some((_, any)) = items.clone().next() else {
            return Csr { offsets, items: Vec::new() };
        };
        let mut next = offsets.0.clone();
        let mut sorted = vec![any; offsets.total()];
        for (row, item) in items {
            sorted[next[row] as usize] = item;
            next[row] += 1;
        }
        Csr { offsets, items: sorted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_sorted_into_rows_in_their_order() {
        let items = [(2, 'a'), (0, 'b'), (2, 'c'), (3, 'd'), (0, 'e')];
        let sorted = Csr::sorted(5, items.into_iter());
        let rows: Vec<String> = (0..5).map(|row| sorted.row(row).iter().collect()).collect();
        assert_eq!(rows, ["be", "", "ac", "d", ""]);
        assert_eq!(sorted.items().len(), 5);
        let mut pushed = Csr::default();
        rows.iter().for_each(|row| pushed.push(row.chars()));
        assert_eq!(pushed, sorted);
        assert!(Csr::<u8>::sorted(2, std::iter::empty()).row(1).is_empty());
        let lengths: Offsets = [1, 0, 2].into_iter().collect();
        assert_eq!((lengths.range(2), lengths.total(), lengths.len()), (1..3, 3, 3));
    }
}
