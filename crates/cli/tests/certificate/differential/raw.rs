//! Random tasks as lists of what a `.sas` file says, their text, and their optimum: the semantics of
//! the format written once more, for tests, without a reader.
//!
//! Effects are repeated and overridden, with and without conditions, and take back what they did;
//! axioms are layered and recursive; costs are 0, small, or the largest that is allowed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt::Write as _;

use planner::testing::{TestRng, rng};
use rand::RngExt;

pub(crate) type Fact = (usize, u32);

/// An effect as it stands in its line.
struct Effect {
    condition: Vec<Fact>,
    var: usize,
    old: Option<u32>,
    new: u32,
}

struct Operator {
    prevail: Vec<Fact>,
    effects: Vec<Effect>,
    cost: u64,
}

pub(crate) struct Raw {
    sizes: Vec<u32>,
    /// Of derived variables.
    layers: Vec<Option<u32>>,
    /// As in the file: derived variables have their default.
    initial: Vec<u32>,
    goal: Vec<Fact>,
    operators: Vec<Operator>,
    /// Condition and head.
    axioms: Vec<(Vec<Fact>, Fact)>,
    has_costs: bool,
}

pub(crate) const LARGEST_COST: u64 = (1 << 31) - 1;

impl Raw {
    pub(crate) fn random(seed: u64) -> Raw {
        let rng = &mut rng(seed);
        let basic = rng.random_range(1..=4);
        let derived = if rng.random_bool(0.4) { rng.random_range(1..=3) } else { 0 };
        let mut sizes: Vec<u32> = (0..basic).map(|_| rng.random_range(2..=4)).collect();
        sizes.extend((0..derived).map(|_| 2));
        let layers = (0..basic + derived).map(|var| (var >= basic).then(|| rng.random_range(0..3)));
        let layers: Vec<Option<u32>> = layers.collect();
        let initial: Vec<u32> = sizes.iter().map(|&size| rng.random_range(0..size)).collect();
        let all: Vec<usize> = (0..sizes.len()).collect();
        let mut goal = conjunction(rng, &all, &sizes, 1..=3);
        // Other goals than the initial state's, for the most part.
        goal.retain(|&(var, value)| value != initial[var] || rng.random_bool(0.2));
        let dear = rng.random_bool(0.3);
        let operators = (0..rng.random_range(1..=9))
            .map(|_| Operator::random(rng, &sizes, basic, dear))
            .collect();
        let axioms = (0..3 * derived).filter_map(|_| {
            let head = rng.random_range(basic..sizes.len());
            let layer = layers[head]?;
            let mut condition = conjunction(rng, &all, &sizes, 0..=2);
            condition.retain(|&(var, value)| match layers[var] {
                None => true,
                Some(other) => other < layer || (other == layer && value != initial[var]),
            });
            Some((condition, (head, 1 - initial[head])))
        });
        let axioms = axioms.collect();
        let has_costs = rng.random_bool(0.8);
        Raw { sizes, layers, initial, goal, operators, axioms, has_costs }
    }

    fn cost(&self, operator: &Operator) -> u64 {
        if self.has_costs { operator.cost } else { 1 }
    }

    pub(crate) fn has_large_costs(&self) -> bool {
        self.operators.iter().any(|operator| self.cost(operator) > 1_000_000)
    }

    pub(crate) fn has_goal(&self) -> bool {
        !self.goal.is_empty()
    }

