//! Patterns that add something to those before them (Sys-SCP, Seipp 2019).
//!
//! Goes through the interesting patterns by size and keeps each that has a positive, finite goal
//! distance under the costs that the patterns kept before it have left; what it needs of them, its
//! saturated costs, is taken away.
//! That is repeated in other orders of the patterns of a size, and all patterns kept are returned.
//! Computes no more of a projection than its goal distances and saturated costs take.
//! Deviates from the paper: limits are work, not time.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustc_hash::FxHashMap;

use super::distances::{Distance, DistanceScratch, INFINITY};
use super::labels::{EffectIndex, group_operators};
use super::levels::{Levels, shuffled};
use super::pattern::Pattern;
use super::projection::goal_states;
use super::saturation::Saturation;
use super::transitions::{End, Radix, Transitions};
use crate::csr::Csr;
use crate::task::{OpId, Task};
use crate::work::{self, Budget, SECOND, Work};

/// How patterns are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChosenConfig {
    /// The work of all rounds together …
    pub work: Work,
    /// … and of one.
    pub round: Work,
    /// The most variables of a pattern.
    pub size: usize,
    /// The most patterns.
    pub patterns: usize,
    /// The most abstract states of a pattern …
    pub states: usize,
    /// … and of all together.
    pub total_states: usize,
    /// The most bytes, roughly, while patterns are chosen.
    pub max_bytes: usize,
    /// Decides in which order patterns of a size are tried.
    pub seed: u64,
}

impl Default for ChosenConfig {
    fn default() -> ChosenConfig {
        ChosenConfig {
            work: 3 * SECOND / 2,
            round: 3 * SECOND / 20,
            size: usize::MAX,
            patterns: 100_000,
            states: 1_000_000,
            total_states: 10_000_000,
            max_bytes: 256 << 20,
            seed: 2011,
        }
    }
}

/// Costs above this are counted in larger units: only whether distances are positive matters.
const MAX_COST: u64 = 1 << 24;

/// Looking at what an operator says of a variable.
const MENTION: Work = 12;

/// Making a label with its transitions.
const LABEL: Work = 120;

/// Trying a pattern, however small.
const TRY: Work = 500;

/// The patterns of which each adds a value to those before it, in one of several orders.
pub fn chosen_patterns(task: &Task, config: &ChosenConfig) -> Vec<Pattern> {
    let mut chooser = Chooser::new(task, config);
    let mut budget = Budget::new(config.work);
    loop {
        let before = chooser.kept.len();
        let mut round = budget.part(config.round);
        chooser.round(&mut round);
        budget.spend(round.spent());
        if chooser.kept.len() == before || budget.is_spent() {
            break;
        }
    }
    chooser.kept
}

/// What it takes to see whether a pattern adds something.
struct Candidate {
    goals: Vec<u32>,
    num_states: usize,
    /// The relevant operators by label.
    operators: Csr<OpId>,
    backward: Transitions,
    saturation: Saturation,
}

impl Candidate {
    fn new(task: &Task, pattern: &Pattern, index: &EffectIndex, budget: &mut Budget) -> Candidate {
        let radix = Radix::new(task, pattern);
        let groups = group_operators(task, pattern, index);
        let (operators, steps) = groups.labels(&radix);
        let looked = MENTION * index.num_mentions(pattern) as Work;
        let made = LABEL * (operators.len() + steps.len()) as Work;
        budget.spend(looked + made + work::ARC * Work::from(radix.num_states));
        Candidate {
            goals: goal_states(task, pattern, &radix),
            num_states: radix.num_states as usize,
            operators,
            backward: Transitions::new(&radix, &steps, End::Target),
            saturation: Saturation::new(&radix, &steps),
        }
    }

    fn memory_bytes(&self) -> usize {
        4 * self.goals.len()
            + self.operators.memory_bytes()
            + self.backward.memory_bytes()
            + self.saturation.memory_bytes()
    }
}

/// The patterns kept, and what is needed to find more.
struct Chooser<'a> {
    task: &'a Task,
    config: &'a ChosenConfig,
    index: EffectIndex,
    levels: Levels<'a>,
    rng: Xoshiro256PlusPlus,
    costs: Vec<Distance>,
    kept: Vec<Pattern>,
    /// The patterns kept by size and number within it.
    is_kept: FxHashMap<(usize, u32), bool>,
    total_states: usize,
    /// Candidates of earlier rounds, and their bytes.
    candidates: FxHashMap<(usize, u32), Candidate>,
    bytes: usize,
    scratch: DistanceScratch,
    label_costs: Vec<Distance>,
    table: Vec<Distance>,
}

