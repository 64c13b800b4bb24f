//! Landmarks as a guide: how many facts that every plan makes true are still to come.
//!
//! The fact landmarks of the delete relaxation are found by propagation (Zhu, Givan 2003): what a fact
//! needs is what all that add it need together.
//! Along a path they are accepted one after the other; the value of a state is what those cost that
//! are not accepted yet or are needed again (Richter, Westphal 2010).
//! The value depends on the path, and may be too large: it is a guide and no bound.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::relaxation::{NONE, Relaxation};
use crate::csr::Csr;
use crate::task::{FactNumbers, OpId, Task, Value};
use crate::work::{Budget, Work};

/// The landmarks of a task's initial state.
pub(super) struct Landmarks {
    numbers: FactNumbers,
    /// The words of a bit set of landmarks.
    words: usize,
    /// By fact: its landmark, or none.
    of_fact: Vec<u32>,
    /// By operator: the landmarks that it may make true.
    of_operator: Csr<u32>,
    landmarks: Vec<Landmark>,
}

struct Landmark {
    /// What it takes at least to make it true, in the guide's costs.
    costs: [u32; 2],
    is_goal: bool,
    /// Bit sets: landmarks that come before it, and those that need it immediately before.
    before: Vec<u64>,
    needed_by: Vec<u64>,
}

fn bit(set: &[u64], i: usize) -> bool {
    set[i / 64] >> (i % 64) & 1 == 1
}

fn set_bit(set: &mut [u64], i: usize) {
    set[i / 64] |= 1 << (i % 64);
}

/// Whether all bits of a set are in another one.
fn is_subset(set: &[u64], of: &[u64]) -> bool {
    set.iter().zip(of).all(|(set, of)| set & !of == 0)
}

/// Words of bit sets that are combined in a unit of work.
const WORDS: usize = 4;

impl Landmarks {
    /// Finds the landmarks, if work and memory suffice; `costs` are the guides' costs by operator.
    pub(super) fn new(
        task: &Task,
        relaxation: &Relaxation,
        costs: [&[u32]; 2],
        max_bytes: usize,
        budget: &mut Budget,
    ) -> Option<Landmarks> {
        let num_facts = relaxation.numbers.len();
        if num_facts.div_ceil(64).saturating_mul(8 * num_facts) > max_bytes {
            return None;
        }
        let needed = needed_facts(task, relaxation, budget)?;
        let mut all = vec![0; num_facts.div_ceil(64)];
        for &goal in &relaxation.goal {
            let needed = needed[goal as usize].as_ref()?;
            all.iter_mut().zip(needed).for_each(|(all, needed)| *all |= needed);
        }
        let facts: Vec<usize> = (0..num_facts).filter(|&fact| bit(&all, fact)).collect();
        let mut of_fact = vec![NONE; num_facts];
        facts.iter().enumerate().for_each(|(l, &fact)| of_fact[fact] = l as u32);
        let words = facts.len().div_ceil(64);
        if facts.len().saturating_mul(16 * words) > max_bytes {
            return None;
        }
        let landmark = |&fact: &usize| {
            let mut before = vec![0; words];
            let own = needed[fact].as_ref().expect("every plan makes it true");
            for (l, &other) in facts.iter().enumerate() {
                if other != fact && bit(own, other) {
                    set_bit(&mut before, l);
                }
            }
            let is_goal = relaxation.goal.contains(&(fact as u32));
            Landmark { costs: [u32::MAX; 2], is_goal, before, needed_by: vec![0; words] }
        };
        let mut landmarks: Vec<Landmark> = facts.iter().map(landmark).collect();
        budget.spend((facts.len() * facts.len()) as Work);

        // What all that can make a landmark true for the first time need is needed immediately before.
        let mut shared: Vec<Option<Vec<u32>>> = vec![None; facts.len()];
        let mut achieved = Vec::new();
        for a in 0..relaxation.len() {
            let (pres, owner) = (relaxation.pres.row(a), relaxation.owners[a]);
            for &fact in relaxation.effects.row(a) {
                let l = of_fact[fact as usize] as usize;
                if l == NONE as usize {
                    continue;
                }
                for (cost, costs) in landmarks[l].costs.iter_mut().zip(costs) {
                    let own = if owner == NONE { 0 } else { costs[owner as usize] };
                    *cost = (*cost).min(own);
                }
                if owner != NONE {
                    achieved.push((owner as usize, l as u32));
                }
                let comes_first = pres.iter().all(|&pre| {
                    let needed = needed[pre as usize].as_ref();
                    pre != fact && needed.is_some_and(|needed| !bit(needed, fact as usize))
                });
                if comes_first {
                    match &mut shared[l] {
                        Some(shared) => shared.retain(|pre| pres.contains(pre)),
                        none => *none = Some(pres.to_vec()),
                    }
                }
            }
        }
        for (l, shared) in shared.iter().enumerate() {
            for &pre in shared.iter().flatten() {
                let pre = of_fact[pre as usize] as usize;
                if pre != NONE as usize {
                    set_bit(&mut landmarks[pre].needed_by, l);
                }
            }
        }
        for cost in landmarks.iter_mut().flat_map(|landmark| &mut landmark.costs) {
            // Nothing adds it: it holds at the beginning.
            *cost = if *cost == u32::MAX { 0 } else { *cost };
        }
        let of_operator = Csr::sorted(task.operators.len(), achieved.into_iter());
        let numbers = relaxation.numbers.clone();
        Some(Landmarks { numbers, words, of_fact, of_operator, landmarks })
    }

