//! Rounds: pairs of facts that no state of a plan has, and what follows for operators.
//!
//! A plan leads from the initial state to a goal; `docs/certificate.md` proves by induction over the
//! rounds that no state of a plan has a pair that a round excludes.
//! What a round says is checked against the task that the rounds *before* it have left, so no two
//! rounds can justify each other.

use crate::stream::Numbers;
use crate::task::{Effect, Fact, Operator, Task};

/// A set of facts, by their numbers.
type Facts = Vec<u64>;

/// Pairs of facts, as a set for each fact; a fact that never holds is in its own set.
#[derive(Clone, Default)]
pub(crate) struct Pairs {
    rows: Vec<Facts>,
}

impl Pairs {
    /// Whether nothing is known of any pair.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether two facts, or one given twice, are excluded.
    pub(crate) fn has(&self, a: usize, b: usize) -> bool {
        self.rows.get(a).is_some_and(|row| row[b / 64] >> (b % 64) & 1 == 1)
    }

    fn insert(&mut self, a: usize, b: usize) {
        self.rows[a][b / 64] |= 1 << (b % 64);
        self.rows[b][a / 64] |= 1 << (a % 64);
    }

    /// The facts that are excluded together with some of these.
    fn with_any(&self, facts: &[usize]) -> Facts {
        let mut union = vec![0; self.rows.len().div_ceil(64)];
        for &fact in facts {
            union.iter_mut().zip(&self.rows[fact]).for_each(|(word, row)| *word |= row);
        }
        union
    }

    /// Whether a permutation maps excluded pairs to excluded pairs and others to others.
    ///
    /// Given are moved facts with their images; all others are mapped to themselves. Facts that never
    /// hold count as none.
    pub(crate) fn are_kept(&self, moved: &[(usize, usize)]) -> bool {
        if self.is_empty() {
            return true;
        }
        let mut fixed = vec![!0u64; self.rows.len().div_ceil(64)];
        let never = (0..self.rows.len()).filter(|&fact| self.has(fact, fact));
        let others = never.chain(moved.iter().map(|&(fact, _)| fact));
        others.for_each(|fact| fixed[fact / 64] &= !(1 << (fact % 64)));
        let is_kept = |&(fact, image): &(usize, usize)| {
            let rows = self.rows[fact].iter().zip(&self.rows[image]);
            rows.zip(&fixed).all(|((before, after), fixed)| (before ^ after) & fixed == 0)
                && moved.iter().all(|&(a, b)| self.has(fact, a) == self.has(image, b))
        };
        moved.iter().all(is_kept)
    }

    /// Whether some two of these facts, or one of them with itself, are excluded.
    pub(crate) fn any_among(&self, facts: &[usize]) -> bool {
        facts.iter().enumerate().any(|(i, &a)| facts[..=i].iter().any(|&b| self.has(a, b)))
    }
}

/// A task that rounds make smaller.
struct Shrinking<'t> {
    task: &'t mut Task,
    /// The preconditions of each operator, with those that follow.
    pre: Vec<Vec<Fact>>,
    /// The pairs excluded so far, two values of a variable included.
    bad: Pairs,
}

/// Reads rounds and checks them; the task loses what they exclude.
pub(crate) fn read(task: &mut Task, input: &mut Numbers<'_>) -> Result<(), String> {
    let Some(rounds) = input.number()?.checked_sub(1) else { return Ok(()) };
    task.operators.iter_mut().for_each(|operator| drop_void_effects(&mut operator.effects));
    let has_conditions = |effects: &[Effect]| effects.iter().any(|e| !e.condition.is_empty());
    if !task.axioms.is_empty() || task.operators.iter().any(|o| has_conditions(&o.effects)) {
        return Err("rounds for a task with axioms or conditional effects".into());
    }
    let facts = task.num_facts();
    let mut bad = Pairs { rows: vec![vec![0; facts.div_ceil(64)]; facts] };
    for (var, &size) in task.sizes.iter().enumerate() {
        for (a, b) in (0..size).flat_map(|a| (0..a).map(move |b| (a, b))) {
            bad.insert(task.number((var, a)), task.number((var, b)));
        }
    }
    let pre = task.operators.iter().map(|operator| operator.pre.clone()).collect();
    let mut shrinking = Shrinking { task, pre, bad };
    shrinking.shrink();
    for round in 0..rounds {
        let is_backward = input.below(2, "direction")? == 1;
        let new = shrinking.read_pairs(input)?;
        let mut all = shrinking.bad.clone();
        for (row, new) in all.rows.iter_mut().zip(&new.rows) {
            row.iter_mut().zip(new).for_each(|(word, new)| *word |= new);
        }
        let checked = match is_backward {
            false => shrinking.check_forward(&new, &all),
            true => shrinking.check_backward(&new, &all),
        };
        checked.map_err(|what| format!("round {round}: {what}"))?;
        shrinking.bad = all;
        shrinking.shrink();
    }
    shrinking.finish();
    Ok(())
}

