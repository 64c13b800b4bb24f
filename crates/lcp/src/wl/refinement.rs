//! Colour refinement (Algorithm 2, lines 1 and 5 to 7) of one pattern's graph in one state.

use planner::task::Value;

use super::colours::{ABSENT, Colour, DROPPED, Signature, is_known, pack, pack_own};
use super::pattern_graph::PatternGraph;

/// κ⁰..κᴸ of every node.
#[derive(Clone, Debug, Default)]
pub(super) struct Refinement {
    num_nodes: usize,
    /// κʲ(v) at `j * num_nodes + v`.
    colours: Vec<Colour>,
    signature: Vec<u64>,
}

impl Refinement {
    /// Computes κ⁰..κᴸ where the pattern's variables have `values`.
    ///
    /// `hash` gives the colour of a signature.
    pub(super) fn run(
        &mut self,
        graph: &PatternGraph,
        values: &[Value],
        iterations: usize,
        mut hash: impl FnMut(&Signature) -> Colour,
    ) {
        let n = graph.num_nodes();
        self.num_nodes = n;
        self.colours.clear();
        self.colours.extend_from_slice(&graph.initial);
        for (facts, &value) in graph.by_fact.iter().zip(values) {
            for &(node, holds) in &facts[value as usize] {
                self.colours[node as usize] = holds;
            }
        }
        self.colours.resize((iterations + 1) * n, ABSENT);
        for j in 1..=iterations {
            let (previous, next) = self.colours[(j - 1) * n..(j + 1) * n].split_at_mut(n);
            for (v, next) in next.iter_mut().enumerate() {
                *next = refine(graph, v, previous, &mut self.signature, &mut hash);
            }
        }
    }

    /// κʲ(v); a mark where the node is absent or the colour unknown.
    #[inline]
    pub(super) fn colour(&self, j: usize, v: usize) -> Colour {
        self.colours[j * self.num_nodes + v]
    }

    /// The last known colour of a node, which determines those before it; none if there is none.
    pub(super) fn last_known(&self, iterations: usize, v: usize) -> Option<Colour> {
        (0..=iterations).rev().map(|j| self.colour(j, v)).find(|&colour| is_known(colour))
    }
}

/// κʲ(v) from κʲ⁻¹.
#[inline]
fn refine(
    graph: &PatternGraph,
    v: usize,
    previous: &[Colour],
    signature: &mut Vec<u64>,
    hash: &mut impl FnMut(&Signature) -> Colour,
) -> Colour {
    let own = previous[v];
    if !is_known(own) {
        return own;
    }
    signature.clear();
    signature.push(pack_own(own));
    for &(u, edge) in graph.neighbours(v) {
        match previous[u as usize] {
            ABSENT => {}
            DROPPED => return DROPPED,
            _ if edge == DROPPED => return DROPPED,
            colour => signature.push(pack(colour, edge)),
        }
    }
    signature[1..].sort_unstable();
    signature.dedup();
    hash(signature)
}
