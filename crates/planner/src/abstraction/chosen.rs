//! Patterns that add something to those before them (Sys-SCP, Seipp 2019).
//!
//! Goes through the interesting patterns by size and keeps each that has a positive, finite goal
//! distance under the costs that the patterns kept before it have left; what it needs of them, its
//! saturated costs, is taken away.
//! That is repeated in other orders of the patterns of a size, new ones first, and all patterns kept
//! are returned.
//! Computes no more of a projection than its goal distances and saturated costs take.
//! Deviates from the paper: limits are work, not time; most rounds are short, so that many
//! patterns become the first of a round, and the others have the lengths of Luby's sequence.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustc_hash::{FxHashMap, FxHashSet};

use super::component::goal_states;
use super::distances::{Distance, DistanceScratch, INFINITY};
use super::labels::{EffectIndex, Labels, group_operators};
use super::levels::{Levels, shuffled};
use super::pattern::Pattern;
use super::saturation::Saturation;
use super::transitions::{End, Radix, Transitions, num_stored};
use crate::task::{OpId, Task};
use crate::work::{self, Budget, SECOND, Work};

/// How patterns are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChosenConfig {
    /// The work of all rounds together …
    pub work: Work,
    /// … and of the shortest; others take two, four, … times as much.
    pub round: Work,
    /// The number of rounds in a row that may add nothing.
    pub fruitless: usize,
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
            round: 3 * SECOND / 100,
            fruitless: 20,
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

/// Looking for transitions of one kind that a state has.
const LOOK_UP: Work = 3;

/// Trying a pattern, however small.
const TRY: Work = 500;

/// The patterns of which each adds a value to those before it, in one of several orders.
pub fn chosen_patterns(task: &Task, config: &ChosenConfig) -> Vec<Pattern> {
    let mut chooser = Chooser::new(task, config);
    let mut budget = Budget::new(config.work);
    let mut fruitless = 0;
    for number in 1.. {
        let before = chooser.kept.len();
        let mut round = budget.part(config.round * luby(number));
        chooser.round(&mut round);
        budget.spend(round.spent());
        fruitless = if chooser.kept.len() == before { fruitless + 1 } else { 0 };
        if fruitless == config.fruitless || budget.is_spent() {
            break;
        }
    }
    chooser.kept
}

/// 1, 1, 2, 1, 1, 2, 4, … (Luby, Sinclair, Zuckerman 1993), from number 1 on.
fn luby(number: u64) -> u64 {
    let power = (number + 1).next_power_of_two();
    if power == number + 1 { power / 2 } else { luby(number + 1 - power / 2) }
}

/// What it takes to see whether a pattern adds something.
struct Candidate {
    radix: Radix,
    goals: Vec<u32>,
    labels: Labels,
    backward: Transitions,
    /// Made when the pattern adds something for the first time.
    saturation: Option<Saturation>,
}

impl Candidate {
    /// None where there are too many transitions.
    fn new(
        task: &Task,
        pattern: &Pattern,
        index: &mut EffectIndex,
        max_transitions: usize,
        budget: &mut Budget,
    ) -> Option<Candidate> {
        let radix = Radix::new(task, pattern);
        let labels = group_operators(task, pattern, index).into_labels(&radix);
        let looked = MENTION * index.num_mentions(pattern) as Work;
        let made = LABEL * (labels.count + labels.steps.len()) as Work;
        budget.spend(looked + made + work::ARC * Work::from(radix.num_states));
        let stored = num_stored(&radix, &labels.steps);
        if stored > max_transitions {
            return None;
        }
        budget.spend(4 * work::ARC * stored as Work);
        Some(Candidate {
            goals: goal_states(task, pattern, &radix),
            backward: Transitions::new(&radix, &labels.steps, End::Target),
            radix,
            labels,
            saturation: None,
        })
    }

    fn memory_bytes(&self) -> usize {
        let labels = size_of_val(&*self.labels.steps) + size_of_val(&*self.labels.members);
        4 * self.goals.len() + 2 * labels + self.backward.memory_bytes()
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
    is_kept: FxHashSet<(usize, u32)>,
    total_states: usize,
    /// Candidates of earlier rounds (none where there are too many transitions), and their bytes.
    candidates: FxHashMap<(usize, u32), Option<Candidate>>,
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
        if cost == 0 {
            return;
        }
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
            is_kept: FxHashSet::default(),
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
            // What was not kept yet comes first.
            let mut order = shuffled(patterns, &mut self.rng);
            order.sort_by_key(|&number| self.is_kept.contains(&(size, number)));
            for number in order {
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
            // About 32 bytes a transition while they are sorted.
            let most = self.config.max_bytes / 4 / 32;
            let candidate = Candidate::new(self.task, pattern, &mut self.index, most, budget);
            self.bytes += candidate.as_ref().map_or(0, Candidate::memory_bytes);
            candidate
        });
        let Some(candidate) = candidate else { return };

        let members = &candidate.labels.members;
        self.label_costs.clear();
        self.label_costs.resize(candidate.labels.count, Distance::MAX);
        for &(label, o) in members {
            let cost = &mut self.label_costs[label as usize];
            *cost = remaining.costs[o.index()].min(*cost);
        }
        budget.spend(work::PAIR * members.len() as Work);
        if self.label_costs.iter().any(|&cost| cost > 0) {
            self.table.resize(candidate.radix.num_states as usize, 0);
            self.scratch.goal_distances(
                &candidate.backward,
                &candidate.goals,
                &self.label_costs,
                &mut self.table,
            );
            let look_ups = candidate.backward.look_ups();
            budget.spend(self.scratch.take_work() + LOOK_UP * look_ups as Work);
            if self.table.iter().any(|&d| d > 0 && d != INFINITY) {
                let (radix, steps) = (&candidate.radix, &candidate.labels.steps);
                let saturation =
                    candidate.saturation.get_or_insert_with(|| Saturation::new(radix, steps));
                saturation.saturate(&self.table, &mut self.label_costs);
                budget.spend(candidate.backward.len() as Work);
                for &(label, o) in members {
                    remaining.take(self.task, o, self.label_costs[label as usize]);
                }
                let states = candidate.radix.num_states as usize;
                if self.total_states + states <= self.config.total_states
                    && self.kept.len() < self.config.patterns
                    && self.is_kept.insert(key)
                {
                    self.total_states += states;
                    self.kept.push(pattern.clone());
                }
            }
        }
        if self.bytes > self.config.max_bytes
            && let Some(Some(candidate)) = self.candidates.remove(&key)
        {
            self.bytes -= candidate.memory_bytes();
        }
    }
}
