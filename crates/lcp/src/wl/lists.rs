//! Distinct lists, back to back in one buffer, numbered in the order in which they came.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// A set of lists; looking one up allocates nothing.
#[derive(Clone, Debug)]
pub(super) struct ListTable<T> {
    /// List `i` is `items[ends[i-1]..ends[i]]`.
    ends: Vec<u32>,
    items: Vec<T>,
    index: HashTable<u32>,
}

impl<T> Default for ListTable<T> {
    fn default() -> ListTable<T> {
        ListTable { ends: Vec::new(), items: Vec::new(), index: HashTable::new() }
    }
}

impl<T: Copy + Eq + Hash> ListTable<T> {
    /// The number of lists.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The list with this number.
    #[inline]
    pub(super) fn list(&self, i: usize) -> &[T] {
        slice(&self.ends, &self.items, i)
    }

    /// The number of a list.
    #[inline]
    pub(super) fn find(&self, list: &[T]) -> Option<u32> {
        self.index.find(hash(list), |&i| self.list(i as usize) == list).copied()
    }

    /// The number of a list, which is added if it is new.
    #[inline]
    pub(super) fn intern(&mut self, list: &[T]) -> u32 {
        let hash = hash(list);
        if let Some(&i) = self.index.find(hash, |&i| self.list(i as usize) == list) {
            return i;
        }
        let i = self.ends.len() as u32;
        self.items.extend_from_slice(list);
        self.ends.push(u32::try_from(self.items.len()).expect("less than 2^32 items"));
        let (ends, items) = (&self.ends, &self.items);
        self.index.insert_unique(hash, i, |&i| self::hash(slice(ends, items, i as usize)));
        i
    }

    /// Forgets all lists.
    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.items.clear();
        self.index.clear();
    }

    /// Bytes held, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.ends.len() * 9 + self.items.len() * size_of::<T>()
    }
}

fn slice<'a, T>(ends: &[u32], items: &'a [T], i: usize) -> &'a [T] {
    let start = if i == 0 { 0 } else { ends[i - 1] as usize };
    &items[start..ends[i] as usize]
}

fn hash<T: Hash>(list: &[T]) -> u64 {
    let mut hasher = FxHasher::default();
    for item in list {
        item.hash(&mut hasher);
    }
    hasher.finish()
}
