//! Distinct lists, back to back in one buffer, numbered in the order in which they came.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use planner::csr::Csr;
use rustc_hash::FxHasher;

/// A set of lists; looking one up allocates nothing.
#[derive(Clone, Debug)]
pub(super) struct ListTable<T> {
    lists: Csr<T>,
    index: HashTable<u32>,
}

impl<T> Default for ListTable<T> {
    fn default() -> ListTable<T> {
        ListTable { lists: Csr::default(), index: HashTable::new() }
    }
}

impl<T: Copy + Eq + Hash> ListTable<T> {
    /// The number of lists.
    pub(super) fn len(&self) -> usize {
        self.lists.len()
    }

    /// The list with this number.
    #[inline]
    pub(super) fn list(&self, i: usize) -> &[T] {
        self.lists.row(i)
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
        let i = self.lists.len() as u32;
        self.lists.push(list.iter().copied());
        let lists = &self.lists;
        self.index.insert_unique(hash, i, |&i| self::hash(lists.row(i as usize)));
        i
    }

    /// Forgets all lists.
    pub(super) fn clear(&mut self) {
        self.lists.clear();
        self.index.clear();
    }

    /// Bytes held, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.lists.memory_bytes() + self.lists.len() * 5
    }
}

fn hash<T: Hash>(list: &[T]) -> u64 {
    let mut hasher = FxHasher::default();
    for item in list {
        item.hash(&mut hasher);
    }
    hasher.finish()
}
