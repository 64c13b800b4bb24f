//! Labels of a projection: what operators say of a pattern, and the transitions this induces.
//!
//! A conditional effect whose condition lies inside the pattern happens or does not, as the
//! abstract state says.
//! If part of the condition lies outside, the effect may or may not happen wherever the part inside
//! holds: a transition for either case, independently for each variable of the pattern.
//! So every transition of the task has its image among these, unless mutexes say that no plan takes it
//! ([`super::restrictions`]).

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::pattern::Pattern;
use super::restrictions::{Restrictions, Values, contains, values_before};
use super::transitions::{Digit, Mentions, Radix, Step};
use crate::task::{OpId, Operator, Task, Value, VarId};

/// For each variable what operators say of it, in ascending order of operators.
#[derive(Clone, Debug)]
pub(super) struct EffectIndex {
    mentions: Vec<Vec<Mention>>,
    /// For each operator what it says of a pattern, while operators are grouped; else 0.
    keys: Vec<u64>,
    touched: Vec<OpId>,
    restrictions: Restrictions,
}

/// That an operator mentions a variable.
#[derive(Clone, Copy, Debug)]
struct Mention {
    operator: OpId,
    /// The precondition and the effect without a condition, each as its value + 1, else 0.
    pre: u32,
    eff: u32,
    /// Whether it has an effect on the variable, perhaps with a condition.
    affects: bool,
}

impl EffectIndex {
    pub(super) fn new(task: &Task) -> EffectIndex {
        let code = |value: Option<Value>| value.map_or(0, |value| value + 1);
        let mut index = vec![Vec::new(); task.variables.len()];
        for (o, operator) in task.operators.iter().enumerate() {
            let o = OpId::from(o);
            let pre = operator.pre.iter().map(|fact| (fact.var, false));
            for (var, affects) in pre.chain(operator.affected().map(|var| (var, true))) {
                let mentions: &mut Vec<Mention> = &mut index[var.index()];
                match mentions.last_mut() {
                    Some(last) if last.operator == o => last.affects |= affects,
                    _ => mentions.push(Mention {
                        operator: o,
                        pre: code(operator.pre_on(var)),
                        eff: code(operator.eff_on(var)),
                        affects,
                    }),
                }
            }
        }
        EffectIndex {
            mentions: index,
            keys: vec![0; task.operators.len()],
            touched: Vec::new(),
            restrictions: Restrictions::new(task),
        }
    }

    /// Bytes of heap memory.
    pub(super) fn memory_bytes(&self) -> usize {
        let mentions: usize = self.mentions.iter().map(|mentions| size_of_val(&**mentions)).sum();
        mentions + 12 * self.keys.len() + self.restrictions.memory_bytes()
    }

    /// How many mentions [`group_operators`] looks at.
    pub(super) fn num_mentions(&self, pattern: &Pattern) -> usize {
        pattern.variables().iter().map(|var| self.mentions[var.index()].len()).sum()
    }
}

/// What an operator says of a pattern.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Signature {
    /// By variable of the pattern.
    on: Conditions,
    /// In the order of the operator, without repetitions in a row.
    conditional: Box<[PatternEffect]>,
}

type Conditions = SmallVec<[Condition; 4]>;

/// What an operator says of one variable of the pattern.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Condition {
    pre: Option<Value>,
    eff: Option<Value>,
    /// The values that the variable may have before, if mutexes leave some out.
    before: Option<Values>,
}

impl Condition {
    /// Whether transitions depend on the variable.
    fn mentions(&self) -> bool {
        self.pre.is_some() || self.eff.is_some() || self.before.is_some()
    }

