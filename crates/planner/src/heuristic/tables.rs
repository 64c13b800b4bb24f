//! Distance tables of many cost partitionings, evaluated together.
//!
//! The value of a partitioning for a state is the sum over patterns of a table entry, and what
//! is wanted is the maximum over partitionings.
//! All of them look at the same abstract states, so their tables are interleaved: a *row* holds
//! the distances of one abstract state under as many partitionings as fit into 32 bytes, and one
//! read serves them all.
//! A *block* is such a group of partitionings; it holds rows only for patterns in which one of
//! them has a distance that is not 0.
//! Infinite distances do not depend on costs and are stored as 0: callers rule out dead ends
//! before (see [`Abstractions::is_dead_end`]).
//! Cost of an evaluation: O(patterns) for the ranks plus one row per block and pattern.

use std::sync::Arc;

use crate::abstraction::{Abstractions, Distance, INFINITY};
use crate::partition::{CostPartitioning, PartitionScratch};
use crate::task::Value;

/// Integers that can be the distances of a table.
pub(super) trait Lane: Copy + Ord + Default + Into<u32> + TryFrom<u32> {
    /// One row: 32 bytes of them.
    type Row: Copy + Default + std::fmt::Debug + AsRef<[Self]> + AsMut<[Self]>;
    /// How many there are in a row.
    const WIDTH: usize;
    /// Adds lane by lane; sums fit by construction.
    fn add(sum: &mut Self::Row, row: &Self::Row);
}

impl Lane for u16 {
    type Row = [u16; 16];
    const WIDTH: usize = 16;

    #[inline(always)]
    fn add(sum: &mut [u16; 16], row: &[u16; 16]) {
        for (sum, d) in sum.iter_mut().zip(row) {
            *sum = sum.wrapping_add(*d);
        }
    }
}

impl Lane for u32 {
    type Row = [u32; 8];
    const WIDTH: usize = 8;

    #[inline(always)]
    fn add(sum: &mut [u32; 8], row: &[u32; 8]) {
        for (sum, d) in sum.iter_mut().zip(row) {
            *sum = sum.wrapping_add(*d);
        }
    }
}

/// The ranks of a state in all patterns.
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    /// For each pattern the variable and place value of up to two variables …
    pairs: Vec<[(u32, u32); 2]>,
    /// … and the further ones of larger patterns.
    further: Vec<(u32, u32, u32)>,
    ranks: Vec<u32>,
}

impl Ranks {
    pub(super) fn new(abstractions: &Abstractions) -> Ranks {
        let mut pairs = Vec::with_capacity(abstractions.len());
        let mut further = Vec::new();
        for (p, projection) in abstractions.projections().iter().enumerate() {
            let vars = projection.pattern().variables().iter().map(|var| var.0);
            let mut pair = [(0, 0); 2];
            for (i, (var, place)) in vars.zip(projection.place_values()).enumerate() {
                match pair.get_mut(i) {
                    Some(slot) => *slot = (var, place),
                    None => further.push((p as u32, var, place)),
                }
            }
            pairs.push(pair);
        }
        Ranks { ranks: vec![0; pairs.len()], pairs, further }
    }

    /// The ranks of a state.
    #[inline]
    pub(super) fn of(&mut self, state: &[Value]) -> &[u32] {
        for (rank, &[(u, u_place), (v, v_place)]) in self.ranks.iter_mut().zip(&self.pairs) {
            *rank = state[u as usize] * u_place + state[v as usize] * v_place;
        }
        for &(p, var, place) in &self.further {
            self.ranks[p as usize] += state[var as usize] * place;
        }
        &self.ranks
    }
}

/// Up to [`Lane::WIDTH`] partitionings.
#[derive(Clone, Debug)]
struct Block<L: Lane> {
    /// Patterns with rows here, and where their rows start.
    patterns: Vec<(u32, u32)>,
    rows: Vec<L::Row>,
    used: usize,
}

/// The tables of any number of partitionings with the same scale.
#[derive(Clone, Debug)]
pub(super) struct Tables<L: Lane> {
    abstractions: Arc<Abstractions>,
    scale: u32,
    blocks: Vec<Block<L>>,
    scratch: PartitionScratch,
    table: Vec<Distance>,
}

/// The best of the stored partitionings for a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Best {
    /// The sum of its distances.
    pub(super) sum: u32,
    /// Which it is, in order of insertion; the first of equals.
    pub(super) partitioning: usize,
}

impl<L: Lane> Tables<L> {
    /// No tables; partitionings to come are stored in parts of 1/`scale` unit.
    pub(super) fn new(abstractions: Arc<Abstractions>, scale: u32) -> Tables<L> {
        Tables {
            abstractions,
            scale,
            blocks: Vec::new(),
            scratch: PartitionScratch::default(),
            table: Vec::new(),
        }
    }

    /// How many parts a unit has.
    pub(super) fn scale(&self) -> u32 {
        self.scale
    }

    /// The number of partitionings.
    pub(super) fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.used).sum()
    }

    /// Bytes of heap memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.blocks.iter().map(|block| 32 * block.rows.len() + 8 * block.patterns.len()).sum()
    }

    /// The largest sum of distances, given the state's rank in each pattern.
    #[inline]
    pub(super) fn best(&self, ranks: &[u32]) -> Option<Best> {
        let mut best: Option<Best> = None;
        for (b, block) in self.blocks.iter().enumerate() {
            let mut sums = L::Row::default();
            for &(pattern, start) in &block.patterns {
                L::add(&mut sums, &block.rows[(start + ranks[pattern as usize]) as usize]);
            }
            for (lane, &sum) in sums.as_ref()[..block.used].iter().enumerate() {
                let sum = sum.into();
                if best.is_none_or(|best| sum > best.sum) {
                    best = Some(Best { sum, partitioning: b * L::WIDTH + lane });
                }
            }
        }
        best
    }

    /// Adds the distance tables of a partitioning.
    ///
    /// # Panics
    /// If a distance does not fit: the caller has chosen the lane for the collection.
    pub(super) fn push(&mut self, partitioning: &CostPartitioning) {
        if self.blocks.last().is_none_or(|block| block.used == L::WIDTH) {
            self.blocks.push(Block { patterns: Vec::new(), rows: Vec::new(), used: 0 });
        }
        let factor = self.scale / partitioning.scale();
        let block = self.blocks.last_mut().expect("there is a block with room");
        let lane = block.used;
        block.used += 1;
        for p in self.abstractions.ids() {
            self.table.resize(self.abstractions.projection(p).num_states(), 0);
            let (scratch, table) = (&mut self.scratch, &mut self.table);
            partitioning.goal_distances(&self.abstractions, p, scratch, table);
            block.set(lane, p.0, table, factor);
        }
    }
}

impl<L: Lane> Block<L> {
    /// Sets the distances of one lane in one pattern.
    fn set(&mut self, lane: usize, pattern: u32, table: &[Distance], factor: u32) {
        if table.iter().all(|&d| d == 0 || d == INFINITY) {
            return;
        }
        let known = self.patterns.iter().find(|&&(p, _)| p == pattern).map(|&(_, start)| start);
        let start = known.unwrap_or_else(|| {
            let start = self.rows.len() as u32;
            self.patterns.push((pattern, start));
            self.rows.resize(self.rows.len() + table.len(), L::Row::default());
            start
        }) as usize;
        for (row, &d) in self.rows[start..].iter_mut().zip(table) {
            let d = if d == INFINITY { 0 } else { d * factor };
            row.as_mut()[lane] = L::try_from(d).ok().expect("the lane is wide enough");
        }
    }
}
