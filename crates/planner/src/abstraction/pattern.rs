//! Patterns, and the systematic collection of interesting ones (Pommerening, Röger, Helmert 2013).
//!
//! A pattern is interesting if, in the causal graph restricted to it, every variable matters to
//! a goal variable of the pattern and the pattern is not merely the disjoint union of
//! independent parts whose distances could be added anyway.
//! The condition of a conditional effect counts like a precondition of that effect.
//! A precondition that follows from others by mutexes does not count: it makes transitions fewer
//! wherever they are looked at, but more patterns interesting than it is worth.
//! Derived variables are in no pattern, so a task all of whose goals are derived has none.
//! Computes all interesting patterns of at most `max_size` variables for non-negative cost
//! partitioning, in order of discovery: by size first for the patterns that one goal variable
//! supports, then their unions.
//! Cost: linear in the number of patterns times their size times the degree of the causal graph.

use std::fmt;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::task::{Fact, Task, VarId};

/// A set of variables, in ascending order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pattern(Box<[VarId]>);

impl Pattern {
    /// The pattern of these variables, in whatever order and however often they are given.
    pub fn new(variables: impl IntoIterator<Item = VarId>) -> Pattern {
        let mut variables: Vec<VarId> = variables.into_iter().collect();
        variables.sort_unstable();
        variables.dedup();
        Pattern(variables.into())
    }

    /// The variables, in ascending order.
    pub fn variables(&self) -> &[VarId] {
        &self.0
    }

    /// The number of variables.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no variables in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `var` is one of its variables.
    pub fn contains(&self, var: VarId) -> bool {
        self.0.binary_search(&var).is_ok()
    }

    /// The position of `var` among its variables.
    pub fn position(&self, var: VarId) -> Option<usize> {
        self.0.binary_search(&var).ok()
    }

    /// The number of abstract states: the product of the domain sizes.
    pub fn num_states(&self, task: &Task) -> usize {
        self.0.iter().fold(1, |n, &var| n.saturating_mul(task.variable(var).domain_size()))
    }

    pub(super) fn with(&self, var: VarId) -> Pattern {
        Pattern::new(self.0.iter().copied().chain([var]))
    }

    pub(super) fn union(&self, other: &Pattern) -> Pattern {
        Pattern::new(self.0.iter().chain(&other.0).copied())
    }

    pub(super) fn is_disjoint(&self, other: &Pattern) -> bool {
        self.0.iter().all(|&var| !other.contains(var))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, var) in self.0.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { ", " }, var.0)?;
        }
        f.write_str("}")
    }
}

/// Where to stop collecting patterns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PatternLimits {
    /// At most this many patterns.
    pub patterns: usize,
    /// Patterns with more abstract states than this are left out.
    pub states: usize,
    /// At most this many abstract states in all patterns together.
    pub total_states: usize,
}

impl Default for PatternLimits {
    /// Far above what patterns of two variables need in the benchmarks of the field.
    fn default() -> PatternLimits {
        PatternLimits { patterns: 100_000, states: 1_000_000, total_states: 10_000_000 }
    }
}

/// The interesting patterns of at most `max_size` variables, within `limits`.
///
/// Patterns beyond the limits are left out; smaller ones come first and are kept.
pub fn interesting_patterns(task: &Task, max_size: usize, limits: &PatternLimits) -> Vec<Pattern> {
    let graph = CausalGraph::new(task);
    let mut found = Collection {
        task,
        limits,
        total_states: 0,
        patterns: Vec::new(),
        seen: FxHashSet::default(),
    };
    if max_size == 0 {
        return Vec::new();
    }

    // Patterns that one goal variable supports: grown along "effect needs precondition" arcs.
    for goal in task.goal.iter().filter(|goal| !task.is_derived(goal.var)) {
        found.add(Pattern::new([goal.var]));
    }
    let mut next = 0;
    while next < found.patterns.len() && !found.is_full() {
        let pattern = found.patterns[next].clone();
        next += 1;
        if pattern.len() == max_size {
            break;
        }
        // Descending, as in Scorpion, whose hash sets happen to iterate that way.
        for &var in graph.neighbours(&pattern, &graph.eff_to_pre).iter().rev() {
            found.add(pattern.with(var));
        }
    }

    // Unions of a pattern and a supported one that meets it at a variable which the pattern
    // influences and does not itself depend on.
    let supported = found.patterns.clone();
    let mut supported_by_var = vec![Vec::new(); task.variables.len()];
    for (i, pattern) in supported.iter().enumerate() {
        for var in pattern.variables() {
            supported_by_var[var.index()].push(i);
        }
    }
    let mut next = 0;
    while next < found.patterns.len() && !found.is_full() {
        let pattern = found.patterns[next].clone();
        next += 1;
        let needed = graph.neighbours(&pattern, &graph.eff_to_pre);
        for var in graph.neighbours(&pattern, &graph.successors) {
            if needed.contains(&var) {
                continue;
            }
            for &i in &supported_by_var[var.index()] {
                let other = &supported[i];
                if pattern.len() + other.len() <= max_size && pattern.is_disjoint(other) {
                    found.add(pattern.union(other));
                }
            }
        }
    }
    found.patterns
}

