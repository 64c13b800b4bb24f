//! The cache of results: direct-mapped and lossy, about four entries a node.
//!
//! An entry is found by comparing its whole key, so that losing one costs time and nothing else.

use crate::nodes::{Edge, hash};

/// How many entries there are for a node, as long as memory allows.
const ENTRIES_PER_NODE: usize = 4;
const FIRST_ENTRIES: usize = 1 << 12;
/// No operation: the key of an empty entry.
const EMPTY: u32 = u32::MAX;

#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    a: Edge,
    b: Edge,
    operation: u32,
    result: Edge,
}

const NOTHING: Entry = Entry { a: Edge(0), b: Edge(0), operation: EMPTY, result: Edge(0) };

/// Results of operations on two functions.
pub(crate) struct Cache {
    /// A power of two of them.
    entries: Vec<Entry>,
    max: usize,
}

impl Cache {
    pub(crate) fn new(bytes: usize) -> Cache {
        let max = (bytes / size_of::<Entry>()).max(FIRST_ENTRIES);
        Cache { entries: vec![NOTHING; FIRST_ENTRIES], max: 1 << max.ilog2() }
    }

    /// The bytes it takes once it is as large as it may be.
    pub(crate) fn max_bytes(&self) -> usize {
        self.max * size_of::<Entry>()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Where the result of an operation is, if it is known; and the result.
    #[inline(always)]
    pub(crate) fn get(&self, operation: u32, a: Edge, b: Edge) -> (usize, Option<Edge>) {
        let place = hash(a.0, b.0, operation);
        let entry = &self.entries[place & (self.entries.len() - 1)];
        let is_it = entry.a == a && entry.b == b && entry.operation == operation;
        (place, is_it.then_some(entry.result))
    }

    /// Keeps a result at the place that [`Cache::get`] told.
    #[inline(always)]
    pub(crate) fn put(&mut self, place: usize, operation: u32, a: Edge, b: Edge, result: Edge) {
        let mask = self.entries.len() - 1;
        self.entries[place & mask] = Entry { a, b, operation, result };
    }

    /// Whether there should be more entries for this many nodes.
    #[inline(always)]
    pub(crate) fn is_small_for(&self, nodes: usize) -> bool {
        self.entries.len() < nodes * ENTRIES_PER_NODE && self.entries.len() < self.max
    }

    /// Doubles the entries.
    #[cold]
    pub(crate) fn grow(&mut self) {
        let size = self.entries.len() * 2;
        // Without memory for more, there are as many as before.
        let mut larger = Vec::new();
        if larger.try_reserve_exact(size).is_err() {
            self.max = self.entries.len();
            return;
        }
        larger.resize(size, NOTHING);
        for entry in self.entries.iter().filter(|entry| entry.operation != EMPTY) {
            larger[hash(entry.a.0, entry.b.0, entry.operation) & (size - 1)] = *entry;
        }
        self.entries = larger;
    }

    /// Forgets everything and stays below a quarter of the size from now on; false if it is as
    /// small as can be.
    pub(crate) fn shrink(&mut self) -> bool {
        if self.max <= FIRST_ENTRIES {
            return false;
        }
        self.max = (self.max / 4).max(FIRST_ENTRIES);
        let size = self.entries.len().min(self.max);
        self.entries = Vec::new();
        self.entries = vec![NOTHING; size];
        true
    }

    /// Forgets results about functions that are not alive.
    pub(crate) fn sweep(&mut self, is_alive: impl Fn(Edge) -> bool) {
        for entry in &mut self.entries {
            let alive = is_alive(entry.a) && is_alive(entry.b) && is_alive(entry.result);
            if entry.operation != EMPTY && !alive {
                *entry = NOTHING;
            }
        }
    }
}