/// The costs that the patterns of a round have left.
struct Remaining {
    costs: Vec<Distance>,
    /// For each variable the number of operators with an effect on it that still cost something.
    alive: Vec<u32>,
    /// The sum of the above.
    total: u64,
}

impl Remaining {
    fn new(task: &Task, costs: &[Distance]) -> Remaining {
        let mut alive = vec![0; task.variables.len()];
        let mut total = 0;
        for (operator, _) in task.operators.iter().zip(costs).filter(|(_, cost)| **cost > 0) {
            for var in operator.affected() {
                alive[var.index()] += 1;
                total += 1;
            }
        }
        Remaining { costs: costs.to_vec(), alive, total }
    }

    fn take(&mut self, task: &Task, o: OpId, cost: Distance) {
        let left = &mut self.costs[o.index()];
        *left -= cost;
        if *left == 0 {
            for var in task.operator(o).affected() {
                self.alive[var.index()] -= 1;
                self.total -= 1;
            }
        }
    }
}

impl<'a> Chooser<'a> {
    fn new(task: &'a Task, config: &'a ChosenConfig) -> Chooser<'a> {
        let most = task.operators.iter().map(|o| o.cost).max().unwrap_or(0);
        let divisor = most.div_ceil(MAX_COST).max(1);
        let index = EffectIndex::new(task);
        let max_patterns = (config.max_bytes / 8 / 256).min(200_000);
        Chooser {
            task,
            config,
            levels: Levels::new(task, config.states.min(config.total_states), max_patterns),
            rng: Xoshiro256PlusPlus::seed_from_u64(config.seed),
            costs: task.operators.iter().map(|o| (o.cost / divisor) as Distance).collect(),
            kept: Vec::new(),
            is_kept: FxHashMap::default(),
            total_states: 0,
            candidates: FxHashMap::default(),
            bytes: index.memory_bytes(),
            index,
            scratch: DistanceScratch::new(),
            label_costs: Vec::new(),
            table: Vec::new(),
        }
    }

    /// Goes through all patterns once, as far as the budget goes.
    fn round(&mut self, budget: &mut Budget) {
        let mut remaining = Remaining::new(self.task, &self.costs);
        for size in 1..=self.config.size {
            let patterns = self.levels.of_size(size, &mut self.rng, budget).len();
            if patterns == 0 {
                return;
            }
            for number in shuffled(patterns, &mut self.rng) {
                if budget.is_spent() || remaining.total == 0 {
                    return;
                }
                self.try_pattern(size, number, &mut remaining, budget);
            }
        }
    }

    /// Keeps a pattern if it adds something to those of this round.
    fn try_pattern(
        &mut self,
        size: usize,
        number: u32,
        remaining: &mut Remaining,
        budget: &mut Budget,
    ) {
        let key = (size, number);
        let pattern = &self.levels.of_size(size, &mut self.rng, budget)[number as usize];
        let vars = pattern.variables();
        budget.spend(work::PAIR * vars.len() as Work);
        if vars.iter().all(|var| remaining.alive[var.index()] == 0) {
            return;
        }
        budget.spend(TRY);
        let candidate = self.candidates.entry(key).or_insert_with(|| {
            let candidate = Candidate::new(self.task, pattern, &self.index, budget);
            self.bytes += candidate.memory_bytes();
            candidate
        });

        self.label_costs.clear();
        self.label_costs.extend(candidate.operators.offsets().ranges().map(|range| {
            let members = &candidate.operators.items()[range];
            members.iter().map(|o| remaining.costs[o.index()]).fold(Distance::MAX, Distance::min)
        }));
        budget.spend(work::PAIR * candidate.operators.items().len() as Work);
        if self.label_costs.iter().any(|&cost| cost > 0) {
            self.table.resize(candidate.num_states, 0);
            self.scratch.goal_distances(
                &candidate.backward,
                &candidate.goals,
                &self.label_costs,
                &mut self.table,
            );
            budget.spend(self.scratch.take_work());
            if self.table.iter().any(|&d| d > 0 && d != INFINITY) {
                candidate.saturation.saturate(&self.table, &mut self.label_costs);
                budget.spend(candidate.backward.len() as Work);
                for (label, &cost) in self.label_costs.iter().enumerate().filter(|(_, c)| **c > 0) {
                    for &o in candidate.operators.row(label) {
                        remaining.take(self.task, o, cost);
                    }
                }
                let states = candidate.num_states;
                if self.total_states + states <= self.config.total_states
                    && self.kept.len() < self.config.patterns
                    && self.is_kept.insert(key, true).is_none()
                {
                    self.total_states += states;
                    self.kept.push(pattern.clone());
                }
            }
        }
        if self.bytes > self.config.max_bytes
            && let Some(candidate) = self.candidates.remove(&key)
        {
            self.bytes -= candidate.memory_bytes();
        }
    }
}
