//! The steps of LM-cut on a relaxed task: h^max, goal zone, cut, payment, repair.
//!
//! An action is reached when its preconditions are; it then has a supporter, one of its most
//! expensive preconditions, and the bit of that pair is set.
//! So a fact's bits are the actions that it supports, in the order of actions.

use std::ops::{ControlFlow, Range};

use super::queue::Queue;
use super::relaxed::{NONE, Precondition, Relaxed, Use};
use crate::csr::Csr;
use crate::task::{Cost, OpId, Value};

/// How an action is supported, if it is reached.
#[derive(Clone, Copy, Debug)]
struct Support {
    /// What its preconditions cost; where there is only one, known of actions that pay.
    at: u32,
    /// Its supporter, and the bit of the pair.
    fact: u32,
    bit: u32,
}

impl Support {
    /// Changes the supporter.
    #[inline(always)]
    fn change(&mut self, pre: Precondition, bits: &mut [u64]) {
        bits[self.bit as usize / 64] &= !(1 << (self.bit % 64));
        bits[pre.bit as usize / 64] |= 1 << (pre.bit % 64);
        (self.fact, self.bit) = (pre.fact, pre.bit);
    }
}

/// A set of facts.
#[derive(Debug)]
struct FactSet(Vec<u64>);

impl FactSet {
    fn new(facts: usize) -> FactSet {
        FactSet(vec![0; facts.div_ceil(64)])
    }

    fn clear(&mut self) {
        self.0.fill(0);
    }

    #[inline(always)]
    fn contains(&self, fact: u32) -> bool {
        self.0[fact as usize / 64] >> (fact % 64) & 1 != 0
    }

    #[inline(always)]
    fn contains_all(&self, words: &[(u32, u64)]) -> bool {
        words.iter().all(|&(word, facts)| facts & !self.0[word as usize] == 0)
    }

    /// Says whether the fact is new.
    #[inline(always)]
    fn insert(&mut self, fact: u32) -> bool {
        let word = &mut self.0[fact as usize / 64];
        let is_new = *word >> (fact % 64) & 1 == 0;
        *word |= 1 << (fact % 64);
        is_new
    }

    #[inline(always)]
    fn remove(&mut self, fact: u32) {
        self.0[fact as usize / 64] &= !(1 << (fact % 64));
    }
}

/// The evaluation of one state after the other.
#[derive(Debug)]
pub(super) struct Exploration {
    /// By action: what it costs now.
    action_costs: Vec<u32>,
    supports: Vec<Support>,
    /// By action: how many preconditions it has, and how many of several were not reached yet.
    num_pre: Vec<u32>,
    open_pre: Vec<u32>,
    /// By fact: h^max, [`NONE`] if not reached.
    costs: Vec<u32>,
    /// By fact: how many of its achievers have no cost.
    free_achievers: Vec<u32>,
    /// The facts in the goal zone, and those reached without it.
    zone: FactSet,
    before: FactSet,
    bits: Vec<u64>,
    queue: Queue,
    /// The facts of the state.
    facts: Vec<u32>,
    /// Facts to go on from; in the goal zone, with the next of their achievers to look at.
    stack: Vec<u32>,
    zone_stack: Vec<(u32, u32)>,
    /// The actions of the cut, and the reached ones of the operators that they belong to.
    cut: Vec<u32>,
    paying: Vec<u32>,
    landmark: Vec<OpId>,
    /// By operator, where several actions share a cost: whether it is in the landmark.
    in_landmark: Vec<bool>,
    /// The actions whose costs changed.
    changed: Vec<u32>,
    steps: u64,
}

/// The sum of costs; never [`NONE`], for what can be reached stays reached.
#[inline(always)]
fn plus(a: u32, b: u32) -> u32 {
    a.saturating_add(b).min(NONE - 1)
}

#[inline(always)]
fn reach_effects(relaxed: &Relaxed, used: Use, costs: &mut [u32], queue: &mut Queue, cost: u32) {
    let _ = relaxed.effects_of(used, |fact| {
        reach(costs, queue, fact, cost);
        ControlFlow::Continue(())
    });
}

