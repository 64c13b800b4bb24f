//! The open list: states ordered by (f, h), first in first out among equals.
//!
//! One queue per (f, h), found by hashing; a heap orders the queues that are not empty.
//! So a push or pop costs O(1) while the number of distinct (f, h) stays small, and O(log n) at
//! most, whatever the costs are: zero, huge, or all different.
//! Queues are lists of cache lines from one pool and hold ids only: 4.3 bytes an entry.
//!
//! Invariant: a key is in the map iff it is in the heap iff its queue is not empty.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::chunks::Chunks;
use super::registry::StateId;
use crate::task::Cost;

/// A priority queue of state ids.
pub struct OpenList {
    queues: FxHashMap<Key, Queue>,
    order: BinaryHeap<Reverse<Key>>,
    blocks: Chunks,
    /// The first block of the list of unused ones.
    free: u32,
    len: usize,
}

type Key = (Cost, Cost);

/// A first-in-first-out queue: positions in the first and the last block of a list.
struct Queue {
    first: u32,
    first_at: u32,
    last: u32,
    last_at: u32,
}

/// A block is one cache line: fifteen ids and the index of the next block.
const BLOCK: usize = 16;
const NEXT: usize = BLOCK - 1;
const IDS: u32 = NEXT as u32;
const NONE: u32 = u32::MAX;

impl Default for OpenList {
    fn default() -> OpenList {
        OpenList::new()
    }
}

impl OpenList {
    /// An empty list.
    pub fn new() -> OpenList {
        OpenList {
            queues: FxHashMap::default(),
            order: BinaryHeap::new(),
            blocks: Chunks::new(BLOCK),
            free: NONE,
            len: 0,
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a state.
    #[inline]
    pub fn push(&mut self, f: Cost, h: Cost, id: StateId) {
        self.len += 1;
        let OpenList { queues, order, blocks, free, .. } = self;
        let mut new_block = || {
            if *free == NONE {
                return blocks.push_zeros();
            }
            std::mem::replace(free, blocks.record(*free)[NEXT])
        };
        let queue = queues.entry((f, h)).or_insert_with(|| {
            order.push(Reverse((f, h)));
            let block = new_block();
            Queue { first: block, first_at: 0, last: block, last_at: 0 }
        });
        if queue.last_at == IDS {
            let block = new_block();
            blocks.record_mut(queue.last)[NEXT] = block;
            queue.last = block;
            queue.last_at = 0;
        }
        blocks.record_mut(queue.last)[queue.last_at as usize] = id.0;
        queue.last_at += 1;
    }

    /// Takes the first state with its f and h.
    #[inline]
    pub fn pop(&mut self) -> Option<(Cost, Cost, StateId)> {
        let &Reverse(key) = self.order.peek()?;
        let queue = self.queues.get_mut(&key).expect("a queue for every key in the heap");
        let block = self.blocks.array_mut::<BLOCK>(queue.first);
        let id = block[queue.first_at as usize];
        queue.first_at += 1;
        self.len -= 1;
        let emptied = (queue.first, queue.first_at) == (queue.last, queue.last_at);
        if emptied || queue.first_at == IDS {
            let done = queue.first;
            queue.first = block[NEXT];
            queue.first_at = 0;
            block[NEXT] = self.free;
            self.free = done;
        }
        if emptied {
            self.queues.remove(&key);
            self.order.pop();
        }
        Some((key.0, key.1, StateId(id)))
    }

    /// The state that will be taken next if nothing is added.
    #[inline]
    pub fn peek(&self) -> Option<StateId> {
        let Reverse(key) = self.order.peek()?;
        let queue = &self.queues[key];
        Some(StateId(self.blocks.record(queue.first)[queue.first_at as usize]))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let queue = size_of::<Key>() + size_of::<Queue>() + 1;
        self.blocks.bytes()
            + self.queues.capacity() * queue
            + self.order.capacity() * size_of::<Key>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, VecDeque};

    proptest! {
        #[test]
        fn behaves_like_a_map_of_queues(
            steps in prop::collection::vec((prop::bool::weighted(0.6), 0u64..4, 0u64..3), 0..2000),
            scale in prop::sample::select(vec![1, u64::MAX / 8]),
        ) {
            let mut open = OpenList::new();
            let mut model: BTreeMap<(u64, u64), VecDeque<u32>> = BTreeMap::new();
            for (i, (push, f, h)) in steps.into_iter().enumerate() {
                let (f, h) = (f * scale, h * scale);
                if push {
                    open.push(f, h, StateId(i as u32));
                    model.entry((f, h)).or_default().push_back(i as u32);
                } else {
                    let expected = model.first_entry().map(|mut entry| {
                        let id = entry.get_mut().pop_front().unwrap();
                        let (f, h) = *entry.key();
                        if entry.get().is_empty() {
                            entry.remove();
                        }
                        (f, h, StateId(id))
                    });
                    prop_assert_eq!(open.peek(), expected.map(|(_, _, id)| id));
                    prop_assert_eq!(open.pop(), expected);
                }
                prop_assert_eq!(open.len(), model.values().map(VecDeque::len).sum::<usize>());
            }
        }
    }

    #[test]
    fn blocks_are_used_again() {
        let mut open = OpenList::new();
        for round in 0..100_000u64 {
            open.push(round, 0, StateId(round as u32));
            assert_eq!(open.pop(), Some((round, 0, StateId(round as u32))));
        }
        assert_eq!(open.blocks.len(), 1);
    }
}
