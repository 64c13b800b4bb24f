//! The state registry: every state once, under a 32-bit id.
//!
//! Packed states lie one after the other in an arena; a hash table of ids finds them again.
//! The table is an array of cache lines, each with twelve ids and an eight-bit tag of each hash,
//! so that a look-up reads one line and, only when a tag matches, one state.
//! A full line overflows into the next; nothing is ever removed.
//! Memory per state: its words, plus 5.3 bytes divided by a load of 0.57 to 0.85.

use super::chunks::{Chunks, prefetch};

/// Index of a state in its registry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StateId(pub u32);

/// Stores packed states without duplicates.
pub struct StateRegistry {
    states: Chunks,
    /// The first words of a state, which tell it from others.
    key_words: usize,
    lines: Vec<Line>,
    /// The table grows when it holds this many states.
    grow_at: usize,
}

/// One cache line of the table.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line {
    tags: [u8; SLOTS],
    len: u32,
    ids: [u32; SLOTS],
}

const SLOTS: usize = 12;
const EMPTY: Line = Line { tags: [0; SLOTS], len: 0, ids: [0; SLOTS] };
const MAX_LOAD: f64 = 0.85;
/// One mebibyte: large enough for allocators to take it from the system and give it back when the
/// table grows, instead of keeping a trail of small tables.
const INITIAL_LINES: usize = 1 << 14;
/// More states than this cannot be told apart by their ids.
const MAX_STATES: usize = u32::MAX as usize;

impl Line {
    /// The slots whose tag matches, and perhaps others right after one that does: the ids of all
    /// of them are candidates.
    #[inline(always)]
    fn candidates(&self, tag: u8) -> impl Iterator<Item = u32> {
        // The classic search for a zero byte in a word, on all tags at once.
        const LOW: u128 = u128::from_ne_bytes([0x01; 16]);
        const HIGH: u128 = u128::from_ne_bytes([0x80; 16]);
        let mut tags = [0; 16];
        tags[..SLOTS].copy_from_slice(&self.tags);
        let differ = u128::from_le_bytes(tags) ^ (LOW * u128::from(tag));
        let used = (1 << (8 * self.len)) - 1;
        let mut zeros = differ.wrapping_sub(LOW) & !differ & HIGH & used;
        std::iter::from_fn(move || {
            if zeros == 0 {
                return None;
            }
            let slot = zeros.trailing_zeros() / 8;
            zeros &= zeros - 1;
            Some(self.ids[slot as usize])
        })
    }

    #[inline(always)]
    fn push(&mut self, tag: u8, id: u32) {
        let slot = self.len as usize;
        self.tags[slot] = tag;
        self.ids[slot] = id;
        self.len += 1;
    }
}

impl StateRegistry {
    /// An empty registry for states of this many words, the first of which, the key, determine
    /// the others.
    pub fn new(words: usize, key_words: usize) -> StateRegistry {
        let states = Chunks::new(words);
        let mut registry = StateRegistry { states, key_words, lines: Vec::new(), grow_at: 0 };
        registry.resize(INITIAL_LINES);
        registry
    }

    /// The number of states.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A state's words.
    #[inline(always)]
    pub fn state(&self, id: StateId) -> &[u32] {
        self.states.record(id.0)
    }

    /// Starts loading a state into the cache.
    #[inline(always)]
    pub fn prefetch_state(&self, id: StateId) {
        self.states.prefetch(id.0);
    }

    /// Starts loading the line where a state with this hash lies or will lie.
    #[inline(always)]
    pub fn prefetch_slot(&self, hash: u64) {
        prefetch(&raw const self.lines[self.line_of(hash)]);
    }

    /// Starts loading the state that a look-up of this hash will compare first, if there is one.
    #[inline(always)]
    pub fn prefetch_match(&self, hash: u64) {
        let line = &self.lines[self.line_of(hash)];
        if let Some(id) = line.candidates(tag_of(hash)).next() {
            self.states.prefetch(id);
        }
    }

    /// Replaces the words of a state behind its key.
    pub fn complete(&mut self, id: StateId, words: &[u32]) {
        let key_words = self.key_words;
        self.states.record_mut(id.0)[key_words..].copy_from_slice(&words[key_words..]);
    }

    /// Finds a state by its key; `hash` is [`hash_words`] of the key.
    pub fn find(&self, hash: u64, words: &[u32]) -> Option<StateId> {
        let mut at = self.line_of(hash);
        let key = &words[..self.key_words];
        loop {
            let line = &self.lines[at];
            let is_it = |id: &u32| &self.states.record(*id)[..self.key_words] == key;
            let found = line.candidates(tag_of(hash)).find(is_it);
            if found.is_some() || (line.len as usize) < SLOTS {
                return found.map(StateId);
            }
            at = if at + 1 == self.lines.len() { 0 } else { at + 1 };
        }
    }

