//! Counterexample-guided refinement: sets are split where a shortest abstract path does not work.

use super::graph::{Graph, NEVER};
use super::sets::{Place, Sets, SplitTree};
use crate::abstraction::restrictions::PossibleFacts;
use crate::task::{Cost, Fact, Task, Value, VarId};
use crate::work::{self, Budget, Work};

/// What a subtask is about: to reach one of these sets of states.
pub(super) struct Subtask {
    /// Facts that must all hold, …
    pub(super) goal: Vec<Fact>,
    /// … unless one of these does, by variable.
    pub(super) over: Vec<(VarId, Vec<Value>)>,
}

/// An abstraction under refinement.
pub(super) struct Refinement<'t> {
    task: &'t Task,
    pub(super) subtask: &'t Subtask,
    sets: Sets,
    pub(super) tree: SplitTree,
    places: Vec<Option<Place>>,
    pub(super) graph: Graph<'t>,
    /// Sets of states in which the subtask is over.
    is_over: Vec<bool>,
}

/// Where to split a set.
struct Flaw {
    set: u32,
    var: VarId,
    wanted: Vec<Value>,
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) sets: usize,
    pub(super) transitions: usize,
}

impl<'t> Refinement<'t> {
    pub(super) fn new(
        task: &'t Task,
        costs: &'t [Cost],
        possible: Option<&'t PossibleFacts>,
        subtask: &'t Subtask,
    ) -> Refinement<'t> {
        Refinement {
            task,
            subtask,
            sets: Sets::new(task),
            tree: SplitTree::default(),
            places: vec![None],
            graph: Graph::new(task, costs, possible),
            is_over: vec![false],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sets.len()
    }

    /// Refines until a shortest path is a plan for the subtask, there is none, or nothing is left
    /// of the budget.
    pub(super) fn run(&mut self, limits: Limits, budget: &mut Budget) {
        let subtask = self.subtask;
        for (var, values) in &subtask.over {
            let set = self.tree.set_of(&self.task.initial);
            self.split(Flaw { set, var: *var, wanted: values.clone() }, true, budget);
        }
        while self.len() < limits.sets
            && self.graph.len < limits.transitions
            && !budget.is_spent()
            && self.distance() != NEVER
        {
            let Some(flaw) = self.find_flaw(budget) else { break };
            self.split(flaw, false, budget);
        }
    }

    /// The distance of the initial state.
    pub(super) fn distance(&self) -> Cost {
        self.graph.distances[self.tree.set_of(&self.task.initial) as usize]
    }

    fn holds_goal(&self, set: u32) -> bool {
        self.is_over[set as usize]
            || self.subtask.goal.iter().all(|&fact| self.sets.contains(set, fact))
    }

    fn split(&mut self, flaw: Flaw, is_over: bool, budget: &mut Budget) {
        let Flaw { set, var, wanted } = flaw;
        let new = self.sets.split(set, var, &wanted);
        self.is_over.push(is_over || self.is_over[set as usize]);
        let domain_size = self.task.variable(var).domain_size();
        let place = self.places[set as usize];
        let [old_place, new_place] =
            self.tree.split((set, new), place, var, (&wanted, domain_size));
        self.places[set as usize] = Some(old_place);
        self.places.push(Some(new_place));
        let goals = [set, new].map(|half| self.holds_goal(half));
        self.graph.split(&self.sets, (set, new), var, goals, budget);
    }

    /// Follows a shortest path from the initial state to where it fails.
    fn find_flaw(&self, budget: &mut Budget) -> Option<Flaw> {
        let mut state = self.task.initial.clone();
        let mut after = state.clone();
        let mut set = self.tree.set_of(&state);
        while let Some(arc) = self.graph.next(set) {
            budget.spend(20 * work::RANK * state.len() as Work);
            let operator = self.task.operator(arc.op);
            if !operator.is_applicable(&state) {
                let missing = operator.pre.iter();
                let missing = missing.filter(|fact| state[fact.var.index()] != fact.value);
                return self.choose(set, missing.map(|fact| (fact.var, vec![fact.value])));
            }
            operator.apply(&state, &mut after);
            if self.tree.set_of(&after) != arc.other {
                let other = arc.other;
                let vars = (0..state.len()).map(VarId::from);
                let missed = vars
                    .filter(|&var| !self.sets.contains(other, Fact::new(var, after[var.index()])));
                let wanted = |var: VarId| {
                    let facts = self.sets.facts.values(var).filter(|&value| {
                        let fact = Fact::new(var, value);
                        self.sets.contains(set, fact) && self.sets.contains(other, fact)
                    });
                    (var, facts.collect())
                };
                return self.choose(set, missed.map(wanted));
            }
            state.copy_from_slice(&after);
            set = arc.other;
        }
        if self.is_over[set as usize] {
            return None;
        }
        let missing = self.subtask.goal.iter();
        let missing = missing.filter(|fact| state[fact.var.index()] != fact.value);
        self.choose(set, missing.map(|fact| (fact.var, vec![fact.value])))
    }

    /// Splits the variable of which the set has the smallest part left.
    fn choose(&self, set: u32, splits: impl Iterator<Item = (VarId, Vec<Value>)>) -> Option<Flaw> {
        let part = |var: VarId| {
            let size = self.task.variable(var).domain_size();
            (self.sets.count(set, var) as f64) / size as f64
        };
        let rated = splits.map(|(var, wanted)| (part(var), var, wanted));
        let best = rated.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        best.map(|(_, var, wanted)| Flaw { set, var, wanted })
    }
}