#[inline(always)]
fn reach(costs: &mut [u32], queue: &mut Queue, fact: u32, cost: u32) {
    let known = &mut costs[fact as usize];
    if cost < *known {
        *known = cost;
        queue.push(cost, fact);
    }
}

impl Exploration {
    /// Room for a task; costs must be set.
    pub(super) fn new(relaxed: &Relaxed) -> Exploration {
        let facts = relaxed.num_facts();
        let lengths = relaxed.preconditions.offsets().ranges().map(|row| row.len() as u32);
        let operators = if relaxed.shares { relaxed.parts.len() } else { 0 };
        // Where there is only one precondition, it stays.
        let supports = relaxed.preconditions.offsets().ranges().map(|row| {
            let Precondition { fact, bit } = relaxed.preconditions.items()[row.start];
            Support { at: NONE, fact, bit }
        });
        Exploration {
            action_costs: vec![0; relaxed.num_actions()],
            supports: supports.collect(),
            num_pre: lengths.collect(),
            open_pre: vec![0; relaxed.num_actions()],
            costs: vec![NONE; facts],
            free_achievers: vec![0; facts],
            zone: FactSet::new(facts),
            before: FactSet::new(facts),
            bits: relaxed.only_bits.clone(),
            queue: Queue::default(),
            facts: Vec::new(),
            stack: Vec::new(),
            zone_stack: Vec::new(),
            cut: Vec::new(),
            paying: Vec::new(),
            landmark: Vec::new(),
            in_landmark: vec![false; operators],
            changed: Vec::new(),
            steps: 0,
        }
    }

    /// The steps of inner loops so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Gives every action a cost.
    pub(super) fn set_costs(&mut self, relaxed: &Relaxed, cost: impl Fn(usize) -> u32) {
        self.changed.clear();
        self.free_achievers.fill(0);
        self.steps += self.action_costs.len() as u64;
        for (a, action_cost) in self.action_costs.iter_mut().enumerate() {
            *action_cost = cost(a);
            if *action_cost == 0 {
                count_free(&relaxed.effects, a, &mut self.free_achievers);
            }
        }
    }

    /// Gives the actions that paid their costs back.
    pub(super) fn restore_costs(&mut self, relaxed: &Relaxed, costs: &[u32]) {
        for a in self.changed.drain(..) {
            let cost = &mut self.action_costs[a as usize];
            if *cost == 0 {
                for &fact in relaxed.effects.row(a as usize) {
                    self.free_achievers[fact as usize] -= 1;
                }
            }
            *cost = costs[a as usize];
        }
    }

    /// The cost of the goal; none if it cannot be reached.
    pub(super) fn h_max(&self, relaxed: &Relaxed) -> Option<u32> {
        Some(self.costs[relaxed.goal as usize]).filter(|&cost| cost != NONE)
    }

    /// Takes note of a state's facts.
    pub(super) fn set_state(&mut self, relaxed: &Relaxed, state: &[Value]) {
        relaxed.facts_of(state, &mut self.facts);
    }

    /// The facts of the state.
    pub(super) fn facts(&self) -> &[u32] {
        &self.facts
    }

    /// The actions of the last cut, and a set of facts that no other action leads out of and that
    /// the goal is not in: who is there needs one of them.
    pub(super) fn last_cut(&self) -> (&[u32], &[u64]) {
        (&self.cut, &self.before.0)
    }

    /// Takes the cost of a cut found elsewhere from its actions, before h^max is computed.
    pub(super) fn pay_for(&mut self, relaxed: &Relaxed, cut: &[u32], paid: u32) {
        for &a in cut {
            let cost = &mut self.action_costs[a as usize];
            *cost -= paid;
            if *cost == 0 {
                count_free(&relaxed.effects, a as usize, &mut self.free_achievers);
            }
        }
        self.steps += cut.len() as u64;
        self.changed.extend_from_slice(cut);
    }

