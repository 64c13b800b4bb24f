//! From a task to what a search needs: an order, relations by cost, start and goal.
//!
//! Advances by work like the search itself.

use std::collections::BTreeMap;

use bdd::{Bdd, Cap, Config, Halt};

use super::invariants::Invariants;
use super::order::variable_order;
use super::relation::Relation;
use super::space::Space;
use crate::task::{Cost, OpId, Task};
use crate::work::Budget;

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

/// Relations by cost, and the two sets that searches begin with.
pub(super) struct Prepared {
    pub(super) relations: BTreeMap<Cost, Vec<Relation>>,
    pub(super) initial: Bdd,
    pub(super) goal: Bdd,
}

/// A preparation under way.
pub(super) struct Preparation<'a> {
    pub(super) space: Space<'a>,
    invariants: Invariants,
    /// The next operator.
    next: OpId,
    relations: BTreeMap<Cost, Vec<Relation>>,
    merged: BTreeMap<Cost, Vec<Relation>>,
    merging: Option<Merging>,
    merge_until: Option<u64>,
}

impl<'a> Preparation<'a> {
    /// Orders the variables and computes the derived ones.
    pub(super) fn new(
        task: &'a Task,
        config: Config,
        interrupt: impl FnMut() -> bool + Send + 'a,
        budget: &mut Budget,
    ) -> Result<Preparation<'a>, Halt> {
        let order = variable_order(task, budget);
        let mut space = Space::new(task, &order, config)?;
        space.kernel.interrupt_when(interrupt);
        space.derive(DERIVED)?;
        Ok(Preparation {
            invariants: Invariants::new(&space),
            space,
            next: OpId(0),
            relations: BTreeMap::new(),
            merged: BTreeMap::new(),
            merging: None,
            merge_until: None,
        })
    }

    /// Works on until `stop_at` steps were made; what was prepared once that is complete.
    pub(super) fn advance(&mut self, stop_at: u64) -> Result<Option<Prepared>, Halt> {
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
        let task = self.space.task;
        let initial = self.space.state(&task.initial, OPERATOR)?;
        let goal = self.goal()?;
        Ok(Some(Prepared { relations: std::mem::take(&mut self.merged), initial, goal }))
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

    /// The goal, without states that violate invariants where that keeps it small.
    fn goal(&mut self) -> Result<Bdd, Halt> {
        let task = self.space.task;
        let mut facts = task.goal.clone();
        facts.sort_unstable();
        facts.dedup();
        if facts.windows(2).any(|pair| pair[0].var == pair[1].var) {
            return Ok(self.space.kernel.constant(false));
        }
        let mut goal = self.space.condition(&facts, DERIVED)?;
        let mut vars: Vec<_> =
            self.space.task.variables.iter().enumerate().map(|(v, _)| v.into()).collect();
        vars.retain(|&var| !task.is_derived(var));
        // Those of the goal first, the others from the bottom of the diagram.
        vars.sort_by_key(|&var| {
            (task.goal_on(var).is_none(), std::cmp::Reverse(self.space.rank[var.index()]))
        });
        let until = self.space.kernel.steps() + CONSTRAINT_STEPS;
        for var in vars {
            for fact in self.invariants.facts(var, task.goal_on(var), &self.space) {
                if self.space.kernel.steps() >= until {
                    return Ok(goal);
                }
                let constraint = self.invariants.of(fact, &mut self.space, OPERATOR)?;
                let cap = Cap { nodes: 10 * CONSTRAINED_NODES, ..OPERATOR };
                match self.space.kernel.and(&goal, &constraint, cap) {
                    Ok(less) if self.space.kernel.size(&less) <= CONSTRAINED_NODES => goal = less,
                    Ok(_) | Err(Halt::Nodes | Halt::Work) => {}
                    Err(halt) => return Err(halt),
                }
            }
        }
        Ok(goal)
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
