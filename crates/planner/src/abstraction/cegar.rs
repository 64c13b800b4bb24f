//! Patterns grown where abstract plans fail (Rovner, Sievers, Helmert 2019: single CEGAR, repeated).
//!
//! Begins with one goal variable.
//! A plan of the projection is executed in the task itself; where no operator of a step is
//! applicable, a variable whose value stands in the way joins the pattern, until nothing stands in
//! the way or the pattern would become too large.
//! Goals take turns; from the second turn on some of the other variables are left out, at random,
//! so that different patterns grow.
//! Goals outside the pattern are no reason to fail: other patterns see them, and costs are divided.
//! Computes a projection for each variable that joins.
//! Deviates from the paper: limits are work, not time.

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustc_hash::FxHashSet;

use super::component::{Component, LabelId};
use super::distances::{Distance, DistanceScratch, INFINITY};
use super::labels::EffectIndex;
use super::pattern::Pattern;
use crate::task::{AxiomEvaluator, AxiomScratch, OpId, Task, Value, VarId};
use crate::work::{self, Budget, SECOND, Work};

/// How patterns are grown.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CegarConfig {
    /// The work of all patterns together.
    pub work: Work,
    /// The most patterns.
    pub patterns: usize,
    /// The most abstract states of a pattern …
    pub states: usize,
    /// … and of all together.
    pub total_states: usize,
    /// The most transitions that are stored for a pattern.
    pub transitions: usize,
    /// The probability that a variable is left out, from the second turn of a goal on.
    pub left_out: f64,
    /// The number of turns of all goals that may add nothing.
    pub fruitless: usize,
    /// Decides which variable joins where several could.
    pub seed: u64,
}

impl Default for CegarConfig {
    fn default() -> CegarConfig {
        CegarConfig {
            work: 3 * SECOND / 2,
            patterns: 100_000,
            states: 100_000,
            total_states: 2_000_000,
            transitions: 4_000_000,
            left_out: 0.5,
            fruitless: 20,
            seed: 2011,
        }
    }
}

/// Looking at what an operator says of a variable, and all that follows from it.
const MENTION: Work = 60;

/// Patterns that grow from each goal variable until their plans can be executed, as far as they
/// know.
pub fn cegar_patterns(task: &Task, config: &CegarConfig) -> Vec<Pattern> {
    let mut budget = Budget::new(config.work);
    let mut growth = Growth::new(task, config);
    let mut goals: Vec<VarId> = task.goal.iter().map(|goal| goal.var).collect();
    goals.retain(|&var| !task.is_derived(var));
    let (mut kept, mut seen, mut total_states) = (Vec::new(), FxHashSet::default(), 0);
    let mut fruitless = 0;
    for turn in 0.. {
        let before = kept.len();
        goals.shuffle(&mut growth.rng);
        for &goal in &goals {
            if budget.is_spent() || kept.len() >= config.patterns {
                return kept;
            }
            growth.leave_out(goal, if turn == 0 { 0.0 } else { config.left_out });
            let pattern = growth.grow(goal, &mut budget);
            let states = pattern.num_states(task);
            if total_states + states <= config.total_states && seen.insert(pattern.clone()) {
                total_states += states;
                kept.push(pattern);
            }
        }
        fruitless = if kept.len() == before { fruitless + 1 } else { 0 };
        if fruitless == config.fruitless {
            break;
        }
    }
    kept
}

/// What pattern after pattern needs.
struct Growth<'a> {
    task: &'a Task,
    config: &'a CegarConfig,
    index: EffectIndex,
    axioms: AxiomEvaluator,
    axiom_scratch: AxiomScratch,
    rng: Xoshiro256PlusPlus,
    costs: Vec<Distance>,
    /// The variables that may not join.
    is_left_out: Vec<bool>,
    scratch: DistanceScratch,
    label_costs: Vec<Distance>,
    plan: Vec<LabelId>,
}

