//! The delete relaxation as unary operators, and the heuristic h_FF (Hoffmann, Nebel 2001).
//!
//! Relaxed plans are made of the best supporters of h_add (Keyder, Geffner 2008), which a queue of
//! buckets finds in the order of their costs.
//! An operator is a unary operator with all effects that have no condition, and one more for each
//! conditional effect; an axiom is one without cost, and default values of derived variables count
//! as reached.
//! So a state without a relaxed plan is a dead end, whatever the task has.
//! Cost per state: linear in what is reached. No allocation once buckets have grown.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::csr::Csr;
use crate::task::{Fact, FactNumbers, OpId, Task, Value, VarId};
use crate::work::Work;

/// No fact, no operator, or a cost that nothing has.
pub(super) const NONE: u32 = u32::MAX;

/// The unary operators of a task.
pub(super) struct Relaxation {
    pub(super) numbers: FactNumbers,
    /// By unary operator: what it needs, what it adds, and whose it is (no one's for axioms).
    pub(super) pres: Csr<u32>,
    pub(super) effects: Csr<u32>,
    pub(super) owners: Vec<u32>,
    /// By fact: the unary operators that need it.
    pub(super) users: Csr<u32>,
    /// Facts that count as reached in every state.
    pub(super) always: Vec<u32>,
    pub(super) goal: Vec<u32>,
    num_pres: Vec<u32>,
    without_pre: Vec<u32>,
}

impl Relaxation {
    /// The relaxation of a task. Cost linear in the task.
    pub(super) fn new(task: &Task) -> Relaxation {
        let numbers = FactNumbers::new(task);
        let of = |facts: &[Fact]| -> Vec<u32> {
            facts.iter().map(|&fact| numbers.of(fact) as u32).collect()
        };
        let (mut pres, mut effects, mut owners) = (Csr::default(), Csr::default(), Vec::new());
        for (o, operator) in task.operators.iter().enumerate() {
            if !operator.eff.is_empty() {
                pres.push(of(&operator.pre));
                effects.push(of(&operator.eff));
                owners.push(o as u32);
            }
            for conditional in &operator.conditional {
                let mut pre = [of(&operator.pre), of(&conditional.condition)].concat();
                pre.sort_unstable();
                pre.dedup();
                pres.push(pre);
                effects.push(of(&[conditional.fact]));
                owners.push(o as u32);
            }
        }
        for axiom in &task.axioms {
            pres.push(of(&axiom.condition));
            effects.push(of(&[axiom.head]));
            owners.push(NONE);
        }
        let needs = (0..pres.len())
            .flat_map(|a| pres.row(a).iter().map(move |&fact| (fact as usize, a as u32)));
        let default = |(var, variable): (usize, &crate::task::Variable)| {
            let derivation = variable.derived?;
            Some(numbers.of(Fact::new(VarId::from(var), derivation.default)) as u32)
        };
        let num_pres: Vec<u32> = (0..pres.len()).map(|a| pres.row(a).len() as u32).collect();
        Relaxation {
            users: Csr::sorted(numbers.len(), needs),
            always: task.variables.iter().enumerate().filter_map(default).collect(),
            goal: of(&task.goal),
            without_pre: (0..num_pres.len() as u32)
                .filter(|&a| num_pres[a as usize] == 0)
                .collect(),
            num_pres,
            pres,
            effects,
            owners,
            numbers,
        }
    }

    /// How many unary operators there are.
    pub(super) fn len(&self) -> usize {
        self.owners.len()
    }

    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        let rows = [&self.pres, &self.effects, &self.users];
        rows.iter().map(|rows| rows.memory_bytes()).sum::<usize>() + 8 * self.len()
    }

    /// By fact: h^max from a state, where it is less than a bound. Operators cost what they say.
    pub(super) fn reached_below(
        &self,
        state: &[Value],
        bound: u64,
        cost: impl Fn(usize) -> u64,
        work: &mut Work,
    ) -> Vec<u64> {
        let mut costs = vec![u64::MAX; self.numbers.len()];
        let mut open = self.num_pres.clone();
        let mut queue: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
        let reach = |fact: u32, c: u64, costs: &mut [u64], queue: &mut BinaryHeap<_>| {
            if c < bound && c < costs[fact as usize] {
                costs[fact as usize] = c;
                queue.push(Reverse((c, fact)));
            }
        };
        let state = self.numbers.of_state(state).map(|fact| fact as u32);
        state.chain(self.always.iter().copied()).for_each(|f| reach(f, 0, &mut costs, &mut queue));
        let fire = |a: u32, c: u64, costs: &mut [u64], queue: &mut BinaryHeap<_>| {
            let owner = self.owners[a as usize];
            let own = if owner == NONE { 0 } else { cost(owner as usize) };
            let effects = self.effects.row(a as usize);
            effects.iter().for_each(|&f| reach(f, c.saturating_add(own), costs, queue));
        };
        self.without_pre.iter().for_each(|&a| fire(a, 0, &mut costs, &mut queue));
        let mut steps = (costs.len() + open.len()) as Work / 4;
        while let Some(Reverse((c, fact))) = queue.pop() {
            if c > costs[fact as usize] {
                continue;
            }
            let users = self.users.row(fact as usize);
            steps += 4 + users.len() as Work;
            for &a in users {
                open[a as usize] -= 1;
                if open[a as usize] == 0 {
                    fire(a, c, &mut costs, &mut queue);
                }
            }
        }
        *work += steps * RELAXED_STEP;
        costs
    }
}

