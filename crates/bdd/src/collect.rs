//! Collection of garbage by marks, between operations.

use crate::kernel::Kernel;
use crate::nodes::{Edge, Nodes, TRUE};

/// A bit per node, so that sweeping the cache stays in the processor's cache.
#[derive(Default)]
pub(crate) struct Marks {
    bits: Vec<u64>,
    stack: Vec<u32>,
}

impl Marks {
    pub(crate) fn bytes(&self) -> usize {
        self.bits.capacity() * size_of::<u64>() + self.stack.capacity() * size_of::<u32>()
    }

    /// Marks the nodes of a function; returns how many were not marked before.
    fn mark(&mut self, nodes: &Nodes, root: Edge) -> usize {
        self.bits.resize(nodes.len().div_ceil(64), 0);
        self.walk(nodes, root, |word, bit| {
            let is_new = *word & bit == 0;
            *word |= bit;
            is_new
        })
    }

    /// Counts the nodes of a function; no node is marked before and after.
    pub(crate) fn size(&mut self, nodes: &Nodes, root: Edge) -> usize {
        let size = self.mark(nodes, root);
        self.walk(nodes, root, |word, bit| {
            let was_marked = *word & bit != 0;
            *word &= !bit;
            was_marked
        });
        size
    }

    /// Visits nodes from the root on, below those for which `enter` says so; returns how many.
    fn walk(&mut self, nodes: &Nodes, root: Edge, enter: impl Fn(&mut u64, u64) -> bool) -> usize {
        let mut count = 0;
        self.stack.push(root.0);
        while let Some(edge) = self.stack.pop() {
            let edge = Edge(edge);
            let at = edge.node();
            if enter(&mut self.bits[at / 64], 1 << (at % 64)) {
                count += 1;
                if at != TRUE.node() {
                    let node = nodes.node(edge);
                    self.stack.extend([node.lo.0, node.hi.0]);
                }
            }
        }
        count
    }
}

impl Kernel<'_> {
    /// Frees the nodes that no handle needs, and forgets results about them.
    pub fn collect(&mut self) {
        self.drop_released();
        self.marks.mark(&self.nodes, TRUE);
        for root in &self.roots {
            self.marks.mark(&self.nodes, root.edge());
        }
        let bits = &self.marks.bits;
        let is_marked = |at: usize| bits[at / 64] >> (at % 64) & 1 == 1;
        self.cache.sweep(|edge| is_marked(edge.node()));
        self.nodes.sweep(is_marked);
        self.marks.bits.fill(0);
        // The next collection is due when at least half of the nodes may be garbage.
        self.collect_at = self.collect_at.max(2 * self.nodes.used());
        self.collections += 1;
        // Looking at an entry is cheaper than a step of a recursion.
        self.steps += (self.nodes.len() / 8 + self.cache.len() / 16) as u64;
    }
}
