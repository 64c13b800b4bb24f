//! From a task to what a search needs: an order, relations by cost, start and goal.
//!
//! Where relations are cheap to make, all orders are tried, and the one with the fewest nodes in
//! its merged relations is searched with.
//! Advances by work like the search itself.

use std::collections::BTreeMap;

use bdd::{Bdd, Cap, Config, Halt};

use super::invariants::Invariants;
use super::order::variable_orders;
use super::relation::Relation;
use super::space::Space;
use super::stop_at;
use crate::search::Limits;
use crate::task::{Cost, Fact, OpId, Task, VarId};
use crate::work::{Budget, DIAGRAM_STEP};

/// Relations are merged up to this many nodes.
const RELATION_NODES: usize = 10_000;
/// The steps that merging may take for all relations together.
const MERGE_STEPS: u64 = 40_000_000;
/// The steps and nodes that a single operator may take, or a derived variable.
const OPERATOR: Cap = Cap { steps: 2_000_000, nodes: 200_000 };
const DERIVED: Cap = Cap { steps: 20_000_000, nodes: 2_000_000 };
/// A constraint is left out of a relation or of the goal that it would make larger than this.
const CONSTRAINED_NODES: usize = 10_000;
/// The steps that constraints on the goal may take together.
const CONSTRAINT_STEPS: u64 = 20_000_000;
/// Another order is tried if the first one took no more steps than this; it may take as many as
/// the first one, and a few more.
const COMPARED_STEPS: u64 = 500_000;
const MORE_STEPS: u64 = 50_000;
/// The first steps that computing derived variables may take at once; twice as many next time.
const DERIVED_STEPS: u64 = 100_000;

/// Relations by cost, and the two sets that searches begin with.
pub(super) struct Prepared {
    pub(super) relations: BTreeMap<Cost, Vec<Relation>>,
    pub(super) initial: Bdd,
    pub(super) goal: Bdd,
}

impl Prepared {
    /// The nodes of all relations.
    fn nodes(&self, space: &mut Space) -> usize {
        let relations = self.relations.values().flatten();
        relations.map(|relation| space.kernel.size(&relation.transitions)).sum()
    }
}

/// Preparations with different orders, one after the other.
pub(super) struct Preparations<'a> {
    task: &'a Task,
    config: Config,
    limits: Limits<'a>,
    orders: std::vec::IntoIter<Vec<VarId>>,
    current: Option<Box<Preparation<'a>>>,
    best: Option<(usize, Space<'a>, Prepared)>,
    /// The steps that a preparation may take.
    patience: u64,
}

impl<'a> Preparations<'a> {
    /// Finds orders of the variables.
    pub(super) fn new(
        task: &'a Task,
        config: Config,
        limits: Limits<'a>,
        budget: &mut Budget,
    ) -> Preparations<'a> {
        let orders = variable_orders(task, budget).into_iter();
        Preparations { task, config, limits, orders, current: None, best: None, patience: u64::MAX }
    }

    /// The kernel that is worked with.
    pub(super) fn statistics(&self) -> bdd::Statistics {
        self.current.as_ref().map(|current| current.space.kernel.statistics()).unwrap_or_default()
    }

    /// Works on until the budget is spent; the best preparation once all are complete.
    pub(super) fn advance(
        &mut self,
        budget: &mut Budget,
    ) -> Result<Option<(Space<'a>, Prepared)>, Halt> {
        while !budget.is_spent() {
            let mut current = match self.current.take() {
                Some(current) => current,
                None => match self.orders.next() {
                    Some(order) => self.begin(&order)?,
                    None => return Ok(self.best.take().map(|(_, space, best)| (space, best))),
                },
            };
            let before = current.space.kernel.steps();
            let result = current.advance(stop_at(before, budget).min(self.patience));
            let steps = current.space.kernel.steps();
            budget.spend((steps - before) * DIAGRAM_STEP);
            match result {
                Ok(Some(prepared)) => {
                    let mut space = current.space;
                    let nodes = prepared.nodes(&mut space);
                    if self.best.as_ref().is_none_or(|(least, ..)| nodes < *least) {
                        self.best = Some((nodes, space, prepared));
                    }
                    if steps > COMPARED_STEPS {
                        self.orders = Vec::new().into_iter();
                    }
                    self.patience = self.patience.min(steps + MORE_STEPS);
                }
                Ok(None) if steps < self.patience => self.current = Some(current),
                Ok(None) => {}
                // Other orders than the first one are not needed.
                Err(Halt::Work | Halt::Nodes | Halt::Memory) if self.best.is_some() => {}
                Err(halt) => return Err(halt),
            }
        }
        Ok(None)
    }

    fn begin(&self, order: &[VarId]) -> Result<Box<Preparation<'a>>, Halt> {
        // The best preparation so far and this one stay within the memory of one.
        let held = self.best.as_ref().map_or(0, |(_, space, _)| space.kernel.statistics().bytes);
        let bytes = self.config.bytes.saturating_sub(held);
        let mut space = Space::new(self.task, order, Config { bytes, ..self.config })?;
        let limits = self.limits;
        space.kernel.interrupt_when(move || limits.reached(0, 0).is_some());
        Ok(Box::new(Preparation::new(space)))
    }
}

