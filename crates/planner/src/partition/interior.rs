//! Optimal cost partitionings from the middle of the optimal face, as labels for learning.
//!
//! Solves, for a state, the whole linear program with the equality constraint
//!
//! ```text
//! maximise Σ_P H_P  subject to
//!   D_P(t) ≤ D_P(s) + L(l)      for every transition s →l t of P that matters; H_P = D_P(goal)
//!   L(l) ≤ C(P, k)              for every class k of operators of label l
//!   Σ_P C(P, k) = c(k)          for every class k, over all patterns where it is relevant
//!   C ≥ 0, D ≥ 0, D_P = 0 in the projected state
//! ```
//!
//! by the interior-point method of Clarabel without crossover, to a relative gap of
//! [`InteriorSolver::TOLERANCE`].
//! Its solution tends to the analytic centre of all optimal ones, so it treats what the task
//! treats alike, alike: a symmetric network can learn it.
//! Where many partitionings are equally good, a vertex, and what path generation (ocp.rs) ends
//! with, is an arbitrary one of them.
//! What matters for the state is defined in flow.rs.
//! Cost: one sparse factorisation of the whole program per iteration; for labels, not for search.

use std::rc::Rc;
use std::sync::Arc;

use super::MEMORY_LIMIT;
use super::flow::{Classes, Network, Networks};
use super::program::Program;
use crate::abstraction::Abstractions;
use crate::task::Value;
use crate::work::Budget;

/// Solves for interior optimal partitionings of a collection.
#[derive(Clone, Debug)]
pub struct InteriorSolver {
    abstractions: Arc<Abstractions>,
    classes: Classes,
    known_networks: Networks,
    networks: Vec<Rc<Network>>,
}

/// An optimal cost partitioning in floating-point numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct InteriorPartitioning {
    /// The optimum: the value of the best partitioning at the state, in units of cost.
    pub value: f64,
    /// The share of its operator's cost that each pair of the collection receives; those of an
    /// operator sum up to one.
    /// Operators without cost have equal shares.
    pub shares: Vec<f64>,
}

impl InteriorSolver {
    /// The gap between the solver's bounds, relative to the largest cost or the optimum.
    pub const TOLERANCE: f64 = 1e-8;

    /// A solver for a collection.
    pub fn new(abstractions: &Arc<Abstractions>) -> InteriorSolver {
        InteriorSolver {
            abstractions: Arc::clone(abstractions),
            classes: Classes::new(abstractions),
            known_networks: Networks::new(abstractions.len(), MEMORY_LIMIT),
            networks: Vec::new(),
        }
    }

    /// Solves for a state; `None` if it is a dead end of some projection or the solver fails.
    pub fn solve(&mut self, state: &[Value]) -> Option<InteriorPartitioning> {
        let InteriorSolver { abstractions, classes, known_networks, networks } = self;
        if abstractions.is_dead_end(state) {
            return None;
        }
        let mut budget = Budget::unlimited();
        known_networks.of_state(abstractions, classes, state, networks, &mut budget);
        let mut program = Program::default();
        let all_classes = 0..classes.len() as u32;
        let unit = all_classes.clone().map(|class| classes.cost(class)).fold(0.0, f64::max);

        // The unknown C of each slot; none if its class costs nothing.
        let mut c = vec![None; classes.num_slots()];
        for class in all_classes.filter(|&class| classes.cost(class) > 0.0) {
            let slots = classes.slots(class);
            if slots.is_empty() {
                continue; // Relevant nowhere.
            }
            slots.iter().for_each(|&slot| c[slot as usize] = Some(program.add_nonnegative(0.0)));
            let all = slots.iter().map(|&slot| (c[slot as usize].expect("made above"), 1.0));
            program.add_equation(all, classes.cost(class) / unit);
        }
        for network in networks.iter().filter(|network| !network.is_trivial()) {
            add_network(&mut program, network, &c);
        }
        let solution = program.solve(InteriorSolver::TOLERANCE, &mut budget)?;

        let mut shares: Vec<f64> = Vec::with_capacity(abstractions.num_pairs());
        let mut totals = vec![0.0; classes.len()];
        let share = |slot: usize| c[slot].map_or(1.0, |column| solution.x[column].max(0.0));
        for slot in 0..classes.num_slots() {
            totals[classes.class(slot as u32) as usize] += share(slot);
        }
        for &slot in classes.slot_of_pair() {
            shares.push(share(slot as usize) / totals[classes.class(slot) as usize]);
        }
        Some(InteriorPartitioning { value: solution.value * unit, shares })
    }
}

/// Adds the distances of one projection.
fn add_network(program: &mut Program, network: &Network, c: &[Option<usize>]) {
    let nodes: Vec<usize> = (1..network.num_nodes())
        .map(|node| program.add_nonnegative(if node == network.goal() { 1.0 } else { 0.0 }))
        .collect();
    // What each label costs: nothing, the unknown of its slot, or an unknown below all its slots.
    let label = |program: &mut Program, slots: std::ops::Range<u32>| -> Option<usize> {
        let columns: Option<Vec<usize>> = slots.map(|slot| c[slot as usize]).collect();
        match columns?[..] {
            [column] => Some(column),
            ref columns => {
                let l = program.add_free(0.0);
                for &column in columns {
                    program.add_inequality([(l, 1.0), (column, -1.0)], 0.0);
                }
                Some(l)
            }
        }
    };
    let labels: Vec<Option<usize>> = network.labels().map(|slots| label(program, slots)).collect();
    for (tail, l, head) in network.arcs() {
        let tail = (tail > 0).then(|| (nodes[tail - 1], -1.0));
        let l = labels[l].map(|column| (column, -1.0));
        let terms = [Some((nodes[head - 1], 1.0)), tail, l];
        program.add_inequality(terms.into_iter().flatten(), 0.0);
    }
}
