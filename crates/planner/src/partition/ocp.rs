//! Optimal cost partitioning (Katz and Domshlak 2010), restricted to non-negative costs.
//!
//! Computes, for a state, a partitioning whose value rounds up to the optimum's.
//! The linear program has one constraint per transition; most never matter.
//! So it is solved from both sides (flow.rs has the mathematics):
//!
//! 1. a few steps of ascent from the last state's partitioning give good costs and, on the way,
//!    the paths that are short under good costs;
//! 2. the restricted master problem over these paths (master.rs) gives a flow, hence an upper
//!    bound, and better costs; shortest paths under those join the master; repeat.
//!
//! Ends when both bounds round to the same integer; each is computed from its own side's
//! solution, so the solver's accuracy affects the time only.
//! Paths are kept by abstract state: a successor shares most of them.
//! Deviates from the paper: costs end on the integer grid of [`CostPartitioning`], so the value
//! may fall short of an optimum that lies above an integer by less than the grid resolves.

use rustc_hash::FxHashMap;

use super::ascent::{Ascent, Bounds, StepSizes, TOLERANCE};
use super::master::{self, Path};
use super::{CostPartitioning, PartitionScratch, Partitioner};
use crate::abstraction::Abstractions;
use crate::heuristic::Estimate;
use crate::task::{Cost, Value};

const STEP_SIZES: StepSizes = StepSizes { first: 2.0, halving: 30.0 };

/// Steps of ascent before the first master problem: where paths are known and where not.
const WARM_STEPS: usize = 4;
const COLD_STEPS: usize = 25;

/// Steps of ascent from each master's costs.
const STEPS_PER_ROUND: usize = 10;

/// The most master problems for one state; far more than any task seen needs.
const MOST_ROUNDS: usize = 100;

/// How many paths of an abstract state are kept for the next state that shares it, and the least
/// share in the flow that makes a path worth keeping.
const MOST_KEPT: usize = 8;
const LEAST_KEPT: f64 = 1e-3;

/// Known paths are dropped when there are more than this.
const MOST_PATHS: usize = 1 << 20;

/// Figures of all calls so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OcpStatistics {
    /// States.
    pub states: u64,
    /// Steps of ascent.
    pub steps: u64,
    /// Master problems solved.
    pub masters: u64,
    /// States for which the bounds could not be brought together; the partitioning is then still
    /// valid but perhaps not optimal.
    pub open: u64,
}

/// Makes optimal partitionings.
#[derive(Clone, Debug)]
pub struct Ocp {
    ascent: Ascent,
    scratch: PartitionScratch,
    /// By pattern and abstract state: paths that were worth having.
    known: Vec<FxHashMap<u32, Vec<Path>>>,
    num_known: usize,
    /// By pattern: the paths in the current state's master problem.
    paths: Vec<Vec<Path>>,
    statistics: OcpStatistics,
}

impl Ocp {
    /// Optimal partitionings for a collection.
    pub fn new(abstractions: &Abstractions) -> Ocp {
        Ocp {
            ascent: Ascent::new(abstractions),
            scratch: PartitionScratch::default(),
            known: vec![FxHashMap::default(); abstractions.len()],
            num_known: 0,
            paths: vec![Vec::new(); abstractions.len()],
            statistics: OcpStatistics::default(),
        }
    }

    /// Figures of all calls so far.
    pub fn statistics(&self) -> OcpStatistics {
        self.statistics
    }

    /// The bounds on the optimum at the last state.
    pub fn bounds(&self) -> Bounds {
        self.ascent.bounds()
    }

    /// Brings the known paths of a state together; whether every pattern has some.
    fn gather(&mut self, abstractions: &Abstractions, state: &[Value]) -> bool {
        let mut is_warm = true;
        for (p, paths) in abstractions.ids().zip(&mut self.paths) {
            paths.clear();
            let source = abstractions.projection(p).abstract_state(state);
            match self.known[p.index()].get(&source) {
                Some(known) => paths.extend_from_slice(known),
                None => is_warm &= abstractions.projection(p).is_goal(source),
            }
        }
        is_warm
    }

