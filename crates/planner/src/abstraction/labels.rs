//! Labels of a projection: what operators say of a pattern, and the transitions this induces.
//!
//! A conditional effect whose condition lies inside the pattern happens or does not, as the
//! abstract state says.
//! If part of the condition lies outside, the effect may or may not happen wherever the part inside
//! holds: a transition for either case, independently for each variable of the pattern.
//! So every transition of the task has its image among these.

use rustc_hash::FxHashMap;

use super::pattern::Pattern;
use super::transitions::{Digit, Radix, Step};
use crate::task::{OpId, Operator, Task, Value};

/// For each variable the operators with an effect on it, in ascending order.
#[derive(Clone, Debug)]
pub(super) struct EffectIndex(Vec<Vec<OpId>>);

impl EffectIndex {
    pub(super) fn new(task: &Task) -> EffectIndex {
        let mut index = vec![Vec::new(); task.variables.len()];
        for (o, operator) in task.operators.iter().enumerate() {
            let o = OpId::from(o);
            for var in operator.affected() {
                let operators: &mut Vec<OpId> = &mut index[var.index()];
                if operators.last() != Some(&o) {
                    operators.push(o);
                }
            }
        }
        EffectIndex(index)
    }

    /// Bytes of heap memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.0.iter().map(|operators| size_of_val(&**operators)).sum()
    }

    /// The operators with an effect on the pattern, in ascending order.
    fn operators(&self, pattern: &Pattern) -> Vec<OpId> {
        let of_variables = pattern.variables().iter().flat_map(|var| &self.0[var.index()]);
        let mut operators: Vec<OpId> = of_variables.copied().collect();
        operators.sort_unstable();
        operators.dedup();
        operators
    }
}

/// What an operator says of a pattern.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Signature {
    /// By variable of the pattern.
    on: Box<[Condition]>,
    /// In the order of the operator, without repetitions in a row.
    conditional: Box<[PatternEffect]>,
}

/// What an operator says of one variable of the pattern.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Condition {
    pre: Option<Value>,
    eff: Option<Value>,
}

/// A conditional effect on a variable of the pattern; variables are numbered within it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct PatternEffect {
    /// The part of the condition inside the pattern.
    condition: Box<[(usize, Value)]>,
    /// Whether that is all of the condition.
    certain: bool,
    digit: usize,
    value: Value,
}

/// The operators with an effect on the pattern, grouped by what they say of it, in order of
/// first occurrence.
pub(super) fn group_operators(
    task: &Task,
    pattern: &Pattern,
    index: &EffectIndex,
) -> Vec<(Signature, Vec<OpId>)> {
    let mut groups: Vec<(Signature, Vec<OpId>)> = Vec::new();
    let mut index_of = FxHashMap::default();
    for o in index.operators(pattern) {
        let signature = Signature::new(task.operator(o), pattern);
        let i = *index_of.entry(signature.clone()).or_insert_with(|| {
            groups.push((signature, Vec::new()));
            groups.len() - 1
        });
        groups[i].1.push(o);
    }
    groups
}

impl Signature {
    fn new(operator: &Operator, pattern: &Pattern) -> Signature {
        let on = |&var| Condition { pre: operator.pre_on(var), eff: operator.eff_on(var) };
        let on: Box<[Condition]> = pattern.variables().iter().map(on).collect();
        let mut conditional: Vec<PatternEffect> = Vec::new();
        for effect in &operator.conditional {
            let Some(digit) = pattern.position(effect.fact.var) else { continue };
            let inside = |fact: &crate::task::Fact| Some((pattern.position(fact.var)?, fact.value));
            let condition: Box<[(usize, Value)]> =
                effect.condition.iter().filter_map(inside).collect();
            // A precondition may settle part of the condition.
            if condition.iter().any(|&(i, value)| on[i].pre.is_some_and(|pre| pre != value)) {
                continue;
            }
            let certain = condition.len() == effect.condition.len();
            let effect = PatternEffect { condition, certain, digit, value: effect.fact.value };
            if conditional.last() != Some(&effect) {
                conditional.push(effect);
            }
        }
        Signature { on, conditional: conditional.into() }
    }

