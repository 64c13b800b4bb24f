//! Search nodes: how each state was reached, at what cost, and its estimate. 16 bytes a state.
//!
//! Costs are kept in 32 bits; the rare ones that do not fit lie in a table beside, so no task is
//! refused for its costs and every other task pays nothing for them.

use rustc_hash::FxHashMap;

use super::chunks::Chunks;
use super::registry::StateId;
use crate::estimate::Estimate;
use crate::task::{Cost, OpId};

/// One node per registered state.
pub(super) struct SearchNodes {
    nodes: Chunks,
    large_g: FxHashMap<StateId, Cost>,
    large_h: FxHashMap<StateId, Cost>,
}

/// A node is four words: the parent; the operator that leads here from it, whether the node is
/// closed, entirely or partly, and whether it was visited; g; h.
const NODE: usize = 4;
const PARENT: usize = 0;
const OPERATOR: usize = 1;
const G: usize = 2;
const H: usize = 3;

const CLOSED: u32 = 1 << 31;
const VISITED: u32 = 1 << 30;
const PARTLY: u32 = 1 << 29;
const OPERATOR_BITS: u32 = PARTLY - 1;
/// The value lies in the table beside.
const LARGE: u32 = u32::MAX - 1;
const DEAD_END: u32 = u32::MAX;

impl SearchNodes {
    /// Words per node.
    pub(super) const WORDS: usize = NODE;

    pub(super) fn new() -> SearchNodes {
        SearchNodes {
            nodes: Chunks::new(NODE),
            large_g: FxHashMap::default(),
            large_h: FxHashMap::default(),
        }
    }

    #[inline(always)]
    fn node(&self, id: StateId) -> &[u32; NODE] {
        self.nodes.array(id.0)
    }

    #[inline(always)]
    fn node_mut(&mut self, id: StateId) -> &mut [u32; NODE] {
        self.nodes.array_mut(id.0)
    }

    /// Adds the node of the state registered last.
    #[inline]
    pub(super) fn push(&mut self, id: StateId) {
        let index = self.nodes.push_zeros();
        debug_assert_eq!(index, id.0);
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, id: StateId) {
        self.nodes.prefetch(id.0);
    }

    #[inline(always)]
    pub(super) fn g(&self, id: StateId) -> Cost {
        match self.node(id)[G] {
            LARGE => self.large_g[&id],
            g => g.into(),
        }
    }

    #[inline(always)]
    pub(super) fn h(&self, id: StateId) -> Estimate {
        match self.node(id)[H] {
            DEAD_END => Estimate::DeadEnd,
            LARGE => Estimate::AtLeast(self.large_h[&id]),
            h => Estimate::AtLeast(h.into()),
        }
    }

    pub(super) fn set_h(&mut self, id: StateId, h: Estimate) {
        self.node_mut(id)[H] = match h {
            Estimate::DeadEnd => DEAD_END,
            Estimate::AtLeast(h) if h < LARGE.into() => h as u32,
            Estimate::AtLeast(h) => {
                self.large_h.insert(id, h);
                LARGE
            }
        };
    }

    /// Opens the node (again): it is now reached from `parent` by `op` at cost `g`.
    pub(super) fn open(&mut self, id: StateId, parent: StateId, op: OpId, g: Cost) {
        debug_assert!(op.0 <= OPERATOR_BITS);
        let small = if g < LARGE.into() {
            g as u32
        } else {
            self.large_g.insert(id, g);
            LARGE
        };
        let node = self.node_mut(id);
        node[PARENT] = parent.0;
        node[OPERATOR] = op.0 | (node[OPERATOR] & VISITED);
        node[G] = small;
    }

    #[inline(always)]
    pub(super) fn close(&mut self, id: StateId) {
        let node = self.node_mut(id);
        node[OPERATOR] = (node[OPERATOR] | CLOSED) & !PARTLY;
    }

    /// Opens a closed node again because some of its successors were left out.
    pub(super) fn close_partly(&mut self, id: StateId) {
        let node = self.node_mut(id);
        node[OPERATOR] = (node[OPERATOR] | PARTLY) & !CLOSED;
    }

    /// Whether the node was expanded, at its present cost, and some of its successors left out.
    #[inline(always)]
    pub(super) fn is_partly_closed(&self, id: StateId) -> bool {
        self.node(id)[OPERATOR] & PARTLY != 0
    }

    #[inline(always)]
    pub(super) fn is_closed(&self, id: StateId) -> bool {
        self.node(id)[OPERATOR] & CLOSED != 0
    }

    /// Whether the heuristic was asked about this state before its expansion.
    #[inline(always)]
    pub(super) fn is_visited(&self, id: StateId) -> bool {
        self.node(id)[OPERATOR] & VISITED != 0
    }

    pub(super) fn set_visited(&mut self, id: StateId) {
        self.node_mut(id)[OPERATOR] |= VISITED;
    }

    /// The state that this one is reached from, and by which operator.
    pub(super) fn parent(&self, id: StateId) -> (StateId, OpId) {
        let node = self.node(id);
        (StateId(node[PARENT]), OpId(node[OPERATOR] & OPERATOR_BITS))
    }

    /// The operators that lead from the initial state to this one, each with the state behind it.
    pub(super) fn path_to(&self, mut id: StateId, initial: StateId) -> Vec<(OpId, StateId)> {
        let mut path = Vec::new();
        while id != initial {
            let node = self.node(id);
            path.push((OpId(node[OPERATOR] & OPERATOR_BITS), id));
            id = StateId(node[PARENT]);
        }
        path.reverse();
        path
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let large = self.large_g.capacity() + self.large_h.capacity();
        let entry = size_of::<(StateId, Cost)>() + 1;
        self.nodes.bytes() + large * entry
    }
}