impl<'a> Growth<'a> {
    fn new(task: &'a Task, config: &'a CegarConfig) -> Growth<'a> {
        let most = task.operators.iter().map(|o| o.cost).max().unwrap_or(0);
        // No path visits a state twice, so distances stay below 2³¹.
        let divisor = (most / ((1 << 31) / config.states.max(2) as u64).max(1)).max(1);
        Growth {
            task,
            config,
            index: EffectIndex::new(task),
            axioms: AxiomEvaluator::new(task),
            axiom_scratch: AxiomScratch::default(),
            rng: Xoshiro256PlusPlus::seed_from_u64(config.seed),
            costs: task.operators.iter().map(|o| (o.cost / divisor) as Distance).collect(),
            is_left_out: Vec::new(),
            scratch: DistanceScratch::new(),
            label_costs: Vec::new(),
            plan: Vec::new(),
        }
    }

    fn leave_out(&mut self, goal: VarId, probability: f64) {
        self.is_left_out.clear();
        for (v, variable) in self.task.variables.iter().enumerate() {
            let by_chance = VarId::from(v) != goal && self.rng.random_bool(probability);
            self.is_left_out.push(variable.derived.is_some() || by_chance);
        }
    }

    /// Grows a pattern from a goal variable.
    fn grow(&mut self, goal: VarId, budget: &mut Budget) -> Pattern {
        let mut pattern = Pattern::new([goal]);
        while let Some(flaws) = self.flaws(&pattern, budget)
            && !budget.is_spent()
        {
            let fits = |var: &VarId| pattern.with(*var).num_states(self.task) <= self.config.states;
            let (fitting, others): (Vec<VarId>, Vec<VarId>) = flaws.into_iter().partition(fits);
            match fitting.choose(&mut self.rng) {
                Some(&var) => pattern = pattern.with(var),
                None => others.iter().for_each(|var| self.is_left_out[var.index()] = true),
            }
        }
        pattern
    }

    /// The variables that stand in the way of a plan of the projection; none if nothing does or
    /// there is no plan.
    fn flaws(&mut self, pattern: &Pattern, budget: &mut Budget) -> Option<Vec<VarId>> {
        let (task, index) = (self.task, &mut self.index);
        let projection = Component::within(task, pattern, index, self.config.transitions)?;
        let built = MENTION * self.index.num_mentions(pattern) as Work;
        let stored = projection.num_stored_transitions() + projection.num_states();
        budget.spend(built + 16 * work::ARC * stored as Work);
        projection.label_costs_of_task(&self.costs, &mut self.label_costs);
        let from = projection.abstract_state(&task.initial);
        let Growth { scratch, label_costs, plan, .. } = self;
        let distance = projection.shortest_path(from, label_costs, scratch, plan);
        budget.spend(self.scratch.take_work());
        if distance == INFINITY {
            return None;
        }
        let mut state = task.initial.clone();
        for step in 0..self.plan.len() {
            let label = self.plan[step];
            let cost = self.label_costs[label.index()];
            let cheapest = projection.label_operators(label).iter().copied();
            let cheapest: Vec<OpId> = cheapest.filter(|o| self.costs[o.index()] == cost).collect();
            budget.spend(work::STATE * cheapest.len() as Work);
            match cheapest.iter().find(|&&o| self.violated(o, &state).next().is_none()) {
                Some(&o) => self.apply(o, &mut state),
                None => {
                    let of_operators = cheapest.iter().flat_map(|&o| self.violated(o, &state));
                    let mut flaws: Vec<VarId> = of_operators.collect();
                    flaws.sort_unstable();
                    flaws.dedup();
                    return Some(flaws);
                }
            }
        }
        None
    }

    /// The variables whose values keep an operator from being applied, those left out aside.
    fn violated<'s>(&'s self, o: OpId, state: &'s [Value]) -> impl Iterator<Item = VarId> + 's {
        let pre = self.task.operator(o).pre.iter();
        let violated = pre.filter(|fact| state[fact.var.index()] != fact.value);
        violated.map(|fact| fact.var).filter(|var| !self.is_left_out[var.index()])
    }

    fn apply(&mut self, o: OpId, state: &mut [Value]) {
        let before = state.to_owned();
        self.task.operator(o).apply(&before, state);
        self.axioms.evaluate(state, &mut self.axiom_scratch);
    }
}