    /// The variables that it mentions, if it is a single one: its transitions are the same
    /// whatever the values of the others.
    fn single(&self) -> Option<usize> {
        let plain = self.on.iter().enumerate();
        let plain = plain.filter(|(_, c)| c.pre.is_some() || c.eff.is_some()).map(|(i, _)| i);
        let conditional = self
            .conditional
            .iter()
            .flat_map(|effect| effect.condition.iter().map(|&(i, _)| i).chain([effect.digit]));
        let mut mentioned = plain.chain(conditional);
        let first = mentioned.next()?;
        mentioned.all(|i| i == first).then_some(first)
    }

    /// How many steps [`Signature::push_steps`] appends at most.
    pub(super) fn count_steps(&self, radix: &Radix) -> usize {
        let single = self.single();
        let digits = self.on.iter().zip(&radix.digits).enumerate();
        let sources = digits
            .filter(|(i, (c, _))| c.pre.is_none() && single.is_none_or(|single| single == *i))
            .fold(1, |n: usize, (_, (_, digit))| n.saturating_mul(digit.size as usize));
        let may_happen = |digit: usize| {
            self.conditional.iter().filter(|e| e.digit == digit && !e.certain).count()
        };
        (0..self.on.len()).fold(sources, |n, digit| n.saturating_mul(1 + may_happen(digit)))
    }

    /// Appends the state-changing transitions of one label.
    pub(super) fn push_steps(&self, radix: &Radix, label: u32, steps: &mut Vec<Step>) {
        let mut values = Vec::new();
        if let Some(digit) = self.single() {
            let Condition { pre, .. } = self.on[digit];
            let place = radix.digits[digit].place;
            for from in pre.map_or(0..radix.digits[digit].size, |value| value..value + 1) {
                self.values_after(radix, from * place, digit, &mut values);
                let changes = values.iter().filter(|&&to| to != from);
                steps.extend(changes.map(|&to| Step::Single { digit, from, to, label }));
            }
            return;
        }
        let free = |(i, c): (usize, &Condition)| c.pre.is_none().then_some(radix.digits[i]);
        let free: Vec<Digit> = self.on.iter().enumerate().filter_map(free).collect();
        let fixed = self.on.iter().zip(&radix.digits);
        let base = fixed.map(|(c, digit)| c.pre.unwrap_or(0) * digit.place).sum();
        if self.conditional.is_empty() {
            for_each_combination(base, &free, &mut |from| {
                let mut to = from;
                for (condition, digit) in self.on.iter().zip(&radix.digits) {
                    if let Some(value) = condition.eff {
                        to = to - digit.of(from) * digit.place + value * digit.place;
                    }
                }
                if from != to {
                    steps.push(Step::Joint { from, to, label });
                }
            });
            return;
        }
        let (mut targets, mut product) = (Vec::new(), Vec::new());
        for_each_combination(base, &free, &mut |from| {
            targets.clear();
            targets.push(from);
            for (i, digit) in radix.digits.iter().enumerate() {
                self.values_after(radix, from, i, &mut values);
                product.clear();
                for &target in &targets {
                    let rest = target - digit.of(from) * digit.place;
                    product.extend(values.iter().map(|value| rest + value * digit.place));
                }
                std::mem::swap(&mut targets, &mut product);
            }
            let changes = targets.iter().filter(|&&to| to != from);
            steps.extend(changes.map(|&to| Step::Joint { from, to, label }));
        });
    }

    /// The values that a variable may have afterwards.
    fn values_after(&self, radix: &Radix, from: u32, digit: usize, values: &mut Vec<Value>) {
        let value_of = |i: usize| radix.digits[i].of(from);
        values.clear();
        values.push(self.on[digit].eff.unwrap_or_else(|| value_of(digit)));
        for effect in self.conditional.iter().filter(|effect| effect.digit == digit) {
            if effect.condition.iter().any(|&(i, value)| value_of(i) != value) {
                continue;
            }
            if effect.certain {
                values.clear();
            }
            if !values.contains(&effect.value) {
                values.push(effect.value);
            }
        }
    }
}

/// Calls `visit` with every rank that results from setting the free digits (0 in `base`).
pub(super) fn for_each_combination(base: u32, free: &[Digit], visit: &mut dyn FnMut(u32)) {
    match free {
        [] => visit(base),
        [digit, rest @ ..] => {
            for value in 0..digit.size {
                for_each_combination(base + value * digit.place, rest, visit);
            }
        }
    }
}
