//! The interesting patterns (pattern.rs), size after size and no sooner than they are needed.
//!
//! The number of interesting patterns grows exponentially with their size.
//! A level holds those of one size, as many as its limits allow; where they are too many, a random
//! selection of those that extend patterns of the levels before.

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustc_hash::FxHashSet;

use super::pattern::{CausalGraph, Pattern};
use crate::task::Task;
use crate::work::{Budget, Work};

/// Finding a pattern, or finding that it is known already.
const FIND: Work = 250;

/// The interesting patterns by size.
pub(super) struct Levels<'a> {
    task: &'a Task,
    graph: CausalGraph,
    /// Patterns with more abstract states than this are left out.
    max_states: usize,
    /// The most patterns of a level.
    max_patterns: usize,
    levels: Vec<Level>,
}

/// The patterns of one size.
#[derive(Default)]
struct Level {
    patterns: Vec<Pattern>,
    /// How many of them, the first, one goal variable supports.
    supported: usize,
    /// For each variable the supported ones that hold it.
    supported_by_var: Vec<Vec<u32>>,
}

impl<'a> Levels<'a> {
    pub(super) fn new(task: &'a Task, max_states: usize, max_patterns: usize) -> Levels<'a> {
        let graph = CausalGraph::new(task);
        Levels { task, graph, max_states, max_patterns, levels: vec![Level::default()] }
    }

    /// The patterns of this many variables; those of fewer must have been asked for before.
    pub(super) fn of_size(
        &mut self,
        size: usize,
        rng: &mut Xoshiro256PlusPlus,
        budget: &mut Budget,
    ) -> &[Pattern] {
        if size == self.levels.len() {
            let level = self.find(size, rng, budget);
            self.levels.push(level);
        }
        &self.levels[size].patterns
    }

    fn find(&self, size: usize, rng: &mut Xoshiro256PlusPlus, budget: &mut Budget) -> Level {
        let mut found = Found { levels: self, patterns: Vec::new(), seen: FxHashSet::default() };
        if size == 1 {
            for goal in self.task.goal.iter().filter(|goal| !self.task.is_derived(goal.var)) {
                found.add(Pattern::new([goal.var]), budget);
            }
        }
        // Those that one goal variable supports: grown along "effect needs precondition" arcs.
        let smaller = &self.levels[size - 1];
        for &parent in &shuffled(smaller.supported, rng) {
            let parent = &smaller.patterns[parent as usize];
            for &var in &self.graph.neighbours(parent, &self.graph.eff_to_pre) {
                found.add(parent.with(var), budget);
            }
            if found.is_full(budget) {
                break;
            }
        }
        let supported = found.patterns.len();

        // Unions of a pattern and a supported one that meets it at a variable which the pattern
        // influences and does not itself depend on.
        'unions: for of_part in 1..size {
            let (parts, others) = (&self.levels[of_part], &self.levels[size - of_part]);
            for &part in &shuffled(parts.patterns.len(), rng) {
                let part = &parts.patterns[part as usize];
                let needed = self.graph.neighbours(part, &self.graph.eff_to_pre);
                for var in self.graph.neighbours(part, &self.graph.successors) {
                    if needed.binary_search(&var).is_ok() {
                        continue;
                    }
                    for &other in others.supported_by_var.get(var.index()).into_iter().flatten() {
                        let other = &others.patterns[other as usize];
                        if part.is_disjoint(other) {
                            found.add(part.union(other), budget);
                        }
                        if found.is_full(budget) {
                            break 'unions;
                        }
                    }
                }
            }
        }
        let patterns = found.patterns;
        let mut supported_by_var = vec![Vec::new(); self.task.variables.len()];
        for (i, pattern) in (0..).zip(&patterns[..supported]) {
            for var in pattern.variables() {
                supported_by_var[var.index()].push(i);
            }
        }
        Level { patterns, supported, supported_by_var }
    }
}

/// The numbers below `count` in random order.
pub(super) fn shuffled(count: usize, rng: &mut Xoshiro256PlusPlus) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count as u32).collect();
    numbers.shuffle(rng);
    numbers
}

/// Patterns found so far, without repetition and within the limits.
struct Found<'a> {
    levels: &'a Levels<'a>,
    patterns: Vec<Pattern>,
    seen: FxHashSet<Pattern>,
}

impl Found<'_> {
    fn is_full(&self, budget: &Budget) -> bool {
        self.patterns.len() >= self.levels.max_patterns || budget.is_spent()
    }

    fn add(&mut self, pattern: Pattern, budget: &mut Budget) {
        budget.spend(FIND);
        if !self.is_full(budget)
            && pattern.num_states(self.levels.task) <= self.levels.max_states
            && self.seen.insert(pattern.clone())
        {
            self.patterns.push(pattern);
        }
    }
}