/// Patterns found so far, without repetition and within the limits.
struct Collection<'a> {
    task: &'a Task,
    limits: &'a PatternLimits,
    total_states: usize,
    patterns: Vec<Pattern>,
    seen: FxHashSet<Pattern>,
}

impl Collection<'_> {
    fn is_full(&self) -> bool {
        self.patterns.len() >= self.limits.patterns
    }

    fn add(&mut self, pattern: Pattern) {
        let states = pattern.num_states(self.task);
        if !self.is_full()
            && states <= self.limits.states
            && states.saturating_add(self.total_states) <= self.limits.total_states
            && self.seen.insert(pattern.clone())
        {
            self.total_states += states;
            self.patterns.push(pattern);
        }
    }
}

/// Adds a variable; before a list grows, repetitions are removed, so that its length follows the
/// number of variables and not that of operators.
fn push_once(neighbours: &mut Vec<VarId>, var: VarId) {
    if neighbours.len() == neighbours.capacity() {
        neighbours.sort_unstable();
        neighbours.dedup();
        neighbours.reserve(neighbours.len() + 4);
    }
    neighbours.push(var);
}

/// Which variables influence which, through single operators.
pub(super) struct CausalGraph {
    /// For each v the u such that some operator has an effect on v and a precondition on u, or the
    /// effect has a condition on u.
    pub(super) eff_to_pre: Vec<Vec<VarId>>,
    /// For each v the u such that some operator has an effect on u, and a precondition or
    /// an effect on v.
    pub(super) successors: Vec<Vec<VarId>>,
}

impl CausalGraph {
    pub(super) fn new(task: &Task) -> CausalGraph {
        let n = task.variables.len();
        let mut eff_to_pre = vec![Vec::new(); n];
        let mut successors = vec![Vec::new(); n];
        for (op, operator) in task.operator_ids().zip(&task.operators) {
            let written = |pre: &&Fact| !task.mutexes.imply_precondition(op, pre.var);
            let written: SmallVec<[Fact; 8]> =
                operator.pre.iter().filter(written).copied().collect();
            let plain = operator.eff.iter().map(|eff| (eff.var, &[][..]));
            let conditional = operator.conditional.iter().map(|e| (e.fact.var, &e.condition[..]));
            for (eff, condition) in plain.chain(conditional) {
                let conditions = written.iter().chain(condition);
                for pre in conditions.filter(|pre| pre.var != eff && !task.is_derived(pre.var)) {
                    push_once(&mut eff_to_pre[eff.index()], pre.var);
                    push_once(&mut successors[pre.var.index()], eff);
                }
            }
            let mut affected: Vec<VarId> = operator.affected().collect();
            affected.sort_unstable();
            affected.dedup();
            for &eff in &affected {
                for &other in affected.iter().filter(|&&other| other != eff) {
                    push_once(&mut successors[eff.index()], other);
                }
            }
        }
        for neighbours in eff_to_pre.iter_mut().chain(&mut successors) {
            neighbours.sort_unstable();
            neighbours.dedup();
        }
        CausalGraph { eff_to_pre, successors }
    }

    /// The neighbours of the variables of a pattern, outside it, in ascending order.
    pub(super) fn neighbours(&self, pattern: &Pattern, arcs: &[Vec<VarId>]) -> Vec<VarId> {
        let mut neighbours: Vec<VarId> = pattern
            .variables()
            .iter()
            .flat_map(|var| &arcs[var.index()])
            .copied()
            .filter(|&var| !pattern.contains(var))
            .collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        neighbours
    }
}
