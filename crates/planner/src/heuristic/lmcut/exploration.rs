//! The steps of LM-cut on a relaxed task: h^max, goal zone, cut, payment, repair.
//!
//! An action is reached when its preconditions are; it then has a supporter, one of its dearest
//! preconditions, and the bit of that pair is set.
//! So a fact's bits are the actions that it supports, in the order of actions.

use super::queue::Queue;
use super::relaxed::{NONE, Precondition, Relaxed};
use crate::csr::Csr;
use crate::task::{Cost, OpId, Value};

/// What is known of an action in a state; all but the cost only if it is reached.
#[derive(Clone, Copy, Debug)]
struct Action {
    /// What it costs now.
    cost: u32,
    /// What its preconditions cost.
    at: u32,
    /// Its supporter, and the bit of the pair.
    supporter: u32,
    bit: u32,
}

/// The evaluation of one state after the other.
#[derive(Debug)]
pub(super) struct Exploration {
    actions: Vec<Action>,
    /// By action: how many preconditions it has, and how many were not reached yet.
    num_pre: Vec<u32>,
    open_pre: Vec<u32>,
    /// By fact: h^max, [`NONE`] if not reached.
    costs: Vec<u32>,
    /// By fact: how many of its achievers have no cost.
    free_achievers: Vec<u32>,
    /// By fact: `zone` inside the goal zone, `zone + 1` if reached without it.
    marks: Vec<u32>,
    zone: u32,
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
fn reach(costs: &mut [u32], queue: &mut Queue, fact: u32, cost: u32) {
    let known = &mut costs[fact as usize];
    if cost < *known {
        *known = cost;
        queue.push(cost, fact);
    }
}

/// The actions that a fact supports: the bits of its words.
struct Supported<'a> {
    users: &'a [u32],
    words: &'a [u64],
}

impl<'a> Supported<'a> {
    #[inline(always)]
    fn new(relaxed: &'a Relaxed, bits: &'a [u64], fact: u32) -> Supported<'a> {
        let f = fact as usize;
        let words = relaxed.first_bit[f] as usize / 64..relaxed.first_bit[f + 1] as usize / 64;
        Supported { users: relaxed.users.row(f), words: &bits[words] }
    }

    #[inline(always)]
    fn for_each(self, mut visit: impl FnMut(u32)) {
        for (w, &word) in self.words.iter().enumerate() {
            let mut word = word;
            while word != 0 {
                visit(self.users[64 * w + word.trailing_zeros() as usize]);
                word &= word - 1;
            }
        }
    }
}