impl Shrinking<'_> {
    /// The pairs of a round that no earlier one excludes, from the lengths of runs.
    fn read_pairs(&self, input: &mut Numbers<'_>) -> Result<Pairs, String> {
        let facts = self.task.num_facts();
        let mut new = Pairs { rows: vec![vec![0; facts.div_ceil(64)]; facts] };
        let (mut a, mut b) = (0, 0);
        for run in 0..input.number()? {
            let mut left = input.number()?;
            while left > 0 {
                if a >= facts {
                    return Err("a round with more pairs than there are".into());
                }
                let here = left.min((a + 1 - b) as u64) as usize;
                if run % 2 == 1 {
                    let pairs = (b..b + here).filter(|&b| !self.bad.has(a, b));
                    pairs.for_each(|b| new.insert(a, b));
                }
                (b, left) = (b + here, left - here as u64);
                if b > a {
                    (a, b) = (a + 1, 0);
                }
            }
        }
        Ok(new)
    }

    /// No new pair holds initially, and no operator makes one true where none was.
    fn check_forward(&self, new: &Pairs, all: &Pairs) -> Result<(), String> {
        if new.any_among(&self.task.numbers(&facts_of(&self.task.initial))) {
            return Err("a pair that holds initially".into());
        }
        for op in 0..self.pre.len() {
            let pre = self.task.numbers(&self.pre[op]);
            let effects = self.effects(op);
            if all.any_among(&pre) {
                continue;
            }
            let mut after = self.stays(op, all);
            remove(&mut after, &all.with_any(&pre));
            remove(&mut after, &self.bad.with_any(&effects));
            effects.iter().for_each(|&fact| insert(&mut after, fact));
            if effects.iter().any(|&fact| meets(&new.rows[fact], &after)) {
                return Err(format!("operator {op} makes a pair true"));
            }
        }
        Ok(())
    }

    /// No goal state has a new pair, and no operator leads from a state with one to a state without.
    fn check_backward(&self, new: &Pairs, all: &Pairs) -> Result<(), String> {
        let mut goal = self.task.goal.clone();
        if imply(self.task, &self.bad, &mut goal, &[]) {
            let mut possible = vec![!0; self.task.num_facts().div_ceil(64)];
            remove(&mut possible, &self.bad.with_any(&self.task.numbers(&goal)));
            let never = (0..self.task.num_facts()).filter(|&fact| self.bad.has(fact, fact));
            never.for_each(|fact| possible[fact / 64] &= !(1 << (fact % 64)));
            if (0..self.task.num_facts())
                .any(|fact| has(&possible, fact) && meets(&new.rows[fact], &possible))
            {
                return Err("a pair that a goal state may have".into());
            }
        }
        for op in 0..self.pre.len() {
            let (pre, effects) = (self.task.numbers(&self.pre[op]), self.effects(op));
            let is_affected = |fact: Fact| self.task.operators[op].affects(fact.0);
            let kept = self.pre[op].iter().filter(|&&fact| !is_affected(fact));
            let known = kept.map(|&fact| self.task.number(fact)).chain(effects.iter().copied());
            let known: Vec<usize> = known.collect();
            if effects.is_empty() || all.any_among(&known) {
                continue;
            }
            let impossible = self.bad.with_any(&pre);
            let mut before = self.stays(op, all);
            remove(&mut before, &all.with_any(&known));
            remove(&mut before, &impossible);
            let of_variable = |&(var, _): &Fact| (0..self.task.sizes[var]).map(move |x| (var, x));
            let affected = self.task.operators[op].effects.iter().map(|effect| effect.fact);
            let changed: Vec<usize> = affected
                .flat_map(|fact| of_variable(&fact))
                .map(|fact| self.task.number(fact))
                .filter(|&fact| !has(&impossible, fact) && !self.bad.has(fact, fact))
                .collect();
            changed.iter().for_each(|&fact| insert(&mut before, fact));
            if changed.iter().any(|&fact| meets(&new.rows[fact], &before)) {
                return Err(format!("a pair may hold before operator {op}"));
            }
        }
        Ok(())
    }

    fn effects(&self, op: usize) -> Vec<usize> {
        let effects = self.task.operators[op].effects.iter();
        effects.map(|effect| self.task.number(effect.fact)).collect()
    }

    /// The facts that an operator does not touch, those left out that never hold.
    fn stays(&self, op: usize, all: &Pairs) -> Facts {
        let mut stays = vec![0; self.task.num_facts().div_ceil(64)];
        for (var, &size) in self.task.sizes.iter().enumerate() {
            if !self.task.operators[op].affects(var) {
                let facts = (0..size).map(|value| self.task.number((var, value)));
                facts.filter(|&f| !all.has(f, f)).for_each(|fact| insert(&mut stays, fact));
            }
        }
        stays
    }

    /// Finds the preconditions that follow, and takes the effects of operators that are on no plan.
    fn shrink(&mut self) {
        let mut is_on_plans = |(operator, pre): (&Operator, &mut Vec<Fact>)| {
            let effects: Vec<Fact> = operator.effects.iter().map(|effect| effect.fact).collect();
            effects.is_empty() || imply(self.task, &self.bad, pre, &effects)
        };
        let operators = self.task.operators.iter().zip(&mut self.pre);
        let is_on_plans: Vec<bool> = operators.map(&mut is_on_plans).collect();
        let initial = self.task.numbers(&facts_of(&self.task.initial));
        let goal = self.task.numbers(&self.task.goal);
        let is_unsolvable = self.bad.any_among(&initial) || self.bad.any_among(&goal);
        for (operator, is_on_plans) in self.task.operators.iter_mut().zip(is_on_plans) {
            if is_unsolvable || !is_on_plans {
                operator.effects.clear();
            }
        }
    }

    /// Gives operators the preconditions that follow, and forgets variables that nothing needs.
    fn finish(mut self) {
        let task = &mut *self.task;
        for (operator, pre) in task.operators.iter_mut().zip(&self.pre) {
            operator.effects.retain(|effect| !pre.contains(&effect.fact));
        }
        task.is_needed = vec![false; task.sizes.len()];
        task.goal.iter().for_each(|goal| task.is_needed[goal.0] = true);
        let mut changed = true;
        while changed {
            changed = false;
            for operator in &task.operators {
                if operator.effects.iter().any(|effect| task.is_needed[effect.fact.0]) {
                    for &(var, _) in &operator.pre {
                        changed |= !std::mem::replace(&mut task.is_needed[var], true);
                    }
                }
            }
        }
        let is_needed = &task.is_needed;
        for (operator, mut pre) in task.operators.iter_mut().zip(self.pre) {
            operator.effects.retain(|effect| is_needed[effect.fact.0]);
            pre.retain(|fact| is_needed[fact.0]);
            operator.pre = pre;
        }
        // What is not needed may have any value from now on.
        let mut needed = vec![0; task.num_facts().div_ceil(64)];
        for (var, &size) in task.sizes.iter().enumerate().filter(|(var, _)| task.is_needed[*var]) {
            (0..size).for_each(|value| insert(&mut needed, task.number((var, value))));
        }
        for (fact, row) in self.bad.rows.iter_mut().enumerate() {
            let is_needed = has(&needed, fact);
            row.iter_mut().zip(&needed).for_each(|(r, n)| *r &= if is_needed { *n } else { 0 });
        }
        task.excluded = self.bad;
    }
}