/// Costs below this have a bucket each.
const BUCKETS: usize = 1 << 12;

/// A step of a relaxed exploration: a fact, or a precondition or effect of a unary operator.
const RELAXED_STEP: Work = 2;

/// h_FF of a task with costs of its own.
pub(super) struct Ff {
    /// By unary operator.
    own_costs: Vec<u32>,
    is_goal: Vec<bool>,
    /// By fact: its h_add value, and who reaches it at that cost.
    costs: Vec<u32>,
    supporters: Vec<u32>,
    /// By unary operator: the preconditions not reached yet, and what the others cost together.
    open: Vec<u32>,
    sums: Vec<u32>,
    /// By fact and by operator: the last relaxed plan that has it.
    fact_marks: Vec<u32>,
    op_marks: Vec<u32>,
    mark: u32,
    buckets: Vec<Vec<u32>>,
    /// The last bucket that may have facts.
    last: usize,
    expensive: BinaryHeap<Reverse<(u32, u32)>>,
    stack: Vec<u32>,
    /// The applicable operators of the last relaxed plan.
    pub(super) preferred: Vec<OpId>,
    steps: u64,
}

impl Ff {
    /// For operators of these costs.
    pub(super) fn new(relaxation: &Relaxation, costs: &[u32]) -> Ff {
        let num_facts = relaxation.numbers.len();
        let own = |&owner: &u32| if owner == NONE { 0 } else { costs[owner as usize] };
        let mut is_goal = vec![false; num_facts];
        relaxation.goal.iter().for_each(|&goal| is_goal[goal as usize] = true);
        Ff {
            own_costs: relaxation.owners.iter().map(own).collect(),
            is_goal,
            costs: vec![NONE; num_facts],
            supporters: vec![NONE; num_facts],
            open: vec![0; relaxation.len()],
            sums: vec![0; relaxation.len()],
            fact_marks: vec![0; num_facts],
            op_marks: vec![0; costs.len()],
            mark: 0,
            buckets: vec![Vec::new(); BUCKETS],
            last: 0,
            expensive: BinaryHeap::new(),
            stack: Vec::new(),
            preferred: Vec::new(),
            steps: 0,
        }
    }

    /// The work done since this was asked last.
    pub(super) fn take_work(&mut self) -> Work {
        std::mem::take(&mut self.steps) * RELAXED_STEP
    }

    /// The cost of a relaxed plan; none at a dead end.
    pub(super) fn evaluate(&mut self, relaxation: &Relaxation, state: &[Value]) -> Option<u32> {
        self.preferred.clear();
        if !self.explore(relaxation, state) {
            return None;
        }
        Some(self.extract(relaxation))
    }

    /// Computes h_add until all goals are reached; whether they are.
    fn explore(&mut self, relaxation: &Relaxation, state: &[Value]) -> bool {
        self.costs.fill(NONE);
        self.open.copy_from_slice(&relaxation.num_pres);
        self.sums.fill(0);
        self.expensive.clear();
        self.steps += (self.costs.len() + self.open.len()) as u64 / 4;
        for fact in relaxation.numbers.of_state(state) {
            self.reach(fact as u32, 0, NONE);
        }
        for &fact in &relaxation.always {
            self.reach(fact, 0, NONE);
        }
        for &a in &relaxation.without_pre {
            self.fire(relaxation, a);
        }
        let mut goals_left = relaxation.goal.len();
        let mut at = 0;
        while goals_left > 0 {
            let Some((cost, fact)) = self.pop(&mut at) else { break };
            if cost > self.costs[fact as usize] {
                continue;
            }
            goals_left -= usize::from(self.is_goal[fact as usize]);
            let users = relaxation.users.row(fact as usize);
            self.steps += 1 + users.len() as u64;
            for &a in users {
                let a = a as usize;
                self.sums[a] = self.sums[a].saturating_add(cost);
                self.open[a] -= 1;
                if self.open[a] == 0 {
                    self.fire(relaxation, a as u32);
                }
            }
        }
        let end = BUCKETS.min(self.last + 1);
        self.buckets[at.min(end)..end].iter_mut().for_each(Vec::clear);
        self.last = 0;
        goals_left == 0
    }

