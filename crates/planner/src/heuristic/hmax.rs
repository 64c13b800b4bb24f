//! The heuristic h^max (Bonet, Geffner 2001): the cost of the most expensive goal fact in the
//! delete relaxation, where a conjunction costs as much as its most expensive fact.
//!
//! Gives a bound also where all goal variables are derived and projections give none.
//! A conditional effect is an action of its own with the condition as further precondition; an
//! axiom is an action without cost.
//! Default values of derived variables count as reached, which keeps the bound admissible.
//! A goal fact that cannot be reached shows a dead end.
//! Cost per state: linear in the preconditions of what is reachable (Dijkstra's algorithm; the
//! queue has a bucket per cost, and a heap beyond [`BUCKETS`]).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::justify::RecentFacts;
use super::{Estimate, Heuristic};
use crate::abstraction::INFINITY;
use crate::certificate::{BoundId, Certificate};
use crate::csr::Csr;
use crate::task::{Cost, Fact, FactNumbers, Task, Value, VarId};
use crate::work::{self, Work};

/// Costs below this have buckets.
const BUCKETS: usize = 1 << 12;

/// Work for a fact that is reached, and for an action that has it among its preconditions.
const REACHED: Work = 10;
const USER: Work = 4;

/// Stands for no operator.
const NONE: u32 = u32::MAX;

/// h^max of a task.
#[derive(Debug)]
pub struct HMax {
    numbers: FactNumbers,
    /// What is reached in every state: default values of derived variables.
    always: Vec<u32>,
    is_goal: Vec<bool>,
    num_goals: usize,
    /// The actions: their numbers of preconditions, costs and effects.
    num_pre: Vec<u32>,
    costs: Vec<Cost>,
    effects: Csr<u32>,
    /// By fact, the actions that have it among their preconditions.
    users: Csr<u32>,
    without_pre: Vec<u32>,
    /// The operator of each action; [`NONE`] for axioms.
    owners: Vec<u32>,
    /// By variable.
    is_derived: Vec<bool>,
    scratch: Scratch,
    written: RecentFacts,
    work: Work,
}

#[derive(Debug, Default)]
struct Scratch {
    open_pre: Vec<u32>,
    reached_at: Vec<Cost>,
    buckets: Vec<Vec<u32>>,
    /// No bucket from here on holds anything.
    end: usize,
    heap: BinaryHeap<Reverse<(Cost, u32)>>,
}

impl HMax {
    /// Prepares a task. Cost linear in the task.
    pub fn new(task: &Task) -> HMax {
        let numbers = FactNumbers::new(task);
        let index = |fact: &Fact| numbers.of(*fact) as u32;
        let mut actions: Vec<(Vec<Fact>, Vec<u32>, Cost)> = Vec::new();
        let mut owners = Vec::new();
        for (o, operator) in (0u32..).zip(&task.operators) {
            if !operator.eff.is_empty() {
                let effects = operator.eff.iter().map(index).collect();
                actions.push((operator.pre.to_vec(), effects, operator.cost));
                owners.push(o);
            }
            // Effects with the same condition are one action.
            let mut by_condition: FxHashMap<&[Fact], usize> = FxHashMap::default();
            for effect in &operator.conditional {
                let at = *by_condition.entry(&effect.condition).or_insert_with(|| {
                    let pre = operator.pre.iter().chain(&effect.condition).copied().collect();
                    actions.push((pre, Vec::new(), operator.cost));
                    owners.push(o);
                    actions.len() - 1
                });
                actions[at].1.push(index(&effect.fact));
            }
        }
        for axiom in &task.axioms {
            actions.push((axiom.condition.to_vec(), vec![index(&axiom.head)], 0));
            owners.push(NONE);
        }

        let mut effects = Csr::default();
        for (pre, adds, _) in &mut actions {
            pre.sort_unstable();
            pre.dedup();
            effects.push(adds.iter().copied());
        }
        let preconditions = (0u32..).zip(&actions).flat_map(|(a, (pre, _, _))| {
            let numbers = &numbers;
            pre.iter().map(move |&fact| (numbers.of(fact), a))
        });
        let users = Csr::sorted(numbers.len(), preconditions);
        let defaults = (0..task.variables.len())
            .map(VarId::from)
            .filter_map(|var| Some(index(&Fact::new(var, task.variable(var).derived?.default))));
        let mut is_goal = vec![false; numbers.len()];
        task.goal.iter().for_each(|fact| is_goal[index(fact) as usize] = true);
        HMax {
            always: defaults.collect(),
            num_goals: is_goal.iter().filter(|&&goal| goal).count(),
            is_goal,
            num_pre: actions.iter().map(|(pre, _, _)| pre.len() as u32).collect(),
            costs: actions.iter().map(|(_, _, cost)| *cost).collect(),
            without_pre: (0..actions.len() as u32)
                .filter(|&a| actions[a as usize].0.is_empty())
                .collect(),
            owners,
            is_derived: task.variables.iter().map(|v| v.derived.is_some()).collect(),
            written: RecentFacts::default(),
            work: 0,
            effects,
            users,
            scratch: Scratch {
                reached_at: vec![Cost::MAX; numbers.len()],
                buckets: vec![Vec::new(); BUCKETS],
                ..Scratch::default()
            },
            numbers,
        }
    }

    /// Adds the effects of an action whose preconditions were all reached at `cost`.
    #[inline]
    fn apply(&self, action: u32, cost: Cost, scratch: &mut Scratch) {
        let cost = cost.saturating_add(self.costs[action as usize]);
        for &fact in self.effects.row(action as usize) {
            scratch.reach(fact, cost);
        }
    }
}