    /// The words of a bit set of landmarks.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// What counting takes.
    pub(super) fn work(&self) -> Work {
        (self.of_fact.len() / 8 + self.landmarks.len() * (1 + self.words / WORDS)) as Work
    }

    /// Accepts the landmarks that hold in a state, given what was accepted before; the sum of those
    /// that are still to come.
    pub(super) fn count(&self, state: &[Value], accepted: &mut [u64], costs: usize) -> u64 {
        let mut holds: SmallVec<[u64; 16]> = SmallVec::from_elem(0, self.words);
        for fact in self.numbers.of_state(state) {
            let l = self.of_fact[fact];
            if l != NONE {
                set_bit(&mut holds, l as usize);
            }
        }
        accepted.iter_mut().zip(&holds).for_each(|(accepted, holds)| *accepted |= holds);
        let to_come = |(l, landmark): (usize, &Landmark)| {
            let again = || landmark.is_goal || !is_subset(&landmark.needed_by, accepted);
            let counts = !bit(accepted, l) || (!bit(&holds, l) && again());
            if counts { u64::from(landmark.costs[costs]) } else { 0 }
        };
        self.landmarks.iter().enumerate().map(to_come).sum()
    }

    /// Whether an operator may make a landmark true whose turn it is.
    pub(super) fn prefers(&self, op: OpId, accepted: &[u64]) -> bool {
        self.of_operator.row(op.index()).iter().any(|&l| {
            let l = l as usize;
            !bit(accepted, l) && is_subset(&self.landmarks[l].before, accepted)
        })
    }

    /// Bytes held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.landmarks.len() * (16 * self.words + 80) + self.of_operator.memory_bytes()
    }
}

