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

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::master::{self, MasterSolution, Path};
use crate::abstraction::{Abstractions, ComponentId};
use crate::estimate::Estimate;
use crate::partition::ascent::{Climb, StepRule, ValueBounds};
use crate::partition::{CostPartitioning, MEMORY_LIMIT, PartitionScratch, Partitioner, Request};
use crate::task::{Cost, Value};
use crate::work::Budget;

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

/// How close to the optimum to go, and what to keep.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OcpConfig {
    /// How far apart the bounds may stay, relative to the optimum; without it they need only
    /// round to the same integer.
    pub gap: Option<f64>,
    /// The most bytes of what is known of abstract states, kept for the next state that has them.
    pub max_bytes: usize,
}

impl Default for OcpConfig {
    fn default() -> OcpConfig {
        OcpConfig { gap: None, max_bytes: MEMORY_LIMIT }
    }
}

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
    config: OcpConfig,
    ascent: Climb,
    scratch: PartitionScratch,
    /// By component and abstract state: paths that were worth having.
    known: Vec<FxHashMap<u32, Known>>,
    known_bytes: usize,
    /// By component: the paths in the current state's master problem.
    paths: Vec<Vec<Path>>,
    /// By label: its slots in the current state's master problem.
    slots: FxHashMap<u32, Vec<u32>>,
    /// Memory for a flow, by slot, and for the largest flow of each class.
    flow: Vec<f64>,
    largest: Vec<f64>,
    statistics: OcpStatistics,
}

/// What was worth having for an abstract state.
#[derive(Clone, Debug, Default)]
struct Known {
    paths: Vec<Path>,
    /// Labels with the slots they need, label by label.
    slots: Vec<(u32, u32)>,
    /// A unit flow to the goals: how much of it uses each slot.
    flow: Vec<(u32, f64)>,
}

impl Known {
    /// Bytes of memory, its place in the table included; nothing if there is nothing to know.
    fn memory_bytes(&self) -> usize {
        if self.paths.is_empty() {
            return 0;
        }
        let paths: usize = self.paths.iter().map(|path| size_of::<Path>() + 4 * path.len()).sum();
        2 * size_of::<Known>()
            + paths
            + size_of::<(u32, u32)>() * self.slots.len()
            + size_of::<(u32, f64)>() * self.flow.len()
    }
}

impl Ocp {
    /// Optimal partitionings for a collection.
    pub fn new(abstractions: &Arc<Abstractions>) -> Ocp {
        Ocp::with_config(abstractions, OcpConfig::default())
    }

    /// Partitionings as exact as the configuration says.
    pub fn with_config(abstractions: &Arc<Abstractions>, config: OcpConfig) -> Ocp {
        let ascent = Climb::new(abstractions, config.max_bytes / 2);
        let classes = Rc::clone(ascent.classes());
        Ocp {
            config,
            ascent,
            scratch: PartitionScratch::default(),
            known: vec![FxHashMap::default(); abstractions.len()],
            known_bytes: 0,
            paths: vec![Vec::new(); abstractions.len()],
            slots: FxHashMap::default(),
            flow: vec![0.0; classes.num_slots()],
            largest: vec![0.0; classes.len()],
            statistics: OcpStatistics::default(),
        }
    }

    fn is_done(&self) -> bool {
        let bounds = self.ascent.bounds();
        match self.config.gap {
            None => bounds.are_closed(),
            Some(gap) => bounds.upper - bounds.lower <= gap * bounds.upper,
        }
    }

    /// Figures of all calls so far.
    pub fn statistics(&self) -> OcpStatistics {
        self.statistics
    }

    /// The bounds on the optimum at the last state.
    pub fn bounds(&self) -> ValueBounds {
        self.ascent.bounds()
    }

