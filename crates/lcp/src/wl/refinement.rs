//! Colour refinement (Algorithm 2, lines 1 and 5 to 7) of one pattern's graph, state after state.
//!
//! The colours of the last state are kept; for the next one only what its changed values affect is
//! computed again: in iteration j the nodes within j edges of a changed value, and of those only
//! the ones with a neighbour whose colour really changed.

use planner::task::Value;

use super::colours::{ABSENT, Colour, DROPPED, Signature, is_known, pack, pack_own};
use super::pattern_graph::PatternGraph;

/// κ⁰..κᴸ of every node in one state.
#[derive(Clone, Debug)]
pub(super) struct Refinement {
    num_nodes: usize,
    /// The values of the pattern's variables.
    values: Box<[Value]>,
    /// κʲ(v) at `j * num_nodes + v`.
    colours: Vec<Colour>,
}

/// Buffers for refinement, shared by all patterns.
#[derive(Clone, Debug, Default)]
pub(super) struct RefinementScratch {
    signature: Vec<u64>,
    /// The nodes whose colour changed in the last iteration.
    changed: Vec<u32>,
    candidates: Vec<u32>,
    is_candidate: Vec<bool>,
    /// The nodes of which some colour changed.
    affected: Vec<u32>,
    is_affected: Vec<bool>,
}

impl Refinement {
    /// Computes κ⁰..κᴸ where the pattern's variables have `values`.
    ///
    /// `hash` gives the colour of a signature.
    pub(super) fn new(
        graph: &PatternGraph,
        values: &[Value],
        iterations: usize,
        scratch: &mut RefinementScratch,
        mut hash: impl FnMut(&Signature) -> Colour,
    ) -> Refinement {
        let n = graph.num_nodes();
        let mut colours = Vec::with_capacity((iterations + 1) * n);
        colours.extend_from_slice(&graph.initial);
        for (facts, &value) in graph.by_fact.iter().zip(values) {
            for &(node, holds) in &facts[value as usize] {
                colours[node as usize] = holds;
            }
        }
        for j in 1..=iterations {
            for v in 0..n {
                let previous = &colours[(j - 1) * n..j * n];
                let colour = refine(graph, v, previous, &mut scratch.signature, &mut hash);
                colours.push(colour);
            }
        }
        Refinement { num_nodes: n, values: values.into(), colours }
    }

    /// Computes κ⁰..κᴸ where the variables now have `values`; returns the nodes of which some
    /// colour changed.
    pub(super) fn update<'s>(
        &mut self,
        graph: &PatternGraph,
        values: &[Value],
        scratch: &'s mut RefinementScratch,
        mut hash: impl FnMut(&Signature) -> Colour,
    ) -> &'s [u32] {
        let n = self.num_nodes;
        let s = scratch;
        s.is_candidate.resize(s.is_candidate.len().max(n), false);
        s.is_affected.resize(s.is_affected.len().max(n), false);
        s.affected.clear();
        s.changed.clear();
        for ((facts, old), &new) in graph.by_fact.iter().zip(&mut self.values).zip(values) {
            if *old != new {
                let fails =
                    facts[*old as usize].iter().map(|&(v, _)| (v, graph.initial[v as usize]));
                for (v, colour) in fails.chain(facts[new as usize].iter().copied()) {
                    if std::mem::replace(&mut self.colours[v as usize], colour) != colour {
                        s.changed.push(v);
                    }
                }
                *old = new;
            }
        }
        for colours in 1..self.colours.len() / n.max(1) {
            note_affected(&s.changed, &mut s.affected, &mut s.is_affected);
            s.candidates.clear();
            for &v in &s.changed {
                let around = graph.neighbours(v as usize).iter().map(|&(u, _)| u);
                for u in around.chain([v]) {
                    if !std::mem::replace(&mut s.is_candidate[u as usize], true) {
                        s.candidates.push(u);
                    }
                }
            }
            s.changed.clear();
            let (previous, next) = self.colours[(colours - 1) * n..].split_at_mut(n);
            for &v in &s.candidates {
                s.is_candidate[v as usize] = false;
                let colour = refine(graph, v as usize, previous, &mut s.signature, &mut hash);
                if std::mem::replace(&mut next[v as usize], colour) != colour {
                    s.changed.push(v);
                }
            }
        }
        note_affected(&s.changed, &mut s.affected, &mut s.is_affected);
        for &v in &s.affected {
            s.is_affected[v as usize] = false;
        }
        &s.affected
    }

    /// κʲ(v) for j = 0..L; a mark where the node is absent or the colour unknown.
    #[inline]
    pub(super) fn colours_of(&self, v: usize) -> impl DoubleEndedIterator<Item = Colour> {
        let n = self.num_nodes;
        (0..self.colours.len() / n).map(move |j| self.colours[j * n + v])
    }

    /// The last known colour of a node, which determines those before it; none if there is none.
    #[inline]
    pub(super) fn last_known(&self, v: usize) -> Option<Colour> {
        self.colours_of(v).rev().find(|&colour| is_known(colour))
    }

    /// Bytes held, roughly.
    pub(super) fn bytes(&self) -> usize {
        (self.colours.len() + self.values.len()) * 4
    }
}

fn note_affected(changed: &[u32], affected: &mut Vec<u32>, is_affected: &mut [bool]) {
    for &v in changed {
        if !std::mem::replace(&mut is_affected[v as usize], true) {
            affected.push(v);
        }
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