impl Exploration {
    /// Room for a task; costs must be set.
    pub(super) fn new(relaxed: &Relaxed) -> Exploration {
        let facts = relaxed.num_facts();
        let bits = relaxed.first_bit[facts] as usize;
        let lengths = relaxed.preconditions.offsets().ranges().map(|row| row.len() as u32);
        let operators = if relaxed.shares { relaxed.parts.len() } else { 0 };
        let action = Action { cost: 0, at: NONE, supporter: NONE, bit: NONE };
        Exploration {
            actions: vec![action; relaxed.num_actions()],
            num_pre: lengths.collect(),
            open_pre: vec![0; relaxed.num_actions()],
            costs: vec![NONE; facts],
            free_achievers: vec![0; facts],
            marks: vec![0; facts],
            zone: 1,
            bits: vec![0; bits / 64],
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

    /// The steps of inner loops since this was asked last.
    pub(super) fn take_steps(&mut self) -> u64 {
        std::mem::take(&mut self.steps)
    }

    /// Gives every action a cost.
    pub(super) fn set_costs(&mut self, relaxed: &Relaxed, cost: impl Fn(usize) -> u32) {
        self.changed.clear();
        self.free_achievers.fill(0);
        self.steps += self.actions.len() as u64;
        for (a, action) in self.actions.iter_mut().enumerate() {
            action.cost = cost(a);
            if action.cost == 0 {
                count_free(&relaxed.effects, a, &mut self.free_achievers);
            }
        }
    }

    /// Gives the actions that paid their costs back.
    pub(super) fn restore_costs(&mut self, relaxed: &Relaxed, costs: &[u32]) {
        for a in self.changed.drain(..) {
            let action = &mut self.actions[a as usize];
            if action.cost == 0 {
                for &fact in relaxed.effects.row(a as usize) {
                    self.free_achievers[fact as usize] -= 1;
                }
            }
            action.cost = costs[a as usize];
        }
    }

    /// The cost of the goal; none if it cannot be reached.
    pub(super) fn h_max(&self, relaxed: &Relaxed) -> Option<u32> {
        Some(self.costs[relaxed.goal as usize]).filter(|&cost| cost != NONE)
    }

    /// Computes h^max and supporters from a state.
    pub(super) fn explore(&mut self, relaxed: &Relaxed, state: &[Value]) {
        relaxed.facts_of(state, &mut self.facts);
        self.open_pre.copy_from_slice(&self.num_pre);
        self.costs.fill(NONE);
        self.bits.fill(0);
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
            for (&a, bit) in users.iter().zip(relaxed.first_bit[fact as usize]..) {
                let open = &mut self.open_pre[a as usize];
                *open -= 1;
                if *open > 0 {
                    continue;
                }
                self.bits[bit as usize / 64] |= 1 << (bit % 64);
                let action = &mut self.actions[a as usize];
                *action = Action { at: cost, supporter: fact, bit, ..*action };
                let after = plus(cost, action.cost);
                let effects = relaxed.effects.row(a as usize);
                steps += effects.len() as u64;
                for &effect in effects {
                    reach(&mut self.costs, &mut self.queue, effect, after);
                }
            }
        }
        self.steps += steps;
    }

    /// Marks the facts from which the goal costs nothing.
    pub(super) fn mark_goal_zone(&mut self, relaxed: &Relaxed) {
        self.zone += 2;
        if self.zone >= u32::MAX - 2 {
            self.marks.fill(0);
            self.zone = 1;
        }
        // Depth first, for ties are broken by what was marked before.
        self.enter_zone(relaxed.goal);
        while let Some((fact, next)) = self.zone_stack.last_mut() {
            let Some(&a) = relaxed.achievers.row(*fact as usize).get(*next as usize) else {
                self.zone_stack.pop();
                continue;
            };
            *next += 1;
            self.steps += 1;
            if self.actions[a as usize].cost == 0 && self.open_pre[a as usize] == 0 {
                self.break_ties(relaxed, a);
                self.enter_zone(self.actions[a as usize].supporter);
            }
        }
    }

    #[inline(always)]
    fn enter_zone(&mut self, fact: u32) {
        if self.marks[fact as usize] != self.zone {
            self.marks[fact as usize] = self.zone;
            if self.free_achievers[fact as usize] > 0 {
                self.zone_stack.push((fact, 0));
            }
        }
    }

    /// Supports an action by the first of its dearest preconditions that is at the border of the
    /// goal zone, since no achiever is free, or inside it already.
    #[inline(always)]
    fn break_ties(&mut self, relaxed: &Relaxed, a: u32) {
        let at = self.actions[a as usize].at;
        let is_better = |pre: &&Precondition| {
            let f = pre.fact as usize;
            self.costs[f] == at && (self.free_achievers[f] == 0 || self.marks[f] == self.zone)
        };
        if let Some(&pre) = relaxed.preconditions.row(a as usize).iter().find(is_better) {
            self.support(a, pre);
        }
    }

    /// Changes an action's supporter.
    #[inline(always)]
    fn support(&mut self, a: u32, pre: Precondition) {
        let action = &mut self.actions[a as usize];
        self.bits[action.bit as usize / 64] &= !(1 << (action.bit % 64));
        self.bits[pre.bit as usize / 64] |= 1 << (pre.bit % 64);
        (action.supporter, action.bit) = (pre.fact, pre.bit);
    }

    /// Finds the actions that lead into the goal zone from facts reached without it.
    pub(super) fn cut(&mut self, relaxed: &Relaxed) {
        let Exploration { marks, bits, stack, cut, .. } = self;
        let (zone, before) = (self.zone, self.zone + 1);
        cut.clear();
        for &fact in &self.facts {
            if marks[fact as usize] != before {
                marks[fact as usize] = before;
                stack.push(fact);
            }
        }
        let mut steps = 0;
        while let Some(fact) = stack.pop() {
            steps += 1;
            Supported::new(relaxed, bits, fact).for_each(|a| {
                let effects = relaxed.effects.row(a as usize);
                steps += 1 + effects.len() as u64;
                let reached = stack.len();
                for &effect in effects {
                    let mark = &mut marks[effect as usize];
                    if *mark == before {
                        continue;
                    }
                    if *mark == zone {
                        // The other effects are not reached this way.
                        stack.drain(reached..).for_each(|fact| marks[fact as usize] = 0);
                        cut.push(a);
                        break;
                    }
                    *mark = before;
                    stack.push(effect);
                }
            });
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
                    let parts = relaxed.parts.row(owner).iter();
                    self.paying.extend(parts.filter(|&&part| self.open_pre[part as usize] == 0));
                }
            }
            self.landmark.iter().for_each(|op| self.in_landmark[op.index()] = false);
        } else {
            self.paying.extend_from_slice(&self.cut);
        }
        let costs = self.cut.iter().map(|&a| self.actions[a as usize].cost);
        let least = costs.min().expect("the goal zone can be reached");
        assert!(least > 0, "what leads into the goal zone at no cost belongs to it");
        for &a in &self.paying {
            let action = &mut self.actions[a as usize];
            action.cost -= least;
            if action.cost == 0 {
                count_free(&relaxed.effects, a as usize, &mut self.free_achievers);
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
        let Exploration { actions, costs, bits, queue, .. } = self;
        let mut steps = 0;
        queue.count(relaxed.num_facts());
        for &a in &self.paying {
            let action = actions[a as usize];
            for &effect in relaxed.effects.row(a as usize) {
                reach(costs, queue, effect, plus(action.at, action.cost));
            }
        }
        while let Some((cost, fact)) = queue.pop() {
            if costs[fact as usize] < cost {
                continue;
            }
            steps += 1;
            let f = fact as usize;
            let users = relaxed.users.row(f);
            let words = relaxed.first_bit[f] as usize / 64..relaxed.first_bit[f + 1] as usize / 64;
            for (w, first) in words.zip((0..).step_by(64)) {
                let mut word = bits[w];
                while word != 0 {
                    let a = users[first + word.trailing_zeros() as usize] as usize;
                    word &= word - 1;
                    steps += 1;
                    let action = &mut actions[a];
                    let old = action.at;
                    if old <= cost {
                        continue;
                    }
                    let preconditions = relaxed.preconditions.row(a);
                    steps += preconditions.len() as u64;
                    let mut dearest = Precondition { fact, bit: action.bit };
                    action.at = cost;
                    for pre in preconditions {
                        if costs[pre.fact as usize] > action.at {
                            action.at = costs[pre.fact as usize];
                            dearest = *pre;
                        }
                    }
                    if dearest.fact != fact {
                        bits[action.bit as usize / 64] &= !(1 << (action.bit % 64));
                        bits[dearest.bit as usize / 64] |= 1 << (dearest.bit % 64);
                        (action.supporter, action.bit) = (dearest.fact, dearest.bit);
                    }
                    if action.at < old {
                        let after = plus(action.at, action.cost);
                        let effects = relaxed.effects.row(a);
                        steps += effects.len() as u64;
                        for &effect in effects {
                            reach(costs, queue, effect, after);
                        }
                    }
                }
            }
        }
        self.steps += steps;
    }
}

fn count_free(effects: &Csr<u32>, action: usize, free_achievers: &mut [u32]) {
    for &fact in effects.row(action) {
        free_achievers[fact as usize] += 1;
    }
}