    /// Adds the current shortest paths to the master problem; whether any is new.
    fn add_paths(&mut self) -> bool {
        let mut any = false;
        for (p, paths) in self.paths.iter_mut().enumerate() {
            let path = self.ascent.path(p);
            let is_new =
                !self.ascent.networks()[p].is_trivial() && !paths.iter().any(|q| **q == *path);
            if is_new {
                paths.push(path.into());
                any = true;
            }
        }
        any
    }

    fn climb(&mut self, steps: usize) {
        for _ in 0..steps {
            self.ascent.step(STEP_SIZES);
            self.statistics.steps += 1;
            self.add_paths();
        }
    }

    /// Remembers the paths that the last flow used most.
    fn remember(&mut self, abstractions: &Abstractions, state: &[Value], shares: &[Vec<f64>]) {
        if self.num_known > MOST_PATHS {
            self.known.iter_mut().for_each(FxHashMap::clear);
            self.num_known = 0;
        }
        for (p, (paths, shares)) in abstractions.ids().zip(self.paths.iter_mut().zip(shares)) {
            let source = abstractions.projection(p).abstract_state(state);
            let known = self.known[p.index()].entry(source).or_default();
            self.num_known -= known.len();
            known.clear();
            let mut used: Vec<(f64, Path)> = shares.iter().copied().zip(paths.drain(..)).collect();
            used.sort_by(|a, b| b.0.total_cmp(&a.0));
            let kept = used.into_iter().take(MOST_KEPT).filter(|&(share, _)| share > LEAST_KEPT);
            known.extend(kept.map(|(_, path)| path));
            self.num_known += known.len();
        }
    }
}

impl Partitioner for Ocp {
    fn name(&self) -> &'static str {
        "ocp"
    }

    fn partition(
        &mut self,
        abstractions: &Abstractions,
        state: &[Value],
        beat: Option<Cost>,
    ) -> Option<CostPartitioning> {
        let beat = beat.map_or(f64::NEG_INFINITY, |h| (h / abstractions.divisor()) as f64);
        self.statistics.states += 1;
        let is_warm = self.gather(abstractions, state);
        self.ascent.begin(abstractions, state);
        self.add_paths();
        self.climb(if is_warm { WARM_STEPS } else { COLD_STEPS });
        let mut accuracy = 1e-4;
        let mut shares = Vec::new();
        for round in 0..MOST_ROUNDS {
            let Some(solution) = master::solve(self.ascent.classes(), &self.paths, accuracy) else {
                break;
            };
            self.statistics.masters += 1;
            let flow = |slot| solution.flow.get(&slot).copied().unwrap_or(0.0);
            let upper = self.ascent.upper_bound(flow);
            self.ascent.set_upper_bound(upper);
            shares = solution.shares;
            let bounds = self.ascent.bounds();
            if bounds.upper - TOLERANCE <= beat {
                self.remember(abstractions, state, &shares);
                return None;
            }
            if bounds.are_closed() {
                break;
            }
            self.ascent.jump(|slot| solution.costs.get(&slot).copied().unwrap_or(0.0));
            let any_new = self.add_paths();
            if self.ascent.bounds().are_closed() {
                break;
            }
            self.climb(STEPS_PER_ROUND);
            if self.ascent.bounds().are_closed() {
                break;
            }
            if !any_new || round > 5 {
                accuracy = 1e-8;
            }
        }
        self.remember(abstractions, state, &shares);
        let partitioning = self.ascent.finish(abstractions);
        let bounds = self.ascent.bounds();
        let value = partitioning.evaluate(abstractions, state, &mut self.scratch);
        let wanted = ((bounds.upper - TOLERANCE).ceil().max(0.0)) as Cost * abstractions.divisor();
        if !matches!(value, Estimate::AtLeast(h) if h >= wanted) {
            self.statistics.open += 1;
        }
        Some(partitioning)
    }
}
