//! Symmetries: permutations of facts that map the task onto itself, each checked once.
//!
//! Such a permutation maps plans from a state to plans of no higher cost from the state's image.
//! It need not be the permutation that the certificate's author had in mind: whatever passes the
//! check does no harm.
//!
//! After rounds it is the task as they have left it that is mapped, together with the pairs that
//! they exclude; facts that never hold have no place in it, and their images do not matter.

use std::collections::{HashMap, HashSet};

use crate::stream::Numbers;
use crate::task::{Effect, Fact, Task};

/// Generators, in the order in which they are applied.
#[derive(Default)]
pub(crate) struct Symmetries {
    generators: Vec<Generator>,
    /// The least cost of an operator that does this, and axioms with their layers.
    operators: HashMap<(Vec<Fact>, Vec<Effect>), u64>,
    axioms: HashSet<(i64, Effect)>,
    image: Vec<u32>,
}

/// A permutation that maps facts of `from` to facts of `to`.
struct Generator {
    /// By variable what its facts are mapped to, if they are.
    of: Vec<Option<usize>>,
    /// In the order of `to`, derived variables left out, for the walk.
    moves: Vec<Move>,
    /// All of them.
    all: Vec<Move>,
}

#[derive(Clone)]
struct Move {
    from: usize,
    to: usize,
    values: Vec<u32>,
    /// The initial value of `to`, which counts as its smallest one.
    initial: u32,
}

impl Generator {
    fn image(&self, (var, value): Fact) -> Fact {
        self.of[var].map_or((var, value), |i| (self.all[i].to, self.all[i].values[value as usize]))
    }

    fn images(&self, facts: &[Fact]) -> Vec<Fact> {
        sorted(facts.iter().map(|&fact| self.image(fact)).collect())
    }

    fn effect(&self, Effect { condition, fact }: &Effect) -> Effect {
        Effect { condition: self.images(condition), fact: self.image(*fact) }
    }
}

fn sorted(mut facts: Vec<Fact>) -> Vec<Fact> {
    facts.sort_unstable();
    facts.dedup();
    facts
}

/// Effects in the order of their variables; on one variable they keep theirs, for the last counts.
fn by_variable(mut effects: Vec<Effect>) -> Vec<Effect> {
    effects.sort_by_key(|effect| effect.fact.0);
    effects
}

impl Symmetries {
    /// Reads a generator and checks that it maps the task onto itself.
    pub(crate) fn read(&mut self, task: &Task, input: &mut Numbers<'_>) -> Result<(), String> {
        let generator = read(task, input)?;
        if !task.goal.iter().all(|&fact| task.goal.contains(&generator.image(fact))) {
            return Err("the goal is not mapped onto itself".into());
        }
        if self.operators.is_empty() {
            let same = |effect: &Effect| Effect {
                condition: sorted(effect.condition.clone()),
                fact: effect.fact,
            };
            for o in task.operators.iter().filter(|o| !o.effects.is_empty()) {
                let effects = by_variable(o.effects.iter().map(same).collect());
                let least =
                    self.operators.entry((sorted(o.pre.clone()), effects)).or_insert(o.cost);
                *least = o.cost.min(*least);
            }
            self.axioms.extend(task.axioms.iter().map(|(layer, axiom)| (*layer, same(axiom))));
        }
        for (o, operator) in task.operators.iter().enumerate() {
            let moved = |fact: &Fact| generator.of[fact.0].is_some();
            let effect_moved = |e: &Effect| moved(&e.fact) || e.condition.iter().any(moved);
            let is_moved =
                operator.pre.iter().any(moved) || operator.effects.iter().any(effect_moved);
            if operator.effects.is_empty() || !is_moved {
                continue;
            }
            let effects = operator.effects.iter().map(|effect| generator.effect(effect)).collect();
            let image = (generator.images(&operator.pre), by_variable(effects));
            if self.operators.get(&image).is_none_or(|&cost| cost > operator.cost) {
                return Err(format!("operator {o} is not mapped to an operator"));
            }
        }
        let is_axiom =
            |axiom: &(i64, Effect)| self.axioms.contains(&(axiom.0, generator.effect(&axiom.1)));
        if !task.axioms.iter().all(is_axiom) {
            return Err("an axiom is not mapped to an axiom".into());
        }
        let facts =
            (0..task.sizes.len()).flat_map(|var| (0..task.sizes[var]).map(move |x| (var, x)));
        let moved = facts.filter(|&fact| generator.of[fact.0].is_some() && task.may_hold(fact));
        let moved = moved.map(|fact| (task.number(fact), task.number(generator.image(fact))));
        if !task.excluded.are_kept(&moved.collect::<Vec<_>>()) {
            return Err("excluded pairs are not mapped to excluded ones, or others are".into());
        }
        self.generators.push(generator);
        Ok(())
    }

