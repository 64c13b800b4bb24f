//! The transitions among Cartesian sets, and shortest paths to the goal, while sets are split.
//!
//! Transitions from a set to itself are not stored: when a set is split by a variable, those that
//! become transitions are found among the operators that change this variable.
//! Transitions that mutexes exclude are left out ([`crate::abstraction`], `restrictions`).
//! Distances only grow when sets are split, and only those of sets whose shortest path leads
//! through the split one; they are brought up to date by Dijkstra's algorithm on these alone
//! (Seipp, von Allmen and Helmert 2020).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::sets::Sets;
use crate::abstraction::restrictions::PossibleFacts;
use crate::task::{Cost, Fact, OpId, Task, Value, VarId};
use crate::work::{self, Budget, Work};

/// No path leads to the goal.
pub(super) const NEVER: Cost = Cost::MAX;

/// An arc to (or from) another set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Arc {
    pub(super) op: OpId,
    pub(super) other: u32,
}

/// Transitions and distances.
pub(super) struct Graph<'t> {
    task: &'t Task,
    costs: &'t [Cost],
    possible: Option<&'t PossibleFacts>,
    /// By variable the operators that change it.
    changers: Vec<Vec<OpId>>,
    leaving: Vec<Vec<Arc>>,
    entering: Vec<Vec<Arc>>,
    pub(super) len: usize,
    is_goal: Vec<bool>,
    pub(super) distances: Vec<Cost>,
    /// The first arc of a shortest path.
    next: Vec<Option<Arc>>,
    heap: BinaryHeap<Reverse<(Cost, u32)>>,
    is_dirty: Vec<bool>,
    work: Work,
}

