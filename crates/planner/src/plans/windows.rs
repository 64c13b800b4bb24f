//! Windows: a few successive operators of a plan are replaced by a cheapest way (Siddiqui, Haslum 2015).
//!
//! The way leads from the state before the window to what the rest of the plan needs; A* with LM-cut
//! finds it or proves that there is none that costs less.
//! Before, the operators of the plan are put into another order that keeps what belongs together
//! closer together, and is a plan for certain.
//! Windows grow when no window of a size helps any more.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::relaxation::{NONE, Relaxation};
use super::space::Space;
use crate::estimate::Estimate;
use crate::fnv::Fnv;
use crate::heuristic::{Heuristic, LmCut};
use crate::search::{OpenList, StateId};
use crate::task::{Cost, Fact, FactMeaning, OpId, Task, Value, VarId, Variable};
use crate::work::{STATE, Work};

/// The number of operators of a window, and the work that it may take, in growing order.
const SIZES: [(usize, Work); 8] = [
    (5, 1_000_000),
    (8, 3_000_000),
    (12, 10_000_000),
    (18, 20_000_000),
    (26, 40_000_000),
    (40, 60_000_000),
    (60, 100_000_000),
    (90, 150_000_000),
];

/// When all sizes have been tried, the next round begins with this one.
const AGAIN: usize = 2;

/// Longer plans are left in their order.
const MOST_REORDERED: usize = 1000;

/// Windows of a plan, one after the other.
#[derive(Default)]
pub(super) struct Windows {
    size: usize,
    at: usize,
    /// Whether a window of this sweep helped.
    has_helped: bool,
    /// The plan in the order of this sweep; empty before it begins.
    order: Vec<OpId>,
    /// Windows that were solved without gain.
    tried: FxHashSet<u64>,
}

impl Windows {
    /// The plan has changed: begins a sweep with small windows.
    pub(super) fn begin(&mut self) {
        (self.size, self.at) = (0, 0);
        self.order.clear();
    }

    /// Tries the next window; a cheaper plan if it helps.
    pub(super) fn step(
        &mut self,
        space: &mut Space<'_>,
        relaxation: &Relaxation,
        plan: &[OpId],
        rng: &mut Xoshiro256PlusPlus,
        work: &mut Work,
    ) -> Option<Vec<OpId>> {
        let task = space.task;
        *work += 1000;
        if self.order.is_empty() {
            self.order = reordered(task, plan, rng, work);
            (self.at, self.has_helped) = (0, false);
        }
        let (size, most_work) = SIZES[self.size];
        let (start, end) = (self.at, (self.at + size).min(self.order.len()));
        self.at += (size / 3).max(1);
        if end == self.order.len() {
            self.at = 0;
        }
        let found = self.solve(space, relaxation, start..end, most_work, rng, work);
        self.has_helped |= found.is_some();
        if self.at == 0 {
            self.order.clear();
            if !self.has_helped {
                self.size = if self.size + 1 < SIZES.len() { self.size + 1 } else { AGAIN };
            }
        }
        found
    }

    fn solve(
        &mut self,
        space: &mut Space<'_>,
        relaxation: &Relaxation,
        window: std::ops::Range<usize>,
        most_work: Work,
        rng: &mut Xoshiro256PlusPlus,
        work: &mut Work,
    ) -> Option<Vec<OpId>> {
        let task = space.task;
        let old = &self.order[window.clone()];
        let cost: Cost = old.iter().map(|&op| task.operator(op).cost).sum();
        if cost == 0 {
            return None;
        }
        let states = space.trajectory(&self.order);
        *work += (self.order.len() * (task.variables.len() / 4 + 10)) as Work;
        let state = states.state(window.start);
        let mut hash = Fnv::new();
        for word in state.iter().copied().chain(old.iter().map(|op| op.0)) {
            hash.add(word.into());
        }
        hash.add(self.size as u64);
        if self.tried.contains(&hash.get()) {
            return None;
        }
        let needed = regress(task, &self.order[window.end..], states.state(window.end));
        let search = Window::new(task, relaxation, state, needed, cost, most_work, work);
        match search.run(rng, work) {
            Some(way) => {
                let order = &self.order;
                Some([&order[..window.start], &way[..], &order[window.end..]].concat())
            }
            None => {
                self.tried.insert(hash.get());
                None
            }
        }
    }
}

