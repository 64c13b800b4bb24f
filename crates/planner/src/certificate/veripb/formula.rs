//! The formula: an operator that is applied in a state, and an invariant that fails.
//!
//! It describes one step of the task, defines the invariant in the states before and after it, and
//! says that the invariant does not do what it should.
//! `docs/certificate.md` says what follows if it is unsatisfiable.

use std::collections::{BTreeMap, BTreeSet};

use super::argument::Argument;
use super::lines::{Formula, Gate, Id, Literal, Number, Terms, Var, When, ones};
use crate::task::{Fact, Task};

/// The bound of an argument as weights of abstract states: it is high enough where
/// scale · cost so far + divisor · Σ entries ≥ degree.
pub(super) struct Weights {
    pub(super) scale: Number,
    pub(super) divisor: Number,
    pub(super) degree: Number,
    pub(super) parts: Vec<(usize, Vec<Number>)>,
}

/// Where things stand in the formula; arrays of two are for now and after.
pub(super) struct Encoding<'a> {
    pub(super) task: &'a Task,
    pub(super) argument: &'a Argument,
    pub(super) weights: Vec<Weights>,
    /// The number of bits of costs.
    pub(super) bits: u32,
    /// By variable: that it has at most one value.
    pub(super) one_value: [Vec<Id>; 2],
    /// By variable and value: it is kept if the variable does not change.
    pub(super) frame: Vec<Vec<Id>>,
    pub(super) operators: Vec<Id>,
    /// The cost grows by at least that of the operator.
    pub(super) growth: Id,
    /// Costs are below the one that is proved.
    pub(super) range: [Id; 2],
    pub(super) costs: [BTreeMap<u64, Gate>; 2],
    /// By component, if it has more than one variable, and rank.
    pub(super) abstract_states: [Vec<Vec<Gate>>; 2],
    pub(super) bounds: [Vec<Gate>; 2],
    pub(super) closed: [Vec<Gate>; 2],
    /// That the invariant needs a closed state or a bound, and that each of these is enough.
    pub(super) invariant: [Id; 2],
    pub(super) by_closed: [Vec<Id>; 2],
    pub(super) by_bound: [Vec<Id>; 2],
    /// The invariant fails in some way; what that means in each case.
    pub(super) some_case: Id,
    pub(super) init: Id,
    pub(super) goal: Id,
    pub(super) step: Id,
    pub(super) some_operator: Id,
}

const BOTH: [When; 2] = [When::Now, When::After];

pub(super) fn fact(when: When, fact: Fact) -> Var {
    Var::Fact(when, fact.var.index(), fact.value)
}

fn bit_terms(when: When, bits: u32, factor: Number) -> Terms {
    (0..bits).map(|bit| (factor << bit, Var::Bit(when, bit).into())).collect()
}

/// The value of each variable of a pattern in the abstract state of a rank.
pub(super) fn unrank(task: &Task, pattern: &[usize], mut rank: usize) -> Vec<u32> {
    let mut values = vec![0; pattern.len()];
    for (value, &var) in values.iter_mut().zip(pattern).rev() {
        let size = task.variables[var].domain_size();
        *value = (rank % size) as u32;
        rank /= size;
    }
    values
}

/// The literal of an abstract state: that of the fact if the component has one variable.
pub(super) fn abstract_state(
    argument: &Argument,
    when: When,
    component: usize,
    rank: usize,
) -> Literal {
    match argument.patterns[component][..] {
        [var] => Var::Fact(when, var, rank as u32).into(),
        _ => Var::Abstract(when, component, rank).into(),
    }
}

impl Weights {
    /// The terms of the sum of entries and, if costs count, of the cost so far.
    pub(super) fn terms(&self, argument: &Argument, when: When, bits: u32) -> Terms {
        let mut terms = bit_terms(when, bits, self.scale);
        for (p, table) in &self.parts {
            let entries = table.iter().enumerate().filter(|(_, entry)| **entry > 0);
            terms.extend(entries.map(|(rank, entry)| {
                (self.divisor * entry, abstract_state(argument, when, *p, rank))
            }));
        }
        terms
    }
}

