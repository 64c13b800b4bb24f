//! A round: the pairs of facts that can hold together, forward or backward.
//!
//! Forward, h² (Haslum and Geffner 2000): pairs that the initial state has, and pairs that an
//! operator makes true in a state all of whose pairs were reached.
//! Backward, the same for regression from the goal (Alcázar and Torralba 2015): pairs that a goal
//! state may have, and pairs that a state may have before an operator if those after it were
//! reached.
//! In either direction a step of an operator is: facts that are *needed* where it comes from, facts
//! that it *changes* to where it leads, and all others, which stay.
//! Pairs excluded by earlier rounds are not reached, and operators excluded by earlier rounds not
//! applied.
//!
//! Rows of pairs are bit sets, so a step costs O(facts it mentions · facts / 64) and is repeated
//! only after the row of a fact that it needs has grown.

use super::FactPairs;
use super::operators::{Operators, Values, intersect};
use crate::csr::Csr;
use crate::task::{Task, VarId, ones};
use crate::work::{Budget, Work};

/// Where a round starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the initial state.
    Forward,
    /// From the goal.
    Backward,
}

/// What a round found.
pub(super) struct Reached {
    pub(super) pairs: FactPairs,
    /// By operator, whether what it needs was reached.
    pub(super) was_applied: Vec<bool>,
}

/// The steps of all operators in one direction; facts by their numbers.
#[derive(Default)]
struct Steps {
    operators: Vec<u32>,
    needs: Csr<u32>,
    changes: Csr<u32>,
    /// Facts known at the end that `changes` belongs to, if these are more than `needs` implies:
    /// what stays must be possible together with them.
    others: Csr<u32>,
}

impl Steps {
    fn new(operators: &Operators, allowed: &FactPairs, direction: Direction) -> Steps {
        let mut steps = Steps::default();
        let mut before = Vec::new();
        for o in (0..operators.len()).filter(|&o| operators.is_kept[o]) {
            steps.operators.push(o as u32);
            let (pre, eff) = (&operators.pre[o], &operators.eff[o]);
            match direction {
                Direction::Forward => {
                    steps.needs.push(pre.iter().copied());
                    steps.changes.push(eff.iter().copied());
                    steps.others.push(eff.iter().copied());
                }
                Direction::Backward => {
                    before.clear();
                    for &fact in eff {
                        let var = VarId(operators.var_of[fact as usize]);
                        let values = operators.facts.range(var);
                        before.extend(values.map(|fact| fact as u32).filter(|&fact| {
                            let fact = fact as usize;
                            allowed.contains(fact, fact)
                                && pre.iter().all(|&known| allowed.contains(fact, known as usize))
                        }));
                    }
                    steps.needs.push(operators.post(o));
                    steps.changes.push(before.iter().copied());
                    steps.others.push(pre.iter().copied());
                }
            }
        }
        steps
    }

    fn len(&self) -> usize {
        self.operators.len()
    }
}

/// Runs a round; none if the budget does not suffice.
pub(super) fn run(
    task: &Task,
    operators: &Operators,
    allowed: &FactPairs,
    direction: Direction,
    budget: &mut Budget,
) -> Option<Reached> {
    let steps = Steps::new(operators, allowed, direction);
    let mut round = Round::new(operators, allowed, &steps);
    match direction {
        Direction::Forward => round.start_at(operators.facts.of_state(&task.initial)),
        Direction::Backward => {
            let facts = &operators.facts;
            let mut goal = task.goal.iter().map(|&fact| facts.of(fact) as u32).collect();
            let mut values = Values::new(facts, allowed);
            let is_possible = values.disambiguate(&mut goal, &[]);
            let is_single = |&fact: &usize| fact < allowed.len() && allowed.contains(fact, fact);
            let possible = ones(&values.after).filter(is_single).filter(|_| is_possible);
            let goal: Vec<usize> = possible.collect();
            budget.spend((goal.len() * allowed.len() / 32) as Work);
            round.start_at(goal.into_iter());
        }
    }
    round.spread(budget)?;
    let mut was_applied = vec![false; operators.len()];
    for (step, &o) in steps.operators.iter().enumerate() {
        was_applied[o as usize] = round.is_applied[step];
    }
    Some(Reached { pairs: round.reached, was_applied })
}

/// What has been reached so far.
struct Round<'a> {
    operators: &'a Operators,
    allowed: &'a FactPairs,
    steps: &'a Steps,
    /// By fact the steps that need it.
    needed_by: Csr<u32>,
    /// The steps that need nothing.
    needless: Vec<u32>,
    reached: FactPairs,
    /// The facts that are reached.
    single: Vec<u64>,
    is_applied: Vec<bool>,
    /// By step that was not applied yet: two facts that it needs and that were not reached together.
    missing: Vec<(u32, u32)>,
    /// By fact and by step, when the row grew last and when the step was looked at last.
    grown: Vec<u32>,
    looked_at: Vec<u32>,
    now: u32,
    /// Facts whose rows have grown since the last sweep.
    is_open: Vec<u64>,
    stays: Vec<u64>,
}