/// Drops conditional effects if they change nothing: if each needs its own fact, and no other effect
/// on its variable happens before.
fn drop_void_effects(effects: &mut Vec<Effect>) {
    let is_plain = |e: &Effect| e.condition.is_empty();
    let plain: Vec<usize> = effects.iter().filter(|e| is_plain(e)).map(|e| e.fact.0).collect();
    let is_void = |e: &Effect| e.condition.contains(&e.fact) && !plain.contains(&e.fact.0);
    if effects.iter().all(|effect| is_plain(effect) || is_void(effect)) {
        effects.retain(is_plain);
    }
}

/// Adds the facts that follow from some, before effects; false if no state of a plan has them.
///
/// Neither that state nor the one after the effects has a pair that is excluded: where this leaves a
/// variable one value, it has that one.
fn imply(task: &Task, bad: &Pairs, pre: &mut Vec<Fact>, effects: &[Fact]) -> bool {
    let effect_numbers = task.numbers(effects);
    if bad.any_among(&effect_numbers) {
        return false;
    }
    let impossible_after = bad.with_any(&effect_numbers);
    let mut known = 0;
    let mut impossible = vec![0; task.num_facts().div_ceil(64)];
    loop {
        for (word, row) in impossible.iter_mut().zip(bad.with_any(&task.numbers(&pre[known..]))) {
            *word |= row;
        }
        known = pre.len();
        for (var, &size) in task.sizes.iter().enumerate() {
            let is_affected = effects.iter().any(|effect| effect.0 == var);
            let mut left = (0..size).filter(|&value| {
                let fact = task.number((var, value));
                let is_excluded = bad.has(fact, fact) || has(&impossible, fact);
                !is_excluded && (is_affected || !has(&impossible_after, fact))
            });
            match (left.next(), left.next()) {
                (None, _) => return false,
                (Some(value), None) if !pre.contains(&(var, value)) => pre.push((var, value)),
                _ => {}
            }
        }
        if pre.len() == known {
            return true;
        }
    }
}

fn facts_of(state: &[u32]) -> Vec<Fact> {
    state.iter().enumerate().map(|(var, &value)| (var, value)).collect()
}

fn has(facts: &Facts, fact: usize) -> bool {
    facts[fact / 64] >> (fact % 64) & 1 == 1
}

fn insert(facts: &mut Facts, fact: usize) {
    facts[fact / 64] |= 1 << (fact % 64);
}

fn remove(facts: &mut Facts, others: &Facts) {
    facts.iter_mut().zip(others).for_each(|(word, other)| *word &= !other);
}

fn meets(facts: &Facts, others: &Facts) -> bool {
    facts.iter().zip(others).any(|(a, b)| a & b != 0)
}
