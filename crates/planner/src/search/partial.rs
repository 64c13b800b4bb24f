//! Partial expansion: states above the bound of the moment are not stored
//! (Yoshizumi, Miura, Ishida 2000; Goldenberg et al. 2014).
//!
//! Most states of a long search are stored and never expanded.
//! From when a share of the memory is in use, a new successor whose f value is above the lower bound
//! is left out, as are new dead ends.
//! Its parent is not closed: it goes back to the open list with the least f value that it left out,
//! and is expanded again when the bound has come that far.
//!
//! The optimum is not lost: as long as some state on a cheapest path is left out, the last stored
//! state before it is in the open list, with a key of at most the least f value that it left out.
//! That value stands in the open list only. The state keeps its own estimate h, so a state that is
//! reached at lower cost begins again with g + h, and what it left out at the higher cost is
//! forgotten.
//! An estimate that has risen when a state is expanded again leaves its successor out once more.
//!
//! Deviation: without a memory limit, and before the share is used up, states are stored as always:
//! expanding again takes time.

use super::Stop;
use super::astar::Search;
use super::nodes::SearchNodes;
use super::registry::StateId;
use crate::heuristic::{Estimate, Heuristic};
use crate::task::{Cost, StatePacker};

/// The part of the memory limit that states take before some are left out.
const SHARE: usize = 3;
/// What a state takes in the table of the registry and in the open list, about.
const BYTES_BESIDE: usize = 14;

/// How many states are stored before some are left out, under a memory limit.
pub(super) fn states_stored(packer: &StatePacker, memory_bytes: Option<usize>) -> u64 {
    let bytes = (packer.words() + SearchNodes::WORDS) * size_of::<u32>() + BYTES_BESIDE;
    memory_bytes.map_or(u64::MAX, |limit| (limit / SHARE / bytes) as u64)
}

impl<H: Heuristic> Search<'_, H> {
    /// Expands a state, but stores only new states whose f value is not above the lower bound.
    pub(super) fn expand_partly(&mut self, parent: StateId) -> Result<(), Stop> {
        let mut batch = std::mem::take(&mut self.batch);
        self.generate(&mut batch);
        let g = self.nodes.g(parent);
        let bound = self.statistics.lower_bound;
        let words = batch.parent.len();
        let mut least_left_out: Option<Cost> = None;
        let mut result = Ok(());
        for (i, &op) in batch.operators.iter().enumerate() {
            let child = &batch.words[i * words..(i + 1) * words];
            let g = g.saturating_add(self.task.operator(op).cost);
            if let Some(id) = self.registry.find(batch.hashes[i], child) {
                self.reach_again(id, parent, op, g);
                continue;
            }
            self.packer.unpack(child, &mut batch.values);
            let derives = self.derive(op, &mut batch.values);
            let estimate = match self.estimate(&batch.values) {
                Ok(estimate) => estimate,
                Err(stop) => {
                    result = Err(stop);
                    break;
                }
            };
            let Estimate::AtLeast(h) = estimate else { continue };
            let f = g.saturating_add(h);
            if f > bound {
                self.statistics.left_out += 1;
                least_left_out = Some(least_left_out.map_or(f, |least| least.min(f)));
                continue;
            }
            let Some((id, _)) = self.registry.insert(batch.hashes[i], child) else {
                result = Err(Stop::OutOfMemory);
                break;
            };
            if derives {
                self.packer.pack(&batch.values, &mut batch.derived);
                self.registry.complete(id, &batch.derived);
            }
            self.nodes.push(id);
            self.nodes.open(id, parent, op, g);
            self.nodes.set_h(id, estimate);
            self.open(f, h, id);
        }
        self.batch = batch;
        if let (Some(f), Estimate::AtLeast(h)) = (least_left_out, self.nodes.h(parent)) {
            self.nodes.close_partly(parent);
            self.open(f, h, parent);
        }
        result
    }
}