/// Bounds as weights: ∞ is a number that is large enough, or 1 where costs do not count.
fn weights(argument: &Argument) -> Vec<Weights> {
    let weights = argument.bounds.iter().map(|bound| {
        let (scale, divisor) = (Number::from(bound.scale), Number::from(bound.divisor));
        let Some(cost) = argument.cost else {
            let is_infinite = |table: &[u64]| table.iter().map(|e| Number::from(*e == 0)).collect();
            let parts = bound.parts.iter().map(|(p, table)| (*p, is_infinite(table)));
            return Weights { scale: 1, divisor: 1, degree: 1, parts: parts.collect() };
        };
        let degree = scale * Number::from(cost - 1) + 1;
        let most = bound.parts.iter().flat_map(|(_, table)| table).max().copied().unwrap_or(0);
        let infinity = degree.div_ceil(divisor).max(most.into());
        let number = |&entry: &u64| entry.checked_sub(1).map_or(infinity, Number::from);
        let parts = bound.parts.iter().map(|(p, table)| (*p, table.iter().map(number).collect()));
        Weights { scale, divisor, degree, parts: parts.collect() }
    });
    let mut weights: Vec<Weights> = weights.collect();
    weights.iter_mut().for_each(|w| w.parts.retain(|(_, table)| table.iter().any(|&e| e > 0)));
    weights
}