/// What must hold before operators so that they lead to the goal; `state` is the state before them.
fn regress(task: &Task, operators: &[OpId], state: &[Value]) -> Vec<Fact> {
    let depends = |&op: &OpId| !task.operator(op).conditional.is_empty();
    let facts = state.iter().enumerate().map(|(var, &value)| Fact::new(VarId::from(var), value));
    if !task.axioms.is_empty() || operators.iter().any(depends) {
        return facts.filter(|fact| !task.is_derived(fact.var)).collect();
    }
    let mut needed: Vec<Option<Value>> = vec![None; task.variables.len()];
    task.goal.iter().for_each(|fact| needed[fact.var.index()] = Some(fact.value));
    for &op in operators.iter().rev() {
        let operator = task.operator(op);
        operator.eff.iter().for_each(|fact| needed[fact.var.index()] = None);
        operator.pre.iter().for_each(|fact| needed[fact.var.index()] = Some(fact.value));
    }
    facts.filter(|fact| needed[fact.var.index()].is_some()).collect()
}

/// A search for a way that costs less.
struct Window {
    /// The task of the window, with the operators that may be used in it.
    task: Task,
    /// By operator of that task: the operator of the whole one.
    operators: Vec<OpId>,
    below: Cost,
    most_work: Work,
}

type Packed = SmallVec<[u32; 12]>;

struct Node {
    state: Packed,
    g: Cost,
    h: Cost,
    parent: u32,
    op: OpId,
    is_closed: bool,
}

impl Window {
    fn new(
        task: &Task,
        relaxation: &Relaxation,
        start: &[Value],
        goal: Vec<Fact>,
        below: Cost,
        most_work: Work,
        work: &mut Work,
    ) -> Window {
        let cost = |op: usize| task.operators[op].cost;
        let reached = relaxation.reached_below(start, below, cost, work);
        let at_cost = |fact: &Fact| reached[relaxation.numbers.of(*fact)];
        let usable = |&op: &OpId| {
            let operator = task.operator(op);
            let before = operator.pre.iter().map(at_cost).max().unwrap_or(0);
            before.saturating_add(operator.cost) < below
        };
        let operators: Vec<OpId> = task.operator_ids().filter(usable).collect();
        *work += (4 * task.operators.len() + 100 * operators.len() + 8 * reached.len()) as Work;
        let nameless = |variable: &Variable| Variable {
            name: String::new(),
            values: vec![FactMeaning::NoneOfThose; variable.domain_size()],
            derived: variable.derived,
        };
        let task = Task {
            variables: task.variables.iter().map(nameless).collect(),
            operators: operators.iter().map(|&op| task.operator(op).clone()).collect(),
            axioms: task.axioms.clone(),
            initial: start.to_vec(),
            goal,
            ..Task::default()
        };
        Window { task, operators, below, most_work }
    }

    /// The cheapest way; none if there is none that costs less or it took too much work.
    fn run(&self, rng: &mut Xoshiro256PlusPlus, work: &mut Work) -> Option<Vec<OpId>> {
        let mut space = Space::new(&self.task);
        let mut lm_cut = LmCut::new(&self.task);
        let most_work = work.saturating_add(self.most_work);
        let mut evaluate = |state: &[Value], work: &mut Work| {
            let before = lm_cut.work().unwrap_or(0);
            let estimate = lm_cut.evaluate(state);
            *work += lm_cut.work().unwrap_or(0) - before;
            match estimate {
                Estimate::AtLeast(h) => h,
                Estimate::DeadEnd => Cost::MAX,
            }
        };
        let mut values = self.task.initial.clone();
        let h = evaluate(&values, work);
        if h >= self.below {
            return None;
        }
        let state: Packed = space.pack(&values).into();
        let mut known: FxHashMap<Packed, u32> = FxHashMap::default();
        known.insert(state.clone(), 0);
        let op = OpId(NONE);
        let mut nodes = vec![Node { state, g: 0, h, parent: NONE, op, is_closed: false }];
        let mut open = OpenList::new();
        open.push(h, h, StateId(0));
        let (mut operators, mut child) = (Vec::new(), Vec::new());
        while let Some((_, _, id)) = open.pop() {
            let node = &mut nodes[id.0 as usize];
            if std::mem::replace(&mut node.is_closed, true) {
                continue;
            }
            let (parent, g) = (node.state.clone(), node.g);
            space.packer.unpack(&parent, &mut values);
            if self.task.is_goal(&values) {
                return Some(self.way_to(&nodes, id.0));
            }
            if *work > most_work {
                return None;
            }
            space.applicable(&parent, &mut operators);
            // Another order finds other ways of the same cost.
            let turn = rng.random_range(0..operators.len().max(1));
            operators.rotate_left(turn);
            *work += STATE;
            for &op in &operators {
                let g = g.saturating_add(self.task.operator(op).cost);
                if g >= self.below {
                    continue;
                }
                space.successor(&parent, op, &mut child);
                *work += STATE / 2;
                let state: Packed = child.as_slice().into();
                let next = nodes.len() as u32;
                let i = *known.entry(state.clone()).or_insert(next);
                if i == next {
                    space.packer.unpack(&child, &mut values);
                    let h = evaluate(&values, work);
                    nodes.push(Node { state, g, h, parent: id.0, op, is_closed: false });
                } else if g < nodes[i as usize].g {
                    let node = &mut nodes[i as usize];
                    (node.g, node.parent, node.op, node.is_closed) = (g, id.0, op, false);
                } else {
                    continue;
                }
                let h = nodes[i as usize].h;
                let f = g.saturating_add(h);
                if f < self.below {
                    open.push(f, h, StateId(i));
                }
            }
        }
        None
    }