    /// Finds a state by its key or adds it; `hash` is [`hash_words`] of the key.
    /// Returns its id and whether it is new, or `None` when there are no ids left.
    #[inline]
    pub fn insert(&mut self, hash: u64, words: &[u32]) -> Option<(StateId, bool)> {
        let tag = tag_of(hash);
        let mut at = self.line_of(hash);
        let key = &words[..self.key_words];
        loop {
            let line = &self.lines[at];
            for id in line.candidates(tag) {
                // PERF: a loop, because states are a few words and `==` would call memcmp.
                if self.states.record(id).iter().zip(key).all(|(a, b)| a == b) {
                    return Some((StateId(id), false));
                }
            }
            if (line.len as usize) < SLOTS {
                break;
            }
            at = if at + 1 == self.lines.len() { 0 } else { at + 1 };
        }
        if self.len() >= MAX_STATES {
            return None;
        }
        let id = self.states.push_zeros();
        self.states.record_mut(id).copy_from_slice(words);
        self.lines[at].push(tag, id);
        if self.len() >= self.grow_at {
            self.resize(self.lines.len() + self.lines.len() / 2);
        }
        Some((StateId(id), true))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.states.bytes() + self.lines.len() * size_of::<Line>()
    }

    /// Bytes the table will ask for at once if this many more states are added.
    pub fn bytes_to_grow(&self, more: usize) -> usize {
        let grows = self.len() + more >= self.grow_at;
        if grows { self.lines.len() / 2 * size_of::<Line>() } else { 0 }
    }

    #[inline(always)]
    fn line_of(&self, hash: u64) -> usize {
        // The upper bits choose the tag, the lower half the line, without a division.
        (((hash & 0xffff_ffff) * self.lines.len() as u64) >> 32) as usize
    }

    /// Rebuilds the table from the states, in the order of their ids: reads are sequential.
    fn resize(&mut self, lines: usize) {
        // The old table goes first: the states are all that is needed.
        self.lines = Vec::new();
        self.lines = vec![EMPTY; lines];
        self.grow_at = (lines as f64 * SLOTS as f64 * MAX_LOAD) as usize;
        const BATCH: u32 = 16;
        let len = self.len() as u32;
        let mut hashes = [0; BATCH as usize];
        for first in (0..len).step_by(BATCH as usize) {
            let ids = first..len.min(first.saturating_add(BATCH));
            for (id, hash) in ids.clone().zip(&mut hashes) {
                *hash = hash_words(&self.states.record(id)[..self.key_words]);
                self.prefetch_slot(*hash);
            }
            for (id, &hash) in ids.zip(&hashes) {
                let mut at = self.line_of(hash);
                while self.lines[at].len as usize == SLOTS {
                    at = if at + 1 == self.lines.len() { 0 } else { at + 1 };
                }
                self.lines[at].push(tag_of(hash), id);
            }
        }
    }
}

#[inline(always)]
fn tag_of(hash: u64) -> u8 {
    (hash >> 56) as u8
}

/// Hashes a packed state: a folded 128-bit multiplication per two words.
#[inline(always)]
pub fn hash_words(words: &[u32]) -> u64 {
    const K0: u64 = 0x9e37_79b9_7f4a_7c15;
    const K1: u64 = 0xd6e8_feb8_6659_fd93;
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let mut hash = K0;
    let mut pairs = words.chunks_exact(2);
    for pair in &mut pairs {
        hash = fold(hash ^ (u64::from(pair[0]) | u64::from(pair[1]) << 32), K1);
    }
    if let [last] = *pairs.remainder() {
        hash = fold(hash ^ u64::from(last), K1);
    }
    fold(hash ^ K1, K0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_hash::FxHashMap;

    #[test]
    fn behaves_like_a_map() {
        let mut registry = StateRegistry::new(2, 2);
        let mut map: FxHashMap<[u32; 2], u32> = FxHashMap::default();
        let mut x = 1u64;
        for _ in 0..800_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let words = [(x >> 48) as u32, (x >> 33) as u32 & 15];
            let next = map.len() as u32;
            let expected = *map.entry(words).or_insert(next);
            let hash = hash_words(&words);
            registry.prefetch_match(hash);
            let known = (expected < next).then_some(StateId(expected));
            assert_eq!(registry.find(hash, &words), known);
            let (id, new) = registry.insert(hash, &words).unwrap();
            assert_eq!((id.0, new), (expected, expected == next));
            assert_eq!(registry.state(id), words);
        }
        assert_eq!(registry.len(), map.len());
        assert!(registry.lines.len() > INITIAL_LINES * 2, "the table has grown twice");
    }

    #[test]
    fn the_table_takes_at_most_ten_bytes_a_state_once_it_is_large() {
        let mut registry = StateRegistry::new(1, 1);
        for word in 0..300_000 {
            registry.insert(hash_words(&[word]), &[word]).unwrap();
            if word > 200_000 {
                let table = registry.bytes() - registry.states.bytes();
                assert!(table <= 10 * registry.len());
            }
        }
    }
}