/// Writes the formula of an argument about a cost that is not 0.
pub(super) fn encode<'a>(
    task: &'a Task,
    argument: &'a Argument,
    formula: &mut Formula,
) -> Encoding<'a> {
    let bits = argument.cost.map_or(0, |cost| u64::BITS - (cost - 1).leading_zeros());
    let sizes: Vec<u32> = task.variables.iter().map(|v| v.domain_size() as u32).collect();
    let values = |when, var: usize| (0..sizes[var]).map(move |value| Var::Fact(when, var, value));
    let vars = 0..sizes.len();
    formula.variables += sizes.iter().map(|&size| 2 * u64::from(size) + 1).sum::<u64>()
        + u64::from(2 * bits)
        + task.operators.len() as u64
        + 3;

    formula.comment("Each variable has one value, now and after the step.");
    let one_value = BOTH.map(|when| {
        let one = |var| {
            formula.add(&ones(values(when, var)), 1);
            formula.add(&ones(values(when, var).map(|x| !x)), Number::from(sizes[var]) - 1)
        };
        vars.clone().map(one).collect()
    });

    formula.comment("A variable keeps its value unless it changes.");
    let mut kept = |var, value| {
        let [now, after] = BOTH.map(|when| Var::Fact(when, var, value));
        formula.add(&ones([!now, after.into(), Var::Change(var).into()]), 1)
    };
    let frame =
        vars.clone().map(|var| (0..sizes[var]).map(|value| kept(var, value)).collect()).collect();

    formula.comment("An operator needs its preconditions, has its effects, and changes no more.");
    let mut operators = Vec::new();
    for (o, operator) in task.operators.iter().enumerate() {
        let pre = operator.pre.iter().map(|&pre| Literal::from(fact(When::Now, pre)));
        let eff = operator.eff.iter().map(|&eff| Literal::from(fact(When::After, eff)));
        let is_kept = |&var: &usize| operator.eff.iter().all(|eff| eff.var.index() != var);
        let kept = vars.clone().filter(is_kept).map(|var| !Var::Change(var));
        let all = ones(pre.chain(eff).chain(kept));
        operators.push(formula.implies(Var::Operator(o).into(), &all));
    }
    let each = 0..task.operators.len();
    let others = (task.operators.len() as Number).saturating_sub(1);
    formula.add(&ones(each.clone().map(|o| !Var::Operator(o))), others);

    let (mut growth, mut range) = (0, [0; 2]);
    if let Some(cost) = argument.cost {
        formula.comment("The cost so far grows by that of the operator and stays too low.");
        let grows = |now: Literal, sign: bool| if sign { !now } else { now };
        for sign in [true, false] {
            let mut terms = Terms::new();
            for (factor, literal) in bit_terms(When::After, bits, 1) {
                terms.push((factor, grows(literal, !sign)));
            }
            for (factor, literal) in bit_terms(When::Now, bits, 1) {
                terms.push((factor, grows(literal, sign)));
            }
            let mut degree = (1 << bits) - 1;
            for (o, operator) in task.operators.iter().enumerate() {
                terms.push((operator.cost.into(), grows(Var::Operator(o).into(), sign)));
                degree += if sign { Number::from(operator.cost) } else { 0 };
            }
            let id = formula.add(&terms, degree);
            growth = if sign { id } else { growth };
        }
        range = BOTH.map(|when| {
            let terms = bit_terms(when, bits, 1).into_iter().map(|(factor, bit)| (factor, !bit));
            formula.add(&terms.collect(), (1 << bits) - Number::from(cost))
        });
    }

    formula.comment("The invariant: the state is closed and reached at no less than its cost,");
    formula.comment("or a bound says that plans through it are not cheaper.");
    let weights = weights(argument);
    let levels: BTreeSet<u64> =
        argument.closed.iter().map(|(_, g)| *g).filter(|&g| g > 0).collect();
    let used: BTreeSet<usize> =
        weights.iter().flat_map(|w| &w.parts).map(|(component, _)| *component).collect();
    let mut costs = [BTreeMap::new(), BTreeMap::new()];
    let mut abstract_states = [Vec::new(), Vec::new()];
    let [mut bounds, mut closed] = [(); 2].map(|()| [Vec::new(), Vec::new()]);
    let (mut invariant, mut by_closed, mut by_bound) =
        ([0; 2], [Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for (i, when) in BOTH.into_iter().enumerate() {
        for &level in &levels {
            let terms = bit_terms(when, bits, 1);
            costs[i].insert(level, formula.define(Var::Cost(when, level), &terms, level.into()));
        }
        for (p, pattern) in argument.patterns.iter().enumerate() {
            let is_gate = used.contains(&p) && pattern.len() != 1;
            let ranks: usize = pattern.iter().map(|&var| sizes[var] as usize).product();
            let gates = (0..if is_gate { ranks } else { 0 }).map(|rank| {
                let values = unrank(task, pattern, rank);
                let facts = pattern.iter().zip(values).map(|(&var, v)| Var::Fact(when, var, v));
                let gate = Var::Abstract(when, p, rank);
                formula.define(gate, &ones(facts), pattern.len() as Number)
            });
            abstract_states[i].push(gates.collect());
        }
        for (j, weights) in weights.iter().enumerate() {
            let terms = weights.terms(argument, when, bits);
            bounds[i].push(formula.define(Var::Bound(when, j), &terms, weights.degree));
        }
        for (s, (state, g)) in argument.closed.iter().enumerate() {
            let facts = vars.clone().map(|var| Var::Fact(when, var, state[var]));
            let mut terms = ones(facts);
            terms.extend((*g > 0).then(|| (1, Var::Cost(when, *g).into())));
            let all = terms.len() as Number;
            closed[i].push(formula.define(Var::Closed(when, s), &terms, all));
        }
        let any_closed = (0..argument.closed.len()).map(|s| Var::Closed(when, s));
        let any_bound = (0..weights.len()).map(|j| Var::Bound(when, j));
        let any: Vec<Var> = any_closed.chain(any_bound).collect();
        let (then, mut each) = formula.define_or(Var::Invariant(when), &any);
        by_bound[i] = each.split_off(argument.closed.len());
        (invariant[i], by_closed[i]) = (then, each);
    }

    formula
        .comment("The invariant is not true at the beginning, true at a goal, or lost by a step.");
    let some_case = formula.add(&ones([Var::Init, Var::Goal, Var::Step]), 1);
    let [now, after] = BOTH.map(Var::Invariant);
    let initial = vars.clone().map(|var| Var::Fact(When::Now, var, task.initial[var]).into());
    let no_cost = (0..bits).map(|bit| !Var::Bit(When::Now, bit));
    let init = formula.implies(Var::Init.into(), &ones(initial.chain(no_cost).chain([!now])));
    let goals = task.goal.iter().map(|&goal| fact(When::Now, goal));
    let goal = formula.implies(Var::Goal.into(), &ones(goals.chain([now])));
    let step = formula.implies(Var::Step.into(), &ones([now.into(), !after]));
    let any = each.map(|o| Var::Operator(o).into());
    let some_operator = formula.add(&ones([!Var::Step].into_iter().chain(any)), 1);
    Encoding {
        task,
        argument,
        weights,
        bits,
        one_value,
        frame,
        operators,
        growth,
        range,
        costs,
        abstract_states,
        bounds,
        closed,
        invariant,
        by_closed,
        by_bound,
        some_case,
        init,
        goal,
        step,
        some_operator,
    }
}