    fn way_to(&self, nodes: &[Node], id: u32) -> Vec<OpId> {
        let mut way = Vec::new();
        let mut node = &nodes[id as usize];
        while node.parent != NONE {
            way.push(self.operators[node.op.index()]);
            node = &nodes[node.parent as usize];
        }
        way.reverse();
        way
    }
}

/// The operators of a plan in another order in which they are a plan, too: those that share
/// variables and objects follow each other, as far as it is known that they may.
fn reordered(
    task: &Task,
    plan: &[OpId],
    rng: &mut Xoshiro256PlusPlus,
    work: &mut Work,
) -> Vec<OpId> {
    if !task.axioms.is_empty() || plan.len() > MOST_REORDERED {
        return plan.to_vec();
    }
    let sorted = |vars: &mut dyn Iterator<Item = VarId>| -> Vec<VarId> {
        let mut vars: Vec<VarId> = vars.collect();
        vars.sort_unstable();
        vars.dedup();
        vars
    };
    let reads = |&op: &OpId| {
        let operator = task.operator(op);
        let conditions = operator.conditional.iter().flat_map(|effect| &effect.condition);
        sorted(&mut operator.pre.iter().chain(conditions).map(|fact| fact.var))
    };
    let reads: Vec<Vec<VarId>> = plan.iter().map(reads).collect();
    let writes: Vec<Vec<VarId>> =
        plan.iter().map(|&op| sorted(&mut task.operator(op).affected())).collect();
    let meet = |a: &[VarId], b: &[VarId]| a.iter().any(|var| b.binary_search(var).is_ok());
    let mut after: Vec<Vec<u32>> = vec![Vec::new(); plan.len()];
    let mut open = vec![0; plan.len()];
    for j in 0..plan.len() {
        for i in 0..j {
            if meet(&writes[i], &reads[j])
                || meet(&writes[i], &writes[j])
                || meet(&reads[i], &writes[j])
            {
                after[i].push(j as u32);
                open[j] += 1;
            }
        }
    }
    *work += (plan.len() * plan.len() * 20) as Work;
    let closeness = |i: usize, last: usize| {
        let own = writes[i].iter();
        let shared = own.filter(|var| {
            writes[last].binary_search(var).is_ok() || reads[last].binary_search(var).is_ok()
        });
        let (args, of_last) = (&task.operator(plan[i]).args, &task.operator(plan[last]).args);
        4 * shared.count() + args.iter().filter(|arg| of_last.contains(arg)).count()
    };
    let mut ready: Vec<usize> = (0..plan.len()).filter(|&i| open[i] == 0).collect();
    let (mut order, mut last): (Vec<OpId>, Option<usize>) = (Vec::with_capacity(plan.len()), None);
    while !ready.is_empty() {
        *work += 50 * ready.len() as Work;
        let values: Vec<usize> =
            ready.iter().map(|&i| last.map_or(0, |last| closeness(i, last))).collect();
        let most = values.iter().copied().max().unwrap_or(0);
        let best: Vec<usize> = (0..ready.len()).filter(|&k| values[k] == most).collect();
        let at_random = rng.random_range(0..8) == 0;
        let k = if at_random {
            rng.random_range(0..ready.len())
        } else {
            best[rng.random_range(0..best.len())]
        };
        let i = ready.swap_remove(k);
        order.push(plan[i]);
        last = Some(i);
        for &j in &after[i] {
            open[j as usize] -= 1;
            if open[j as usize] == 0 {
                ready.push(j as usize);
            }
        }
    }
    order
}