impl<'t> Graph<'t> {
    /// One set, which holds a goal.
    pub(super) fn new(
        task: &'t Task,
        costs: &'t [Cost],
        possible: Option<&'t PossibleFacts>,
    ) -> Graph<'t> {
        let mut changers = vec![Vec::new(); task.variables.len()];
        for o in task.operator_ids() {
            for fact in &task.operator(o).eff {
                changers[fact.var.index()].push(o);
            }
        }
        Graph {
            task,
            costs,
            possible,
            changers,
            leaving: vec![Vec::new()],
            entering: vec![Vec::new()],
            len: 0,
            is_goal: vec![true],
            distances: vec![0],
            next: vec![None],
            heap: BinaryHeap::new(),
            is_dirty: vec![false],
            work: 0,
        }
    }

    pub(super) fn is_goal(&self, set: u32) -> bool {
        self.is_goal[set as usize]
    }

    /// The first step of a shortest path; none at goals and where there is no path.
    pub(super) fn next(&self, set: u32) -> Option<Arc> {
        self.next[set as usize]
    }

    /// The transitions: source, operator, target.
    pub(super) fn transitions(&self) -> impl Iterator<Item = (u32, OpId, u32)> {
        let rows = self.leaving.iter().zip(0..);
        rows.flat_map(|(arcs, from)| arcs.iter().map(move |arc| (from, arc.op, arc.other)))
    }

    /// `set` was split by a variable; `new` has the wanted values.
    pub(super) fn split(
        &mut self,
        sets: &Sets,
        (set, new): (u32, u32),
        var: VarId,
        is_goal: [bool; 2],
        budget: &mut Budget,
    ) {
        let entering = std::mem::take(&mut self.entering[set as usize]);
        let leaving = std::mem::take(&mut self.leaving[set as usize]);
        self.leaving.push(Vec::new());
        self.entering.push(Vec::new());
        self.len -= entering.len() + leaving.len();
        self.work += work::ARC * (entering.len() + leaving.len()) as Work;

        self.forget(&entering, set, true);
        for arc in entering {
            let operator = self.task.operator(arc.op);
            let after = operator.eff_on(var).or_else(|| operator.pre_on(var));
            for half in [set, new] {
                let leads_here = match after {
                    Some(value) => sets.contains(half, Fact::new(var, value)),
                    None => sets.share_value(arc.other, half, var, self.possible(arc.op)),
                };
                if leads_here {
                    self.add(arc.other, arc.op, half);
                }
            }
        }
        self.forget(&leaving, set, false);
        for arc in leaving {
            let operator = self.task.operator(arc.op);
            for half in [set, new] {
                let leads_away = match operator.pre_on(var) {
                    Some(value) => sets.contains(half, Fact::new(var, value)),
                    None if operator.eff_on(var).is_some() => {
                        sets.share_value(half, half, var, self.possible(arc.op))
                    }
                    None => sets.share_value(half, arc.other, var, self.possible(arc.op)),
                };
                if leads_away {
                    self.add(half, arc.op, arc.other);
                }
            }
        }
        self.add_former_loops(sets, (set, new), var);

        self.is_goal[set as usize] = is_goal[0];
        self.is_goal.push(is_goal[1]);
        self.is_dirty.push(false);
        self.distances.push(self.distances[set as usize]);
        self.next.push(None);
        self.update_distances([set, new]);
        budget.spend(std::mem::take(&mut self.work));
    }

    /// Removes the arcs to (or from) a set at their other ends.
    fn forget(&mut self, arcs: &[Arc], set: u32, entering: bool) {
        let mut others: Vec<u32> = arcs.iter().map(|arc| arc.other).collect();
        others.sort_unstable();
        others.dedup();
        let lists = if entering { &mut self.leaving } else { &mut self.entering };
        for other in others {
            let list = &mut lists[other as usize];
            self.work += work::ARC * list.len() as Work;
            list.retain(|arc| arc.other != set);
        }
    }

    fn add(&mut self, from: u32, op: OpId, to: u32) {
        self.leaving[from as usize].push(Arc { op, other: to });
        self.entering[to as usize].push(Arc { op, other: from });
        self.len += 1;
        self.work += 5 * work::ARC;
    }

    /// Operators that led from the set to itself and now lead from one half to the other.
    fn add_former_loops(&mut self, sets: &Sets, (set, new): (u32, u32), var: VarId) {
        let changers = std::mem::take(&mut self.changers[var.index()]);
        self.work += work::ARC * changers.len() as Work;
        // On every other variable both halves are what the set was.
        let has =
            |facts: &[Fact]| facts.iter().all(|&fact| fact.var == var || sets.contains(set, fact));
        let half_of = |value: Value| {
            let fact = Fact::new(var, value);
            [set, new].into_iter().find(|&half| sets.contains(half, fact))
        };
        for &o in &changers {
            let operator = self.task.operator(o);
            let Some(target) = operator.eff_on(var).and_then(half_of) else { continue };
            let source = match operator.pre_on(var) {
                Some(value) => half_of(value),
                None => Some(if target == set { new } else { set }),
            };
            let Some(source) = source.filter(|&source| source != target) else { continue };
            let is_possible = || {
                let of_all = |facts| sets.has_values_among(source, facts);
                self.possible(o).is_none_or(of_all)
            };
            if has(&operator.pre) && has(&operator.eff) && is_possible() {
                self.add(source, o, target);
            }
        }
        self.changers[var.index()] = changers;
    }

    /// The facts that may hold before an operator, if mutexes leave some out.
    fn possible(&self, op: OpId) -> Option<&'t [u64]> {
        self.possible.map(|possible| possible.before(op))
    }

    fn cost(&self, op: OpId) -> Cost {
        self.costs[op.index()]
    }

    fn update_distances(&mut self, halves: [u32; 2]) {
        // Sets that may have lost their path, nearest first; what follows a lost one comes later.
        let mut dirty = Vec::new();
        let mut candidates = std::mem::take(&mut self.heap);
        for half in halves {
            candidates.push(Reverse((self.distances[half as usize], half)));
            for arc in &self.entering[half as usize] {
                if self.next[arc.other as usize].is_some_and(|next| next.other == halves[0]) {
                    candidates.push(Reverse((self.distances[arc.other as usize], arc.other)));
                }
            }
        }
        // Those whose path led to the split set and that no longer have an arc to a half.
        while let Some(Reverse((distance, set))) = candidates.pop() {
            if self.is_dirty[set as usize] {
                continue;
            }
            if self.is_goal[set as usize] {
                (self.distances[set as usize], self.next[set as usize]) = (0, None);
                continue;
            }
            self.work += work::ARC * self.leaving[set as usize].len() as Work;
            let still_shortest = |arc: &&Arc| {
                let other = arc.other as usize;
                let cost = self.cost(arc.op);
                !self.is_dirty[other]
                    && self.distances[other] != NEVER
                    && self.distances[other] + cost == distance
                    && (cost > 0 || self.is_goal[other])
            };
            if let Some(&arc) = self.leaving[set as usize].iter().find(still_shortest) {
                self.next[set as usize] = Some(arc);
                continue;
            }
            self.is_dirty[set as usize] = true;
            dirty.push(set);
            for arc in &self.entering[set as usize] {
                if self.next[arc.other as usize].is_some_and(|next| next.other == set)
                    && !self.is_dirty[arc.other as usize]
                {
                    candidates.push(Reverse((self.distances[arc.other as usize], arc.other)));
                }
            }
        }
        for &set in &dirty {
            let ends = self.leaving[set as usize].iter().filter_map(|arc| {
                let distance = self.distances[arc.other as usize];
                let is_known = !self.is_dirty[arc.other as usize] && distance != NEVER;
                is_known.then(|| (distance + self.cost(arc.op), *arc))
            });
            let best = ends.min();
            (self.distances[set as usize], self.next[set as usize]) =
                best.map_or((NEVER, None), |(distance, arc)| (distance, Some(arc)));
        }
        candidates.extend(dirty.iter().filter_map(|&set| {
            let distance = self.distances[set as usize];
            (distance != NEVER).then_some(Reverse((distance, set)))
        }));
        while let Some(Reverse((distance, set))) = candidates.pop() {
            if distance > self.distances[set as usize] {
                continue;
            }
            self.work += work::ARC * self.entering[set as usize].len() as Work;
            for arc in &self.entering[set as usize] {
                let other = arc.other as usize;
                let longer = distance + self.costs[arc.op.index()];
                if self.is_dirty[other] && longer < self.distances[other] {
                    self.distances[other] = longer;
                    self.next[other] = Some(Arc { op: arc.op, other: set });
                    candidates.push(Reverse((longer, arc.other)));
                }
            }
        }
        for set in dirty {
            self.is_dirty[set as usize] = false;
        }
        self.heap = candidates;
    }
}
