//! Cheap partitionings where they suffice, thorough ones where they do not.

use super::{CostPartitioning, PartitionScratch, Partitioner};
use crate::abstraction::Abstractions;
use crate::heuristic::Estimate;
use crate::task::{Cost, Value};

/// Asks a thorough partitioner only for states where a cheap one does not beat the known bound,
/// and for the first state, with which a search begins.
#[derive(Clone, Debug)]
pub struct Cascade<A, B> {
    cheap: A,
    thorough: B,
    is_first: bool,
    scratch: PartitionScratch,
}

impl<A: Partitioner, B: Partitioner> Cascade<A, B> {
    /// First `cheap`, then `thorough`.
    pub fn new(cheap: A, thorough: B) -> Cascade<A, B> {
        Cascade { cheap, thorough, is_first: true, scratch: PartitionScratch::default() }
    }
}

impl<A: Partitioner, B: Partitioner> Partitioner for Cascade<A, B> {
    fn name(&self) -> &'static str {
        self.thorough.name()
    }

    fn scale(&self, abstractions: &Abstractions) -> u32 {
        self.cheap.scale(abstractions).max(self.thorough.scale(abstractions))
    }

    fn partition(
        &mut self,
        abstractions: &Abstractions,
        state: &[Value],
        beat: Option<Cost>,
    ) -> Option<CostPartitioning> {
        let Some(found) = self.cheap.partition(abstractions, state, beat) else {
            return self.thorough.partition(abstractions, state, beat);
        };
        if !std::mem::take(&mut self.is_first) {
            return Some(found);
        }
        let mut value =
            |p: &CostPartitioning| match p.evaluate(abstractions, state, &mut self.scratch) {
                Estimate::AtLeast(h) => Some(h),
                Estimate::DeadEnd => None,
            };
        let h = value(&found);
        let better = self.thorough.partition(abstractions, state, h);
        Some(better.filter(|better| value(better) > h).unwrap_or(found))
    }

    fn memory_bytes(&self) -> usize {
        self.cheap.memory_bytes() + self.thorough.memory_bytes()
    }
}