impl<'a> Round<'a> {
    fn new(operators: &'a Operators, allowed: &'a FactPairs, steps: &'a Steps) -> Round<'a> {
        let num_facts = allowed.len();
        let needs = (0..steps.len())
            .flat_map(|step| steps.needs.row(step).iter().map(move |&f| (f as usize, step as u32)));
        let needless = (0..steps.len()).filter(|&step| steps.needs.row(step).is_empty());
        Round {
            operators,
            allowed,
            steps,
            needed_by: Csr::sorted(num_facts, needs),
            needless: needless.map(|step| step as u32).collect(),
            reached: FactPairs::new(num_facts),
            single: vec![0; num_facts.div_ceil(64)],
            is_applied: vec![false; steps.len()],
            missing: vec![(0, 0); steps.len()],
            grown: vec![0; num_facts],
            looked_at: vec![0; steps.len()],
            now: 1,
            is_open: vec![0; num_facts.div_ceil(64)],
            stays: vec![0; num_facts.div_ceil(64)],
        }
    }

    /// Pairs of these facts are reached.
    fn start_at(&mut self, facts: impl Iterator<Item = usize> + Clone) {
        let mut row = vec![0; self.stays.len()];
        facts.clone().for_each(|fact| row[fact / 64] |= 1 << (fact % 64));
        for fact in facts {
            let reached = self.reached.row_mut(fact);
            reached.copy_from_slice(self.allowed.row(fact));
            intersect(reached, &row);
            self.grown[fact] = self.now;
        }
        self.single.copy_from_slice(&row);
        self.is_open.copy_from_slice(&row);
    }

    /// Applies steps until nothing changes; none if the budget does not suffice.
    fn spread(&mut self, budget: &mut Budget) -> Option<()> {
        let mut is_waiting = vec![0u64; self.steps.len().div_ceil(64)];
        loop {
            let open = std::mem::replace(&mut self.is_open, vec![0; self.stays.len()]);
            let mut any = false;
            for fact in ones(&open) {
                any = true;
                for &step in self.needed_by.row(fact) {
                    is_waiting[step as usize / 64] |= 1 << (step % 64);
                }
            }
            if !any {
                return Some(());
            }
            for &step in &self.needless {
                is_waiting[step as usize / 64] |= 1 << (step % 64);
            }
            for (word, waiting) in is_waiting.iter_mut().enumerate() {
                for bit in ones(&[std::mem::take(waiting)]) {
                    let work = self.look_at(word * 64 + bit);
                    budget.spend(work);
                }
                if budget.is_spent() {
                    return None;
                }
            }
        }
    }

    /// Applies a step if it can be applied and something that it needs has grown; returns the work.
    fn look_at(&mut self, step: usize) -> Work {
        let needs = self.steps.needs.row(step);
        let since = self.looked_at[step];
        if !needs.is_empty() && needs.iter().all(|&fact| self.grown[fact as usize] < since) {
            return needs.len() as Work;
        }
        if !self.is_applied[step] {
            let (a, b) = self.missing[step];
            if (a, b) != (0, 0) && !self.reached.contains(a as usize, b as usize) {
                return needs.len() as Work;
            }
            if let Some(pair) = first_missing(&self.reached, needs) {
                self.missing[step] = pair;
                return 4 * needs.len() as Work;
            }
            self.is_applied[step] = true;
        }
        self.now += 1;
        self.looked_at[step] = self.now;
        self.apply(step)
    }

    /// What the step changes goes with itself and with all that can stay.
    fn apply(&mut self, step: usize) -> Work {
        let (needs, changes) = (self.steps.needs.row(step), self.steps.changes.row(step));
        let others = self.steps.others.row(step);
        let stays = &mut self.stays;
        stays.copy_from_slice(&self.single);
        needs.iter().for_each(|&fact| intersect(stays, self.reached.row(fact as usize)));
        others.iter().for_each(|&fact| intersect(stays, self.allowed.row(fact as usize)));
        let operator = self.steps.operators[step] as usize;
        for &fact in &self.operators.eff[operator] {
            let var = VarId(self.operators.var_of[fact as usize]);
            let words = self.operators.facts.words(var);
            words.for_each(|(word, bits)| stays[word] &= !bits);
        }
        changes.iter().for_each(|&fact| stays[fact as usize / 64] |= 1 << (fact % 64));
        let mut new = 0;
        for &p in changes {
            let p = p as usize;
            let before = new;
            for (word, stays) in stays.iter().enumerate() {
                let mask = stays & self.allowed.row(p)[word] & !self.reached.row(p)[word];
                for bit in ones(&[mask]) {
                    let q = word * 64 + bit;
                    self.reached.insert(p, q);
                    self.grown[q] = self.now;
                    self.is_open[q / 64] |= 1 << (q % 64);
                    new += 1;
                }
            }
            if new > before {
                self.grown[p] = self.now;
                self.is_open[p / 64] |= 1 << (p % 64);
                self.single[p / 64] |= 1 << (p % 64);
            }
        }
        let rows = needs.len() + others.len() + 2 * changes.len() + 2;
        (rows * self.stays.len() / 4 + 20 + 4 * new) as Work
    }
}

/// Two facts, or one twice, that were not reached together.
fn first_missing(reached: &FactPairs, facts: &[u32]) -> Option<(u32, u32)> {
    let mut pairs =
        facts.iter().enumerate().flat_map(|(i, &a)| facts[..=i].iter().map(move |&b| (a, b)));
    pairs.find(|&(a, b)| !reached.contains(a as usize, b as usize))
}