    /// The next fact by cost; `at` is the bucket to begin with.
    #[inline]
    fn pop(&mut self, at: &mut usize) -> Option<(u32, u32)> {
        while *at <= self.last && *at < BUCKETS {
            if let Some(fact) = self.buckets[*at].pop() {
                return Some((*at as u32, fact));
            }
            *at += 1;
        }
        *at = BUCKETS;
        self.expensive.pop().map(|Reverse(next)| next)
    }

    #[inline]
    fn reach(&mut self, fact: u32, cost: u32, supporter: u32) {
        if cost >= self.costs[fact as usize] {
            return;
        }
        self.costs[fact as usize] = cost;
        self.supporters[fact as usize] = supporter;
        if (cost as usize) < BUCKETS {
            self.last = self.last.max(cost as usize);
            self.buckets[cost as usize].push(fact);
        } else {
            self.expensive.push(Reverse((cost, fact)));
        }
    }

    #[inline]
    fn fire(&mut self, relaxation: &Relaxation, a: u32) {
        let (sum, own) = (self.sums[a as usize], self.own_costs[a as usize]);
        let cost = sum.saturating_add(own).min(NONE - 1);
        let effects = relaxation.effects.row(a as usize);
        self.steps += effects.len() as u64;
        effects.iter().for_each(|&fact| self.reach(fact, cost, a));
    }

    /// Collects the supporters of the goal; what their operators cost.
    fn extract(&mut self, relaxation: &Relaxation) -> u32 {
        if self.mark == u32::MAX {
            self.fact_marks.fill(0);
            self.op_marks.fill(0);
            self.mark = 0;
        }
        self.mark += 1;
        let mut h = 0u32;
        self.stack.clear();
        self.stack.extend(&relaxation.goal);
        while let Some(fact) = self.stack.pop() {
            let fact = fact as usize;
            let a = self.supporters[fact] as usize;
            if self.fact_marks[fact] == self.mark || a == NONE as usize {
                continue;
            }
            self.fact_marks[fact] = self.mark;
            let pres = relaxation.pres.row(a);
            self.steps += 1 + pres.len() as u64;
            self.stack.extend(pres);
            let owner = relaxation.owners[a];
            if owner == NONE || self.op_marks[owner as usize] == self.mark {
                continue;
            }
            self.op_marks[owner as usize] = self.mark;
            h = h.saturating_add(self.own_costs[a]);
            if pres.iter().all(|&pre| self.supporters[pre as usize] == NONE) {
                self.preferred.push(OpId(owner));
            }
        }
        h.min(NONE - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{StateSpace, random_adl_task, random_task};

    #[test]
    fn only_dead_ends_have_no_relaxed_plan_and_only_goals_cost_nothing() {
        let (mut dead, mut alive) = (0, 0);
        for seed in 0..200 {
            for task in [random_task(seed), random_adl_task(seed)] {
                let relaxation = Relaxation::new(&task);
                let mut ff = Ff::new(&relaxation, &vec![1; task.operators.len()]);
                let space = StateSpace::new(&task);
                for (state, distance) in space.states.iter().zip(&space.distances) {
                    let h = ff.evaluate(&relaxation, state);
                    assert!(h.is_some() || distance.is_none(), "seed {seed}: {state:?}");
                    let is_goal = task.is_goal(state);
                    assert!(!is_goal || h == Some(0), "seed {seed}: {state:?} {h:?}");
                    for &op in &ff.preferred {
                        assert!(task.operator(op).is_applicable(state) || !task.axioms.is_empty());
                    }
                    dead += usize::from(h.is_none());
                    alive += usize::from(h.is_some());
                }
            }
        }
        assert!(dead > 1000 && alive > 1000, "{dead} {alive}");
    }

    #[test]
    fn h_max_never_exceeds_the_cost_of_reaching_a_state() {
        for seed in 0..100 {
            let task = random_task(seed);
            let relaxation = Relaxation::new(&task);
            let space = StateSpace::new(&task);
            let costs = relaxation.reached_below(
                &task.initial,
                u64::MAX,
                |o| task.operators[o].cost,
                &mut 0,
            );
            for (state, reachable) in space.states.iter().zip(&space.reachable) {
                let reached = relaxation.numbers.of_state(state).all(|f| costs[f] < u64::MAX);
                assert!(reached || !reachable);
            }
        }
    }
}