    /// Replaces a state by an image as long as one is smaller; whether there was one.
    ///
    /// States are compared value by value, derived variables left out, an initial value being smaller
    /// than others. Generators are tried in turn,
    /// and after one that was applied the one before it.
    pub(crate) fn walk(&mut self, state: &mut [u32]) -> bool {
        let n = self.generators.len();
        let (mut i, mut in_vain, mut walked) = (0, 0, false);
        while in_vain < n {
            let moves = &self.generators[i].moves;
            let value = |m: &Move| m.values[state[m.from] as usize];
            let rank = |m: &Move, value: u32| (value != m.initial, value);
            let first = moves.iter().find(|m| value(m) != state[m.to]);
            if first.is_none_or(|m| rank(m, value(m)) > rank(m, state[m.to])) {
                in_vain += 1;
                i = (i + 1) % n;
                continue;
            }
            self.image.clear();
            self.image.extend(moves.iter().map(value));
            moves.iter().zip(&self.image).for_each(|(m, &value)| state[m.to] = value);
            (in_vain, walked) = (0, true);
            i = i.saturating_sub(1);
        }
        walked
    }
}

/// Reads a permutation of needed variables and of their values; those that never hold may go
/// anywhere.
fn read(task: &Task, input: &mut Numbers<'_>) -> Result<Generator, String> {
    let n = task.sizes.len();
    let (mut of, mut is_image, mut all) = (vec![None; n], vec![false; n], Vec::new());
    for i in 0..input.below(n + 1, "moves")? {
        let (from, to) = (input.below(n, "variable")?, input.below(n, "variable")?);
        if of[from].replace(i).is_some() || std::mem::replace(&mut is_image[to], true) {
            return Err(format!("variable {from} or {to} occurs twice"));
        }
        if !task.is_needed[from] {
            return Err(format!("variable {from} is not needed"));
        }
        let may_hold = |var, value: u32| task.may_hold((var, value));
        let size = |var: usize| (0..task.sizes[var]).filter(|&value| may_hold(var, value)).count();
        if size(from) != size(to) {
            return Err(format!("variables {from} and {to} have different sizes"));
        }
        let (mut values, mut is_value) = (Vec::new(), vec![false; task.sizes[to] as usize]);
        for value in 0..task.sizes[from] {
            let image = input.below(is_value.len(), "value")?;
            values.push(image as u32);
            if may_hold(from, value) && !may_hold(to, image as u32) {
                return Err(format!("a value of variable {from} becomes one that never holds"));
            }
            if may_hold(from, value) && std::mem::replace(&mut is_value[image], true) {
                return Err(format!("two values of variable {from} become one"));
            }
        }
        let default = task.defaults[from].map(|value| values[value as usize]);
        if default != task.defaults[to] {
            return Err(format!("the default value of variable {from} is lost"));
        }
        all.push(Move { from, to, values, initial: task.initial[to] });
    }
    if (0..n).any(|var| of[var].is_some() != is_image[var]) {
        return Err("not a permutation of variables".into());
    }
    let given = all.iter().filter(|m| task.defaults[m.to].is_none());
    let mut moves: Vec<Move> = given.cloned().collect();
    moves.sort_by_key(|m| m.to);
    Ok(Generator { of, moves, all })
}