impl Scratch {
    fn clear(&mut self, num_pre: &[u32]) {
        self.open_pre.clear();
        self.open_pre.extend_from_slice(num_pre);
        self.reached_at.fill(Cost::MAX);
        self.buckets[..self.end].iter_mut().for_each(Vec::clear);
        self.end = 0;
        self.heap.clear();
    }

    #[inline]
    fn reach(&mut self, fact: u32, cost: Cost) {
        let reached_at = &mut self.reached_at[fact as usize];
        if cost >= *reached_at {
            return;
        }
        *reached_at = cost;
        if cost < BUCKETS as Cost {
            self.buckets[cost as usize].push(fact);
            self.end = self.end.max(cost as usize + 1);
        } else {
            self.heap.push(Reverse((cost, fact)));
        }
    }

    /// The next fact in order of cost; `bucket` is where the last one came from.
    #[inline]
    fn next(&mut self, bucket: &mut usize) -> Option<(Cost, u32)> {
        while *bucket < self.end {
            if let Some(fact) = self.buckets[*bucket].pop() {
                return Some((*bucket as Cost, fact));
            }
            *bucket += 1;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}

impl HMax {
    /// What facts cost from the state evaluated last: a table over facts that makes its value a
    /// bound. None if costs do not fit.
    pub(super) fn table(&self, value: Estimate) -> Option<Vec<u32>> {
        let most = match value {
            Estimate::AtLeast(h) => u32::try_from(h).ok().filter(|&h| h < INFINITY)?,
            Estimate::DeadEnd => INFINITY,
        };
        let entry = |&cost: &Cost| match value {
            // Facts that were not looked at any more are not cheaper than the most expensive goal.
            Estimate::AtLeast(_) => u32::try_from(cost).unwrap_or(most).min(most),
            Estimate::DeadEnd if cost < Cost::MAX => 0,
            Estimate::DeadEnd => INFINITY,
        };
        Some(self.scratch.reached_at.iter().map(entry).collect())
    }

    /// The value that a table over facts gives to a state.
    pub(super) fn value_of_table(&self, table: &[u32], state: &[Value]) -> Estimate {
        let facts = self.numbers.of_state(state).zip(&self.is_derived);
        let basic = facts.filter(|(_, is_derived)| !**is_derived);
        let reached = basic.map(|(fact, _)| table[fact]).max();
        let goals = table.iter().zip(&self.is_goal).filter(|(_, is_goal)| **is_goal);
        let goal = goals.map(|(&entry, _)| entry).max().unwrap_or(0);
        match (reached.unwrap_or(0), goal) {
            (INFINITY, _) => Estimate::AtLeast(0),
            (_, INFINITY) => Estimate::DeadEnd,
            (reached, goal) => Estimate::AtLeast(goal.saturating_sub(reached).into()),
        }
    }

    /// Which facts can be reached from a state without some operators.
    pub(super) fn reachable(
        &self,
        state: &[Value],
        is_left_out: impl Fn(u32) -> bool,
    ) -> Vec<bool> {
        let mut is_reached = vec![false; self.is_goal.len()];
        let mut open_pre = self.num_pre.clone();
        let facts = self.numbers.of_state(state).map(|fact| fact as u32);
        let mut queue: Vec<u32> = facts.chain(self.always.iter().copied()).collect();
        queue.iter().for_each(|&fact| is_reached[fact as usize] = true);
        queue.sort_unstable();
        queue.dedup();
        let mut ready = self.without_pre.clone();
        loop {
            for a in ready.drain(..).filter(|&a| !is_left_out(self.owners[a as usize])) {
                for &fact in self.effects.row(a as usize) {
                    if !std::mem::replace(&mut is_reached[fact as usize], true) {
                        queue.push(fact);
                    }
                }
            }
            let Some(fact) = queue.pop() else { return is_reached };
            for &a in self.users.row(fact as usize) {
                open_pre[a as usize] -= 1;
                if open_pre[a as usize] == 0 {
                    ready.push(a);
                }
            }
        }
    }
}

impl Heuristic for HMax {
    fn justify(
        &mut self,
        state: &[Value],
        least: Estimate,
        certificate: &mut Certificate<'_>,
    ) -> Option<BoundId> {
        let known = self.written.find(least, |table| self.value_of_table(table, state));
        known.or_else(|| {
            let value = self.evaluate(state);
            let table = (value >= least).then(|| self.table(value)).flatten()?;
            Some(self.written.write(vec![table], certificate))
        })
    }

    fn evaluate(&mut self, state: &[Value]) -> Estimate {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear(&self.num_pre);
        for fact in self.numbers.of_state(state) {
            scratch.reach(fact as u32, 0);
        }
        for &fact in &self.always {
            scratch.reach(fact, 0);
        }
        for &action in &self.without_pre {
            self.apply(action, 0, &mut scratch);
        }
        let mut goals = self.num_goals;
        let mut estimate = if goals == 0 { Estimate::AtLeast(0) } else { Estimate::DeadEnd };
        let mut bucket = 0;
        let mut work = work::STATE + self.num_pre.len() as Work / 4;
        while goals > 0
            && let Some((cost, fact)) = scratch.next(&mut bucket)
        {
            let f = fact as usize;
            if cost > scratch.reached_at[f] {
                continue; // It was reached at lower cost.
            }
            if self.is_goal[f] {
                goals -= 1;
                if goals == 0 {
                    estimate = Estimate::AtLeast(cost);
                }
            }
            let users = self.users.row(f);
            work += REACHED + USER * users.len() as Work;
            for &a in users {
                scratch.open_pre[a as usize] -= 1;
                if scratch.open_pre[a as usize] == 0 {
                    self.apply(a, cost, &mut scratch);
                }
            }
        }
        self.scratch = scratch;
        self.work += work;
        estimate
    }

    fn work(&self) -> Option<Work> {
        Some(self.work)
    }
}