    /// Brings the known paths of a state together; whether every component has some.
    fn gather(&mut self, state: &[Value]) -> bool {
        let abstractions = self.ascent.abstractions();
        let mut is_warm = true;
        self.slots.clear();
        for (p, paths) in abstractions.ids().zip(&mut self.paths) {
            paths.clear();
            let source = abstractions.component(p).abstract_state(state);
            let Some(known) = self.known[p.index()].get(&source) else {
                is_warm &= abstractions.component(p).is_goal(source);
                continue;
            };
            paths.extend_from_slice(&known.paths);
            for &(label, slot) in &known.slots {
                self.slots.entry(label).or_default().push(slot);
            }
        }
        is_warm
    }

    /// An upper bound from the flows of earlier states.
    ///
    /// Where there is none, a path that adds little to the flows of the others will do.
    fn bound_by_known_flows(&mut self, state: &[Value]) {
        let abstractions = Arc::clone(self.ascent.abstractions());
        let classes = Rc::clone(self.ascent.classes());
        let mut flow = std::mem::take(&mut self.flow);
        let mut largest = std::mem::take(&mut self.largest);
        let mut used: Vec<u32> = Vec::new();
        let mut add = |(slot, amount): (u32, f64), largest: &mut [f64]| {
            flow[slot as usize] = amount;
            used.push(slot);
            let largest = &mut largest[classes.class(slot) as usize];
            *largest = largest.max(amount);
        };
        let mut unknown = Vec::new();
        for p in abstractions.ids() {
            let source = abstractions.component(p).abstract_state(state);
            match self.known[p.index()].get(&source) {
                Some(known) => known.flow.iter().for_each(|&u| add(u, &mut largest)),
                None => unknown.push(p.index()),
            }
        }
        for p in unknown {
            let extra = |slot: u32| {
                let class = classes.class(slot);
                classes.cost(class) * (1.0 - largest[class as usize]).max(0.0)
            };
            let uses = self.ascent.path_for(p, extra);
            uses.iter().for_each(|&u| add(u, &mut largest));
        }
        let upper = self.ascent.upper_bound(|slot| flow[slot as usize]);
        self.ascent.set_upper_bound(upper);
        for slot in used {
            flow[slot as usize] = 0.0;
            largest[classes.class(slot) as usize] = 0.0;
        }
        self.flow = flow;
        self.largest = largest;
    }

    /// Adds the current shortest paths to the master problem; whether anything is new.
    fn add_paths(&mut self) -> bool {
        let mut any = false;
        let classes = self.ascent.classes();
        for (p, paths) in self.paths.iter_mut().enumerate() {
            let path = self.ascent.path(p);
            if self.ascent.networks()[p].is_trivial() {
                continue;
            }
            if !paths.iter().any(|known| **known == *path) {
                paths.push(path.into());
                any = true;
            }
            for &(slot, _) in self.ascent.uses(p) {
                let slots = self.slots.entry(classes.label(slot)).or_default();
                if !slots.contains(&slot) {
                    slots.push(slot);
                    any = true;
                }
            }
        }
        any
    }

    /// Makes some steps of ascent, as long as the bounds are apart and the budget lasts.
    fn climb(&mut self, steps: usize, budget: &mut Budget) {
        for _ in 0..steps {
            if self.is_done() || budget.is_spent() {
                return;
            }
            self.ascent.step(&StepRule::PLAIN);
            budget.spend(self.ascent.take_work());
            self.statistics.steps += 1;
            self.add_paths();
        }
    }