/// By fact: the facts that every relaxed plan for it makes true, as bits; none if it has no plan.
fn needed_facts(
    task: &Task,
    relaxation: &Relaxation,
    budget: &mut Budget,
) -> Option<Vec<Option<Vec<u64>>>> {
    let num_facts = relaxation.numbers.len();
    let words = num_facts.div_ceil(64);
    let mut needed: Vec<Option<Vec<u64>>> = vec![None; num_facts];
    let initial = relaxation.numbers.of_state(&task.initial);
    for fact in initial.chain(relaxation.always.iter().map(|&fact| fact as usize)) {
        let mut set = vec![0; words];
        set_bit(&mut set, fact);
        needed[fact] = Some(set);
    }
    let mut is_queued = vec![true; relaxation.len()];
    let mut queue: VecDeque<u32> = (0..relaxation.len() as u32).collect();
    let mut of_operator = vec![0u64; words];
    while let Some(a) = queue.pop_front() {
        is_queued[a as usize] = false;
        if budget.is_spent() {
            return None;
        }
        let (pres, effects) = (relaxation.pres.row(a as usize), relaxation.effects.row(a as usize));
        if pres.iter().any(|&pre| needed[pre as usize].is_none()) {
            budget.spend(10);
            continue;
        }
        budget.spend(10 + ((pres.len() + effects.len()) * words / WORDS) as Work);
        of_operator.fill(0);
        for &pre in pres {
            let set = needed[pre as usize].iter().flatten();
            of_operator.iter_mut().zip(set).for_each(|(all, one)| *all |= one);
        }
        for &fact in effects {
            let fact = fact as usize;
            let changed = match &mut needed[fact] {
                Some(set) => {
                    let before = of_operator[fact / 64];
                    set_bit(&mut of_operator, fact);
                    let mut changed = false;
                    for (old, &new) in set.iter_mut().zip(&of_operator) {
                        changed |= *old & !new != 0;
                        *old &= new;
                    }
                    of_operator[fact / 64] = before;
                    changed
                }
                none => {
                    let mut set = of_operator.clone();
                    set_bit(&mut set, fact);
                    *none = Some(set);
                    true
                }
            };
            if changed {
                for &user in relaxation.users.row(fact) {
                    if !std::mem::replace(&mut is_queued[user as usize], true) {
                        queue.push_back(user);
                    }
                }
            }
        }
    }
    Some(needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::task::OpId;
    use crate::testing::{random_adl_task, random_task};

    /// Along a plan every landmark is accepted, and none is to come at the end.
    #[test]
    fn plans_make_all_landmarks_true() {
        let mut some = 0;
        for seed in 0..300 {
            for task in [random_task(seed), random_adl_task(seed)] {
                let Some(plan) = any_plan(&task) else { continue };
                let relaxation = Relaxation::new(&task);
                let ones = vec![1; task.operators.len()];
                let budget = &mut Budget::unlimited();
                let found = Landmarks::new(&task, &relaxation, [&ones, &ones], usize::MAX, budget);
                let landmarks = found.expect("no limit");
                let mut accepted = vec![0; landmarks.words()];
                let mut state = task.initial.clone();
                let mut left = landmarks.count(&state, &mut accepted, 0);
                some += usize::from(left > 0);
                for &op in &plan.operators {
                    state = task.successor(&state, op);
                    left = landmarks.count(&state, &mut accepted, 0);
                }
                assert_eq!(left, 0, "seed {seed}");
                let all = (0..landmarks.landmarks.len()).all(|l| bit(&accepted, l));
                assert!(all, "seed {seed}: {accepted:?}");
            }
        }
        assert!(some > 100, "{some}");
    }

    fn any_plan(task: &Task) -> Option<Plan> {
        use crate::heuristic::Blind;
        use crate::search::{Config, Outcome, astar};
        match astar(task, &mut Blind::new(task), Config::default()).outcome {
            Outcome::Solved(plan) => Some(plan),
            _ => None,
        }
    }

    #[test]
    fn operators_that_add_the_next_landmark_are_preferred() {
        for seed in 0..100 {
            let task = random_task(seed);
            let relaxation = Relaxation::new(&task);
            let ones = vec![1; task.operators.len()];
            let budget = &mut Budget::unlimited();
            let found = Landmarks::new(&task, &relaxation, [&ones, &ones], usize::MAX, budget);
            let Some(landmarks) = found else { continue };
            let mut accepted = vec![0; landmarks.words()];
            landmarks.count(&task.initial, &mut accepted, 0);
            let all = vec![u64::MAX; landmarks.words()];
            for op in 0..task.operators.len() {
                assert!(!landmarks.prefers(OpId::from(op), &all));
            }
        }
    }
}