    /// Computes h^max and supporters from the state.
    pub(super) fn explore(&mut self, relaxed: &Relaxed) {
        self.open_pre.copy_from_slice(&self.num_pre);
        self.costs.fill(NONE);
        self.bits.copy_from_slice(&relaxed.only_bits);
        self.queue.clear();
        let mut steps = (self.open_pre.len() + self.costs.len()) as u64 / 8;
        for &fact in self.facts[1..].iter().chain(&self.facts[..1]) {
            reach(&mut self.costs, &mut self.queue, fact, 0);
        }
        while let Some((cost, fact)) = self.queue.pop() {
            if self.costs[fact as usize] < cost {
                continue;
            }
            let users = relaxed.users.row(fact as usize);
            steps += 1 + users.len() as u64;
            for (&used, bit) in users.iter().zip(relaxed.first_bit[fact as usize]..) {
                let a = used.action();
                if !used.is_only() {
                    let open = &mut self.open_pre[a];
                    *open -= 1;
                    if *open > 0 {
                        continue;
                    }
                    self.bits[bit as usize / 64] |= 1 << (bit % 64);
                    self.supports[a] = Support { at: cost, fact, bit };
                }
                let after = plus(cost, self.action_costs[a]);
                reach_effects(relaxed, used, &mut self.costs, &mut self.queue, after);
            }
        }
        self.steps += steps;
    }

    /// Marks the facts from which the goal costs nothing.
    pub(super) fn mark_goal_zone(&mut self, relaxed: &Relaxed) {
        self.zone.clear();
        // Depth first, for ties are broken by what was marked before.
        self.enter_zone(relaxed.goal);
        while let Some((fact, next)) = self.zone_stack.last_mut() {
            let Some(&a) = relaxed.achievers.row(*fact as usize).get(*next as usize) else {
                self.zone_stack.pop();
                continue;
            };
            *next += 1;
            self.steps += 1;
            if self.action_costs[a as usize] == 0 && self.is_reached(a) {
                self.break_ties(relaxed, a);
                self.enter_zone(self.supports[a as usize].fact);
            }
        }
    }

    #[inline(always)]
    fn is_reached(&self, a: u32) -> bool {
        let a = a as usize;
        if self.num_pre[a] == 1 {
            self.costs[self.supports[a].fact as usize] != NONE
        } else {
            self.open_pre[a] == 0
        }
    }

    #[inline(always)]
    fn enter_zone(&mut self, fact: u32) {
        if self.zone.insert(fact) && self.free_achievers[fact as usize] > 0 {
            self.zone_stack.push((fact, 0));
        }
    }

    /// Supports an action by the first of its most expensive preconditions that is at the border of
    /// the goal zone, since no achiever is free, or inside it already.
    #[inline(always)]
    fn break_ties(&mut self, relaxed: &Relaxed, a: u32) {
        if self.num_pre[a as usize] == 1 {
            return;
        }
        let at = self.supports[a as usize].at;
        let is_better = |pre: &&Precondition| {
            let f = pre.fact as usize;
            self.costs[f] == at && (self.free_achievers[f] == 0 || self.zone.contains(pre.fact))
        };
        if let Some(&pre) = relaxed.preconditions.row(a as usize).iter().find(is_better) {
            self.supports[a as usize].change(pre, &mut self.bits);
        }
    }

    /// Finds the actions that lead into the goal zone from facts reached without it.
    pub(super) fn cut(&mut self, relaxed: &Relaxed) {
        let Exploration { zone, before, bits, stack, cut, .. } = self;
        before.clear();
        cut.clear();
        for &fact in &self.facts {
            if before.insert(fact) {
                stack.push(fact);
            }
        }
        let mut steps = 0;
        while let Some(fact) = stack.pop() {
            let users = relaxed.users.row(fact as usize);
            for (w, users) in words(relaxed, fact).zip(users.chunks(64)) {
                let mut word = bits[w];
                // PERF: mostly nothing is new, which a look at all effects together shows.
                let effects = relaxed.word_effects.row(w);
                steps += 1 + effects.len() as u64;
                if word == 0 || before.contains_all(effects) {
                    continue;
                }
                while word != 0 {
                    steps += 2;
                    let used = users[word.trailing_zeros() as usize];
                    word &= word - 1;
                    let reached = stack.len();
                    let into_zone = relaxed.effects_of(used, |effect| {
                        if before.contains(effect) {
                            return ControlFlow::Continue(());
                        }
                        if zone.contains(effect) {
                            return ControlFlow::Break(());
                        }
                        before.insert(effect);
                        stack.push(effect);
                        ControlFlow::Continue(())
                    });
                    if into_zone.is_break() {
                        // The other effects are not reached this way.
                        stack.drain(reached..).for_each(|fact| before.remove(fact));
                        cut.push(used.action() as u32);
                    }
                }
            }
        }
        self.steps += steps;
    }