    /// Remembers the paths and slots that the last flow used most.
    fn remember(&mut self, state: &[Value], solution: &MasterSolution) {
        let abstractions = self.ascent.abstractions();
        let classes = self.ascent.classes();
        let is_used = |slot: &u32| {
            let cost = solution.costs.get(slot).copied().unwrap_or(0.0);
            let flow = solution.flow.get(slot).copied().unwrap_or(0.0);
            flow > LEAST_KEPT || cost > LEAST_KEPT * classes.cost(classes.class(*slot))
        };
        let shares = &solution.shares;
        for (p, (paths, shares)) in abstractions.ids().zip(self.paths.iter_mut().zip(shares)) {
            let source = abstractions.component(p).abstract_state(state);
            let known = self.known[p.index()].entry(source).or_default();
            self.known_bytes -= known.memory_bytes();
            let mut used: Vec<(f64, Path)> = shares.iter().copied().zip(paths.drain(..)).collect();
            used.sort_by(|a, b| b.0.total_cmp(&a.0));
            used.truncate(MOST_KEPT);
            used.retain(|&(share, _)| share > LEAST_KEPT);
            known.paths = used.into_iter().map(|(_, path)| path).collect();
            let mut labels: Vec<u32> = known.paths.iter().flatten().copied().collect();
            labels.sort_unstable();
            labels.dedup();
            known.slots.clear();
            for label in labels {
                // A label needs a slot, used or not.
                let slots = &self.slots[&label];
                let first = known.slots.len();
                known.slots.extend(slots.iter().filter(|s| is_used(s)).map(|&s| (label, s)));
                if known.slots.len() == first {
                    known.slots.push((label, slots[0]));
                }
            }
            known.flow.clear();
            self.known_bytes += known.memory_bytes();
        }
        for (&slot, &amount) in &solution.flow {
            let p = classes.component(slot) as usize;
            let component = abstractions.component(ComponentId::from(p));
            let source = component.abstract_state(state);
            let known = self.known[p].get_mut(&source).expect("remembered above");
            known.flow.push((slot, amount));
            self.known_bytes += size_of::<(u32, f64)>();
        }
        if self.known_bytes > self.config.max_bytes / 2 {
            self.known.iter_mut().for_each(|known| *known = FxHashMap::default());
            self.known_bytes = 0;
        }
    }
}

impl Partitioner for Ocp {
    fn name(&self) -> &'static str {
        "ocp"
    }

    fn abstractions(&self) -> &Arc<Abstractions> {
        self.ascent.abstractions()
    }

    fn partition(&mut self, request: Request<'_>) -> Option<CostPartitioning> {
        let Request { state, beat, budget, .. } = request;
        let divisor = self.abstractions().divisor();
        let beat = beat.map_or(f64::NEG_INFINITY, |h| (h / divisor) as f64);
        self.statistics.states += 1;
        let is_warm = self.gather(state);
        if !self.ascent.begin(state, budget) {
            return None;
        }
        self.bound_by_known_flows(state);
        if !self.ascent.bounds().may_exceed(beat) {
            return None;
        }
        self.add_paths();
        self.climb(if is_warm { WARM_STEPS } else { COLD_STEPS }, budget);
        let mut accuracy = 1e-4;
        let mut last = None;
        for round in 0..MOST_ROUNDS {
            if self.is_done() || budget.is_spent() {
                break;
            }
            let classes = self.ascent.classes();
            let solved = master::solve(classes, &self.paths, &self.slots, accuracy, budget);
            let Some(solution) = solved else { break };
            self.statistics.masters += 1;
            let flow = |slot| solution.flow.get(&slot).copied().unwrap_or(0.0);
            let upper = self.ascent.upper_bound(flow);
            self.ascent.set_upper_bound(upper);
            let solution = last.insert(solution);
            let bounds = self.ascent.bounds();
            if !bounds.may_exceed(beat) {
                self.remember(state, solution);
                return None;
            }
            if self.is_done() {
                break;
            }
            self.ascent.jump(|slot| solution.costs.get(&slot).copied().unwrap_or(0.0));
            let any_new = self.add_paths();
            self.climb(STEPS_PER_ROUND, budget);
            if !any_new || round > 5 {
                accuracy = 1e-8;
            }
        }
        if let Some(solution) = last {
            self.remember(state, &solution);
        }
        let partitioning = self.ascent.finish();
        let value = partitioning.evaluate(state, &mut self.scratch);
        budget.spend(self.scratch.take_work());
        let wanted = self.ascent.ceiling().unwrap_or(Cost::MAX);
        if !matches!(value, Estimate::AtLeast(h) if h >= wanted) {
            self.statistics.open += 1;
        }
        Some(partitioning)
    }

    fn ceiling(&self) -> Option<Cost> {
        self.ascent.ceiling()
    }

    fn memory_bytes(&self) -> usize {
        self.ascent.memory_bytes() + self.known_bytes + 8 * (self.flow.len() + self.largest.len())
    }
}