    fn allows(&self, value: Value) -> bool {
        self.before.as_ref().is_none_or(|values| contains(values, value))
    }
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

/// Operators with an effect on a pattern, grouped by what they say of it.
pub(super) struct Groups {
    pub(super) signatures: Vec<Signature>,
    /// The operators in ascending order, each with the number of its group.
    members: Vec<(u32, OpId)>,
}

impl Groups {
    /// The state-changing transitions, and the number of labels; groups without transitions are
    /// left out, the others become labels.
    pub(super) fn into_labels(mut self, radix: &Radix) -> Labels {
        let mut steps = Vec::new();
        let mut label_of = Vec::with_capacity(self.signatures.len());
        let mut count = 0;
        for signature in &self.signatures {
            let before = steps.len();
            signature.push_steps(radix, count, &mut steps);
            label_of.push((steps.len() > before).then_some(count));
            count += u32::from(steps.len() > before);
        }
        if (count as usize) < self.signatures.len() {
            self.members.retain(|(group, _)| label_of[*group as usize].is_some());
            for (group, _) in &mut self.members {
                *group = label_of[*group as usize].expect("the others are gone");
            }
        }
        Labels { count: count as usize, steps, members: self.members }
    }
}

/// The labels of a projection.
pub(super) struct Labels {
    pub(super) count: usize,
    /// Their transitions.
    pub(super) steps: Vec<Step>,
    /// The relevant operators in ascending order, each with its label.
    pub(super) members: Vec<(u32, OpId)>,
}

/// The operators with an effect on the pattern, grouped by what they say of it, in order of
/// first occurrence.
pub(super) fn group_operators(task: &Task, pattern: &Pattern, index: &mut EffectIndex) -> Groups {
    let vars = pattern.variables();
    let EffectIndex { mentions, keys, touched, restrictions } = index;
    // A key has a digit for the precondition and one for the effect on each variable, and a last
    // bit for whether there is an effect; where that is not a number, all of it is 1.
    let mut place: Option<u64> = Some(2);
    for var in vars {
        let base = task.variable(*var).domain_size() as u64 + 1;
        for mention in &mentions[var.index()] {
            let key = &mut keys[mention.operator.index()];
            if *key == 0 {
                touched.push(mention.operator);
            }
            match place {
                Some(place) => {
                    *key += place * (u64::from(mention.pre) + base * u64::from(mention.eff));
                    *key |= u64::from(mention.affects);
                }
                None => *key = u64::MAX,
            }
        }
        place = place.and_then(|place| place.checked_mul(base)?.checked_mul(base));
    }
    let is_exact = place.is_some();
    // A few ascending runs, which are merged.
    touched.sort();

    let mut groups = Groups { signatures: Vec::new(), members: Vec::new() };
    let mut by_key: FxHashMap<u64, u32> = FxHashMap::default();
    let mut by_signature: FxHashMap<Signature, u32> = FxHashMap::default();
    for o in touched.drain(..) {
        let key = std::mem::take(&mut keys[o.index()]);
        if is_exact && key & 1 == 0 {
            continue;
        }
        let operator = task.operator(o);
        let next = groups.signatures.len() as u32;
        let is_restricted = vars.iter().any(|&var| restrictions.has(o, var));
        let group = if is_exact && operator.conditional.is_empty() && !is_restricted {
            *by_key.entry(key).or_insert_with(|| {
                groups.signatures.push(Signature::new(operator, pattern, |_| None));
                next
            })
        } else if operator.affected().any(|var| pattern.contains(var)) {
            let restrict =
                |var| restrictions.has(o, var).then(|| values_before(task, operator, var));
            let signature = Signature::new(operator, pattern, restrict);
            *by_signature.entry(signature).or_insert_with_key(|signature| {
                groups.signatures.push(signature.clone());
                next
            })
        } else {
            continue;
        };
        groups.members.push((group, o));
    }
    groups
}

impl Signature {
    fn new(
        operator: &Operator,
        pattern: &Pattern,
        values_before: impl Fn(VarId) -> Option<Values>,
    ) -> Signature {
        let on = |&var| Condition {
            pre: operator.pre_on(var),
            eff: operator.eff_on(var),
            before: values_before(var),
        };
        let on: Conditions = pattern.variables().iter().map(on).collect();
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

    /// The variables that it mentions: its transitions are the same whatever the others are.
    fn mentions(&self) -> Mentions {
        let plain = self.on.iter().enumerate();
        let plain = plain.filter(|(_, c)| c.mentions()).map(|(i, _)| i);
        let conditional = self
            .conditional
            .iter()
            .flat_map(|effect| effect.condition.iter().map(|&(i, _)| i).chain([effect.digit]));
        plain.chain(conditional).fold(Mentions::NONE, Mentions::with)
    }

    /// How many steps [`Signature::push_steps`] appends at most.
    pub(super) fn count_steps(&self, radix: &Radix) -> usize {
        let digits = self.on.iter().zip(radix.mentioned(self.mentions()));
        let sources = digits
            .filter(|(c, (_, is_mentioned))| c.pre.is_none() && *is_mentioned)
            .fold(1, |n: usize, (_, (digit, _))| n.saturating_mul(digit.size as usize));
        if self.conditional.is_empty() {
            return sources;
        }
        let may_happen = |digit: usize| {
            self.conditional.iter().filter(|e| e.digit == digit && !e.certain).count()
        };
        (0..self.on.len()).fold(sources, |n, digit| n.saturating_mul(1 + may_happen(digit)))
    }

    /// Appends the state-changing transitions of one label.
    pub(super) fn push_steps(&self, radix: &Radix, label: u32, steps: &mut Vec<Step>) {
        let mentions = self.mentions();
        let digits = self.on.iter().zip(radix.mentioned(mentions));
        let free: SmallVec<[Digit; 8]> = digits
            .filter(|(c, (_, is_mentioned))| c.pre.is_none() && *is_mentioned)
            .map(|(_, (digit, _))| digit)
            .collect();
        let fixed = self.on.iter().zip(&radix.digits);
        let base = fixed.map(|(c, digit)| c.pre.unwrap_or(0) * digit.place).sum();
        if self.conditional.is_empty() {
            for_each_combination(base, &free, &mut |from| {
                let mut values = self.on.iter().zip(&radix.digits);
                if !values.all(|(condition, digit)| condition.allows(digit.of(from))) {
                    return;
                }
                let mut to = from;
                for (condition, digit) in self.on.iter().zip(&radix.digits) {
                    if let Some(value) = condition.eff {
                        to = to - digit.of(from) * digit.place + value * digit.place;
                    }
                }
                if from != to {
                    steps.push(Step { mentions, from, to, label });
                }
            });
            return;
        }
        let (mut targets, mut product, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for_each_combination(base, &free, &mut |from| {
            targets.clear();
            targets.push(from);
            for (i, (digit, is_mentioned)) in radix.mentioned(mentions).enumerate() {
                if !is_mentioned {
                    continue;
                }
                self.values_after(radix, from, i, &mut values);
                product.clear();
                for &target in &targets {
                    let rest = target - digit.of(from) * digit.place;
                    product.extend(values.iter().map(|value| rest + value * digit.place));
                }
                std::mem::swap(&mut targets, &mut product);
            }
            let changes = targets.iter().filter(|&&to| to != from);
            steps.extend(changes.map(|&to| Step { mentions, from, to, label }));
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