    /// Takes what the cheapest operator of the cut costs from all of them, and says how much.
    pub(super) fn pay(&mut self, relaxed: &Relaxed) -> Cost {
        self.paying.clear();
        if relaxed.shares {
            self.landmark.clear();
            for &a in &self.cut {
                let owner = relaxed.owners[a as usize] as usize;
                if !std::mem::replace(&mut self.in_landmark[owner], true) {
                    self.landmark.push(OpId::from(owner));
                    for &part in relaxed.parts.row(owner) {
                        if self.is_reached(part) {
                            self.paying.push(part);
                        }
                    }
                }
            }
            self.landmark.iter().for_each(|op| self.in_landmark[op.index()] = false);
        } else {
            self.paying.extend_from_slice(&self.cut);
        }
        let costs = self.cut.iter().map(|&a| self.action_costs[a as usize]);
        let least = costs.min().expect("the goal zone can be reached");
        assert!(least > 0, "what leads into the goal zone at no cost belongs to it");
        for &a in &self.paying {
            let cost = &mut self.action_costs[a as usize];
            *cost -= least;
            if *cost == 0 {
                count_free(&relaxed.effects, a as usize, &mut self.free_achievers);
            }
            if self.num_pre[a as usize] == 1 {
                let support = &mut self.supports[a as usize];
                support.at = self.costs[support.fact as usize];
            }
        }
        self.steps += self.paying.len() as u64;
        self.changed.extend_from_slice(&self.paying);
        Cost::from(least)
    }

    /// The operators of the last cut.
    pub(super) fn landmark(&mut self, relaxed: &Relaxed) -> &[OpId] {
        if !relaxed.shares {
            self.landmark.clear();
            let owners = self.cut.iter().map(|&a| OpId(relaxed.owners[a as usize]));
            self.landmark.extend(owners);
        }
        &self.landmark
    }

    /// Computes h^max and supporters anew where they became cheaper with the last payment.
    pub(super) fn repair(&mut self, relaxed: &Relaxed) {
        let Exploration { supports, action_costs, costs, bits, queue, .. } = self;
        let mut steps = 0;
        queue.count(relaxed.num_facts());
        for &a in &self.paying {
            let a = a as usize;
            let after = plus(supports[a].at, action_costs[a]);
            for &effect in relaxed.effects.row(a) {
                reach(costs, queue, effect, after);
            }
        }
        while let Some((cost, fact)) = queue.pop() {
            if costs[fact as usize] < cost {
                continue;
            }
            let users = relaxed.users.row(fact as usize);
            for (w, users) in words(relaxed, fact).zip(users.chunks(64)) {
                let mut word = bits[w];
                steps += 1;
                while word != 0 {
                    steps += 2;
                    let used = users[word.trailing_zeros() as usize];
                    word &= word - 1;
                    let a = used.action();
                    let mut at = cost;
                    if !used.is_only() {
                        let support = &mut supports[a];
                        if support.at <= cost {
                            continue;
                        }
                        let mut most = None;
                        for pre in relaxed.preconditions.row(a) {
                            if costs[pre.fact as usize] > at {
                                at = costs[pre.fact as usize];
                                most = Some(*pre);
                            }
                        }
                        if let Some(pre) = most {
                            support.change(pre, bits);
                        }
                        if std::mem::replace(&mut support.at, at) == at {
                            continue;
                        }
                    }
                    reach_effects(relaxed, used, costs, queue, plus(at, action_costs[a]));
                }
            }
        }
        self.steps += steps;
    }
}

/// The words of a fact's bits.
#[inline(always)]
fn words(relaxed: &Relaxed, fact: u32) -> Range<usize> {
    let f = fact as usize;
    relaxed.first_bit[f] as usize / 64..relaxed.first_bit[f + 1] as usize / 64
}

fn count_free(effects: &Csr<u32>, action: usize, free_achievers: &mut [u32]) {
    for &fact in effects.row(action) {
        free_achievers[fact as usize] += 1;
    }
}
