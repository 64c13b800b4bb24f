//! Landmarks of states evaluated before, which hold in others as well (incremental LM-cut,
//! Pommerening, Helmert 2013).
//!
//! A cut comes with the facts reached before it: no other action leads out of them, and the goal is
//! not among them.
//! So it is a landmark of every state all of whose facts are there, however that state was reached,
//! which takes a few words to see; neighbours in a search share most of theirs.
//! An evaluation begins with those of the one state that shares most, pays for them, and looks for
//! further landmarks in what is left; where too little is shared, it begins from scratch and its own
//! landmarks are kept in place of the oldest.
//! No allocation once the buffers have grown.

use super::exploration::Exploration;
use super::relaxed::Relaxed;
use crate::csr::Csr;
use crate::task::Cost;

/// The landmarks of one state.
#[derive(Clone, Debug, Default)]
struct Cuts {
    /// By cut: its cost, its actions, and the facts before it, as words.
    costs: Vec<u32>,
    actions: Csr<u32>,
    before: Vec<u64>,
    /// The sum of costs.
    total: Cost,
}

impl Cuts {
    fn clear(&mut self) {
        self.costs.clear();
        self.actions.clear();
        self.before.clear();
        self.total = 0;
    }

    fn push(&mut self, cost: Cost, actions: &[u32], before: &[u64]) {
        self.costs.push(cost as u32);
        self.actions.push(actions.iter().copied());
        self.before.extend_from_slice(before);
        self.total += cost;
    }

    /// The cuts that are landmarks of a state with these facts.
    fn held<'a>(&'a self, facts: &'a [u64]) -> impl Iterator<Item = usize> + 'a {
        let sets = self.before.chunks_exact(facts.len());
        let holds = |before: &[u64]| facts.iter().zip(before).all(|(fact, set)| fact & !set == 0);
        sets.enumerate().filter(move |(_, before)| holds(before)).map(|(i, _)| i)
    }
}

/// How many states' landmarks are kept.
const KEPT: usize = 16;

/// How much of another state's value must hold; with less, values get worse more than evaluations
/// get faster.
const LEAST_SHARED: f64 = 0.75;

/// The landmarks of some states evaluated from scratch.
#[derive(Debug)]
pub(super) struct Recent {
    states: Vec<Cuts>,
    next: usize,
    /// The facts of the state being evaluated, as words.
    facts: Vec<u64>,
}

impl Recent {
    pub(super) fn new(relaxed: &Relaxed) -> Recent {
        let facts = vec![0; relaxed.num_facts().div_ceil(64)];
        Recent { states: vec![Cuts::default(); KEPT], next: 0, facts }
    }

    /// Pays for landmarks of the exploration's state that are known; their cost, if they are enough.
    pub(super) fn pay(&mut self, relaxed: &Relaxed, exploration: &mut Exploration) -> Option<Cost> {
        self.facts.fill(0);
        for &fact in exploration.facts() {
            self.facts[fact as usize / 64] |= 1 << (fact % 64);
        }
        let shared = |cuts: &Cuts| -> Cost {
            cuts.held(&self.facts).map(|i| Cost::from(cuts.costs[i])).sum()
        };
        let (cuts, sum) =
            self.states.iter().map(|cuts| (cuts, shared(cuts))).max_by_key(|&(_, sum)| sum)?;
        if sum == 0 || (sum as f64) < LEAST_SHARED * cuts.total as f64 {
            return None;
        }
        for i in cuts.held(&self.facts) {
            exploration.pay_for(relaxed, cuts.actions.row(i), cuts.costs[i]);
        }
        Some(sum)
    }

    /// Forgets the oldest landmarks to make room for those of another state.
    pub(super) fn begin(&mut self) {
        self.next = (self.next + 1) % KEPT;
        self.states[self.next].clear();
    }

    /// Keeps the last cut.
    pub(super) fn push(&mut self, exploration: &Exploration, cost: Cost) {
        let (actions, before) = exploration.last_cut();
        self.states[self.next].push(cost, actions, before);
    }
}