/// A preparation under way.
struct Preparation<'a> {
    space: Space<'a>,
    invariants: Invariants,
    /// The steps for derived variables at once; `None` once they are computed.
    derive: Option<u64>,
    /// The next operator.
    next: OpId,
    relations: BTreeMap<Cost, Vec<Relation>>,
    merged: BTreeMap<Cost, Vec<Relation>>,
    merging: Option<Merging>,
    merge_until: Option<u64>,
    goal: Option<Goal>,
}

/// A goal that is being constrained.
struct Goal {
    states: Bdd,
    /// Facts whose constraints are still to be tried, last first.
    facts: Vec<Fact>,
    until: u64,
}

impl<'a> Preparation<'a> {
    fn new(space: Space<'a>) -> Preparation<'a> {
        Preparation {
            invariants: Invariants::new(&space),
            derive: Some(DERIVED_STEPS),
            next: OpId(0),
            relations: BTreeMap::new(),
            merged: BTreeMap::new(),
            merging: None,
            merge_until: None,
            goal: None,
            space,
        }
    }

    /// Works on until `stop_at` steps were made; what was prepared once that is complete.
    fn advance(&mut self, stop_at: u64) -> Result<Option<Prepared>, Halt> {
        while let Some(steps) = self.derive {
            let cap = Cap { steps: steps.min(DERIVED.steps), ..DERIVED };
            match self.space.derive(cap) {
                Ok(()) => self.derive = None,
                Err(Halt::Work) if steps < DERIVED.steps => self.derive = Some(2 * steps),
                Err(halt) => return Err(halt),
            }
            if self.space.kernel.steps() >= stop_at {
                return Ok(None);
            }
        }
        while self.next.index() < self.space.task.operators.len() {
            self.add_operator()?;
            if self.space.kernel.steps() >= stop_at {
                return Ok(None);
            }
        }
        let now = self.space.kernel.steps();
        let merge_until = *self.merge_until.get_or_insert(now + MERGE_STEPS);
        loop {
            if self.merging.is_none() {
                let Some((cost, mut relations)) = self.relations.pop_first() else { break };
                relations.sort_by_cached_key(|relation| relation.key(&self.space));
                self.merging = Some(Merging::new(cost, relations));
            }
            let Some(merging) = &mut self.merging else { break };
            let may_go_on = self.space.kernel.steps() < merge_until;
            if may_go_on && merging.step(&mut self.space)? {
                if self.space.kernel.steps() >= stop_at {
                    return Ok(None);
                }
            } else if let Some(Merging { cost, first, next, mut done }) = self.merging.take() {
                done.extend(next);
                done.extend(first);
                self.merged.insert(cost, done);
            }
        }
        let mut goal = match self.goal.take() {
            Some(goal) => goal,
            None => self.goal()?,
        };
        while let Some(fact) = goal.facts.pop() {
            let now = self.space.kernel.steps();
            if now >= goal.until {
                break;
            }
            if now >= stop_at {
                goal.facts.push(fact);
                self.goal = Some(goal);
                return Ok(None);
            }
            let constraint = self.invariants.of(fact, &mut self.space, OPERATOR)?;
            let cap = Cap { nodes: 10 * CONSTRAINED_NODES, ..OPERATOR };
            match self.space.kernel.and(&goal.states, &constraint, cap) {
                Ok(less) if self.space.kernel.size(&less) <= CONSTRAINED_NODES => {
                    goal.states = less;
                }
                Ok(_) | Err(Halt::Nodes | Halt::Work) => {}
                Err(halt) => return Err(halt),
            }
        }
        let initial = self.space.state(&self.space.task.initial, OPERATOR)?;
        let relations = std::mem::take(&mut self.merged);
        Ok(Some(Prepared { relations, initial, goal: goal.states }))
    }

    fn add_operator(&mut self) -> Result<(), Halt> {
        let operator = self.space.task.operator(self.next);
        self.next = OpId(self.next.0 + 1);
        let Some(mut relation) = Relation::of(operator, &mut self.space, OPERATOR)? else {
            return Ok(());
        };
        // A state that an operator is applied in satisfies the invariants of what it changes, and so
        // does the one that it leads to; those of other variables are left to the operators that
        // change them, and to the goal.
        for &var in &relation.vars {
            for fact in self.invariants.facts(var, operator.pre_on(var), &self.space) {
                let constraint = self.invariants.of(fact, &mut self.space, OPERATOR)?;
                constrain(&mut relation.transitions, &constraint, &mut self.space)?;
            }
        }
        if operator.conditional.is_empty() {
            for &fact in &operator.eff {
                let invariants = &self.invariants;
                if let Some(constraint) =
                    invariants.beside(fact, operator, &mut self.space, OPERATOR)?
                {
                    constrain(&mut relation.transitions, &constraint, &mut self.space)?;
                }
            }
        }
        if !relation.transitions.is_false() {
            self.relations.entry(operator.cost).or_default().push(relation);
        }
        Ok(())
    }

    /// The goal, and the facts whose constraints may make it smaller: those of its own variables
    /// first, the others from the bottom of the diagram.
    fn goal(&mut self) -> Result<Goal, Halt> {
        let task = self.space.task;
        let until = self.space.kernel.steps() + CONSTRAINT_STEPS;
        let mut facts = task.goal.clone();
        facts.sort_unstable();
        facts.dedup();
        if facts.windows(2).any(|pair| pair[0].var == pair[1].var) {
            let states = self.space.kernel.constant(false);
            return Ok(Goal { states, facts: Vec::new(), until });
        }
        let states = self.space.condition(&facts, DERIVED)?;
        let mut vars: Vec<VarId> = (0..task.variables.len()).map(VarId::from).collect();
        vars.retain(|&var| !task.is_derived(var));
        vars.sort_by_key(|&var| {
            (task.goal_on(var).is_none(), std::cmp::Reverse(self.space.rank[var.index()]))
        });
        let of_var = |&var: &VarId| self.invariants.facts(var, task.goal_on(var), &self.space);
        let mut facts: Vec<Fact> = vars.iter().flat_map(of_var).collect();
        facts.reverse();
        Ok(Goal { states, facts, until })
    }
}

/// Leaves out of a relation what violates a constraint, if it stays small.
fn constrain(transitions: &mut Bdd, constraint: &Bdd, space: &mut Space) -> Result<(), Halt> {
    let cap = Cap { nodes: CONSTRAINED_NODES, ..OPERATOR };
    match space.kernel.and(transitions, constraint, cap) {
        Ok(constrained) => *transitions = constrained,
        Err(Halt::Nodes | Halt::Work) => {}
        Err(halt) => return Err(halt),
    }
    Ok(())
}

/// Merging relations of equal cost: neighbours in pairs, then what results of that, and so on.
struct Merging {
    cost: Cost,
    /// Those of this round that are not yet paired, last first.
    first: Vec<Relation>,
    /// Those of the next round.
    next: Vec<Relation>,
    /// Those that are as large as may be.
    done: Vec<Relation>,
}

impl Merging {
    fn new(cost: Cost, mut relations: Vec<Relation>) -> Merging {
        relations.reverse();
        Merging { cost, first: relations, next: Vec::new(), done: Vec::new() }
    }

    /// Merges two relations, or finds that they become too large; false if nothing is left to do.
    fn step(&mut self, space: &mut Space) -> Result<bool, Halt> {
        if self.first.len() < 2 {
            self.next.append(&mut self.first);
            if self.next.len() < 2 {
                return Ok(false);
            }
            self.first = std::mem::take(&mut self.next);
            self.first.reverse();
        }
        let (Some(a), Some(b)) = (self.first.pop(), self.first.pop()) else { return Ok(false) };
        let cap = Cap { steps: 100 * RELATION_NODES as u64, nodes: 2 * RELATION_NODES };
        match a.union(&b, space, cap) {
            Ok(both) if space.kernel.size(&both.transitions) <= RELATION_NODES => {
                self.next.push(both);
            }
            Ok(_) | Err(Halt::Nodes | Halt::Work) => {
                let mut size = |relation: &Relation| space.kernel.size(&relation.transitions);
                let (small, large) = if size(&a) < size(&b) { (a, b) } else { (b, a) };
                self.next.push(small);
                self.done.push(large);
            }
            Err(halt) => return Err(halt),
        }
        Ok(true)
    }
}