    /// The `.sas` file.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let metric = u8::from(self.has_costs);
        let mut line = |text: String| writeln!(out, "{text}").unwrap();
        line(format!("begin_version\n3\nend_version\nbegin_metric\n{metric}\nend_metric"));
        line(self.sizes.len().to_string());
        for (var, (size, layer)) in self.sizes.iter().zip(&self.layers).enumerate() {
            let layer = layer.map_or(-1, i64::from);
            line(format!("begin_variable\nvar{var}\n{layer}\n{size}"));
            (0..*size).for_each(|value| line(format!("Atom v{var}({value})")));
            line("end_variable".into());
        }
        line("0\nbegin_state".into());
        self.initial.iter().for_each(|value| line(value.to_string()));
        line("end_state\nbegin_goal".into());
        facts(&self.goal, &mut line);
        line(format!("end_goal\n{}", self.operators.len()));
        for (number, operator) in self.operators.iter().enumerate() {
            line(format!("begin_operator\nact {number}"));
            facts(&operator.prevail, &mut line);
            line(operator.effects.len().to_string());
            for Effect { condition, var, old, new } in &operator.effects {
                let condition: String =
                    condition.iter().map(|(var, value)| format!("{var} {value} ")).collect();
                let count = condition.split_whitespace().count() / 2;
                let old = old.map_or(-1, i64::from);
                line(format!("{count} {condition}{var} {old} {new}"));
            }
            line(format!("{}\nend_operator", operator.cost));
        }
        line(self.axioms.len().to_string());
        for (condition, (var, value)) in &self.axioms {
            line("begin_rule".into());
            facts(condition, &mut line);
            line(format!("{var} {} {value}\nend_rule", self.initial[*var]));
        }
        out
    }

    /// The least cost of a plan (Dijkstra's algorithm).
    pub(crate) fn optimum(&self) -> Option<u64> {
        let mut initial = self.initial.clone();
        self.derive(&mut initial);
        let mut distance = BTreeMap::from([(initial.clone(), 0)]);
        let mut queue = BinaryHeap::from([Reverse((0, initial))]);
        while let Some(Reverse((g, state))) = queue.pop() {
            if g > distance[&state] {
                continue;
            }
            if holds(&self.goal, &state) {
                return Some(g);
            }
            for (operator, next) in
                self.operators.iter().filter_map(|o| Some((o, self.successor(o, &state)?)))
            {
                let new = g + self.cost(operator);
                let known = distance.entry(next.clone()).or_insert(u64::MAX);
                if new < *known {
                    *known = new;
                    queue.push(Reverse((new, next)));
                }
            }
        }
        None
    }

    /// What operators of these numbers cost, if they are a plan.
    pub(crate) fn execute(&self, plan: &[usize]) -> Option<u64> {
        let (mut state, mut cost) = (self.initial.clone(), 0);
        self.derive(&mut state);
        for &step in plan {
            let operator = &self.operators[step];
            state = self.successor(operator, &state)?;
            cost += self.cost(operator);
        }
        holds(&self.goal, &state).then_some(cost)
    }

    fn successor(&self, operator: &Operator, state: &[u32]) -> Option<Vec<u32>> {
        let has_old = |effect: &Effect| effect.old.is_none_or(|old| state[effect.var] == old);
        if !holds(&operator.prevail, state) || !operator.effects.iter().all(has_old) {
            return None;
        }
        // One after the other: a later effect writes over an earlier one.
        let mut next = state.to_vec();
        for effect in operator.effects.iter().filter(|effect| holds(&effect.condition, state)) {
            next[effect.var] = effect.new;
        }
        self.derive(&mut next);
        Some(next)
    }

    /// The values of derived variables: layer by layer, all axioms again while one changes something.
    fn derive(&self, state: &mut [u32]) {
        for (var, layer) in self.layers.iter().enumerate() {
            if layer.is_some() {
                state[var] = self.initial[var];
            }
        }
        for layer in 0..3 {
            let of_layer = |(_, (var, _)): &&(Vec<Fact>, Fact)| self.layers[*var] == Some(layer);
            loop {
                let fires = |(condition, (var, value)): &&(Vec<Fact>, Fact)| {
                    state[*var] != *value && holds(condition, state)
                };
                let Some((_, (var, value))) = self.axioms.iter().filter(of_layer).find(fires)
                else {
                    break;
                };
                state[*var] = *value;
            }
        }
    }

    /// Whether some operator has several effects on one variable, axioms, conditions.
    pub(crate) fn repeats(&self) -> bool {
        self.operators.iter().any(|operator| {
            let mut vars: Vec<usize> = operator.effects.iter().map(|effect| effect.var).collect();
            vars.sort_unstable();
            vars.windows(2).any(|pair| pair[0] == pair[1])
        })
    }

    pub(crate) fn has_axioms(&self) -> bool {
        !self.axioms.is_empty()
    }

    pub(crate) fn has_conditions(&self) -> bool {
        let has = |operator: &Operator| operator.effects.iter().any(|e| !e.condition.is_empty());
        self.operators.iter().any(has)
    }

    pub(crate) fn has_free_operators(&self) -> bool {
        self.operators.iter().any(|operator| self.cost(operator) == 0)
    }
}

impl Operator {
    fn random(rng: &mut TestRng, sizes: &[u32], basic: usize, dear: bool) -> Operator {
        let all: Vec<usize> = (0..sizes.len()).collect();
        let prevail = conjunction(rng, &all, sizes, 0..=2);
        // What it asks for: an old value may say it once more, never something else.
        let mut asked = prevail.clone();
        // Few variables, so that effects meet.
        let pool: Vec<usize> = (0..2).map(|_| rng.random_range(0..basic)).collect();
        let mut effects = Vec::new();
        for _ in 0..rng.random_range(1..=5) {
            let var = match rng.random_bool(0.7) {
                true => pool[rng.random_range(0..pool.len())],
                false => rng.random_range(0..basic),
            };
            let known = asked.iter().find(|fact| fact.0 == var).map(|fact| fact.1);
            let old =
                rng.random_bool(0.4).then(|| known.unwrap_or(rng.random_range(0..sizes[var])));
            asked.extend(old.map(|old| (var, old)));
            let back = old.or(known).filter(|_| rng.random_bool(0.4));
            let new = back.unwrap_or(rng.random_range(0..sizes[var]));
            let most = if rng.random_bool(0.4) { 2 } else { 0 };
            let condition = conjunction(rng, &all, sizes, 0..=most);
            effects.push(Effect { condition, var, old, new });
        }
        let cost = match rng.random_range(0..4) {
            0 => 0,
            1 => 1,
            2 if dear => LARGEST_COST - rng.random_range(0..2),
            _ => rng.random_range(0..20),
        };
        Operator { prevail, effects, cost }
    }
}

/// Facts of different variables.
fn conjunction(
    rng: &mut TestRng,
    vars: &[usize],
    sizes: &[u32],
    count: std::ops::RangeInclusive<usize>,
) -> Vec<Fact> {
    let mut facts: BTreeMap<usize, u32> = BTreeMap::new();
    for _ in 0..rng.random_range(count) {
        let var = vars[rng.random_range(0..vars.len())];
        facts.insert(var, rng.random_range(0..sizes[var]));
    }
    facts.into_iter().collect()
}

fn facts(facts: &[Fact], line: &mut impl FnMut(String)) {
    line(facts.len().to_string());
    facts.iter().for_each(|(var, value)| line(format!("{var} {value}")));
}

fn holds(facts: &[Fact], state: &[u32]) -> bool {
    facts.iter().all(|&(var, value)| state[var] == value)
}
